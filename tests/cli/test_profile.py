"""`nginxopt profile`: its report, saved sums, and wrong calls."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

from nginxopt.errors import MissingError
from nginxopt.profile import measuring, pieces
from nginxopt.system import callgrind
from tests.profile.days import CONF, day
from tests.schemas import validate
from tests.support import the_nginx


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A configuration, and the log of a day."""
    (tmp_path / "nginx.conf").write_text(CONF)
    (tmp_path / "shop.log").write_bytes(day(3, 600).log)
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_the_report(run: Any) -> None:
    """One screen: the verdict, the shares of locations and directives, what is dead, and what the log lacks."""
    ran = run("profile", "nginx.conf", "shop.log", "--target-version", "1.22.1")
    assert (ran.status, ran.err) == (0, "")
    lines = ran.out.decode().splitlines()
    assert lines[0] == "shop.log: 600 requests, 2026-11-27 00:00 to 2026-11-27 23:57 UTC (nginx 1.22.1)"
    less = "nginx itself needs less than 0.01 % of a processor core (estimated)"
    assert lines[1] == f"{less}: nothing here is worth a change for CPU."
    assert lines[2].startswith("Upstreams took 100% of the ")
    assert "responses with 5xx" in lines[3]
    assert "  nginx.conf:19: rewrite ^/dead/(.*)$ /new/$1 permanent" in lines
    assert "  $gzip_ratio: which responses nginx compressed, and their size before" in lines
    assert len(lines) < 80


@pytest.mark.usefixtures("folder")
def test_json_and_saved_sums(run: Any) -> None:
    """The report follows its schema; sums that were saved give the same report, and twice as many when added twice."""
    of_log = json.loads(run("profile", "nginx.conf", "shop.log", "--save", "a.profile", "--format", "json").out)
    validate(of_log, "profile-report")
    assert json.loads(run("profile", "a.profile", "--format", "json").out) == of_log
    twice = json.loads(run("profile", "a.profile", "a.profile", "--format", "json").out)
    validate(twice, "profile-report")
    assert twice["requests"] == 2 * of_log["requests"]
    assert twice["uses"]["rules"][0]["requests"] == 2 * of_log["uses"]["rules"][0]["requests"]


@pytest.mark.usefixtures("folder")
def test_the_page(run: Any, folder: Path) -> None:
    """One file with the verdict, the figures and the tables; text of logs is escaped."""
    line = (folder / "shop.log").read_text().splitlines()[0]
    odd = line.replace("Mozilla", "<b>bot").replace("GET ", "GET /gone/<script>")
    when = "27/Nov/2026:12:00:59 +0000"
    held = f'192.0.2.1 shop.example https [{when}] "GET /search HTTP/1.1" 200 500 59.000 "59.000" "curl"'
    (folder / "shop.log").write_text((folder / "shop.log").read_text() + odd + f"\n{held}" * 3 + "\n")
    assert run("profile", "nginx.conf", "shop.log", "--html", "page.html").status == 0
    page = (folder / "page.html").read_text()
    assert "<h1>Upstreams took 100% of the " in page
    for text in ("nginx.conf:19: rewrite ^/dead/(.*)$ /new/$1 permanent", "Greedybot", "Connections at once", "of 128"):
        assert text in page
    assert "<script" not in page
    assert "http://" not in page.replace("http://app", "")
    assert {"of upstreams", "Upstream time"} <= set(re.findall(r"<th[^>]*>([^<]*)", page))


@pytest.mark.usefixtures("folder")
def test_the_page_has_no_columns_of_what_is_not_logged(run: Any, folder: Path) -> None:
    """Without the time of upstreams, there is no share of it."""
    (folder / "plain.log").write_text(
        '192.0.2.1 - - [27/Nov/2026:12:00:59 +0000] "GET /search HTTP/1.1" 200 5 "-" "-"\n'
    )
    assert run("profile", "nginx.conf", "plain.log", "--html", "page.html").status == 0
    heads = re.findall(r"<th[^>]*>([^<]*)", (folder / "page.html").read_text())
    assert "Clients" in heads
    assert not {"of upstreams", "Upstream time"} & set(heads)


