"""Rules about static files on the real nginx: how files are sent, and which stay open."""

from __future__ import annotations

import re
import socket
import subprocess
from pathlib import Path

import pytest

from nginxopt.system import nginx
from nginxopt.system.http import RequestBytes
from tests.lintcheck import fixed
from tests.support import PATIENCE

pytestmark = pytest.mark.nginx

SIZE = 6_000_000
BUFFERS = 2 * 32_768
"""How much a worker reads of a file before it writes, by the default of `output_buffers`."""
FILES = {
    "html/large": bytes(range(250)) * (SIZE // 250),
    "html/a.css": b"body {}",
    "html/page": b"<a href=http://a.example/>text</a>\n" * 60,
}
SERVER = "server {\n    root html;\n}\n"
ASKED_FOR = re.compile(r"sendfile: @\d+ (\d+)")


@pytest.fixture(scope="module")
def debugging(binary: nginx.Binary) -> nginx.Binary:
    """An nginx that writes a debug log."""
    version = subprocess.run([binary.path, "-V"], capture_output=True, check=True, timeout=PATIENCE)
    if b"--with-debug" not in version.stderr:
        pytest.skip("this nginx writes no debug log")
    return binary


def asked(binary: nginx.Binary, http: str, target: str = "/large") -> tuple[bytes, str]:
    """The answer, without its date, of the server that stands in http, and the debug log."""
    whole = http.replace("server {", "server { error_log file.log debug; listen unix:socket;").encode()
    with nginx.Instance(binary, servers=[b""], http=whole, files=FILES) as instance:
        answer = received(instance.prefix / "socket", target)
        return re.sub(rb"Date: [^\r]*\r\n", b"", answer), (instance.prefix / "file.log").read_text()


def received(path: Path, target: str) -> bytes:
    """All that comes from the socket at a path."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(PATIENCE)
        connection.connect(str(path))
        connection.sendall(f"GET {target} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n".encode())
        return b"".join(iter(lambda: connection.recv(65536), b""))


def fixed_http(rule: str, http: str) -> str:
    """The http block after the fixes of a rule, which change it."""
    text = fixed(rule, http, context="http", target="1.22.1").decode()
    assert text != http
    return text


@pytest.mark.parametrize("before", [SERVER, "sendfile off;\n" + SERVER])
def test_sendfile_sends_the_same(debugging: nginx.Binary, before: str) -> None:
    """Without `sendfile` a worker writes a file piece by piece, with it the kernel sends the same bytes."""
    answer, log = asked(debugging, before)
    assert len(answer) > SIZE
    assert log.count("writev: ") >= SIZE // BUFFERS
    assert "sendfile: " not in log
    answer_after, log_after = asked(debugging, fixed_http("sendfile", before))
    assert answer_after == answer
    assert log_after.count("writev: ") == 1
    assert "sendfile: @0 " in log_after


MATCHES = 60
REPLACED = """server {
    root html;
    default_type text/html;
    location /page {
        sub_filter http: https:;
        sub_filter_once off;
    }
}
"""


def test_replaced_texts_are_sent_from_memory(debugging: nginx.Binary) -> None:
    """With `sendfile`, each piece between two matches is sent by the kernel on its own; without it, none, and many are
    written at once.
    """
    before = f"sendfile on;\n{REPLACED}"
    answer, log = asked(debugging, before, "/page")
    assert answer.count(b"https://a.example/") == MATCHES
    assert log.count("sendfile: @") >= MATCHES
    assert log.count("writev: ") >= MATCHES
    answer_after, log_after = asked(debugging, fixed_http("sub-filter-sendfile", before), "/page")
    assert answer_after == answer
    assert "sendfile: " not in log_after
    assert log_after.count("writev: ") < 5


def answered(binary: nginx.Binary, server: str) -> tuple[bytes, str]:
    """The answer, without its date, of a server at a port, and the debug log; its origin stands beside it."""
    servers = [f"error_log file.log debug;\n{server}".encode()]
    http = b"server { listen unix:temp/origin; }"
    with nginx.Instance(binary, servers=servers, http=http, files=FILES) as instance, instance.client() as client:
        answer = client.ask([RequestBytes(b"GET /a.css HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", alone=True)])[
            0
        ]
        return re.sub(rb"Date: [^\r]*\r\n", b"", answer), (instance.prefix / "file.log").read_text()


def test_nopush_needs_sendfile(debugging: nginx.Binary) -> None:
    """`tcp_nopush` is used with `sendfile` only, and never changes the answer."""
    answer, log = answered(debugging, "tcp_nopush on;\n")
    answer_with, log_with = answered(debugging, "tcp_nopush on;\nsendfile on;\n")
    assert "tcp_nopush" not in log
    assert "tcp_nopush" in log_with
    assert answer_with == answer


def test_a_proxy_does_not_push(debugging: nginx.Binary) -> None:
    """What is passed on makes no use of `tcp_nopush`, and the fix changes no answer."""
    before = "tcp_nopush on;\nlocation / {\n    proxy_pass http://unix:temp/origin;\n}\n"
    after = fixed("tcp-nopush-no-sendfile", before, context="server").decode()
    answer, log = answered(debugging, before)
    assert "tcp_nopush" not in log
    assert after == before.removeprefix("tcp_nopush on;\n")
    assert answered(debugging, after)[0] == answer


def test_chunks_end(debugging: nginx.Binary) -> None:
    """With `sendfile_max_chunk 0` a call asks for the whole file, after the fix for 2 MB of it."""
    before = "sendfile on;\nsendfile_max_chunk 0;\n" + SERVER
    answer, log = asked(debugging, before)
    answer_after, log_after = asked(debugging, fixed_http("sendfile-max-chunk", before))
    assert answer_after == answer
    assert max(map(int, ASKED_FOR.findall(log))) == SIZE
    assert max(map(int, ASKED_FOR.findall(log_after))) == 2 << 20


def test_the_cache_keeps_files_open(binary: nginx.Binary) -> None:
    """A file is closed behind each request; with the cache it stays open once it was asked for twice."""
    answers = []
    for http, stays in ((SERVER, False), (fixed_http("open-file-cache", SERVER), True)):
        whole = http.replace("server {", "server { listen unix:socket;").encode()
        with nginx.Instance(binary, servers=[b""], http=whole, files=FILES) as instance:
            answers += [received(instance.prefix / "socket", "/a.css").partition(b"\r\n\r\n")[2] for _ in range(3)]
            links = {str(link.readlink()) for link in Path(f"/proc/{instance.pid}/fd").iterdir()}
            assert (str(instance.prefix / "html" / "a.css") in links) == stays
    assert answers == [b"body {}"] * 6


def test_files_get_a_time_to_live(binary: nginx.Binary) -> None:
    """The location for style sheets says nothing of their age, after the fix an hour."""
    before = "location ~ \\.css$ {\n}\n"
    server = f"server {{\n    root html;\n    {before}}}\n"
    answers = []
    for http in (server, fixed_http("static-no-expires", server)):
        whole = http.replace("server {", "server { listen unix:socket;").encode()
        with nginx.Instance(binary, servers=[b""], http=whole, files=FILES) as instance:
            answers.append(received(instance.prefix / "socket", "/a.css"))
    assert b"Cache-Control" not in answers[0]
    assert b"\r\nCache-Control: max-age=3600\r\n" in answers[1]
    assert [answer.partition(b"\r\n\r\n")[2] for answer in answers] == [b"body {}"] * 2
