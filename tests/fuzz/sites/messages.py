"""Requests and responses as bytes, and their parts."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

Fields = list[tuple[bytes, bytes]]
"""The headers of a message, in their order."""

_VERSION = re.compile(rb"HTTP/(\d{1,4})\.(\d{1,4})\Z")


@dataclass(frozen=True, slots=True)
class Request:
    """The bytes of a request, and the port of 127.0.0.1 that gets them."""

    port: int
    data: bytes

    @property
    def is_head(self) -> bool:
        """Whether its response has no body."""
        return self.data.startswith(b"HEAD ")


@dataclass(frozen=True, slots=True)
class Response:
    """A response; nginx answers HTTP/0.9 with a body alone, which has the status 0."""

    status: int
    fields: Fields
    body: bytes

    def values(self, name: bytes) -> list[bytes]:
        """Return the values of the headers of that name, in lower case."""
        return [value for field, value in self.fields if field.lower() == name]


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a request as the model gets them."""

    method: bytes
    target: bytes
    version: tuple[int, int]
    fields: Fields


def request(
    target: bytes,
    *,
    method: bytes = b"GET",
    host: bytes | None = b"h",
    version: bytes = b"HTTP/1.1",
    fields: Sequence[tuple[bytes, bytes]] = (),
    body: bytes = b"",
) -> bytes:
    """Return the bytes of a request; `host` None is none."""
    lines = [b"%s %s %s" % (method, target, version)]
    lines += [] if host is None else [b"Host: " + host]
    lines += [b"%s: %s" % field for field in fields]
    lines += [b"Content-Length: %d" % len(body)] if method in (b"POST", b"PUT") else []
    return b"\r\n".join([*lines, b"", body])


def parts(data: bytes) -> Parts | None:
    """Return the parts of a request; None where its lines cannot be told apart."""
    head = data.partition(b"\r\n\r\n")[0]
    line, *lines = head.split(b"\r\n")
    words = line.split(b" ")
    version = _VERSION.match(words[-1])
    if len(words) == 2 and not lines:
        return Parts(words[0], words[1], (0, 9), [])
    fields = [header.partition(b":") for header in lines]
    if len(words) != 3 or version is None or version[1] == b"0" or not all(colon for _, colon, _ in fields):
        return None
    return Parts(
        words[0],
        words[1],
        (int(version[1]), int(version[2])),
        [(name, value.strip(b" ")) for name, _, value in fields],
    )


def response(data: bytes) -> Response | None:
    """Return a response; None if nginx closed the connection without one."""
    if not data:
        return None
    head, _, body = data.partition(b"\r\n\r\n")
    line, *lines = head.split(b"\r\n")
    status = re.match(rb"HTTP/1\.[01] (\d{3})", line)
    if status is None:
        return Response(0, [], data)
    fields = [header.partition(b":") for header in lines]
    found = [(name, value.removeprefix(b" ")) for name, _, value in fields]
    if any(name.lower() == b"transfer-encoding" for name, _ in found):
        body = _unchunked(body)
    return Response(int(status[1]), found, body)


def _unchunked(body: bytes) -> bytes:
    data = b""
    while body:
        size, _, body = body.partition(b"\r\n")
        length = int(size, 16)
        data += body[:length]
        body = body[length + 2 :] if length else b""
    return data
