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
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from nginxopt.errors import InputError
from nginxopt.rewrite.requests import HOST, sample
from nginxopt.rewrite.sections import Phase
from nginxopt.system.http import Client, Request, batches
from nginxopt.system.nginx import Binary, Instance, Verdict, configuration

SHOWN_MISMATCHES = 10
_INTERNAL_TARGETS = 6
_MAX_UNKNOWN_VARIABLES = 1000

_PLAIN_URI = re.compile(rb"/[A-Za-z0-9/._~+-]*\Z")
_UNKNOWN_VARIABLE = re.compile(r'unknown "([A-Za-z0-9_]+)" variable')
_DATE = re.compile(rb"\r\nDate: [^\r]*\r\n")
_PORT = b"<port>"

_STATE = b"uri=[$uri] args=[$args] is_args=[$is_args] ru=[$request_uri]"
_CAPTURES = b" 1=[$1] 2=[$2]"


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A difference: in the `response` to a request, or that the compiled configuration does not `start`.

    `request`, `before` and `after` are raw bytes; of a `start`, `after` holds nginx's message and the
    others are empty.
    """

    kind: Literal["response", "start"]
    request: bytes
    before: bytes
    after: bytes

    def __str__(self) -> str:
        if self.kind == "start":
            return f"the compiled configuration does not start: {_printable(self.after)}"
        return f"{_asked(self.request)}: {_summary(self.before)} became {_summary(self.after)}"


@dataclass(frozen=True, slots=True)
class Differential:
    """What a differential run found.

    `requests`: how many were put to both sides; `mismatched`: how many of them were answered differently,
    the first of them in `mismatches`; `unstable`: requests that the same side answers differently each time
    (`$request_id` and the like), which say nothing; `skipped`: combinations left out because of `limit` or
    `seconds`; `variables`: those the rules use and do not define, which got a value here; `warnings`: what
    nginx says about the compiled configuration only.
    """

    requests: int
    mismatches: tuple[Mismatch, ...]
    mismatched: int
    seconds: float
    skipped: int
    unstable: int = 0
    variables: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether no difference was seen."""
        return not self.mismatches


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
    variables, defined = _unknown_variables(scene, before, binary)
    original = _Side(scene, before, b"", variables)
    compiled = _Side(scene, after, maps, variables)
    verdict = compiled.test(binary)
    if not verdict.ok:
        start = Mismatch("start", b"", b"", _why(verdict).encode(errors="surrogateescape"))
        return Differential(0, (start,), 1, time.monotonic() - started, 0, variables=variables)
    warnings = tuple(str(warning) for warning in verdict.warnings if warning not in defined.warnings)
    sampled = sample(uris, scene.fixed(), limit=limit, capturing=captures)
    with contextlib.ExitStack() as running:
        pair = [running.enter_context(side.run(binary, avoid=before + after + maps)) for side in (original, compiled)]
        tally = _compare(pair[0], pair[1], sampled.requests, started + seconds, progress)
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
        given = (f'map $host ${name} {{ default "nxo-{name}"; }}' for name in self.variables)
        return b"\n".join([b"include maps.conf;", self.scene.maps(), *(line.encode() for line in given)])

    def _files(self) -> dict[str, bytes]:
        return {**self.scene.files(), "rules.conf": self.rules, "maps.conf": self.maps}


def _has_auth_request(binary: Binary) -> bool:
    return binary.test(configuration([b"auth_request off;"])).ok


def _unknown_variables(scene: _Scene, rules: bytes, binary: Binary) -> tuple[tuple[str, ...], Verdict]:
    """The variables that `rules` use and nothing defines, by nginx's own word, and what it says with them
    given."""
    variables: tuple[str, ...] = ()
    while True:
        verdict = _Side(scene, rules, b"", variables).test(binary)
        unknown = _UNKNOWN_VARIABLE.search(str(verdict))
        if verdict.ok:
            return variables, verdict
        if unknown is None or unknown[1] in variables or len(variables) >= _MAX_UNKNOWN_VARIABLES:
            raise InputError(f"nginx refuses the original rules: {_why(verdict)}", path="rules.conf")
        variables = (*variables, unknown[1])


@dataclass(slots=True)
class _Tally:
    requests: int = 0
    mismatched: int = 0
    unstable: int = 0
    shown: list[Mismatch] = field(default_factory=list)


def _compare(
    original: Instance,
    compiled: Instance,
    requests: Sequence[Request],
    deadline: float,
    progress: Callable[[int, int], None] | None,
) -> _Tally:
    tally = _Tally()
    with original.client() as first, compiled.client() as second:
        sides = (_Answers(first, original.ports[0]), _Answers(second, compiled.ports[0]))
        for batch in batches(requests):
            if time.monotonic() > deadline:
                break
            for request, before, after in _both(sides, batch):
                if before != after:
                    _judge(tally, sides, request, before, after)
            tally.requests += len(batch)
            if progress is not None:
                progress(tally.requests, len(requests))
    return tally


@dataclass(frozen=True, slots=True)
class _Answers:
    """A client of one side, whose answers come without what differs between any two runs."""

    client: Client
    port: int

    def clean(self, answer: bytes) -> bytes:
        return _DATE.sub(b"\r\n", answer, count=1).replace(b"%d" % self.port, _PORT)

    def again(self, request: Request) -> bytes:
        return self.clean(self.client.ask([request])[0])


def _both(sides: tuple[_Answers, _Answers], batch: Sequence[Request]) -> Iterator[tuple[Request, bytes, bytes]]:
    """Ask both sides at the same time."""
    sent = [side.client.send(batch) for side in sides]
    answers = [
        [side.clean(answer) for answer in side.client.receive(batch, connections)]
        for side, connections in zip(sides, sent, strict=True)
    ]
    return zip(batch, *answers, strict=True)


def _judge(tally: _Tally, sides: tuple[_Answers, _Answers], request: Request, before: bytes, after: bytes) -> None:
    """Count a difference, unless a side also differs from itself."""
    if sides[0].again(request) != before or sides[1].again(request) != after:
        tally.unstable += 1
        return
    tally.mismatched += 1
    if len(tally.shown) < SHOWN_MISMATCHES:
        tally.shown.append(Mismatch("response", request.data, before, after))


def _why(verdict: Verdict) -> str:
    return "; ".join(str(message).removeprefix("nginx: ") for message in verdict.messages)


def _asked(request: bytes) -> str:
    """The request line, and what else is special about the request."""
    header, _, body = request.partition(b"\r\n\r\n")
    usual = (b"Host: " + HOST, b"Connection: close")
    parts = [line for line in [*header.split(b"\r\n"), body] if line and line not in usual]
    return ", ".join(_printable(part) for part in parts)


def _summary(answer: bytes) -> str:
    """The status, the Location and what a text body says."""
    if not answer:
        return "no answer"
    header, _, body = answer.partition(b"\r\n\r\n")
    status, *fields = header.split(b"\r\n")
    parts = [status.partition(b" ")[2], *(line for line in fields if line.startswith(b"Location:"))]
    if body and not body.startswith(b"<html>"):
        parts.append(body[:200])
    return " ".join(_printable(part) for part in parts)


def _printable(text: bytes) -> str:
    return repr(text.decode("latin-1"))[1:-1]
