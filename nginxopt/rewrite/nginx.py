"""Compares compiled rules with the original ones on a real nginx.

The configurations of two nginx instances differ only in the rules (see `nginxopt.rewrite.scene`). Their responses to
the requests of `nginxopt.rewrite.requests` are compared byte for byte, after replacing dates and ports.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Iterable

from nginxopt.rewrite.comparison import Differential, Mismatch, compare
from nginxopt.rewrite.requests import sample
from nginxopt.rewrite.scene import Scene, Side, has_auth_request, reasons, unknown_variables
from nginxopt.rewrite.sections import Phase
from nginxopt.system.nginx import Binary

_INTERNAL_TARGETS = 6

_PLAIN_URI = re.compile(rb"/[A-Za-z0-9/._~+-]*\Z")


def differential(
    *,
    before: bytes,
    after: bytes,
    maps: bytes = b"",
    phase: Phase,
    keys: Iterable[bytes],
    witnesses: Iterable[bytes] = (),
    binary: Binary,
    captures: bool = True,
    tries_files: bool = True,
    limit: int = 20_000,
    seconds: float = 60.0,
    progress: Callable[[int, int], None] | None = None,
) -> Differential:
    """Return the differences between the responses with the rules `before` and with `after` and `maps`.

    `before` and `after` are included in a server or location, `maps` in http. `keys` and `witnesses` are decoded URIs
    that matter to either; `captures` makes `$1` and `$2` visible after the rules, and `tries_files` gives a location
    `try_files`. At most `limit` requests are sent to each side, within `seconds`; `progress` gets the requests done and
    their total. Raises `InputError` with nginx's message if it rejects `before`.
    """
    started = time.monotonic()
    uris = [*witnesses, *keys]
    targets = [uri for uri in uris if _PLAIN_URI.match(uri)]
    chosen = tuple(targets[:: len(targets) // _INTERNAL_TARGETS + 1])
    scene = Scene(phase, captures, chosen, has_auth_request(binary), tries_files)
    variables, defined = unknown_variables(lambda names: Side(scene, before, b"", names).test(binary), "rules.conf")
    original = Side(scene, before, b"", variables)
    compiled = Side(scene, after, maps, variables)
    verdict = compiled.test(binary)
    if not verdict.ok:
        start = Mismatch("start", b"", b"", reasons(verdict).encode(errors="surrogateescape"))
        return Differential(0, (start,), 1, time.monotonic() - started, 0, variables=variables)
    warnings = tuple(str(warning) for warning in verdict.warnings if warning not in defined.warnings)
    sampled = sample(uris, scene.fixed(), limit=limit, capturing=captures)
    with contextlib.ExitStack() as running:
        pair = [running.enter_context(side.run(binary, avoid=before + after + maps)) for side in (original, compiled)]
        tally = compare(pair[0], pair[1], sampled.requests, started + seconds, progress)
    return Differential(
        tally.requests,
        tuple(tally.shown),
        tally.mismatched,
        time.monotonic() - started,
        sampled.skipped + len(sampled.requests) - tally.requests,
        tally.unstable,
        variables,
        warnings,
    )
