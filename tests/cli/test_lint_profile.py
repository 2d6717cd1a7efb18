"""What a day of traffic saves without what findings are about."""

from __future__ import annotations

import json
import math
import re
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
    sent = 5_000 - 250  # less the headers
    of_bytes = 44 * 300 * 4 * sent + (153 + 57 * math.log2(4 * sent / 4_000)) * 300 * sent
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


# What `nginxopt profile` says of the same findings.


def of_profile(run: Any, *args: str) -> dict[str, Any]:
    """The savings in the report of `nginxopt profile` as JSON."""
    report = json.loads(run("profile", *args, "--format", "json").out)
    validate(report, "profile-report")
    savings: dict[str, Any] = report["savings"]
    return savings


def test_profile_and_lint_agree(run: Any, saved: str) -> None:
    """The report of the log, that of its saved profile, and the linter give the same ranges, in the same order."""
    of_lint = [(one["rule"], one["line"], one["saves_a_day"]) for one in linted(run, saved) if "saves_a_day" in one]
    of_log = of_profile(run, "nginx.conf", "a.log", "--target-version", "1.22.1")
    assert of_log["not_known"] is None
    assert of_profile(run, saved) == of_log
    found = [(one["rule"], one["places"][0]["line"], one["saves_a_day"]) for one in of_log["findings"]]
    assert found == [one for one in of_lint if one[2]["cpu_seconds"][1]]
    assert len(found) > 2


BUSY = re.sub(r"2026:\d\d", "2026:00", LOG)
"""The same requests, of which no span is known, so that it is not known that nginx has little to do."""


@pytest.mark.parametrize(
    ("log", "args", "is_shown"),
    [(BUSY, (), True), (LOG, (), False), (LOG, ("-v",), True), (LOG.replace(" /a", " @a"), (), False)],
    ids=["much to do", "little to do", "asked for", "unknown"],
)
def test_the_section(
    run: Any, folder: Path, monkeypatch: pytest.MonkeyPatch, log: str, args: tuple[str, ...], is_shown: bool
) -> None:
    """It is in the text unless nothing is worth a change, when the rules do not run either."""
    (folder / "a.log").write_text(log)
    if not is_shown:
        monkeypatch.setattr("nginxopt.cli.lint.worth", None)
    ran = run("profile", "nginx.conf", "a.log", "--target-version", "1.22.1", *args)
    assert ran.status == 0, ran.err
    lines = ran.out.decode().splitlines()
    assert ("would save most (estimated):" in lines) is is_shown
    if is_shown:
        of_pool = next(line for line in lines if "upstream-keepalive-missing" in line)
        assert of_pool.startswith("  nginx.conf:8 (+1): upstream-keepalive-missing ")
        assert any("rewrite-literal-bulk" in line for line in lines) is bool(args)  # it saves microseconds
        assert of_pool.endswith(" s of CPU a day and 2,400 connections, in 2,400 requests") is (log is LOG)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (None, "nginx.conf: no such file"),
        (
            ("server_name a.example;", "server_name a.example;\n"),
            "nginx.conf: not as when the logs were read: no location /app in line 14",
        ),
        (("/old/page-007", "/old/page-{{ seven }}"), "this is a Jinja or Mustache template"),
        (("        location / { return 204; }\n    }\n", ""), "nginx.conf:3:6: this block is not closed"),
    ],
    ids=["gone", "changed", "template", "broken"],
)
def test_why_savings_are_not_known(
    run: Any, saved: str, folder: Path, change: tuple[str, str] | None, reason: str
) -> None:
    """A saved profile needs its configuration, as it was: -v and JSON say what is wrong with it."""
    if change is None:
        (folder / "nginx.conf").unlink()
    else:
        (folder / "nginx.conf").write_text(CONF.replace(*change))
    savings = of_profile(run, saved)
    assert savings["findings"] == []
    assert reason in savings["not_known"]
    said = f"what would save most is not known: {savings['not_known']}"
    assert said in run("profile", saved, "-v").out.decode().splitlines()
    assert "what would save most" not in run("profile", saved).out.decode()


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("nginx.conf", CONF.replace("gzip_comp_level 9;", "gzip_comp_level 9; # nginxopt: ignore[gzip-level]")),
        ("nginxopt.toml", 'ignore = ["gzip-level"]\n'),
        ("nginxopt.toml", 'baseline = "known.json"\n'),
    ],
    ids=["comment", "settings", "baseline"],
)
def test_what_is_hidden_stays_hidden(run: Any, folder: Path, path: str, text: str) -> None:
    """Findings that a comment, the settings or the baseline hides are not among those that would save most."""
    asked = ("nginx.conf", "a.log", "--target-version", "1.22.1")
    assert "gzip-level" in {one["rule"] for one in of_profile(run, *asked)["findings"]}
    run("lint", "nginx.conf", "--select", "gzip-level", "--write-baseline", "known.json")
    (folder / path).write_text(text)
    left = {one["rule"] for one in of_profile(run, *asked)["findings"]}
    assert "gzip-level" not in left
    assert left


def test_intervals_on_the_page(run: Any, saved: str, folder: Path) -> None:
    """The page draws each range on one scale of powers of ten, and says when none is worth a change."""
    findings = of_profile(run, saved)["findings"]
    assert run("profile", saved, "--html", "page.html").status == 0
    section = (folder / "page.html").read_text().partition("<h2>Would save most</h2>")[2].partition("</section>")[0]
    assert "none of them is worth a change for CPU" in section
    assert "2 more save less than 1 % of what nginx needs" in section
    low, high = (float(end) for end in re.search(r"from (\S+) s to (\S+) s", section).groups())  # type: ignore[union-attr]
    bars = re.findall(r"margin-left: ([\d.]+)%; width: ([\d.]+)%", section)
    for (start, width), one in zip(bars, findings[:2], strict=True):
        ends = [100 * math.log(each / low) / math.log(high / low) for each in one["saves_a_day"]["cpu_seconds"]]
        assert (float(start), float(start) + float(width)) == pytest.approx(ends, abs=0.2)
        assert one["rule"] in section
