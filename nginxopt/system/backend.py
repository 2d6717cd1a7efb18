"""An upstream on 127.0.0.1 that answers like an application: on persistent connections, with bodies of a given size.

It extends the echo (`nginxopt.system.echo`) for measurements, in which nginx's work depends on the responses.
"""

from __future__ import annotations

import contextlib
import re
import socket
import threading
from dataclasses import field, replace
from http import HTTPStatus
from types import TracebackType

from nginxopt.records import record
from nginxopt.system.echo import Echo, EchoedRequest, fastcgi, received
from nginxopt.system.network import MACHINE, Network

_SECONDS = 300.0
_KEEP = 1
"""The flag of a FastCGI request that keeps its connection open."""


@record(eq=True)
class BackendAnswer:
    """The response of the upstream: the status, further headers, and the body."""

    status: int = 200
    headers: tuple[tuple[str, str], ...] = (("Content-Type", "text/html"),)
    body: bytes = field(default=b"ok", repr=False)

    @property
    def fields(self) -> bytes:
        """The lines of the headers."""
        return "".join(f"{name}: {value}\r\n" for name, value in self.headers).encode("latin-1")


class Backend(Echo):
    """The upstream in a network, as a context manager, with an `answer` that may be changed between requests.

    It has a thread for each connection, as nginx may keep several.
    """

    def __init__(self, network: Network = MACHINE) -> None:
        super().__init__(network)
        self.answer = BackendAnswer()
        self._open: set[socket.socket] = set()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        super().__exit__(kind, error, trace)
        for connection in list(self._open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)  # its thread closes it

    def _serve(self) -> None:
        for connection in self._accepted():
            self._open.add(connection)
            threading.Thread(target=self._converse, args=(connection,), daemon=True).start()

    def _converse(self, connection: socket.socket) -> None:
        """Answer the requests of a connection."""
        try:
            with connection, contextlib.suppress(OSError):
                connection.settimeout(_SECONDS)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                while (asked := received(connection)) is not None:
                    self.asked.append(asked)
                    connection.sendall(self._response(asked))
                    if not _stays(asked):
                        return
        finally:
            self._open.discard(connection)

    def _response(self, asked: EchoedRequest) -> bytes:
        answer = _part(asked, self.answer) if asked.protocol == "proxy" else self.answer
        has_body = not asked.line.startswith(b"HEAD ") and answer.status not in (204, 304)
        body = answer.body if has_body else b""
        match asked.protocol:
            case "proxy":
                end = b"" if _stays(asked) else b"Connection: close\r\n"
                length = b"" if answer.status in (204, 304) else b"Content-Length: %d\r\n" % len(answer.body)
                return b"HTTP/1.1 %d %s\r\n%s%s%s\r\n%s" % (
                    answer.status, _phrase(answer.status), answer.fields, length, end, body,
                )  # fmt: skip
            case "fastcgi":
                return fastcgi(int.from_bytes(asked.data[2:4], "big"), self._script(body))
            case "uwsgi" | "scgi":
                return self._script(body)
            case "memcached":
                return b"VALUE %s 0 %d\r\n%s\r\nEND\r\n" % (asked.line, len(body), body)
            case _:
                return b""

    def _script(self, body: bytes) -> bytes:
        """Return a response in the form in which a script prints it."""
        answer = self.answer
        return b"Status: %d %s\r\n%s\r\n%s" % (answer.status, _phrase(answer.status), answer.fields, body)


def _part(asked: EchoedRequest, answer: BackendAnswer) -> BackendAnswer:
    """Return the part of a whole response that a request asks for, as those of `slice` do; all of it for others."""
    wanted = re.fullmatch(rb"bytes=(\d+)-(\d+)", b"".join(asked.values("Range")))
    if wanted is None or answer.status != HTTPStatus.OK or int(wanted[1]) >= len(answer.body):
        return answer
    first = int(wanted[1])
    body = answer.body[first : int(wanted[2]) + 1]
    place = ("Content-Range", f"bytes {first}-{first + len(body) - 1}/{len(answer.body)}")
    return replace(answer, status=206, headers=(*answer.headers, place, ("ETag", '"whole"')), body=body)


def _stays(asked: EchoedRequest) -> bool:
    """Return whether nginx wants to reuse the connection."""
    if asked.protocol == "proxy":
        return asked.version == b"1.1" and b"close" not in b"".join(asked.values("Connection")).lower()
    if asked.protocol == "fastcgi":
        return bool(asked.data[10] & _KEEP)
    return asked.protocol == "memcached"


def _phrase(status: int) -> bytes:
    try:
        return HTTPStatus(status).phrase.encode()
    except ValueError:
        return b"Other"
