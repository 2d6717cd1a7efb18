"""Tables put to a running server: whose answers count, under which name it is asked, what ends without an answer."""

from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from nginxopt.errors import UsageError
from nginxopt.request import read_url
from nginxopt.request.client import read_request
from nginxopt.request.judgement import Answer
from nginxopt.request.live import LiveAnswers, LiveOptions, judge_live, live_site, read_resolved
from nginxopt.request.table import ExpectedRow
from tests.certificates import issue
from tests.rows import every_row
from tests.schemas import validate
from tests.servers import free_port, haproxy

CONF = """\
events { }
http {
    server {
        server_name shop.example;
        rewrite ^/old$ /new permanent;
        rewrite ^/wrong$ /right permanent;
        location / { proxy_pass http://app:8080; }
        location /gone { return 410; }
        location /cached { add_header Cache-Control max-age=60; return 200 ok; }
    }
}
"""


class Site(BaseHTTPRequestHandler):
    """A server that answers as its paths say, and keeps what it was asked."""

    asked: list[tuple[str, str]]
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Answer `/STATUS/LOCATION`-like paths."""
        self.asked.append((self.headers["Host"], self.path))
        name = self.path.partition("?")[0]
        if name == "/closed":
            self.close_connection = True
            return
        status, location = {
            "/old": (301, "/new"),
            "/wrong": (302, f"http://{self.headers['Host']}/left"),
            "/away": (301, "https://other.example/x#top"),
            "/a%2Fb/../c": (308, f"http://{self.headers['Host']}/raw?x#y"),
            "/gone": (410, ""),
            "/loop": (302, "/loop"),
            "/down": (502, ""),
        }.get(name, (200, ""))
        self.send_response(status)
        if location:
            self.send_header("Location", location)
        self.send_header("Cache-Control", "max-age=60")
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"ok")

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def site() -> Iterator[tuple[int, list[tuple[str, str]]]]:
    """The port of a server, and what it is asked."""
    asked: list[tuple[str, str]] = []
    with ThreadingHTTPServer(("127.0.0.1", 0), type("Asked", (Site,), {"asked": asked})) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield server.server_port, asked
        server.shutdown()
        thread.join()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The configuration that answered before, and a table of what it says."""
    (tmp_path / "nginx.conf").write_text(CONF)
    rows = [
        "/old,/new,301",
        "/wrong,/right,301",
        "/api,http://app:8080/api,proxy",
        "/gone,,410",
        "/away,https://other.example/x#top,301",
    ]
    (tmp_path / "old.csv").write_text("from,to,status\n" + "".join(f"http://shop.example{row}\n" for row in rows))
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_the_answers_of_a_server(run: Any, site: tuple[int, list[tuple[str, str]]]) -> None:
    """A row that the server answers otherwise fails, with the rule that answered before.

    The site stands for that of the table, in what is asked and in what is answered.
    """
    port, asked = site
    ran = run("test", "nginx.conf", "old.csv", "--live", f"http://127.0.0.1:{port}", "-q")
    assert ran.status == 1
    assert ran.out.decode() == (
        "old.csv:3: failed http://shop.example/wrong\n"
        "    expected 301 to /right, got 302 to http://shop.example/left\n"
        "    by nginx.conf:6: rewrite ^/wrong$ /right permanent\n"
    )
    assert {host for host, _ in asked} == {f"127.0.0.1:{port}"}
    assert sorted(path for _, path in asked) == ["/api", "/away", "/gone", "/old", "/wrong"]
    without = run("test", "old.csv", "--live", f"http://127.0.0.1:{port}")
    assert without.out.decode().endswith(f"old.csv: 5 rows: 4 passed, 1 failed (http://127.0.0.1:{port})\n")
    assert "    by " not in without.out.decode()


def test_reports(run: Any, folder: Path, site: tuple[int, list[tuple[str, str]]]) -> None:
    """JUnit has a case for each row, and JSON follows its schema, with a configuration and without."""
    live = f"http://127.0.0.1:{site[0]}"
    assert run("test", "old.csv", "--live", live, "--format", "junit", "--output", "r.xml").status == 1
    suites = ElementTree.parse(folder / "r.xml").getroot()
    assert (suites.attrib["tests"], suites.attrib["failures"], suites.attrib["errors"]) == ("5", "1", "0")
    for config in ([], ["nginx.conf"]):
        report = json.loads(run("test", *config, "old.csv", "--live", live, "--format", "json").out)
        validate(report, "test-report")
        assert report["problems"][0]["outcome"]["kind"] == "response"
        assert (report["problems"][0]["rule"] is None) == (not config)


