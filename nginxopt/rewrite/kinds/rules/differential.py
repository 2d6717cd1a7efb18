"""Compares compiled rules with the original ones on a real nginx.

The configurations of two nginx instances differ only in the rules (see `nginxopt.rewrite.comparison`). Their
responses to the requests of `nginxopt.rewrite.requests` are compared byte for byte, after replacing dates and ports.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import chain
from typing import TYPE_CHECKING

from nginxopt import lazy
from nginxopt.records import record
from nginxopt.rewrite.comparison import (
    Differential,
    Limits,
    Mismatch,
    Scene,
    SceneSide,
    compare,
    has_auth_request,
    reasons,
    unknown_variables,
)
from nginxopt.rewrite.evaluations import anew, kept
from nginxopt.rewrite.kinds.rules.planning import EmittedRun, PlannedRun, RulesPlan, emitted
from nginxopt.rewrite.kinds.rules.reading import Phase
from nginxopt.rewrite.mapfile import sizes_text
from nginxopt.rewrite.requests import sample
from nginxopt.rewrite.surroundings import Entering
from nginxopt.system.nginx import Binary
from nginxopt.text import Span, apply

if TYPE_CHECKING:
    from nginxopt.rewrite.proving import Emission

_INTERNAL_TARGETS = 6
_WITNESSES = 500
_WITNESSES_OF_WHOLE = 200

_PLAIN_URI = lazy.pattern(rb"/[A-Za-z0-9/._~+-]*\Z")


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
    variables, defined = unknown_variables(
        lambda names: SceneSide(scene, before, b"", names).test(binary), "rules.conf"
    )
    original = SceneSide(scene, before, b"", variables)
    compiled = SceneSide(scene, after, maps, variables)
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


@record(eq=True)
class _Question:
    """Two texts for a server or a location that are to be compared, the second with its maps, and the runs from which
    their URIs come.
    """

    before: bytes
    after: bytes
    maps: bytes
    phase: Phase
    captures: bool
    runs: tuple[PlannedRun, ...]
    tries_files: bool = True

    def ask(self, binary: Binary, limits: Limits) -> Differential:
        """Return the differences between the responses."""
        return differential(
            before=self.before,
            after=self.after,
            maps=self.maps,
            phase=self.phase,
            keys=[key for run in self.runs for key in run.native.sample],
            witnesses=[uri for run in self.runs for uri in run.native.witnesses(_WITNESSES)],
            binary=binary,
            captures=self.captures,
            tries_files=self.tries_files,
            limit=limits.requests,
            seconds=limits.seconds,
            progress=limits.progress,
        )


def questions(emission: Emission) -> Iterator[Callable[[Binary, Limits], Differential]]:
    """Yield the comparisons: the runs of a fragment together, and those of a whole configuration one by one."""
    return (question.ask for question in _questions(emission))


def uris(plan: RulesPlan) -> Iterator[bytes]:
    """Yield URIs that rules match, and some near them."""
    return chain.from_iterable(
        chain(run.native.witnesses(_WITNESSES_OF_WHOLE), run.native.sample) for run in plan.compiled
    )


def _questions(emission: Emission) -> Iterator[_Question]:
    config = emission.plan.config
    if emission.maps_path is None and len(config.files) == 1 and not (config.missing or _has_blocks(emission)):
        runs = emission.plan.rules.compiled
        if runs:
            edits = [edit for run in runs for edit in run.declared]
            before = apply(config.main.source.data, edits)
            maps = emission.http.removesuffix(emission.trees)
            yield _Question(before, emission.after(config.main), maps, runs[0].phase, True, runs)
        return
    for compiled in emitted(emission.plan.rules, emission.plan.maps_name):
        before, after = _alone(compiled)
        captures = compiled.part.rewrites.captures_matter
        run = compiled.run
        # In a location with `try_files`, groups have no rules with `break`, and filters match only if a rule does.
        is_in_if = run.native.grouped or run.native.filtered
        tries_files = not (is_in_if and run.phase == "location" and run.place.entering == Entering.ALL)
        maps = sizes_text(emission.sizes) + anew(compiled.maps, kept(compiled.maps))
        yield _Question(before, after, maps, run.phase, captures, (run,), tries_files)


def _has_blocks(emission: Emission) -> bool:
    """Return whether the file contains locations or servers, which the scene of the comparison also has."""
    return any(directive.block and directive.name != "if" for directive, _ in emission.plan.config.walk())


def _alone(compiled: EmittedRun) -> tuple[bytes, bytes]:
    """Return the text of the rules of a run, and the text that replaces them."""
    data = compiled.part.file.source.data
    read = {edit.span: edit.text for edit in compiled.run.declared}
    spans = [Span(start, end) for start, end in compiled.run.native.spans()]
    rules = [read.get(span, data[span.start : span.end]) for span in spans]
    # If some rules are in groups or behind filters, the new text also contains the others.
    has_all = compiled.run.native.grouped or compiled.run.native.filtered
    stay = [] if has_all else compiled.run.native.kept()
    kept = [data[start:end] for start, end, _ in stay]
    leading = sum(start < compiled.run.stands_before.start for start, _, _ in stay)
    after = [*kept[:leading], compiled.text, *kept[leading:]]
    return b"\n".join([*rules, b""]), b"\n".join([*after, b""])
