"""`nginxopt bench load`: what it refuses, how it keeps to its limit, and what it reports of a host."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from nginxopt.bench import measure
from nginxopt.bench.load import vegeta
from nginxopt.bench.load.capped import Capped
from nginxopt.bench.result import Outcome
from nginxopt.bench.runner import remote
from nginxopt.bench.scenario import Attack, ClosedLoop, Load, OpenLoop, Target, Variant
from nginxopt.bench.site import LoadRun, RunningSite
from nginxopt.bench.target import TargetUrl, url
from nginxopt.errors import RunError, UsageError
from tests.bench.clusters import fake_vegeta
from tests.nginx.benching import needs_vegeta
from tests.rows import every_row

OWNED = ("--i-own-this-host", "--max-rate", "50")


class Host(ThreadingHTTPServer):
    """A host on 127.0.0.1 that notes what it is asked, and when."""

    daemon_threads = True

    def __init__(self, *statuses: int) -> None:
        super().__init__(("127.0.0.1", 0), _Answer)
        self.statuses = statuses
        self.asked: list[tuple[float, str, str | None]] = []
        self.connections = 0

    @property
    def url(self) -> str:
        """Its URL."""
        return f"http://localhost:{self.server_port}"

    def get_request(self) -> tuple[socket.socket, Any]:
        """Count a connection."""
        self.connections += 1
        return super().get_request()


class _Answer(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Host

    def do_GET(self) -> None:
        place = min(len(self.server.asked), len(self.server.statuses) - 1)
        self.server.asked.append((time.monotonic(), self.path, self.headers["Host"]))
        self.send_response_only(self.server.statuses[place])
        self.send_header("Content-Length", "0")
        self.send_header("Location", "http://another.test/")
        self.end_headers()


@contextlib.contextmanager
def host(*statuses: int) -> Iterator[Host]:
    """Run a host that answers with these statuses, and then with the last of them."""
    with Host(*statuses) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def vegeta_on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program in place of vegeta."""
    monkeypatch.setenv("PATH", f"{fake_vegeta(tmp_path / 'bin')}:{os.environ['PATH']}")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("http://a.test", TargetUrl("http", "a.test", 80, "/")),
        ("https://a.test:443/b?c=d", TargetUrl("https", "a.test", 443, "/b?c=d")),
        ("http://[::1]:8080/", TargetUrl("http", "::1", 8080, "/")),
    ],
)
def test_urls(text: str, expected: TargetUrl) -> None:
    """A URL has a scheme, a host, a port and a path; the usual port is not in its address."""
    assert url(text) == expected
    assert url(str(expected)) == expected


@every_row(
    "text",
    ["", "a.test", "ftp://a.test/", "http://", "http://u:p@a.test/", "http://a.test/#b", "http://a.test/b c",
     "http://a.test:0/", "http://a.test:99999/", "http://a.test:b/", "http://a;b/", "http://[::1/", "http://a.test/\n"],
)  # fmt: skip
def test_what_is_no_url(text: str) -> None:
    """A text that names no host, or more than a page of it, is refused."""
    with pytest.raises(UsageError, match="invalid URL"):
        url(text)


@pytest.mark.extended
@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "--target needs --i-own-this-host"),
        (("--i-own-this-host",), "--target needs --max-rate"),
        (("--max-rate", "50"), "--target needs --i-own-this-host"),
        (("--i-own-this-host", "--max-rate", "0"), "0 is not in the range"),
        ((*OWNED, "--rate", "51"), "--rate 51 exceeds --max-rate 50"),
        ((*OWNED, "--rate", "auto"), "--rate auto cannot be used with --target"),
        ((*OWNED, "--gate", "p50<="), "invalid gate"),
        ((*OWNED, "--gate", "p50<=1.05x"), "gate 'p50<=1.05x': bench load compares nothing"),
        ((*OWNED, "--load-workers", "0"), "0 is not in the range"),
    ],
)
@pytest.mark.usefixtures("vegeta_on_path")
def test_no_byte_is_sent(run: Any, options: tuple[str, ...], message: str) -> None:
    """Without a statement whose host it is and a limit that holds, the host gets no connection; the status is 2."""
    with host(200) as server:
        ran = run("bench", "load", "--target", server.url, *options)
        assert (ran.status, ran.out) == (2, b"")
        assert message in ran.err
        assert server.connections == 0


