"""Compares the responses of two instances of nginx byte for byte, after replacing dates and ports."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, Self

from nginxopt import lazy
from nginxopt.records import record
from nginxopt.rewrite.requests import HOST
from nginxopt.system.http import Client, RequestBytes, batches
from nginxopt.system.network import Network
from nginxopt.system.nginx import Instance

SHOWN_MISMATCHES = 10
_DATE = lazy.pattern(rb"\r\nDate: [^\r]*\r\n")
_PORT = b"<port>"


@record(eq=True)
class Mismatch:
    """A difference: another `response` to a request, or a compiled configuration with which nginx does not `start`.

    `request`, `before` and `after` are raw bytes. For `start`, `after` is nginx's message, and the others are empty.
    """

    kind: Literal["response", "start"]
    request: bytes
    before: bytes
    after: bytes

    def __str__(self) -> str:
        if self.kind == "start":
            return f"the compiled configuration does not start: {_printable(self.after)}"
        return f"{_asked(self.request)}: {_summary(self.before)} became {_summary(self.after)}"


@record(eq=True)
class Limits:
    """The limits of a comparison.

    Attributes:
        requests: The most requests to each side.
        seconds: The time limit.
        progress: Is called with the number of requests that are done, and the total.
    """

    requests: int
    seconds: float
    progress: Callable[[int, int], None] | None = None


@record(eq=True)
class Differential:
    """The result of a differential run.

    Attributes:
        requests: The number of requests sent to both sides.
        mismatches: The first differences.
        mismatched: The number of requests with different responses.
        skipped: The number of combinations left out because of `limit` or `seconds`.
        unstable: The number of requests whose response is different each time (`$request_id`), so that it proves
            nothing.
        variables: The variables that the rules use but do not define; the test defines them.
        warnings: Warnings of nginx about the compiled configuration only.
        omitted: Why nothing was compared, as a phrase; None if it was.
    """

    requests: int
    mismatches: tuple[Mismatch, ...]
    mismatched: int
    seconds: float
    skipped: int
    unstable: int = 0
    variables: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    omitted: str | None = None

    @property
    def ok(self) -> bool:
        """Whether there is no difference."""
        return not self.mismatches


@record(eq=True)
class AskedServer:
    """A port of 127.0.0.1 in a network to ask, and what responses may show that differs from another nginx."""

    port: int
    names: tuple[bytes, ...]
    network: Network

    @classmethod
    def of(cls, instance: Instance) -> Self:
        """Return the first server of an instance."""
        return cls(instance.ports[0], (b"%d" % instance.ports[0],), instance.network)

    def client(self) -> Client:
        """Return a new client of it."""
        return Client(self.port, network=self.network)


@dataclass(slots=True)
class Tally:
    """The counts of a comparison, and the first differences."""

    requests: int = 0
    mismatched: int = 0
    unstable: int = 0
    shown: list[Mismatch] = field(default_factory=list)


def compare(
    original: Instance | AskedServer,
    compiled: Instance | AskedServer,
    requests: Sequence[RequestBytes],
    deadline: float,
    progress: Callable[[int, int], None] | None,
) -> Tally:
    """Send requests to both sides until `deadline`, and count the differences."""
    tally = Tally()
    asked = [side if isinstance(side, AskedServer) else AskedServer.of(side) for side in (original, compiled)]
    with asked[0].client() as first, asked[1].client() as second:
        sides = (_Answers(first, asked[0].names), _Answers(second, asked[1].names))
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


@record(eq=True)
class _Answers:
    """A client of one side. It removes from responses what differs between any two runs."""

    client: Client
    names: tuple[bytes, ...]

    def clean(self, answer: bytes) -> bytes:
        answer = _DATE.sub(b"\r\n", answer, count=1)
        for name in self.names:
            answer = answer.replace(name, _PORT)
        return answer

    def again(self, request: RequestBytes) -> bytes:
        self.client.close()  # the port of the client may be what differs
        return self.clean(self.client.ask([request])[0])


def _both(
    sides: tuple[_Answers, _Answers], batch: Sequence[RequestBytes]
) -> Iterator[tuple[RequestBytes, bytes, bytes]]:
    """Send the batch to both sides at the same time."""
    sent = [side.client.send(batch) for side in sides]
    answers = [
        [side.clean(answer) for answer in side.client.receive(batch, connections)]
        for side, connections in zip(sides, sent, strict=True)
    ]
    return zip(batch, *answers, strict=True)


def _judge(tally: Tally, sides: tuple[_Answers, _Answers], request: RequestBytes, before: bytes, after: bytes) -> None:
    """Count a difference, unless one side answers the same request differently each time."""
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
