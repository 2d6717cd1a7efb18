"""The upstream for measurements keeps connections open, and sends the response it was given."""

from __future__ import annotations

import socket
import struct

from nginxopt.system.backend import Backend, BackendAnswer
from tests.rows import every_row

BEGIN = struct.pack(">BBHHBx", 1, 1, 1, 8, 0)
STDIN = struct.pack(">BBHHBx", 1, 5, 1, 0, 0)
HTTP = b"GET /a HTTP/1.1\r\nHost: a\r\n\r\n"


def asked(port: int, request: bytes, times: int = 1) -> tuple[bytes, bool]:
    """What comes for requests on one connection, and whether the upstream has closed it then."""
    with socket.create_connection(("127.0.0.1", port), 10) as connection:
        received = b""
        for _ in range(times):
            connection.sendall(request)
            before = len(received)
            while not received[before:].endswith((b"body", bytes(8), b"END\r\n", b"\r\n\r\n")):
                data = connection.recv(1 << 16)
                if not data:
                    return received, True
                received += data
        connection.settimeout(0.2)
        try:
            return received, connection.recv(1) == b""
        except TimeoutError:
            return received, False


@every_row(
    ("request_", "is_open", "head"),
    [
        (HTTP, True, b"HTTP/1.1 201 Created\r\nX-A: b\r\nContent-Length: 4\r\n\r\nbody"),
        (
            HTTP.replace(b"1.1", b"1.0"),
            False,
            b"HTTP/1.1 201 Created\r\nX-A: b\r\nContent-Length: 4\r\nConnection: close",
        ),
        (HTTP.replace(b"Host: a", b"Connection: close"), False, b"HTTP/1.1 201"),
        (HTTP.replace(b"GET", b"HEAD"), True, b"HTTP/1.1 201 Created\r\nX-A: b\r\nContent-Length: 4\r\n\r\n"),
        (BEGIN + struct.pack(">HB5x", 1, 1) + STDIN, True, struct.pack(">BBHHBx", 1, 6, 1, 35, 0) + b"Status: 201"),
        (BEGIN + struct.pack(">HB5x", 1, 0) + STDIN, False, struct.pack(">BBHHBx", 1, 6, 1, 35, 0) + b"Status: 201"),
        (b"\0\4\0\0\1\0a\0", False, b"Status: 201 Created\r\nX-A: b\r\n\r\nbody"),
        (b"get /key\r\n", True, b"VALUE /key 0 4\r\nbody\r\nEND\r\n"),
    ],
)
def test_what_it_answers(request_: bytes, is_open: bool, head: bytes) -> None:
    """The status, headers and body of `answer`, and it closes connections as nginx asks it to."""
    with Backend() as backend:
        backend.answer = BackendAnswer(201, (("X-A", "b"),), b"body")
        received, is_closed = asked(backend.port, request_, 2 if is_open else 1)
        assert received.startswith(head)
        assert is_closed is not is_open
        assert len(backend.asked) == 1 + is_open
        assert received.count(b"201") in (0, 1 + is_open)


def test_a_body_of_several_records() -> None:
    """FastCGI has records of 64 KiB at most, and the body is whole."""
    with Backend() as backend:
        backend.answer = BackendAnswer(200, (), bytes(range(256)) * 1_000)
        with socket.create_connection(("127.0.0.1", backend.port), 10) as connection:
            connection.sendall(BEGIN + struct.pack(">HB5x", 1, 0) + STDIN)
            received = b""
            while data := connection.recv(1 << 16):
                received += data
    output, at = b"", 0
    while at < len(received):
        kind, length = received[at + 1], int.from_bytes(received[at + 4 : at + 6], "big")
        output += received[at + 8 : at + 8 + length] if kind == 6 else b""
        at += 8 + length
    assert output == b"Status: 200 OK\r\n\r\n" + bytes(range(256)) * 1_000


def test_an_answer_may_change() -> None:
    """What is answered next is what `answer` is then; a response without a body has none."""
    with Backend() as backend, socket.create_connection(("127.0.0.1", backend.port), 10) as connection:
        for status in (200, 304, 599):
            backend.answer = BackendAnswer(status, (), b"x")
            connection.sendall(HTTP)
            data = connection.recv(1 << 16)
            assert data.startswith(b"HTTP/1.1 %d " % status)
            assert data.endswith(b"\r\n\r\n" if status == 304 else b"\r\n\r\nx")
