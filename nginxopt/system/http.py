"""A raw HTTP/1.1 client for a local nginx: requests and responses are bytes, so that responses can be compared.

It parses nothing but the end of a response.
"""

from __future__ import annotations

import socket
import ssl
import struct
from collections.abc import Iterator, Sequence
from types import TracebackType
from typing import Self

from nginxopt import lazy
from nginxopt.records import record
from nginxopt.system.deadline import Deadline
from nginxopt.system.network import MACHINE, Network

_LOOPBACK = "127.0.0.1"
_RESET = struct.pack("ii", True, 0)  # struct linger: on, 0 seconds
_BODILESS = lazy.pattern(rb"HTTP/1\.[01] (?:1\d\d|204|304) ")
_LENGTH = lazy.pattern(rb"\r\nContent-Length: (\d+)\r\n")


@record(eq=True)
class RequestBytes:
    """The bytes of one request.

    `head`: a HEAD request, whose answer has no body. `alone`: it gets a separate connection, and its answer ends when
    nginx closes that; so it must contain `Connection: close`.
    """

    data: bytes
    head: bool = False
    alone: bool = False


class Client:
    """A raw HTTP/1.1 client of one port of 127.0.0.1, or of another `host`; usable as a context manager.

    127.0.0.1 is that of `network`. With `tls` it uses TLS and takes any certificate; `server_name` is the name in its
    handshake (SNI). `ask` returns the answers as nginx sent them. An answer is empty or incomplete if nginx closed the
    connection, or did not send all of it within `timeout` seconds. Raises `ssl.SSLError` if the handshake fails.
    """

    PIPELINE_REQUESTS = 64
    # A batch that fits the buffers of both sides cannot block, however slowly either side reads.
    PIPELINE_BYTES = 32_768

    def __init__(
        self,
        port: int,
        *,
        host: str = _LOOPBACK,
        timeout: float = 10.0,
        tls: bool = False,
        server_name: str | None = None,
        network: Network = MACHINE,
    ) -> None:
        self._tls = any_certificate() if tls else None
        self._server_name = server_name
        self._address = (host, port)
        self._network = network
        self._timeout = timeout
        self._connection: _Connection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the persistent connection, if there is one."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def ask(self, requests: Sequence[RequestBytes]) -> list[bytes]:
        """Return the raw answer to each request, in order."""
        answers: list[bytes] = []
        for batch in batches(requests):
            answers += self.receive(batch, self.send(batch))
        return answers

    def send(self, batch: Sequence[RequestBytes]) -> list[_Connection]:
        """Send one of the `batches` and return its connections, for `receive`.

        Two steps, so that a second server can work on the same batch at the same time.
        """
        if batch[0].alone:
            return [self._connect(request.data) for request in batch]
        data = b"".join(request.data for request in batch)
        if self._connection is None or not self._connection.send(data):
            self.close()
            self._connection = self._connect(data)
        return [self._connection]

    def receive(self, batch: Sequence[RequestBytes], sent: Sequence[_Connection]) -> list[bytes]:
        """Return the answers to a batch that was sent."""
        if batch[0].alone:
            return [_all_of(connection) for connection in sent]
        answers = self._pipelined(batch)
        while len(answers) < len(batch):
            # nginx closed the connection. Send the next request alone: if requests were unread, the reset of the
            # connection may have discarded answers. The answer to a single request is certain, even an empty one
            # (`return 444`).
            answers += self._pipelined(batch[len(answers) : len(answers) + 1], fresh=True) or [b""]
            if len(answers) < len(batch):
                answers += self._pipelined(batch[len(answers) :], fresh=True)
        return answers

    def _pipelined(self, batch: Sequence[RequestBytes], *, fresh: bool = False) -> list[bytes]:
        """Return the answers on the persistent connection, up to its end. If `fresh`, send the batch on a new one."""
        if fresh:
            self.close()
            self._connection = self._connect(b"".join(request.data for request in batch))
        answers: list[bytes] = []
        for request in batch:
            assert self._connection is not None
            answer = self._connection.answer(head=request.head)
            ended = self._connection.ended
            if not ended or (answer and len(batch) == 1):  # with requests after it, the answer may have been cut off
                answers.append(answer)
            if ended or b"\r\nConnection: close\r\n" in answer:
                self.close()
                break
        return answers

    def _connect(self, data: bytes) -> _Connection:
        opened = self._opened()
        connection = _Connection(opened if self._tls is None else self._wrapped(opened, self._tls), self._timeout)
        connection.send(data)
        return connection

    def _wrapped(self, plain: socket.socket, tls: ssl.SSLContext) -> socket.socket:
        try:
            return tls.wrap_socket(plain, server_hostname=self._server_name)
        except BaseException:
            plain.close()
            raise

    def _opened(self) -> socket.socket:
        if self._address[0] != _LOOPBACK:
            return socket.create_connection(self._address, self._timeout)
        opened = self._network.tcp()  # create_connection looks up a name, in a tenth of the time of a request
        try:
            opened.settimeout(self._timeout)
            opened.connect(self._address)
        except BaseException:
            opened.close()
            raise
        return opened