@pytest.mark.usefixtures("folder")
def test_a_host_under_its_own_name(run: Any, site: tuple[int, list[tuple[str, str]]]) -> None:
    """With --resolve a host is asked under its name at an address; so is any host of a port with *."""
    port, asked = site
    for host in ("shop.example", "*"):
        asked.clear()
        run("test", "old.csv", "--live", "http://none.example", "--resolve", f"{host}:80:127.0.0.1:{port}", "-q")
        assert {name for name, _ in asked} == {"shop.example"}
        assert len(asked) == 5


def test_followed_redirects(run: Any, folder: Path, site: tuple[int, list[tuple[str, str]]]) -> None:
    """With --follow, redirects to the hosts of the table are followed to their end, on the same server."""
    port, asked = site
    (folder / "t.csv").write_text(
        "/old,/new,301\n/old,/new,200\n/wrong,/left,200\n/loop,/x,302\n/away,https://other.example/x#top,301\n"
    )
    ran = run("test", "t.csv", "--live", f"http://127.0.0.1:{port}", "--follow", "-q")
    assert ran.status == 1
    assert ran.out.decode().count("failed") == 1
    assert "redirects in a loop" in ran.out.decode()
    assert ("other.example", "/x") not in asked


def test_headers(run: Any, folder: Path, site: tuple[int, list[tuple[str, str]]]) -> None:
    """--record --header writes a header of today's answers, which a server must send as well, or must not."""
    (folder / "urls.txt").write_text("http://shop.example/cached\nhttp://shop.example/gone\n")
    table = run("test", "nginx.conf", "urls.txt", "--record", "--header", "Cache-Control").out
    rows = [json.loads(line) for line in table.splitlines()]
    assert [row["sends"] for row in rows] == [{"Cache-Control": "max-age=60"}, {"Cache-Control": ""}]
    (folder / "t.jsonl").write_bytes(table)
    assert run("test", "nginx.conf", "t.jsonl").status == 0
    ran = run("test", "t.jsonl", "--live", f"http://127.0.0.1:{site[0]}", "-q")
    assert ran.status == 1
    assert ran.out.decode() == (
        "t.jsonl:2: failed http://shop.example/gone\n"
        "    expected 410 with no Cache-Control, got 410 with Cache-Control: max-age=60\n"
    )


def ask(options: LiveOptions, *urls: str) -> list[Answer]:
    """The answers to some URLs."""
    with LiveAnswers(options) as answers:
        return answers([read_request(url) for url in urls])


def test_a_path_as_it_is_written(site: tuple[int, list[tuple[str, str]]]) -> None:
    """The path and the arguments are sent as they are; a fragment of the Location is kept."""
    port, asked = site
    (answer,) = ask(LiveOptions(live_site(f"http://127.0.0.1:{port}"), {}), "http://h.example/a%2Fb/../c?q=%41&")
    assert asked == [(f"127.0.0.1:{port}", "/a%2Fb/../c?q=%41&")]
    assert (answer.status, answer.location) == (308, "http://h.example/raw?x#y")


def test_no_answer(site: tuple[int, list[tuple[str, str]]]) -> None:
    """A port where nobody listens, a connection that is closed, and silence are told apart."""
    port, _ = site
    (closed,) = ask(LiveOptions(live_site(f"http://127.0.0.1:{port}"), {}), "http://h/closed")
    (refused,) = ask(LiveOptions(live_site(f"http://127.0.0.1:{free_port()}"), {}), "http://h/")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        (nothing,) = ask(LiveOptions(live_site(address), {}, timeout=0.2), "http://h/")
    assert (closed.kind, refused.kind, nothing.kind) == ("closed", "refused", "unknown")
    assert nothing.unknown == "no answer within 0.2 s"


def test_a_status_that_is_no_number() -> None:
    """HTTP/2 can carry any text as status; an answer with it is none."""
    settings, headers = b"\0\0\0\4\0\0\0\0\0", b"\0\0\5\1\5\0\0\0\1\x08\x03\x1b[3"

    def answer() -> None:
        connection, _ = server.accept()
        with connection:
            connection.recv(1 << 16)
            connection.sendall(settings + headers)
            while connection.recv(1 << 16):
                pass

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=answer)
        thread.start()
        site = live_site(f"http://127.0.0.1:{server.getsockname()[1]}")
        (found,) = ask(LiveOptions(site, {}, http2=True), "http://h/")
        thread.join()
    assert found.kind == "closed"