def test_a_format_for_all_figures(run: Any) -> None:
    """It is printed without a configuration."""
    ran = run("profile", "--print-log-format")
    assert ran.status == 0
    assert ran.out.startswith(b"log_format profile '$remote_addr $host")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("args", "status", "said"),
    [
        ((), 2, "expected a configuration and logs"),
        (("nginx.conf",), 2, "LOG is missing"),
        (("-", "-"), 2, "either the configuration or a log"),
        (("nginx.conf", "missing.log"), 3, "missing.log: cannot be read: No such file or directory"),
        (("nginx.conf", "nginx.conf"), 3, "neither a request nor a line of an access log"),
        (("nginx.conf", "shop.log", "--host-of", "other.log=a"), 2, "expected LOG=HOST"),
        (("nginx.conf", "shop.log", "--save", "shop.log"), 2, "would overwrite the input file"),
        (("nginx.conf", "shop.log", "--input-format", "x"), 2, 'unknown format "x"'),
        (("nginx.conf", "shop.log", "--nginx"), 2, "--nginx is for --measure"),
        (("nginx.conf", "shop.log", "--measure", "--target-version", "1.28.0"), 2, "--measure runs an nginx"),
        (("nginx.conf", "-", "--measure"), 2, "--measure reads logs twice"),
        (("nginx.conf", "shop.log", "--measure", "--nginx", "/none"), 4, "/none"),
    ],
)
def test_wrong_calls(run: Any, args: tuple[str, ...], status: int, said: str) -> None:
    """They end with what is wrong."""
    ran = run("profile", *args)
    assert ran.status == status
    assert said in ran.err


@pytest.mark.nginx
@pytest.mark.usefixtures("folder")
def test_measured(run: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The report has what was measured beside estimates, and why the rest was not; saved sums have both, too."""

    def counter() -> None:
        raise MissingError("no valgrind")

    monkeypatch.setattr(callgrind, "counter", counter)
    monkeypatch.setattr(measuring, "_ROUND_NANOSECONDS", 3_000_000)  # how exact it is, others ask
    nginx = the_nginx().path
    ran = run("profile", "nginx.conf", "shop.log", "--measure", "--nginx", nginx, "--save", "a.profile")
    assert ran.status == 0, ran.err
    lines = ran.out.decode().splitlines()
    assert "measured for " in lines[1]
    (at,) = (number for number, line in enumerate(lines) if line == "measured, of a request:")
    assert [line.split()[1] for line in lines[at + 2 : at + 4]] == ["-", "-"]
    assert any(re.search(r" us  nginx.conf:\d+: location /.*: proxy_pass 200$", line) for line in lines)
    assert "  note: only processor time was measured: no valgrind" in lines
    report = json.loads(run("profile", "a.profile", "--format", "json", "--html", "a.html").out)
    validate(report, "profile-report")
    work = report["work"]
    assert {one["instructions"] for one in work["measured"]} == {None}
    assert all(1 < one["microseconds"] < 10_000 for one in work["measured"])
    assert sum(one["requests"] for one in (*work["measured"], *work["not_measured"])) == report["requests"]
    assert 0 < work["seconds"] < 10
    assert "<h2>Measured</h2>" in (folder / "a.html").read_text()


def test_an_old_profile(run: Any, folder: Path) -> None:
    """One that was saved before anything could be measured is read, and has no times."""
    run("profile", "nginx.conf", "shop.log", "--target-version", "1.22.1", "--save", "a.profile")
    saved = json.loads(gzip.decompress((folder / "a.profile").read_bytes()))
    assert not {"measured", "unmeasured"} & set(saved)
    work = json.loads(run("profile", "a.profile", "--format", "json").out)["work"]
    assert (work["basis"], work["seconds"], work["measured"]) == ("estimated", None, [])
    assert {one["seconds"] for one in work["causes"]} == {None}


@pytest.mark.slow
@pytest.mark.extended
def test_workers(run: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Processes of this machine read the same, part by part."""
    monkeypatch.setattr(pieces, "RANGE", 20_000)
    (folder / "shop.log.1").write_bytes(day(8, 300).log)
    logs = ("nginx.conf", "shop.log", "shop.log.1", "--target-version", "1.22.1")
    assert run("profile", *logs, "--save", "one.profile").status == 0
    ran = run("profile", *logs, "--save", "two.profile", "--workers", "2")
    assert (ran.status, ran.err) == (0, "")
    saved = [(folder / name).read_bytes() for name in ("one.profile", "two.profile")]
    assert len(set(saved)) == 1


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--workers", "2", "--scheduler", "tcp://127.0.0.1:9"), "--workers is for processes of this machine"),
        (("-", "--workers", "2"), "workers cannot read standard input"),
        (("--scheduler", "127.0.0.1"), "invalid scheduler address"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_what_workers_cannot(run: Any, args: tuple[str, ...], said: str) -> None:
    """Workers cannot read what only this process has."""
    ran = run("profile", "nginx.conf", "shop.log", *args)
    assert ran.status == 2
    assert said in ran.err
