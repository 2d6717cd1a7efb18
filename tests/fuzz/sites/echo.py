"""Upstreams that answer with what they got: the method and target, or the parameters, in a process of their own."""

from __future__ import annotations

import asyncio
import multiprocessing
import re
import signal
import socket
import struct
from collections.abc import Callable
from functools import partial
from types import TracebackType
from typing import Self

PROTOCOLS = ("http", "fastcgi", "uwsgi", "scgi")
EACH = 2
"""How many upstreams there are of a protocol."""

_PARAMS, _STDIN, _STDOUT, _END_REQUEST = 4, 5, 6, 3


class Echoes:
    """The upstreams, by names such as `http0` and `uwsgi1`; a context manager."""

    def __init__(self) -> None:
        self.ports: dict[str, int] = {}
        self._sockets: dict[str, socket.socket] = {}

    def __enter__(self) -> Self:
        for protocol in PROTOCOLS:
            for number in range(EACH):
                listening = socket.create_server(("127.0.0.1", 0), backlog=512)
                name = f"{protocol}{number}"
                self._sockets[name], self.ports[name] = listening, listening.getsockname()[1]
        self._process = multiprocessing.get_context("fork").Process(target=self._serve, daemon=True)
        self._process.start()
        for listening in self._sockets.values():
            listening.close()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.join()

    def _serve(self) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        asyncio.run(self._listen())

    async def _listen(self) -> None:
        loop = asyncio.get_running_loop()
        for name, listening in self._sockets.items():
            await loop.create_server(partial(_Upstream, name, _ANSWERS[name[:-1]]), sock=listening)
        await asyncio.Event().wait()


class _Upstream(asyncio.Protocol):
    """A connection: it is answered once what came is whole, and ended.

    What comes later, a body, is read all the same: closed before, the connection is reset, and nginx says 502.
    """

    def __init__(self, name: str, answer: Callable[[bytes, bytes], bytes | None]) -> None:
        self._name, self._answer = name.encode(), answer
        self._received = b""
        self._is_answered = False
        self._transport: asyncio.WriteTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.WriteTransport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        answer = None if self._is_answered else self._answer(self._name, self._received)
        if answer is not None and self._transport:
            self._is_answered = True
            self._transport.write(answer)
            self._transport.write_eof()


def _http(name: bytes, data: bytes) -> bytes | None:
    head, end, _ = data.partition(b"\r\n\r\n")
    if not end:
        return None
    line, _, fields = head.partition(b"\r\n")
    body = b"%s %s\nHost: %s" % (name, line.rpartition(b" HTTP/")[0], _value(b"Host", fields))
    lines = [b"HTTP/1.1 %s X" % (_value(b"X-Answer", fields) or b"200"), b"Connection: close"]
    lines += [b"Content-Length: %d" % len(body), _value(b"X-With", fields)]
    return b"\r\n".join([*filter(None, lines), b"", b"" if line.startswith(b"HEAD ") else body])


def _value(name: bytes, fields: bytes) -> bytes:
    """Return the value of a header: `X-Answer` has the status to answer with, and `X-With` a header."""
    field = re.search(rb"(?im)^%s: (.*)$" % name, fields)
    return field[1].strip() if field else b""


def _fastcgi(name: bytes, data: bytes) -> bytes | None:
    """Answer once the end of the request's body has come (FastCGI 1.0, 3.3)."""
    params, at, is_whole = b"", 0, False
    while len(data) >= at + 8:
        _, kind, _, length, padding = struct.unpack(">BBHHB", data[at : at + 7])
        params += data[at + 8 : at + 8 + length] if kind == _PARAMS else b""
        is_whole = kind == _STDIN and not length
        at += 8 + length + padding
    if not is_whole:
        return None
    body = b"Status: 200\r\n\r\n" + _cgi(name, _lengths(params))
    end = struct.pack(">BBHHBx", 1, _END_REQUEST, 1, 8, 0) + bytes(8)
    return struct.pack(">BBHHBx", 1, _STDOUT, 1, len(body), 0) + body + end


def _lengths(data: bytes) -> dict[bytes, bytes]:
    """Read FastCGI's pairs of names and values (3.4)."""
    params = {}
    while data:
        sizes = []
        for _ in range(2):
            is_long = data[0] & 0x80
            sizes.append(struct.unpack(">I", data[:4])[0] & 0x7FFFFFFF if is_long else data[0])
            data = data[4 if is_long else 1 :]
        params[data[: sizes[0]]] = data[sizes[0] : sizes[0] + sizes[1]]
        data = data[sum(sizes) :]
    return params


def _uwsgi(name: bytes, data: bytes) -> bytes | None:
    size = struct.unpack("<H", data[1:3])[0] if len(data) >= 4 else 1 << 16
    if len(data) < 4 + size:
        return None
    params, at = {}, 4
    while at < 4 + size:
        words = []
        for _ in range(2):
            length = struct.unpack("<H", data[at : at + 2])[0]
            words.append(data[at + 2 : at + 2 + length])
            at += 2 + length
        params[words[0]] = words[1]
    return b"HTTP/1.1 200 OK\r\n\r\n" + _cgi(name, params)


def _scgi(name: bytes, data: bytes) -> bytes | None:
    size, colon, rest = data.partition(b":")
    if not colon or len(rest) <= int(size):
        return None
    words = rest[: int(size)].split(b"\0")
    return b"Status: 200\r\n\r\n" + _cgi(name, dict(zip(words[::2], words[1::2], strict=False)))


def _cgi(name: bytes, params: dict[bytes, bytes]) -> bytes:
    words = [b"%s=%s" % (key, value) for key, value in params.items() if not key.startswith((b"HTTP_", b"CONTENT_"))]
    return b" ".join([name, *words])


_ANSWERS: dict[str, Callable[[bytes, bytes], bytes | None]] = {
    "http": _http,
    "fastcgi": _fastcgi,
    "uwsgi": _uwsgi,
    "scgi": _scgi,
}
