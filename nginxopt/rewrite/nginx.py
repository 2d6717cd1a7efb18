"""The question of the proof, put to a real nginx: do the compiled rules answer as the original ones do?

Two instances run that differ in nothing but the rules: same server, same locations, same files. The
responses to the requests of `nginxopt.rewrite.requests` are compared byte for byte; only dates and ports
are made equal. The locations show the state that the rules leave (`$uri`, `$args`, captures) and send
internal requests (error_page, try_files, index, auth_request) through the rules again.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from nginxopt.rewrite.comparison import Differential, Mismatch, compare, definitions, given, why
from nginxopt.rewrite.requests import HOST, sample
from nginxopt.rewrite.sections import Phase
from nginxopt.system.nginx import Binary, Instance, Verdict, configuration

_INTERNAL_TARGETS = 6

_PLAIN_URI = re.compile(rb"/[A-Za-z0-9/._~+-]*\Z")

_STATE = b"uri=[$uri] args=[$args] is_args=[$is_args] ru=[$request_uri]"
_CAPTURES = b" 1=[$1] 2=[$2]"


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
    limit: int = 20_000,
    seconds: float = 60.0,
    progress: Callable[[int, int], None] | None = None,
) -> Differential:
    """Return how the answers of a server with the rules `before` and one with `after` (and `maps`) differ.

    `before` and `after` are texts as included in a server or in a location, `maps` in http. `keys` and
    `witnesses` are decoded URIs that matter to either; `captures` makes `$1` and `$2` visible after the
    rules, as they would be to a user who reads them there. At most `limit` requests are put to each side,
    within `seconds`; `progress` gets the requests done and their total. Raises `InputError` in nginx's words
    if it refuses `before`.
    """
    started = time.monotonic()
    uris = [*witnesses, *keys]
    targets = [uri for uri in uris if _PLAIN_URI.match(uri)]
    chosen = tuple(targets[:: len(targets) // _INTERNAL_TARGETS + 1])
    scene = _Scene(phase, captures, chosen, auth=_has_auth_request(binary))
    variables, defined = given(lambda names: _Side(scene, before, b"", names).test(binary), "rules.conf")
    original = _Side(scene, before, b"", variables)
    compiled = _Side(scene, after, maps, variables)
    verdict = compiled.test(binary)
    if not verdict.ok:
        start = Mismatch("start", b"", b"", why(verdict).encode(errors="surrogateescape"))
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


@dataclass(frozen=True, slots=True)
class _Scene:
    """What stands around the rules, the same on both sides.

    `targets`: URIs that internal requests go to; `auth`: with subrequests of auth_request, a module not in
    every build.
    """

    phase: Phase
    captures: bool
    targets: tuple[bytes, ...]
    auth: bool

    def server(self) -> bytes:
        """The inside of the server; the rules are included from rules.conf."""
        state = _STATE + (_CAPTURES if self.captures else b"")
        names = b"server_name %s" % HOST + (b' "~^(capture)d(.test)$"' if self.captures else b"")
        rules = b"include rules.conf;"
        at_server, at_location = (rules, b"") if self.phase == "server" else (b"", rules)
        lines = [
            names + b";",
            # Also seen in redirects and on static files; without captures, since nobody reads them after a
            # redirect.
            b'add_header X-State "%s" always;' % _STATE,
            b"large_client_header_buffers 4 64k; client_header_timeout 5s; client_body_timeout 5s;",
            at_server,
            b"location / {",
            at_location,
            # Internal requests that start after the rules have run once, to a URI of a rule and to one of
            # none: what is cached or set by then is stale.
            b"error_page 418 $harness_target; error_page 419 /-nxo/none;",
            b"if ($harness_target) { return 418; }",
            b"if ($arg_harness) { return 419; }",
            b'return 200 "%s";' % state,
            # Reached after a `break` in the location: does the request still have this location's
            # configuration?
            b"try_files $uri @state;",
            b"}",
            b'location @state { return 200 "%s"; }' % state,
            # The empty URI goes through the rules of the server, and then to the location of "/".
            b"location = /-nxo/empty { try_files /-nxo/none $arg_nothing; }",
            *(self._internal(index, target) for index, target in enumerate(self.targets)),
        ]
        return b"\n".join(lines)

    def fixed(self) -> list[bytes]:
        """The request targets whose locations make internal requests, and two that belong to no rule."""
        kinds = (b"through", b"error", b"try", b"try-args", b"auth", b"index/")
        numbered = [b"/-nxo/%d/%s" % (index, kind) for index in range(len(self.targets)) for kind in kinds]
        return [b"/", b"/-nxo/none", b"/-nxo/empty", *numbered]

    def maps(self) -> bytes:
        """What the server needs in http, after all other maps: map_hash_max_size must stand before every
        map."""
        targets = (b"/-nxo/%d/through %s;" % pair for pair in enumerate(self.targets))
        return b"map $uri $harness_target { volatile; %s }" % b" ".join(targets)

    def files(self) -> dict[str, bytes]:
        """The files below `html`: what an allowed auth_request leads to."""
        return {f"html/-nxo/{index}/auth": b"allowed" for index in range(len(self.targets))}

    def _internal(self, index: int, target: bytes) -> bytes:
        here = b"location = /-nxo/%d" % index
        auth = b"auth_request %s;" % target if self.auth else b""
        return b"\n".join(
            [
                here + b"/error { error_page 404 %s; return 404; }" % target,
                here + b"/try { try_files /-nxo/none %s; }" % target,
                here + b"/try-args { try_files /-nxo/none %s?q=1; }" % target,
                here + b"/auth { %s }" % auth,
                here + b"/index/ { index %s; }" % target,
            ]
        )


@dataclass(frozen=True, slots=True)
class _Side:
    """One of the two configurations."""

    scene: _Scene
    rules: bytes
    maps: bytes
    variables: tuple[str, ...]

    def test(self, binary: Binary) -> Verdict:
        return binary.test(configuration([self.scene.server()], http=self._http()), self._files())

    def run(self, binary: Binary, *, avoid: bytes) -> Instance:
        return Instance(
            binary,
            servers=[self.scene.server()],
            http=self._http(),
            files=self._files(),
            log_level="emerg",
            avoid=avoid,
        )

    def _http(self) -> bytes:
        return b"\n".join([b"include maps.conf;", self.scene.maps(), *definitions(self.variables)])

    def _files(self) -> dict[str, bytes]:
        return {**self.scene.files(), "rules.conf": self.rules, "maps.conf": self.maps}


def _has_auth_request(binary: Binary) -> bool:
    return binary.test(configuration([b"auth_request off;"])).ok