def any_certificate() -> ssl.SSLContext:
    """Return a client's TLS that takes any certificate, such as one that was made for a test."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


def known_certificate() -> ssl.SSLContext:
    """Return a client's TLS that takes the certificates that this machine trusts."""
    return ssl.create_default_context()


def refused_certificate(error: Exception) -> str | None:
    """Return why a certificate is not accepted, for the error of a client that has its cause as its argument."""
    cause = next(iter(error.args), None)
    return cause.verify_message if isinstance(cause, ssl.SSLCertVerificationError) else None


def batches(requests: Sequence[RequestBytes]) -> Iterator[list[RequestBytes]]:
    """Yield the requests in order, in batches for `Client.send`: either all are `alone`, or all can be pipelined."""
    batch: list[RequestBytes] = []
    size = 0
    for request in requests:
        full = len(batch) >= Client.PIPELINE_REQUESTS or size + len(request.data) > Client.PIPELINE_BYTES
        if batch and (full or request.alone != batch[0].alone):
            yield batch
            batch, size = [], 0
        batch.append(request)
        size += len(request.data)
    if batch:
        yield batch


class _Connection:
    """A connection, and the received bytes that belong to no answer yet."""

    def __init__(self, connection: socket.socket, timeout: float) -> None:
        self._socket = connection
        self._deadline = Deadline(timeout)
        self._received = bytearray()  # appending to bytes would copy them each time
        self.ended = False

    def close(self) -> None:
        self._socket.close()

    def forget(self) -> None:
        """Reset the connection: the kernel keeps state of closed ones for minutes, and there are thousands."""
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        self._socket.close()

    def send(self, data: bytes) -> bool:
        try:
            self._socket.sendall(data)
        except OSError:  # nginx closed the connection; what it sent before may still be readable
            return False
        return True

    def answer(self, *, head: bool) -> bytes:
        """Return the next answer, or the part of it that arrives before the connection ends."""
        self._deadline.begin()
        while (header := self._received.find(b"\r\n\r\n") + 4) < 4 and self._more():
            pass
        if header < 4:
            return self._take(len(self._received))
        body = self._received[:header]
        if head or _BODILESS.match(body):
            return self._take(header)
        length = _LENGTH.search(body)
        if length:
            return self._take_up_to(header + int(length[1]))
        return self._chunked(header) if b"\r\nTransfer-Encoding: chunked\r\n" in body else self._rest()

    def rest(self) -> bytes:
        """Return everything that arrives until the connection ends."""
        self._deadline.begin()
        return self._rest()

    def _rest(self) -> bytes:
        while self._more():
            pass
        return self._take(len(self._received))

    def _chunked(self, end: int) -> bytes:
        """Return the answer whose chunks start at `end`; nginx sends no trailers here (RFC 9112, 7.1)."""
        while True:
            while (line := self._received.find(b"\r\n", end)) < 0 and self._more():
                pass
            if line < 0:
                return self._take(len(self._received))
            size = int(self._received[end:line].partition(b";")[0], 16)
            end = line + 2 + size + 2
            if not size:
                return self._take_up_to(end)
            while len(self._received) < end and self._more():
                pass

    def _take_up_to(self, end: int) -> bytes:
        while len(self._received) < end and self._more():
            pass
        return self._take(end)

    def _take(self, end: int) -> bytes:
        answer = bytes(self._received[:end])
        del self._received[:end]
        return answer

    def _more(self) -> bool:
        try:
            self._socket.settimeout(self._deadline.left())
            data = self._socket.recv(65536)
        except OSError:  # a reset or a timeout counts as the end of the connection
            data = b""
        self._received += data
        self.ended = not data
        return bool(data)


def _all_of(connection: _Connection) -> bytes:
    try:
        return connection.rest()
    finally:
        connection.forget()
