"""Servers that nginx passes to, each of a kind that some fix would not be right for; all they are asked is kept."""

from __future__ import annotations

import contextlib
import gzip
import re
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import IO

BODY = b"the same words again and again, " * 20


@dataclass(frozen=True)
class Asked:
    """A request as it came: its bytes, the number of its connection, and its number on that."""

    head: bytes
    body: bytes
    connection: int
    number: int

    @property
    def version(self) -> bytes:
        """`1.0` or `1.1`."""
        return self.head.partition(b"\r\n")[0].rpartition(b"/")[2]

    def header(self, name: bytes) -> bytes:
        """The value of a header, empty without it."""
        match = re.search(rb"\r\n" + name + rb": *([^\r]*)", self.head, re.IGNORECASE)
        return match[1] if match else b""


Reply = Callable[[Asked, dict[int, bytes]], bytes | None]
"""What a server answers; None: it closes the connection. The dictionary is its own, of its connections."""


def answer(
    asked: Asked, body: bytes = BODY, status: bytes = b"200 OK", headers: bytes = b"", *, keeps: bool = True
) -> bytes:
    """An answer of a known length, which says whether the connection stays open."""
    stays = keeps and asked.version == b"1.1" and asked.header(b"Connection").lower() != b"close"
    line = b"" if stays else b"Connection: close\r\n"
    return b"HTTP/1.1 %s\r\nContent-Length: %d\r\n%s%s\r\n%s" % (status, len(body), line, headers, body)


def plain(asked: Asked, _: dict[int, bytes]) -> bytes:
    """One that any fix is right for."""
    return answer(asked)


def compressing(asked: Asked, _: dict[int, bytes]) -> bytes:
    """One that compresses for HTTP/1.1 only."""
    if asked.version == b"1.1" and b"gzip" in asked.header(b"Accept-Encoding"):
        return answer(asked, gzip.compress(BODY, mtime=0), headers=b"Content-Encoding: gzip\r\n")
    return answer(asked)


def old(asked: Asked, _: dict[int, bytes]) -> bytes:
    """One that knows HTTP/1.0 only."""
    return answer(asked) if asked.version == b"1.0" else answer(asked, b"", b"505 HTTP Version Not Supported")


def upgrading(asked: Asked, _: dict[int, bytes]) -> bytes:
    """One that offers HTTP/2 to those who speak HTTP/1.1, as Apache does."""
    return answer(asked, headers=b"Upgrade: h2c\r\n" if asked.version == b"1.1" else b"")


def hinting(asked: Asked, _: dict[int, bytes]) -> bytes:
    """One that sends early hints to those who speak HTTP/1.1, and closes: nginx reads on to the end."""
    hints = b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>\r\n\r\n" if asked.version == b"1.1" else b""
    return hints + answer(asked, keeps=False)


def authenticating(asked: Asked, users: dict[int, bytes]) -> bytes:
    """One that authenticates connections, as NTLM does."""
    user = users[asked.connection] = asked.header(b"Authorization") or users.get(asked.connection, b"")
    if not user:
        return answer(asked, b"who?", b"401 Unauthorized", b"WWW-Authenticate: NTLM\r\n")
    return answer(asked, b"secrets of " + user)


def closing(asked: Asked, _: dict[int, bytes]) -> bytes | None:
    """One that closes a connection once it is used again, and has not said so."""
    return answer(asked) if asked.number == 1 else None


def bodiless(asked: Asked, _: dict[int, bytes]) -> bytes:
    """One that takes no body of unknown length."""
    if b"chunked" in asked.header(b"Transfer-Encoding"):
        return answer(asked, b"", b"411 Length Required", keeps=False)
    return answer(asked)


@dataclass
class Origin:
    """A server on 127.0.0.1."""

    port: int
    asked: list[Asked] = field(default_factory=list)
    connections: int = 0


@contextlib.contextmanager
def serving(reply: Reply, *, serial: bool = False) -> Iterator[Origin]:
    """Serve until the block ends; `serial`: one connection at a time."""
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
        origin = Origin(listener.getsockname()[1])
        users: dict[int, bytes] = {}
        open_: list[socket.socket] = []

        def serve() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                origin.connections += 1
                open_.append(connection)
                arguments = (connection, origin, origin.connections, reply, users)
                if serial:
                    _serve(*arguments)
                else:
                    threading.Thread(target=_serve, args=arguments, daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        try:
            yield origin
        finally:
            listener.shutdown(socket.SHUT_RDWR)
            for connection in open_:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)


def _serve(connection: socket.socket, origin: Origin, number: int, reply: Reply, users: dict[int, bytes]) -> None:
    with connection, connection.makefile("rb") as stream, contextlib.suppress(OSError):
        count = 0
        while head := _head(stream):
            count += 1
            asked = Asked(head, _body(stream, head), number, count)
            origin.asked.append(asked)
            answered = reply(asked, users)
            if answered is None:
                return
            connection.sendall(answered)
            if b"\r\nConnection: close\r\n" in answered:
                return


def _head(stream: IO[bytes]) -> bytes:
    lines = b""
    while line := stream.readline():
        lines += line
        if line == b"\r\n":
            return lines
    return b""


def _body(stream: IO[bytes], head: bytes) -> bytes:
    length = re.search(rb"\r\nContent-Length: *(\d+)", head, re.IGNORECASE)
    if length:
        return stream.read(int(length[1]))
    body = b""
    if re.search(rb"\r\nTransfer-Encoding: *chunked", head, re.IGNORECASE):
        while size := int(stream.readline(), 16):
            body += stream.read(size)
            stream.readline()
        stream.readline()
    return body
