"""Puts many requests to nginx, in rows on a connection, and asks again alone what a row did not answer."""

from __future__ import annotations

import contextlib
import re
import socket
from collections.abc import Iterator, Sequence
from itertools import groupby

from tests.fuzz.sites.messages import Request

_ROW_REQUESTS, _ROW_BYTES = 50, 24_000
_SECONDS = 20.0
_CLOSES = re.compile(rb"\r\nConnection: close\r\n")
_LENGTH = re.compile(rb"\r\nContent-Length: (\d+)\r\n")
_CHUNKED = re.compile(rb"\r\nTransfer-Encoding: chunked\r\n")
_BODILESS = re.compile(rb"HTTP/1\.[01] (?:204|304) ")
_LAST_CHUNK = re.compile(rb"(?:^|\r\n)0\r\n\r\n")
_CONNECTION = re.compile(rb"\r\nConnection: (?:close|keep-alive)(?=\r\n)")


def converse(requests: Sequence[Request]) -> list[bytes]:
    """Return the answer to each request, without what it says of the connection; empty where nginx closes it.

    `TimeoutError` if nginx is silent for 20 seconds.
    """
    answers: list[bytes] = []
    for port, group in groupby(requests, key=lambda request: request.port):
        for row in _rows(list(group)):
            answers += _asked(port, row)
    return [_CONNECTION.sub(b"", answer, count=1) for answer in answers]


def _rows(requests: Sequence[Request]) -> Iterator[list[Request]]:
    row: list[Request] = []
    size = 0
    for request in requests:
        if row and (len(row) == _ROW_REQUESTS or size + len(request.data) > _ROW_BYTES):
            yield row
            row, size = [], 0
        row.append(request)
        size += len(request.data)
    if row:
        yield row


def _asked(port: int, row: Sequence[Request]) -> list[bytes]:
    """Ask a row; what it did not get a whole answer to before nginx closed is asked next, the first of it alone.

    nginx may reset a connection that holds more requests than it reads, and answers are lost with it.
    """
    answers: list[bytes] = []
    while len(answers) < len(row):
        answers += _answers(port, row[len(answers) :])
        if len(answers) < len(row):
            answers.append(_alone(port, row[len(answers)]))
    return answers


def _answers(port: int, row: Sequence[Request]) -> list[bytes]:
    answers: list[bytes] = []
    with contextlib.closing(_Connection(port, b"".join(request.data for request in row))) as connection:
        for request in row:
            answer = connection.answer(is_head=request.is_head)
            if answer is None:
                break
            answers.append(answer)
            if _CLOSES.search(answer):
                break
    return answers


def _alone(port: int, request: Request) -> bytes:
    with contextlib.closing(_Connection(port, request.data)) as connection:
        answer = connection.answer(is_head=request.is_head)
        return connection.rest() if answer is None else answer


class _Connection:
    def __init__(self, port: int, data: bytes) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), _SECONDS)
        self._received = bytearray()
        self._ended = False
        # Where that fails, what nginx said before is still to be read.
        with contextlib.suppress(ConnectionError):
            self._socket.sendall(data)

    def close(self) -> None:
        self._socket.close()

    def rest(self) -> bytes:
        while not self._ended:
            self._more()
        return bytes(self._received)

    def answer(self, *, is_head: bool) -> bytes | None:
        """Return the next whole answer; None if there is none."""
        while (end := self._received.find(b"\r\n\r\n") + 4) < 4:
            if self._ended:
                return None
            self._more()
        head = bytes(self._received[:end])
        if is_head or _BODILESS.match(head):
            return self._take(end)
        if length := _LENGTH.search(head):
            return self._take(end + int(length[1]))
        while True:
            last = _LAST_CHUNK.search(self._received, end) if _CHUNKED.search(head) else None
            if last:
                return self._take(last.end())
            if self._ended:
                return None if _CHUNKED.search(head) else self._take(len(self._received))
            self._more()

    def _take(self, end: int) -> bytes | None:
        while len(self._received) < end:
            if self._ended:
                return None
            self._more()
        answer = bytes(self._received[:end])
        del self._received[:end]
        return answer

    def _more(self) -> None:
        try:
            data = self._socket.recv(1 << 18)
        except ConnectionError:
            data = b""
        self._received += data
        self._ended = not data
