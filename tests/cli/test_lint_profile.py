"""What a day of traffic saves without what findings are about."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from tests.schemas import validate

CONF = """\
worker_processes auto;
events { worker_connections 4096; }
http {
    log_format timed '$host [$time_local] "$request" $status $bytes_sent $gzip_ratio';
    access_log a.log timed;
    gzip on;
    gzip_comp_level 9;
    upstream app { server 127.0.0.1:8080; }
    upstream idle { server 127.0.0.1:8081; }
    server {
        listen 80;
        server_name a.example;
        root /srv;
        location /app { proxy_pass http://app; }
        location /idle { proxy_pass http://idle; }
    }
    server {
        listen 80;
        server_name b.example;
RULES
        location / { return 204; }
    }
}
""".replace("RULES", "\n".join(f"        rewrite ^/old/page-{number:03}$ /new permanent;" for number in range(100)))


def line(target: str, host: str = "a.example", hour: int = 0, ratio: str = "-") -> str:
    """A line of the log."""
    return f'{host} [27/Nov/2026:{hour:02}:00:00 +0000] "GET {target} HTTP/1.1" 200 5000 {ratio}\n'


LOG = "".join(
    [
        *(line("/app/x", hour=number % 12) for number in range(1_200)),
        *(line("/a.html", ratio="4.00") for _ in range(300)),
        line("/some/where", "b.example", 12).replace(" 200 ", " 204 "),
    ]
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A configuration, and the profile of half a day."""
    (tmp_path / "nginx.conf").write_text(CONF)
    (tmp_path / "a.log").write_text(LOG)
    return tmp_path


@pytest.fixture
def saved(folder: Path, run: Any) -> str:  # noqa: ARG001 - the working directory
    """The saved profile."""
    assert run("profile", "nginx.conf", "a.log", "--target-version", "1.22.1", "--save", "day.profile").status == 0
    return "day.profile"


def linted(run: Any, saved: str) -> list[dict[str, Any]]:
    """The findings as JSON."""
    ran = run("lint", "nginx.conf", "--target-version", "1.22.1", "--profile", saved, "--format", "json")
    report = json.loads(ran.out)
    validate(report, "lint-report")
    found: list[dict[str, Any]] = report["diagnostics"]
    return found


def test_requests_that_reach_a_level(run: Any, saved: str) -> None:
    """A connection is saved for each request that is passed to that upstream, twice as many a day as in half of it."""
    found = {one["line"]: one for one in linted(run, saved) if one["rule"] == "upstream-keepalive-missing"}
    (app,) = found.values()  # one cause, so one finding
    assert app["saves_a_day"]["connections"] == 2_400
    least, most = app["saves_a_day"]["cpu_seconds"]
    assert (least, most) == pytest.approx((2_400 * 11e-6 / 2, 2_400 * 15e-6 * 2))


def test_parts_of_a_cause(run: Any, saved: str) -> None:
    """A level of compression saves a part of what compressing takes, and rules what trying them took."""
    found = {one["rule"]: one for one in linted(run, saved)}
    bytes_before = 300 * 5_000 * 4
    of_bytes = 44 * bytes_before + (153 + 57 * math.log2(20_000 / 4_000)) * 300 * (5_000 - 250)
    nanoseconds = (49_000 * 300 + of_bytes) * 0.13
    least, most = found["gzip-level"]["saves_a_day"]["cpu_seconds"]
    assert (least, most) == pytest.approx((nanoseconds * 0.02 / 1e9, nanoseconds * 0.58 * 4 / 1e9))
    rules = found["rewrite-literal-bulk"]["saves_a_day"]
    assert rules["cpu_seconds"][0] == pytest.approx(100 * 482 * 0.06 / 1e9, rel=0.01)
    assert rules["requests"] == 2


def test_the_most_comes_first(run: Any, saved: str) -> None:
    """Findings are sorted by what they save; those of which nothing is known follow."""
    days = [one.get("saves_a_day") for one in linted(run, saved)]
    known = [day["cpu_seconds"][1] for day in days if day]
    assert known == sorted(known, reverse=True)
    assert days[: len(known)] == [day for day in days if day]
    assert None in days
    text = run("lint", "nginx.conf", "--target-version", "1.22.1", "--profile", saved).out.decode()
    assert "and 2,400 connections, in 2,400 requests" in text
    assert " s of CPU a day, in " in text


def test_no_profile(run: Any, folder: Path) -> None:
    """Another file is an error, and without a profile nothing is said of a day."""
    (folder / "other").write_text("x")
    assert run("lint", "nginx.conf", "--profile", "other").status == 3
    assert b"a day" not in run("lint", "nginx.conf", "--target-version", "1.22.1").out


def test_templates_save_nothing_that_is_known(run: Any, saved: str, folder: Path) -> None:
    """What a template has depends on its tags, so its findings say nothing of a day."""
    (folder / "nginx.conf").write_text(CONF.replace("127.0.0.1:8080", "{{ address }}"))
    found = linted(run, saved)
    assert found
    assert all("saves_a_day" not in one for one in found)