def test_a_target_is_needed(run: Any) -> None:
    """Without a target, or with paths in two places, nothing is requested."""
    assert run("bench", "load", *OWNED).status == 2
    ran = run("bench", "load", "--target", "http://127.0.0.1:1/a", "--targets", "paths.txt", *OWNED)
    assert ran.status == 2
    assert "--target has a path, and --targets has others" in ran.err


@pytest.mark.slow
@pytest.mark.parametrize(
    ("statuses", "message"), [((503,), "GET / is answered with 503"), ((204, 500), "GET /b is answered with 500")]
)
@pytest.mark.usefixtures("vegeta_on_path")
def test_a_host_that_fails(run: Any, tmp_path: Path, statuses: tuple[int, ...], message: str) -> None:
    """A host that answers a probe with 5xx gets no load; the status is that of a failed run."""
    (tmp_path / "paths.txt").write_text("/\n/b\n/c\n")
    with host(*statuses) as server:
        ran = run("bench", "load", "--target", server.url, "--targets", "paths.txt", *OWNED)
        assert ran.status == 5
        assert message in ran.err
        assert len(server.asked) == len(statuses)


@pytest.mark.usefixtures("vegeta_on_path")
def test_a_host_that_is_down(run: Any) -> None:
    """A host that does not answer, speaks no TLS or has no address is an error that says so."""
    with host(200) as server:
        port = server.server_port
        tls = run("bench", "load", "--target", f"https://localhost:{port}", *OWNED)
    assert (tls.status, "does not answer" in tls.err) == (5, True)
    down = run("bench", "load", "--target", f"http://localhost:{port}", *OWNED)
    assert (down.status, "does not answer: Connection refused" in down.err) == (5, True)
    unknown = run("bench", "load", "--target", "http://nothing.invalid", *OWNED)
    assert (unknown.status, "nothing.invalid cannot be resolved" in unknown.err) == (5, True)


@pytest.mark.slow
@pytest.mark.parametrize(("sent", "answers"), [(b"HTTP/1.1 200 OK\r\n\r\ndata", True), (b"HTTP/1.1 2", False)])
def test_an_answer_without_an_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sent: bytes, answers: bool) -> None:
    """A stream that never ends is an answer once its head is there."""
    monkeypatch.setattr(remote, "_ANSWER_SECONDS", 2)
    with socket.create_server(("127.0.0.1", 0)) as server:
        resolved = remote.resolve(url(f"http://127.0.0.1:{server.getsockname()[1]}/"))

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.sendall(sent)
                while connection.recv(1024):
                    pass

        serving = threading.Thread(target=serve)
        serving.start()
        with remote.Remote(resolved, 20).deploy(None, tmp_path) as site:  # type: ignore[arg-type]
            if answers:
                assert site.ask(Variant("target", "", ()), "target", Target("/", None)) == sent
            else:
                with pytest.raises(RunError, match="does not answer: timed out"):
                    site.ask(Variant("target", "", ()), "target", Target("/", None))
        serving.join()


def test_probes_keep_to_the_limit(tmp_path: Path) -> None:
    """Probes are requests too: they are as far apart as the limit says."""
    with host(200) as server:
        resolved = remote.resolve(url(server.url))
        with remote.Remote(resolved, 20).deploy(None, tmp_path) as site:  # type: ignore[arg-type]
            for path in "abc":
                site.ask(Variant("target", "", ()), "target", Target(f"/{path}", None))
        times = [asked[0] for asked in server.asked]
    assert [asked[1:] for asked in server.asked] == [(f"/{path}", f"localhost:{server.server_port}") for path in "abc"]
    # The host sees a request later than it is sent, so only all of them together are apart for sure.
    assert times[-1] - times[0] > 0.05


def test_a_host_is_resolved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """All addresses are kept and the first IPv4 one is used, by vegeta too; a host with others only is refused."""
    found = [("::1", 80, 0, 0), ("10.0.0.1", 80), ("10.0.0.2", 80)]
    monkeypatch.setattr("socket.getaddrinfo", lambda *_, **__: [(0, 0, 0, "", address) for address in found])
    resolved = remote.resolve(url("http://a.test/"))
    assert (resolved.addresses, resolved.address) == (("::1", "10.0.0.1", "10.0.0.2"), "10.0.0.1")
    assert resolved.connect_to == "a.test:80:10.0.0.1:80"
    command = vegeta.Vegeta(connect_to=resolved.connect_to, direct=True).piped(OpenLoop(1, 1), "o")
    assert "-connect-to=a.test:80:10.0.0.1:80" in command
    assert command[:4] == ["env", "NO_PROXY=*", "no_proxy=*", "vegeta"]
    assert "-redirects=-1" in command
    assert remote.resolve(url("http://[::1]/")).connect_to is None
    del found[1:]
    with pytest.raises(RunError, match=r"a\.test has only IPv6 addresses"):
        remote.resolve(url("http://a.test/"))


