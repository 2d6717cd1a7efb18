"""An upstream on 127.0.0.1 that records the requests of nginx in any of its upstream protocols, and answers them.

The first bytes of a connection identify the protocol: a letter is HTTP or memcached, 1 is FastCGI, 0 or another control
character is uwsgi (`uwsgi_modifier1`), a digit is SCGI, and the preface of HTTP/2 is gRPC, which gets no answer.
"""

from __future__ import annotations

import contextlib
import re
import socket
import struct
import threading
from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from types import TracebackType
from typing import Self

from nginxopt import lazy
from nginxopt.records import record
from nginxopt.system.network import MACHINE, Network

_SECONDS = 5.0
_MOST = 128 << 20
_CONTENT_LENGTH = lazy.pattern(rb"\r\nContent-Length: *([0-9]{1,9})\r\n", re.IGNORECASE)
_RECORD = 65_528
"""The most bytes of a record of FastCGI that need no padding."""
_STDOUT, _END = 6, 3
_PREFACE = b"PRI * HTTP/2.0"
_STATUS = b"Status: 200 OK\r\nContent-Type: text/plain\r\n%s\r\necho"
_ACCEL = b"X-Accel-Redirect: %s\r\n\r\n"
_OK = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\nConnection: close\r\n%s\r\n%s"


@record(eq=True)
class EchoedRequest:
    """A request that the echo received.

    `line` is the method and target of an HTTP request or the key of a memcached one, otherwise empty. `headers` are the
    header lines of an HTTP request, `version` is its version, such as 1.0, and `data` all that was received, for gRPC
    without headers.
    """

    protocol: str
    line: bytes = b""
    headers: tuple[bytes, ...] = ()
    version: bytes = field(default=b"", compare=False)
    data: bytes = field(default=b"", compare=False, repr=False)

    def values(self, name: str) -> list[bytes]:
        """Return the values of an HTTP header."""
        fields = (line.partition(b":") for line in self.headers)
        return [value.strip() for key, _, value in fields if key.lower() == name.lower().encode()]


class Echo:
    """The upstream in a network, as a context manager.

    It handles one connection at a time, and adds each request to `asked`.

    With `mirrors`, the body of its answer to an HTTP request is that request. Without `answers`, it closes connections
    at once. `sent` are further headers of its answers, names and values.

    Attributes:
        accel: The header `X-Accel-Redirect` of its next answer, which has no body and no type; None for none.
    """

    def __init__(
        self,
        network: Network = MACHINE,
        *,
        mirrors: bool = False,
        answers: bool = True,
        sent: Sequence[tuple[str, str]] = (),
    ) -> None:
        self.asked: list[EchoedRequest] = []
        self.accel: str | None = None
        self._network, self._mirrors, self._answers = network, mirrors, answers
        self._head = "".join(f"{name}: {value}\r\n" for name, value in sent).encode("latin-1")

    def __enter__(self) -> Self:
        self._listening = self._network.listening()
        self.port: int = self._listening.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)  # wakes the thread
        self._thread.join()
        self._listening.close()

    def _accepted(self) -> Iterator[socket.socket]:
        """Yield the connections of clients until the end of the block."""
        while True:
            try:
                yield self._listening.accept()[0]
            except OSError:
                return

    def _serve(self) -> None:
        for connection in self._accepted():
            with connection, contextlib.suppress(OSError):
                connection.settimeout(_SECONDS)
                if self._answers:
                    self._answer(connection)

    def _answer(self, connection: socket.socket) -> None:
        asked = received(connection)
        if asked is not None:
            self.asked.append(asked)
            accel, self.accel = self.accel, None
            answer = _response(asked, self._head, mirrors=self._mirrors) if accel is None else _leading(asked, accel)
            connection.sendall(answer)


def received(connection: socket.socket) -> EchoedRequest | None:
    """Return the next request of a connection; None if it ends before, or sends too much."""
    buffer, length = bytearray(), 0
    while len(buffer) < _MOST:
        data = connection.recv(65_536)
        buffer += data
        length = length or _length(buffer)
        if data and len(buffer) < length:
            continue
        asked = _asked(bytes(buffer))
        if asked is not None:
            return replace(asked, data=bytes(buffer))
        if not data:
            return None
    return None


def _length(data: bytearray) -> int:
    """Return the length of an HTTP request with a body of a stated length; 0 if it has none, or if the headers are not
    complete."""
    end = data.find(b"\r\n\r\n") if data[:1].isalpha() else -1
    stated = _CONTENT_LENGTH.search(data, 0, end + 2) if end >= 0 else None
    return 0 if stated is None else end + 4 + int(stated[1])


def _asked(data: bytes) -> EchoedRequest | None:
    """Return the request in the received bytes; None if it is incomplete."""
    if data.startswith(b"\x01"):
        return EchoedRequest("fastcgi") if data.endswith(struct.pack(">BBHHBx", 1, 5, 1, 0, 0)) else None
    if data[:1] and data[0] < ord(" "):
        return EchoedRequest("uwsgi") if len(data) >= 4 + int.from_bytes(data[1:3], "little") else None
    if data[:1].isdigit():
        size, colon, rest = data.partition(b":")
        return EchoedRequest("scgi") if colon and len(rest) > int(size) else None
    if data.startswith(_PREFACE):
        return EchoedRequest("grpc")
    line, end, _ = data.partition(b"\r\n")
    if end and line.startswith((b"get ", b"gets ")):
        return EchoedRequest("memcached", line.partition(b" ")[2])
    head, end, _ = data.partition(b"\r\n\r\n")
    words, _, version = line.rpartition(b" HTTP/")
    return EchoedRequest("proxy", words, tuple(head.split(b"\r\n")[1:]), version) if end else None


def _response(asked: EchoedRequest, head: bytes, *, mirrors: bool) -> bytes:
    """Return the answer to a request, with further lines of its head."""
    match asked.protocol:
        case "fastcgi":
            return fastcgi(int.from_bytes(asked.data[2:4], "big"), _STATUS % head)
        case "uwsgi" | "scgi":
            return _STATUS % head
        case "memcached":
            return b"VALUE %s 0 4\r\necho\r\nEND\r\n" % asked.line
        case "proxy":
            return _OK % (len(body := asked.data if mirrors else b"echo"), head, body)
        case _:
            return b""


def _leading(asked: EchoedRequest, accel: str) -> bytes:
    """Return the answer to a request that leads nginx to a location by `X-Accel-Redirect`."""
    text = _ACCEL % accel.encode("latin-1")
    if asked.protocol == "fastcgi":
        return fastcgi(int.from_bytes(asked.data[2:4], "big"), b"Status: 200 OK\r\n" + text)
    return (b"HTTP/1.1 200 OK\r\nConnection: close\r\n" if asked.protocol == "proxy" else b"Status: 200 OK\r\n") + text


def fastcgi(number: int, output: bytes) -> bytes:
    """Return the records of FastCGI that answer the request with a number by the output of a script."""
    pieces = [output[at : at + _RECORD] for at in range(0, len(output), _RECORD)]
    records = [struct.pack(">BBHHBx", 1, _STDOUT, number, len(piece), 0) + piece for piece in pieces]
    return b"".join(records) + struct.pack(">BBHHBx", 1, _END, number, 8, 0) + bytes(8)
