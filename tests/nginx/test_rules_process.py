"""What the rules about workers claim, on the real nginx: processes, limits of open files, connections."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import time
from pathlib import Path

import pytest

from nginxopt import nginx
from tests.lintcheck import fixed
from tests.nginx.running import Running, running

HTTP = "http { access_log off; server { listen unix:socket; location / { return 200 ok; } } }\n"
PROXY = (
    "http {{ access_log off; server {{ listen unix:socket; location / {{ proxy_pass http://127.0.0.1:{0}; }} }} }}\n"
)
EXCEED = "exceed open file resource limit"


def connect(server: Running) -> socket.socket:
    """A connection to the socket of the configuration."""
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(10)
    connection.connect(str(server.prefix / "socket"))
    return connection


def asked(connection: socket.socket) -> bytes:
    """The beginning of the answer to a request; nothing if there is none within the time-out."""
    connection.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
    with contextlib.suppress(OSError):
        return connection.recv(4096)
    return b""


def test_auto_is_a_worker_for_each_processor(binary: nginx.Binary) -> None:
    """Without `worker_processes` one worker runs, after the fix as many as there are processors."""
    text = "error_log error.log;\nevents {\n}\n" + HTTP
    with running(binary, text) as before:
        assert len(before.workers) == 1
    processors = os.sysconf("SC_NPROCESSORS_ONLN")
    with running(binary, fixed("worker-processes", text).decode()) as after:
        assert after.until_workers(processors) == processors


@pytest.fixture
def few_files() -> list[str]:
    """A command that limits open files to 64, softly."""
    return ["prlimit", "--nofile=64:4096"]


LIMITED = {"not stated": "", "stated": "worker_rlimit_nofile 64;\n"}


@pytest.mark.parametrize("main", LIMITED.values(), ids=LIMITED)
def test_nginx_warns_of_the_limit(binary: nginx.Binary, few_files: list[str], main: str) -> None:
    """nginx warns of more connections than open files when it starts, and not after the fix, which workers heed."""
    text = main + "error_log error.log warn;\nevents {\n    worker_connections 1200;\n}\n" + HTTP
    with running(binary, text, wrapper=few_files) as before:
        assert f"1200 worker_connections {EXCEED}: 64" in before.error_log()
        assert open_files(before) == 64
    with running(binary, fixed("worker-rlimit-nofile", text).decode(), wrapper=few_files) as after:
        assert EXCEED not in after.error_log()
        assert open_files(after) == 2400


def test_without_descriptors_clients_wait(binary: nginx.Binary, few_files: list[str]) -> None:
    """Out of descriptors nginx accepts nothing more and says so; after the fix every client is answered."""
    text = "error_log error.log warn;\nevents {\n    worker_connections 1200;\n}\n" + HTTP
    with running(binary, text, wrapper=few_files) as before, contextlib.ExitStack() as held:
        clients = [held.enter_context(connect(before)) for _ in range(100)]
        assert "24: Too many open files" in before.until("failed (24")
        assert sum(map(bool, map(answered, clients))) < 100
    with running(binary, fixed("worker-rlimit-nofile", text).decode(), wrapper=few_files) as after:
        with contextlib.ExitStack() as held:
            clients = [held.enter_context(connect(after)) for _ in range(100)]
            assert all(asked(client).startswith(b"HTTP/1.1 200") for client in clients)
        assert "Too many open files" not in after.error_log()


def test_a_proxied_request_takes_two_connections(binary: nginx.Binary) -> None:
    """With 12 connections a worker answers 4 proxied requests at a time, but not 8; with the fix it does."""
    with socket.create_server(("127.0.0.1", 0)) as origin:
        text = "worker_processes 1;\nerror_log error.log warn;\nevents {\n    worker_connections 12;\n}\n"
        text += PROXY.format(origin.getsockname()[1])
        with running(binary, text) as before:
            assert held_requests(before, origin, 4) == 4
        with running(binary, text) as before:
            assert held_requests(before, origin, 8) < 8
            assert "12 worker_connections are not enough" in before.until("worker_connections are not enough")
        with running(binary, fixed("worker-connections", text).decode()) as after:
            assert held_requests(after, origin, 8) == 8
            assert "not enough" not in after.error_log()


def test_the_mutex_is_there_and_gone(binary: nginx.Binary) -> None:
    """Two workers take the mutex by turns; after the fix there is none."""
    version = subprocess.run([binary.path, "-V"], capture_output=True, check=True, timeout=60)
    if b"--with-debug" not in version.stderr:
        pytest.skip("this nginx writes no debug log")
    text = "worker_processes 2;\nerror_log error.log debug;\nevents {\n    accept_mutex on;\n}\n" + HTTP
    with running(binary, text) as before:
        before.until("accept mutex locked")
    with running(binary, fixed("accept-mutex", text).decode()) as after, connect(after) as client:
        assert asked(client).startswith(b"HTTP/1.1 200")
        assert "accept mutex" not in after.error_log()


def test_one_worker_has_no_mutex(binary: nginx.Binary) -> None:
    """`accept_mutex on` does nothing where one worker runs."""
    text = "worker_processes 1;\nerror_log error.log debug;\nevents {\n    accept_mutex on;\n}\n" + HTTP
    with running(binary, text) as one, connect(one) as client:
        assert asked(client).startswith(b"HTTP/1.1 200")
        assert "accept mutex" not in one.error_log()


def open_files(server: Running) -> int:
    """The limit of open files of the first worker."""
    lines = Path(f"/proc/{server.workers[0]}/limits").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("Max open files")).split()[3])


def answered(client: socket.socket) -> bytes:
    """As `asked`, soon."""
    client.settimeout(0.02)
    return asked(client)


def held_requests(server: Running, origin: socket.socket, count: int) -> int:
    """How many of `count` requests are at the origin at once, which answers none of them: all, or those that were
    there when nginx said that its connections are not enough."""
    origin.settimeout(0.05)
    deadline = time.monotonic() + 20
    with contextlib.ExitStack() as held:
        for _ in range(count):
            client = held.enter_context(connect(server))
            with contextlib.suppress(OSError):  # nginx may have closed it already
                client.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        arrived = 0
        while arrived < count and time.monotonic() < deadline:
            refused = "worker_connections are not enough" in server.error_log()
            try:
                held.enter_context(origin.accept()[0])
                arrived += 1
            except TimeoutError:
                if refused:
                    break
    return arrived