class Answers:
    """A load source whose outcome is given."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome
        self.loads: list[Load] = []

    def start(self, site: RunningSite) -> None:
        """Nothing."""

    def attack(self, site: RunningSite, run: LoadRun) -> Outcome:  # noqa: ARG002
        """Note the load."""
        self.loads.append(run.attack.load)
        return self.outcome

    def commands(self, run: LoadRun) -> dict[str, str]:  # noqa: ARG002
        """None."""
        return {}

    def provenance(self) -> dict[str, str]:
        """Its name."""
        return {"generator": "a test"}


def attack(source: Capped, load: Load) -> Outcome:
    """Make an attack."""
    return source.attack(None, LoadRun(Attack("target", "load", (), load), (), 1, "h", "n", "o"))  # type: ignore[arg-type]


@pytest.mark.parametrize("load", [OpenLoop(51, 1), OpenLoop(None, 1), ClosedLoop(1, 1)])
def test_a_load_beyond_the_limit_is_not_made(load: Load) -> None:
    """Whatever asks for it, the source behind a limit never gets a load that may exceed it."""
    answers = Answers(Outcome(1, 1.0, statuses={"200": 1}, busiest_second=7))
    capped = Capped(answers, 50)
    with pytest.raises(RunError, match="a load without a rate of at most 50 req/s is not made"):
        attack(capped, load)
    assert answers.loads == []
    attack(capped, OpenLoop(50, 1))
    assert capped.provenance() == {"generator": "a test", "max_rate": 50, "busiest_second": 7}


def test_a_load_without_answers() -> None:
    """A load run in which nothing is answered measures nothing."""
    capped = Capped(Answers(Outcome(3, 1.0, statuses={"0": 3}, errors={"connection refused": 3})), 50)
    with pytest.raises(RunError, match=r"of 3 requests, none was answered \(connection refused\)"):
        attack(capped, OpenLoop(50, 1))


def test_the_busiest_second() -> None:
    """The most requests within a second are counted, wherever that second begins; its ends do not both belong to it."""
    times = (0, 900, 1000, 1100, 1899, 1900, 5000)
    rows = "".join(f"{time * 10**6},200,1,0,0,,,,0,GET,http://x/,\n" for time in times)
    assert vegeta.parse(rows.encode(), "raw").busiest_second == 4


@pytest.mark.extended
@pytest.mark.slow
@needs_vegeta
@pytest.mark.parametrize("workers", [(), ("--load-workers", "2")])
def test_a_load(run: Any, workers: tuple[str, ...]) -> None:
    """A host is loaded at the rate that is asked for; what it answers and its address are in the result."""
    with host(200, 302, 503, 302) as server:
        options = ("--rate", "20", "--rounds", "1", "--duration", "0.5", "--format", "json")
        kept = ("--output", "result.json", "--gate", "errors<=1", "--gate", "p100<=1us")
        ran = run("bench", "load", "--target", f"{server.url}/a?b", *OWNED, *options, *kept, *workers)
        assert ran.status == 1, ran.err
        assert 2 <= len(server.asked) - 1 <= 12
        assert {asked[1:] for asked in server.asked} == {("/a?b", f"localhost:{server.server_port}")}
    result = json.loads(Path("result.json").read_text())
    (sample,) = result["samples"]
    assert [gate["holds"] for gate in result["gates"]] == [True, False]
    assert sample["statuses"] == {"302": sample["requests"] - 1, "503": 1}
    assert measure.has_failed("503")
    about = result["provenance"]
    assert (about["target"], about["max_rate"], about["runner"]) == (f"{server.url}/a?b", 50, "target")
    assert about["address"] == "127.0.0.1" in about["addresses"].split(", ")
    assert 0 < about["busiest_second"] <= 12
    table = run("bench", "report", "result.json", "--format", "table").out.decode()
    assert f"target answered {sample['requests'] - 1} of {sample['requests']} requests with 302" in table
    assert "the limit is 50." in table
    assert "target failed: 1 status 503" in table
    assert run("bench", "report", "result.json", "--output", "result.html").status == 0
    assert "127.0.0.1" in Path("result.html").read_text()