def test_the_rate(site: tuple[int, list[tuple[str, str]]], monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests are due one after the other, however fast the answers come."""
    slept: list[float] = []
    monkeypatch.setattr("nginxopt.request.live.time.sleep", slept.append)
    monkeypatch.setattr("nginxopt.request.live.time.monotonic", lambda: 100.0)
    ask(LiveOptions(live_site(f"http://127.0.0.1:{site[0]}"), {}, rate=4), *["http://h/x"] * 5)
    assert sorted(slept) == [0.0, 0.25, 0.5, 0.75, 1.0]


KINDS = [
    ("proxy", Answer("response", 200), "passed"),
    ("proxy", Answer("response", 302, "/login"), "passed"),
    ("proxy", Answer("response", 502), "failed"),
    ("proxy", Answer("closed", None), "failed"),
    ("proxy", Answer("refused", None), "failed"),
    ("static", Answer("response", 404), "failed"),
    ("static", Answer("response", 200), "passed"),
    ("closed", Answer("closed", None), "passed"),
    ("closed", Answer("response", 200), "failed"),
    (301, Answer("response", 301), "passed"),
    (301, Answer("unknown", None, unknown="no answer"), "unknown"),
]


@every_row(("status", "answer", "verdict"), KINDS)
def test_kinds(status: int | str, answer: Answer, verdict: str) -> None:
    """A kind of the old server says that something behind it answers, and no code."""
    row = ExpectedRow(1, read_request("http://h/"), "", status)
    assert judge_live(row, answer) == verdict


def test_resolved_addresses() -> None:
    """Addresses are those of curl's --resolve, and may have a port of their own."""
    assert read_resolved(["A.example:443:10.0.0.5", "*:80:[::1]:8080", "b:80:[::1]"]) == {
        "a.example:443": ("10.0.0.5", 443),
        "*:80": ("::1", 8080),
        "b:80": ("::1", 80),
    }
    for wrong in ("a", "a:b:c", "a:80:", ":80:b", "a:80:b:c", "a:0:b"):
        with pytest.raises(UsageError, match="not HOST:PORT:ADDRESS"):
            read_resolved([wrong])


WRONG = [
    (["old.csv", "--live", "nowhere"], "a URL begins with http:// or https://"),
    (["old.csv", "--live", "http://h/path"], "a site has no path"),
    (["old.csv", "--live", "http://h", "--record"], "--record writes"),
    (["old.csv", "--live", "http://h", "--nginx"], "cannot be used together"),
    (["old.csv", "--live", "http://h", "--root", "/"], "--root needs CONFIG"),
    (["nginx.conf", "old.csv", "--http2"], "need --live"),
    (["nginx.conf", "old.csv", "--header", "X"], "--header needs --record"),
]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(("arguments", "message"), WRONG)
def test_options(run: Any, arguments: list[str], message: str) -> None:
    """Options that contradict each other are named."""
    ran = run("test", *arguments)
    assert (ran.status, ran.out) == (2, b"")
    assert message in ran.err


def test_https(tmp_path: Path) -> None:
    """A certificate that nobody knows is refused, unless --insecure takes any."""
    issued = issue("h.example")
    (tmp_path / "pem").write_bytes(issued.pem + issued.private)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "pem")
    asked: list[tuple[str, str]] = []
    with ThreadingHTTPServer(("127.0.0.1", 0), type("Asked", (Site,), {"asked": asked})) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        options = LiveOptions(read_url("https://h.example"), {"h.example:443": ("127.0.0.1", server.server_port)})
        (refused,) = ask(options, "https://h.example/old")
        (taken,) = ask(LiveOptions(options.site, options.resolved, insecure=True), "https://h.example/old")
        server.shutdown()
        thread.join()
    assert refused.kind == "refused"
    assert "--insecure accepts any" in (refused.unknown or "")
    assert (taken.status, taken.location) == (301, "/new")


def test_http2(run: Any, folder: Path, site: tuple[int, list[tuple[str, str]]]) -> None:
    """HAProxy answers by HTTP/2; a server that does not is no answer."""
    conf = (
        "defaults\n mode http\n timeout client 30s\n timeout connect 5s\n timeout server 30s\nfrontend f\n"
        " bind 127.0.0.1:8080 proto h2\n http-request redirect location /new code 301 if { path /old }\n"
        " http-request return status 410 if { path /gone }\n"
    )
    (folder / "t.csv").write_text("/old,/new,301\n/gone,,410\n")
    with haproxy(conf, folder) as port:
        assert run("test", "t.csv", "--live", f"http://127.0.0.1:{port}", "--http2", "-q").status == 0
    (other,) = ask(LiveOptions(live_site(f"http://127.0.0.1:{site[0]}"), {}, http2=True, timeout=5), "http://h/old")
    assert other.kind in ("unknown", "closed")
