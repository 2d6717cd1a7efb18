"""Rules about workers on the real nginx: processes, limits of open files, connections."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import time
from pathlib import Path

import pytest

from nginxopt.system import nginx
from tests.lintcheck import fixed
from tests.nginx.running import Running, running
from tests.support import PATIENCE, run_nginx

pytestmark = pytest.mark.nginx

HTTP = "http { access_log off; server { listen unix:socket; location / { return 200 ok; } } }\n"
PROXY = (
    "http {{ access_log off; server {{ listen unix:socket; location / {{ proxy_pass http://127.0.0.1:{0}; }} }} }}\n"
)
EXCEED = "exceed open file resource limit"


def connect(server: Running) -> socket.socket:
    """A connection to the socket of the configuration."""
    connection = socket.socket(socket.AF_UNIX)
    connection.settimeout(PATIENCE)
    connection.connect(str(server.prefix / "socket"))
    return connection


def asked(connection: socket.socket) -> bytes:
    """The beginning of the answer to a request; nothing if there is none within the timeout."""
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
        assert f"1200 worker_connections {EXCEED}: 64" in before.log()
        assert open_files(before) == 64
    with running(binary, fixed("worker-rlimit-nofile", text).decode(), wrapper=few_files) as after:
        assert EXCEED not in after.log()
        assert open_files(after) == 4096


def test_without_descriptors_clients_wait(binary: nginx.Binary, few_files: list[str]) -> None:
    """Out of descriptors nginx accepts nothing more and says so; after the fix every client is answered."""
    text = "error_log error.log warn;\nevents {\n    worker_connections 1200;\n}\n" + HTTP
    with running(binary, text, wrapper=few_files) as before, contextlib.ExitStack() as held:
        clients = [held.enter_context(connect(before)) for _ in range(100)]
        assert "accept4() failed (24: " in before.until("failed (24: ")
        assert sum(map(bool, map(answered, clients))) < 100
    with running(binary, fixed("worker-rlimit-nofile", text).decode(), wrapper=few_files) as after:
        with contextlib.ExitStack() as held:
            clients = [held.enter_context(connect(after)) for _ in range(100)]
            assert all(asked(client).startswith(b"HTTP/1.1 200") for client in clients)
        assert "failed (24: " not in after.log()


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
            assert "not enough" not in after.log()


def test_the_mutex_is_there_and_gone(binary: nginx.Binary) -> None:
    """Two workers take the mutex by turns; after the fix there is none."""
    version = subprocess.run([binary.path, "-V"], capture_output=True, check=True, timeout=PATIENCE)
    if b"--with-debug" not in version.stderr:
        pytest.skip("this nginx writes no debug log")
    text = "worker_processes 2;\nerror_log error.log debug;\nevents {\n    accept_mutex on;\n}\n" + HTTP
    with running(binary, text) as before:
        before.until("accept mutex locked")
    with running(binary, fixed("accept-mutex", text).decode()) as after, connect(after) as client:
        assert asked(client).startswith(b"HTTP/1.1 200")
        assert "accept mutex" not in after.log()


def test_one_worker_has_no_mutex(binary: nginx.Binary) -> None:
    """`accept_mutex on` does nothing where one worker runs."""
    text = "worker_processes 1;\nerror_log error.log debug;\nevents {\n    accept_mutex on;\n}\n" + HTTP
    with running(binary, text) as alone, connect(alone) as client:
        assert asked(client).startswith(b"HTTP/1.1 200")
        assert "accept mutex" not in alone.log()


def open_files(server: Running) -> int:
    """The limit of open files of the first worker."""
    lines = Path(f"/proc/{server.workers[0]}/limits").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("Max open files")).split()[3])


def answered(client: socket.socket) -> bytes:
    """The beginning of the response, if it arrives within a short timeout."""
    client.settimeout(0.02)
    return asked(client)


def held_requests(server: Running, origin: socket.socket, count: int) -> int:
    """How many of `count` requests are at the origin at once, which answers none of them: all, or those that were
    there when nginx said that its connections are not enough."""
    origin.settimeout(0.05)
    deadline = time.monotonic() + PATIENCE
    with contextlib.ExitStack() as held:
        for _ in range(count):
            client = held.enter_context(connect(server))
            with contextlib.suppress(OSError):  # nginx may have closed it already
                client.sendall(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        arrived = 0
        while arrived < count and time.monotonic() < deadline:
            refused = "worker_connections are not enough" in server.log()
            try:
                held.enter_context(origin.accept()[0])
                arrived += 1
            except TimeoutError:
                if refused:
                    break
    return arrived


def test_a_stated_limit_lowers_a_greater_one(each_binary: nginx.Binary) -> None:
    """The fix lowers the limit that nginx was started with where that is greater: so it needs a premise."""
    text = "error_log error.log warn;\nevents {\n    worker_connections 1200;\n}\n" + HTTP
    assert fixed("worker-rlimit-nofile", text, unsafe=False).decode() == text
    greater = ["prlimit", "--nofile=20000:20000"]
    with running(each_binary, text, wrapper=greater) as before:
        assert open_files(before) == 20_000
    with running(each_binary, fixed("worker-rlimit-nofile", text).decode(), wrapper=greater) as after:
        assert open_files(after) == 4096


def test_what_caches_keep_open_has_room(each_binary: nginx.Binary) -> None:
    """With the limit that the fix sets a worker opens every file that its cache may keep, beside its connections."""
    files = {f"html/{number}": b"x" for number in range(400)}
    text = (
        "worker_processes 1;\nworker_rlimit_nofile 64;\nerror_log error.log crit;\nevents {\n"
        "    worker_connections 100;\n}\n"
        "http { access_log off; open_file_cache max=400; server { listen unix:socket; root html; } }\n"
    )
    after = fixed("worker-rlimit-nofile", text).decode()
    assert "worker_rlimit_nofile 1024;" in after
    for config, statuses in ((text, {b"200", b"500"}), (after, {b"200"})):
        with running(each_binary, config, files) as server, connect(server) as client:
            received = set()
            for number in range(400):
                client.sendall(f"GET /{number} HTTP/1.1\r\nHost: a\r\n\r\n".encode())
                answer = client.recv(4096)
                received.add(answer.split()[1])
                if b"Connection: close" in answer:
                    break
        assert received == statuses


@pytest.mark.parametrize(
    ("rule", "text", "stated"),
    [
        ("worker-processes", "events {\n}\n", "worker_processes 1;"),
        ("worker-rlimit-nofile", "events {\n    worker_connections 2000;\n}\n", "worker_rlimit_nofile 3000;"),
        ("pcre-jit", "events {}\n", "pcre_jit on;"),
    ],
)
def test_what_the_command_line_states_must_not_stand_in_the_file(
    each_binary: nginx.Binary, rule: str, text: str, stated: str
) -> None:
    """nginx refuses what a fix adds if `-g` states it as well: such a fix is not made without a premise."""
    if rule == "pcre-jit":
        rules = "".join(f"rewrite ^/{number}(a)$ /x last; " for number in range(30))
        text += f"http {{ server {{ listen unix:socket; {rules} }} }}\n"
    after = fixed(rule, text).decode()
    assert fixed(rule, text, unsafe=False).decode() == text
    for config, ok in ((text, True), (after, False)):
        plain = f"pid nginx.pid; error_log error.log;\n{config}".encode()
        with nginx.private_prefix({"nginx.conf": plain}) as prefix:
            run = run_nginx(each_binary, prefix, "-t", "-g", stated)
        assert (run.returncode == 0) is ok
        assert ok or b"directive is duplicate" in run.stderr


def test_further_workers_are_bound_to_the_last_processor(each_binary: nginx.Binary) -> None:
    """With fewer masks than workers nginx gives all others the last mask: there is no fix."""
    text = "worker_cpu_affinity 01;\nerror_log error.log warn;\nevents {\n}\n" + HTTP
    assert fixed("worker-processes", text).decode() == text
    with running(each_binary, f"worker_processes 3;\n{text}") as server:
        assert server.until_workers(3) == 3
        masks = {os.sched_getaffinity(worker) == {0} for worker in server.workers}
    assert masks == {True}


def test_above_the_hard_limit_nothing_is_set(each_binary: nginx.Binary) -> None:
    """A master that may not raise the limit sets what the hard limit allows, and what the fix states not at all."""
    wrapper = ["prlimit", "--nofile=64:2000"]  # a confined nginx has no right to raise limits
    if subprocess.run([*wrapper, "true"], check=False, capture_output=True).returncode:
        pytest.skip("no user namespace may be made here")
    text = "worker_rlimit_nofile 1000;\nerror_log error.log;\nevents {\n    worker_connections 1200;\n}\n"
    names = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    text += HTTP.replace("http {", "http { " + "".join(f"{name}_temp_path {name}; " for name in names))
    assert fixed("worker-rlimit-nofile", text, unsafe=False).decode() == text
    limits = []
    for config in (text, fixed("worker-rlimit-nofile", text).decode()):
        with running(each_binary, config, wrapper=wrapper) as server:
            limits.append(open_files(server))
    assert limits == [1000, 64]


@pytest.mark.parametrize(
    ("main", "rules"),
    [
        ("", "\n".join(f"location = /p{number} {{ return 301 /q{number}; }}" for number in range(3000))),
        ("pcre_jit on;\n", "\n".join(f"rewrite ^/p{number}/(.*)$ /q{number}/$1 last;" for number in range(3000))),
    ],
    ids=["exact locations", "compiled patterns"],
)
def test_workers_share_the_memory_of_the_configuration(binary: nginx.Binary, main: str, rules: str) -> None:
    """A worker shares locations and compiled patterns with the master: less than a tenth of it is its own."""
    http = HTTP.replace("server {", f"server {{\n{rules}\n", 1)
    with running(binary, f"{main}worker_processes 2;\nerror_log error.log;\nevents {{ }}\n{http}") as server:
        server.until_workers(2)
        with connect(server) as client:
            assert asked(client).startswith(b"HTTP/1.1 200")
        for worker in server.workers:
            sizes = dict(line.split()[:2] for line in Path(f"/proc/{worker}/smaps_rollup").read_text().splitlines()[1:])
            assert int(sizes["Rss:"]) > 20_000
            assert int(sizes["Private_Dirty:"]) < int(sizes["Rss:"]) / 10
