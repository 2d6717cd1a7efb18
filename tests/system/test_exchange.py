"""One exchange with a server, and the echo that answers every protocol of nginx."""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from nginxopt.system.echo import Echo, EchoedRequest
from nginxopt.system.exchange import exchange
from tests.rows import every_row


@contextmanager
def answering(answer: bytes) -> Iterator[int]:
    """A server that sends these bytes to its one client, and closes the connection."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            connection, _ = listening.accept()
            with connection:
                connection.recv(1 << 16)
                connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        yield listening.getsockname()[1]
        thread.join()


@pytest.mark.parametrize(
    ("answer", "status", "header", "body"),
    [
        (b"HTTP/1.1 200 OK\r\nX-A:  b \r\n\r\nbody", 200, "b", b"body"),
        (
            b"HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n2;a=b\r\nbo\r\n2\r\ndy\r\n0\r\n\r\n",
            404,
            None,
            b"body",
        ),
        (b"a body of HTTP/0.9", 200, None, b"a body of HTTP/0.9"),
    ],
)
def test_a_response_is_read(answer: bytes, status: int, header: str | None, body: bytes) -> None:
    """Status, headers and body, without the coding of the transfer."""
    with answering(answer) as port:
        response = exchange(b"GET / HTTP/1.1\r\n\r\n", port)
    assert response is not None
    assert (response.status, response.header("x-a"), response.body) == (status, header, body)


def test_a_closed_connection_has_no_response() -> None:
    """A server that closes the connection at once gave no response."""
    with answering(b"") as port:
        assert exchange(b"GET / HTTP/1.1\r\n\r\n", port) is None


FASTCGI = struct.pack(">BBHHBx", 1, 1, 1, 8, 0) + bytes(8) + struct.pack(">BBHHBx", 1, 5, 1, 0, 0)


@every_row(
    ("request_", "asked", "answer"),
    [
        (
            b"POST /x?y HTTP/1.0\r\nHost: a\r\n\r\n",
            EchoedRequest("proxy", b"POST /x?y", (b"Host: a",)),
            b"HTTP/1.1 200 OK\r\n",
        ),
        (FASTCGI, EchoedRequest("fastcgi"), struct.pack(">BBH", 1, 6, 1)),
        (b"\0\4\0\0\1\0a\0", EchoedRequest("uwsgi"), b"Status: 200 OK\r\n"),
        (b"\x1e\4\0\0\1\0a\0", EchoedRequest("uwsgi"), b"Status: 200 OK\r\n"),
        (b"3:abc,", EchoedRequest("scgi"), b"Status: 200 OK\r\n"),
        (b"get /key\r\n", EchoedRequest("memcached", b"/key"), b"VALUE /key 0 4\r\necho\r\nEND\r\n"),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", EchoedRequest("grpc"), b""),
    ],
)
def test_the_echo_answers_every_protocol(request_: bytes, asked: EchoedRequest, answer: bytes) -> None:
    """The first byte tells the protocol; a request that comes in pieces is one, and an unfinished one is not kept."""
    with Echo() as echo:
        with socket.create_connection(("127.0.0.1", echo.port), 10) as unfinished:
            unfinished.sendall(b"GET /un")
        with socket.create_connection(("127.0.0.1", echo.port), 10) as connection:
            connection.sendall(request_[:3])
            connection.sendall(request_[3:])
            received = b""
            while data := connection.recv(1 << 16):
                received += data
        assert echo.asked == [asked]
    assert received.startswith(answer)
