"""Compares the compiled rules with the original ones on a real nginx.

Two instances run that differ only in the rules (see `nginxopt.rewrite.scene`). The responses to the requests of
`nginxopt.rewrite.requests` are compared byte for byte, after replacing dates and ports.
"""

from __future__ import annotations

import contextlib
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from nginxopt.rewrite.requests import HOST, sample
from nginxopt.rewrite.scene import Scene, Side, has_auth_request, reasons, unknown_variables
from nginxopt.rewrite.sections import Phase
from nginxopt.system.http import Client, Request, batches
from nginxopt.system.nginx import Binary, Instance

SHOWN_MISMATCHES = 10
_INTERNAL_TARGETS = 6

_PLAIN_URI = re.compile(rb"/[A-Za-z0-9/._~+-]*\Z")
_DATE = re.compile(rb"\r\nDate: [^\r]*\r\n")
_PORT = b"<port>"


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A difference in the `response` to a request, or a compiled configuration that does not `start`.

    `request`, `before` and `after` are raw bytes; for a `start`, `after` is nginx's message and the others are empty.
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
    """The result of a differential run.

    Attributes:
        requests: The number of requests sent to both sides.
        mismatches: The first differences.
        mismatched: The number of requests with different responses.
        skipped: The number of combinations left out because of `limit` or `seconds`.
        unstable: The number of requests that one side answers differently each time (`$request_id`), which say nothing.
        variables: The variables that the rules use but do not define, which got a value here.
        warnings: Warnings of nginx about the compiled configuration only.
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
        """Whether there is no difference."""
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
    """Return the differences between the responses with the rules `before` and with `after` and `maps`.

    `before` and `after` are included in a server or location, `maps` in http. `keys` and `witnesses` are decoded URIs
    that matter to either; `captures` makes `$1` and `$2` visible after the rules. At most `limit` requests are sent to
    each side, within `seconds`; `progress` gets the requests done and their total. Raises `InputError` with nginx's
    message if it rejects `before`.
    """
    started = time.monotonic()
    uris = [*witnesses, *keys]
    targets = [uri for uri in uris if _PLAIN_URI.match(uri)]
    chosen = tuple(targets[:: len(targets) // _INTERNAL_TARGETS + 1])
    scene = Scene(phase, captures, chosen, auth=has_auth_request(binary))
    variables, defined = unknown_variables(scene, before, binary)
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
    """A client of one side. It removes from responses what differs between any two runs."""

    client: Client
    port: int

    def clean(self, answer: bytes) -> bytes:
        return _DATE.sub(b"\r\n", answer, count=1).replace(b"%d" % self.port, _PORT)

    def again(self, request: Request) -> bytes:
        return self.clean(self.client.ask([request])[0])


def _both(sides: tuple[_Answers, _Answers], batch: Sequence[Request]) -> Iterator[tuple[Request, bytes, bytes]]:
    """Send the batch to both sides at the same time."""
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


def _asked(request: bytes) -> str:
    """Return the request line, and other unusual parts of the request."""
    header, _, body = request.partition(b"\r\n\r\n")
    usual = (b"Host: " + HOST, b"Connection: close")
    parts = [line for line in [*header.split(b"\r\n"), body] if line and line not in usual]
    return ", ".join(_printable(part) for part in parts)


def _summary(answer: bytes) -> str:
    """Return the status, the Location and the start of a text body."""
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
