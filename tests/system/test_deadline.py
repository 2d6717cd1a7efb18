"""No server holds a client: each exchange has an end, however long something arrives."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from types import SimpleNamespace
from typing import Any

import httpcore
import pytest

from nginxopt.bench.runner import remote
from nginxopt.errors import RunError
from nginxopt.request.client import read_request
from nginxopt.request.live import LiveAnswers, LiveOptions, live_site
from nginxopt.system import deadline, upstream
from nginxopt.system.deadline import Deadline
from nginxopt.system.exchange import exchange
from nginxopt.system.http import Client, RequestBytes
from nginxopt.system.timely import TimelyBackend
from nginxopt.system.upstream import UpstreamConnection, UpstreamTarget

PIECE = 1 << 16
MOST = 32 << 20  # bytes that are sent and not read are in the buffers of both sides
LAST = 4 * MOST
INTERIM, BODY = b"", b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n" * (PIECE // 25)
CHUNKS = b"1000\r\n" + bytes(4096) + b"\r\n"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a second pass each time that somebody looks at the clock."""
    seconds = count()
    monkeypatch.setattr(deadline, "monotonic", lambda: float(next(seconds)))


@contextmanager
def endless(head: bytes, piece: bytes) -> Iterator[SimpleNamespace]:
    """A server that answers without end, or nearly: its port, and the bytes that it sent."""
    served = SimpleNamespace(port=0, sent=0)

    def serve(listener: socket.socket) -> None:
        with listener.accept()[0] as connection, suppress(OSError):
            connection.recv(PIECE)
            connection.sendall(head)
            while served.sent < LAST:
                connection.sendall(piece)
                served.sent += len(piece)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        served.port = listener.getsockname()[1]
        thread = threading.Thread(target=serve, args=(listener,))
        thread.start()
        yield served
        thread.join()


def of_client(port: int) -> Any:
    """The answer for a batch, which is what arrived until then."""
    with Client(port) as client:
        (answer,) = client.ask([RequestBytes(b"GET / HTTP/1.1\r\n\r\n")])
    return answer[:12]


def of_client_alone(port: int) -> Any:
    """The answer for a request with a connection of its own."""
    with Client(port) as client:
        (answer,) = client.ask([RequestBytes(b"GET / HTTP/1.1\r\n\r\n", alone=True)])
    return answer[:12]


def of_exchange(port: int) -> Any:
    """No answer within the time is an error."""
    with pytest.raises(TimeoutError):
        exchange(b"GET / HTTP/1.0\r\n\r\n", port)


def of_upstream(port: int) -> Any:
    """What is not complete is no answer."""
    with UpstreamConnection(UpstreamTarget(("127.0.0.1", port), "a", "/", False), 10) as connection:
        return connection.ask("1.1")


def of_remote(port: int) -> Any:
    """The answer of a host that is measured; its size is bounded as well."""
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(b"GET / HTTP/1.1\r\n\r\n")
        return remote._received(connection)[:12]


def of_live(port: int) -> Any:
    """The answer to a row of a table."""
    with LiveAnswers(LiveOptions(live_site(f"http://127.0.0.1:{port}"), {})) as answers:
        (answer,) = answers([read_request("http://h.example/")])
    return answer.kind, answer.status, answer.unknown


CASES: dict[str, tuple[Callable[[int], Any], bytes, bytes, Any]] = {
    "a client": (of_client, BODY, bytes(PIECE), b"HTTP/1.1 200"),
    "a client with chunks": (of_client, CHUNKED, CHUNKS, b"HTTP/1.1 200"),
    "a client of its own": (of_client_alone, BODY, bytes(PIECE), b"HTTP/1.1 200"),
    "an exchange": (of_exchange, BODY, bytes(PIECE), None),
    "an upstream with chunks": (of_upstream, CHUNKED, CHUNKS, None),
    "an upstream with interim responses": (of_upstream, INTERIM, CONTINUE, None),
    "a remote host": (of_remote, BODY, bytes(PIECE), b"HTTP/1.1 200"),
    "a live server with interim responses": (of_live, INTERIM, CONTINUE, ("unknown", None, "no answer within 10 s")),
    "a live server with a body": (of_live, BODY, b"a" * PIECE, ("response", 200, None)),
}


@pytest.mark.usefixtures("clock")
@pytest.mark.parametrize(("ask", "head", "piece", "expected"), CASES.values(), ids=CASES)
def test_an_answer_without_end(ask: Callable[[int], Any], head: bytes, piece: bytes, expected: Any) -> None:
    """The client reads a few pieces, and leaves while the server still sends."""
    with endless(head, piece) as served:
        assert ask(served.port) == expected
    assert served.sent < MOST


@pytest.mark.parametrize(("head", "piece"), [(CHUNKED, CHUNKS), (INTERIM, CONTINUE), (BODY, bytes(PIECE))])
@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_an_upstream_without_end_is_read_up_to_a_size(
    head: bytes, piece: bytes, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However much time there is, and whatever it is that has no end."""
    monkeypatch.setattr(upstream, "_MOST", 1 << 20)
    with endless(head, piece) as served:
        target = UpstreamTarget(("127.0.0.1", served.port), "a", "/", False)
        with (
            UpstreamConnection(target, 3_600) as connection,
            pytest.raises(RunError, match=f"127.0.0.1:{served.port} answers with more than 1,048,576 bytes"),
        ):
            connection.ask(version)
    assert served.sent < MOST


class Mock(httpcore.MockStream):
    """A connection that has interim responses without end."""

    reads = 0

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002
        """Return one more."""
        self.reads += 1
        return b"HTTP/1.1 100 Continue\r\n\r\n"


@pytest.mark.usefixtures("clock")
def test_httpcore_reads_until_the_deadline() -> None:
    """One look at the clock for connecting, for writing, and for each reading."""
    stream = Mock([])
    backend = httpcore.MockBackend([])
    backend.connect_tcp = lambda *_, **__: stream  # type: ignore[method-assign]
    with (
        httpcore.ConnectionPool(network_backend=TimelyBackend(Deadline(10), backend)) as pool,
        pytest.raises(httpcore.ReadTimeout),
    ):
        pool.request("GET", "http://a/")
    assert stream.reads == 7
