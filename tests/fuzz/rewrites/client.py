"""A raw HTTP/1.1 client: the bytes of each answer, trailers included, whatever becomes of the connection."""

from __future__ import annotations

import contextlib
import re
import socket
from collections.abc import Iterator, Sequence

from tests.fuzz.rewrites import http2
from tests.fuzz.rewrites.requests import Ask

# What nginx sends behind an answer that has no body counts with the next one.
_STATUS = re.compile(rb"HTTP/1\.[01] (\d\d\d)")
_LENGTH = re.compile(rb"\r\nContent-Length: (\d+)\r\n", re.IGNORECASE)
_CHUNKED = re.compile(rb"\r\nTransfer-Encoding: chunked\r\n", re.IGNORECASE)
_SIZE = re.compile(rb"([0-9a-f]+)(?:;|\Z)")
_BATCH_REQUESTS, _BATCH_BYTES = 48, 24_000
_SECONDS = 20.0
_SENTINEL = Ask(0, b"GET /sentinel HTTP/1.1\r\nHost: sets.test\r\nConnection: close\r\n\r\n")


def converse(ports: Sequence[int], asks: Sequence[Ask], *, is_http2: bool = False) -> list[bytes]:
    """Return the answer to each request; empty or cut off where nginx ends the connection or is silent for too long."""
    answers: list[bytes] = []
    for batch in _batches(asks):
        port = ports[batch[0].port]
        if is_http2:
            answers += http2.converse(port, batch)
        elif batch[0].alone:
            answers += [_Connection(port, [ask]).rest() for ask in batch]
        else:
            answers += _pipelined(port, batch)
    for port in sorted({ports[ask.port] for ask in asks}):
        # What came before is logged once this is answered.
        if is_http2:
            http2.converse(port, [_SENTINEL])
        else:
            _Connection(port, [_SENTINEL]).rest()
    return answers


def _batches(asks: Sequence[Ask]) -> Iterator[list[Ask]]:
    batch: list[Ask] = []
    size = 0
    for ask in asks:
        other = batch and (batch[0].alone, batch[0].port) != (ask.alone, ask.port)
        if batch and (other or len(batch) == _BATCH_REQUESTS or size + len(ask.data) > _BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(ask)
        size += len(ask.data)
    if batch:
        yield batch


def _pipelined(port: int, batch: Sequence[Ask]) -> list[bytes]:
    """Ask in a row; what is left when nginx closes is asked on a new connection, which is closed in the end.

    nginx closes it once the last request is logged, so that the logs are complete.
    """
    answers: list[bytes] = []
    while len(answers) < len(batch):
        left = batch[len(answers) :]
        connection = _Connection(port, left)
        for ask in left:
            answer = connection.answer(head=ask.head)
            answers.append(answer)
            if connection.ended:
                break
        connection.finish()
    return answers


class _Connection:
    def __init__(self, port: int, asks: Sequence[Ask]) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), _SECONDS)
        self._received = bytearray()
        self.ended = False
        # Where that fails, what nginx said before is still to be read.
        with contextlib.suppress(OSError):
            self._socket.sendall(b"".join(ask.data for ask in asks))

    def finish(self) -> None:
        """Say that no more comes and wait until nginx has closed."""
        try:
            self._socket.shutdown(socket.SHUT_WR)
        except OSError:
            self.ended = True
        while not self.ended:
            self._more()
        self._socket.close()

    def rest(self) -> bytes:
        while not self.ended:
            self._more()
        self._socket.close()
        return bytes(self._received)

    def answer(self, *, head: bool) -> bytes:
        start = 0
        while True:
            end = self._find(b"\r\n\r\n", start) + 4
            header = bytes(self._received[start:end])
            status = _STATUS.search(header)
            if status is None or status[1][:1] != b"1":
                break
            start = end
        if status is None:
            return self._lost(end)
        if head or status[1] in (b"204", b"304"):
            return self._take(end)
        if length := _LENGTH.search(header):
            return self._take(end + int(length[1]))
        if _CHUNKED.search(header):
            return self._chunked(end)
        while not self.ended:
            self._more()
        return self._take(len(self._received))

    def _chunked(self, at: int) -> bytes:
        while True:
            line = self._find(b"\r\n", at)
            size = _SIZE.match(self._received[at:line])
            at = line + 2
            if size is None:  # the end, or no chunk at all
                return self._lost(line)
            if not int(size[1], 16):
                break
            at += int(size[1], 16) + 2
        while (line := self._find(b"\r\n", at)) > at:  # trailers
            at = line + 2
        return self._take(line + 2)

    def _lost(self, end: int) -> bytes:
        """What came up to where an answer can be read no further, which ends the conversation."""
        self.finish()
        return bytes(self._received[:end])

    def _find(self, mark: bytes, start: int) -> int:
        while (position := self._received.find(mark, start)) < 0:
            if self.ended:
                return len(self._received)
            self._more()
        return position

    def _take(self, end: int) -> bytes:
        while len(self._received) < end and not self.ended:
            self._more()
        answer = bytes(self._received[:end])
        del self._received[:end]
        return answer

    def _more(self) -> None:
        try:
            data = self._socket.recv(1 << 18)
        except OSError:
            data = b""
        self._received += data
        self.ended = not data
