"""`nginxopt test`: results, reports, tables that are recorded, and what is refused."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import pytest

from nginxopt.request.report import FORMATS
from nginxopt.request.report import json as json_report
from nginxopt.request.report.model import TestReport
from tests.schemas import validate

CONF = """\
events { }
http {
    server {
        listen 80;
        server_name shop.example;
        return 301 https://shop.example$request_uri;
    }
    server {
        listen 443 ssl; ssl_certificate a; ssl_certificate_key a;
        server_name shop.example;
        ssl_certificate a.pem;
        ssl_certificate_key a.pem;
        rewrite ^/old$ /new permanent;
        rewrite ^/a$ /b permanent;
        rewrite ^/b$ /c permanent;
        location / { proxy_pass http://app:8080; }
        location = /c { return 200 hello; }
        location /gone/ { return 410; }
        location /files/ { root /srv; }
        location /x { return 302 /x; }
        location /never/ { return 444; }
    }
}
"""
GOOD = "from,to,status\n/old,/new,301\n/a,/b\nhttp://shop.example/a?x,https://shop.example/a?x,301\n/c,,200\n"
MIXED = GOOD + "/b,/d,301\n/gone/a,,404\n/files/x,,200\n/api,http://app:8080/api,proxy\nhttp://shop.example:81/,,200\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A configuration and tables."""
    (tmp_path / "nginx.conf").write_text(CONF)
    (tmp_path / "good.csv").write_text(GOOD)
    (tmp_path / "mixed.csv").write_text(MIXED)
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_all_rows_pass(run: Any) -> None:
    """Status 0: the counts, and what no row reaches."""
    ran = run("test", "nginx.conf", "good.csv", "--target-version", "1.22.1")
    assert (ran.status, ran.err) == (0, "")
    assert ran.out.decode() == (
        "4 of 8 rules are reached by no row:\n"
        "    nginx.conf:15: rewrite ^/b$ /c permanent\n"
        "    nginx.conf:18: return 410\n"
        "    nginx.conf:20: return 302 /x\n"
        "    nginx.conf:21: return 444\n"
        "5 of 6 locations are reached by no row:\n"
        "    nginx.conf:16: location /\n"
        "    nginx.conf:18: location /gone/\n"
        "    nginx.conf:19: location /files/\n"
        "    nginx.conf:20: location /x\n"
        "    nginx.conf:21: location /never/\n"
        "good.csv: 4 rows: 4 passed (model of nginx 1.22.1)\n"
    )


@pytest.mark.usefixtures("folder")
def test_rows_that_do_not_pass(run: Any) -> None:
    """Status 1: each row with what was expected, what came instead, and the rule that answered."""
    ran = run("test", "nginx.conf", "mixed.csv", "--target-version", "1.22.1")
    assert ran.status == 1
    problems, _, _ = ran.out.decode().partition("2 of 8 rules")
    assert problems == (
        "mixed.csv:6: failed https://shop.example/b\n"
        "    expected 301 to /d, got 301 to https://shop.example/c\n"
        "    by nginx.conf:15: rewrite ^/b$ /c permanent\n"
        "mixed.csv:7: failed https://shop.example/gone/a\n"
        "    expected 404, got 410\n"
        "    by nginx.conf:18: return 410\n"
        "mixed.csv:8: unknown https://shop.example/files/x\n"
        "    expected 200, got 200 if /srv/files/x exists, 301 to https://shop.example/files/x/ else if /srv/files/x/"
        " exists, 404 otherwise\n"
        "    by nginx.conf:19: location /files/\n"
        "mixed.csv:10: failed http://shop.example:81/\n"
        "    expected 200, got no connection: http://shop.example:81: no server listens at port 81\n"
    )
    assert ran.out.endswith(b"mixed.csv: 9 rows: 5 passed, 3 failed, 1 unknown (model of nginx 1.22.1)\n")
    assert (
        run("test", "nginx.conf", "mixed.csv", "--assume", "exists=/srv/files/x").out.endswith(
            b"mixed.csv: 9 rows: 6 passed, 3 failed (model of nginx 1.22.1)\n"
        )
        or folder
    )


def test_redirects_are_followed(run: Any, folder: Path) -> None:
    """With --follow the end of a chain is compared; loops and unknown ends do not pass."""
    rows = (
        "/a,/c,301\n/a,/c,200\nhttp://shop.example/a,https://shop.example/c,200\n/a,/b,301\n/x,/x,302\n/old,/new,404\n"
    )
    (folder / "chains.csv").write_text(rows)
    ran = run("test", "nginx.conf", "chains.csv", "--follow")
    assert ran.status == 1
    problems, _, _ = ran.out.decode().partition("6 of 8 rules")
    assert problems.startswith(
        "chains.csv:4: failed https://shop.example/a\n"
        "    expected 301 to /b, got 301 to https://shop.example/c\n"
        "    via https://shop.example/a -> https://shop.example/b -> https://shop.example/c\n"
        "    by nginx.conf:15: rewrite ^/b$ /c permanent\n"
        "chains.csv:5: failed https://shop.example/x\n"
        "    redirects in a loop\n"
        "    via https://shop.example/x -> https://shop.example/x\n"
        "    by nginx.conf:20: return 302 /x\n"
        "chains.csv:6: unknown https://shop.example/old\n"
    )


def test_a_chain_arrives_at_a_file(run: Any, folder: Path) -> None:
    """A redirect to a file passes, though nobody knows whether that exists; its status is unknown."""
    conf = "http { server { server_name h; rewrite ^/a$ /b redirect; rewrite ^/z$ http://other.example/ permanent; } }"
    (folder / "nginx.conf").write_text(conf)
    (folder / "t.csv").write_text("/a,/b,302\n/a,/b,200\n/z,http://other.example,301\n/z,http://other.example,200\n")
    ran = run("test", "nginx.conf", "t.csv", "--follow")
    lines = [line for line in ran.out.decode().splitlines() if line.startswith("t.csv:")]
    assert lines[:2] == ["t.csv:2: unknown http://h/a", "t.csv:4: unknown http://h/z"]
    assert "    expected 200 to http://other.example, got redirect to http://other.example/ (another site" in (
        ran.out.decode()
    )


@pytest.mark.usefixtures("folder")
def test_json(run: Any) -> None:
    """The report follows its schema, and has all there is of a problem."""
    ran = run("test", "nginx.conf", "mixed.csv", "--format", "json", "--target-version", "1.22.1")
    report = json.loads(ran.out)
    validate(report, "test-report")
    assert (ran.status, report["rows"], report["passed"], report["failed"], report["unknown"]) == (1, 9, 5, 3, 1)
    assert report["version"] == json_report.VERSION
    assert report["problems"][0] == {
        "line": 6,
        "verdict": "failed",
        "request": "https://shop.example/b",
        "expected": {"to": "/d", "status": 301},
        "outcome": {
            "kind": "redirect", "status": 301, "location": "https://shop.example/c", "target": None, "unknown": None,
        },
        "message": "expected 301 to /d, got 301 to https://shop.example/c",
        "chain": ["https://shop.example/b"],
        "rule": {"file": "nginx.conf", "line": 15, "text": "rewrite ^/b$ /c permanent"},
    }  # fmt: skip
    assert report["coverage"]["locations"]["total"] == 6


def test_junit(run: Any, folder: Path) -> None:
    """JUnit has a case for each row, in a file if one is named."""
    ran = run("test", "nginx.conf", "mixed.csv", "--format", "junit", "--output", "report.xml")
    assert (ran.status, ran.out) == (1, b"")
    suites = ElementTree.parse(folder / "report.xml").getroot()
    assert suites.attrib == {"name": "nginxopt test", "tests": "9", "failures": "3", "errors": "1"}
    cases = suites.findall("testsuite/testcase")
    assert [len(case) for case in cases] == [0, 0, 0, 0, 1, 1, 1, 0, 1]
    assert cases[4].attrib == {"classname": "mixed.csv", "name": "6: https://shop.example/b"}
    assert cases[4][0].attrib["message"] == "expected 301 to /d, got 301 to https://shop.example/c"
    assert [case[0].tag for case in cases if len(case)] == ["failure", "failure", "error", "failure"]


def test_github(run: Any, folder: Path) -> None:
    """GitHub gets a command for each problem, at its row."""
    ran = run("test", "nginx.conf", str(folder / "mixed.csv"), "--format", "github")
    lines = ran.out.decode().splitlines()
    assert lines[0] == (
        "::error file=mixed.csv,line=6,title=nginxopt test::https://shop.example/b"
        "%0Aexpected 301 to /d, got 301 to https://shop.example/c"
        "%0Aby nginx.conf:15: rewrite ^/b$ /c permanent"
    )
    assert len(lines) == 5
    assert lines[-1].startswith("::notice title=nginxopt test::mixed.csv: 9 rows: 5 passed, 3 failed, 1 unknown")


def test_much_that_no_row_reaches(run: Any, folder: Path) -> None:
    """Ten directives are listed, with -v all."""
    rules = "".join(f"rewrite ^/{number}$ /n permanent;" for number in range(30))
    (folder / "nginx.conf").write_text(f"http {{ server {{ server_name h; {rules} }} }}")
    (folder / "t.csv").write_text("/0,/n,301\n")
    short, long = (run("test", "nginx.conf", "t.csv", *more).out.decode() for more in ([], ["-v"]))
    assert short.count("rewrite ^/") == 10
    assert "    ... and 19 more (-v lists all)\n" in short
    assert long.count("rewrite ^/") == 29


@pytest.mark.parametrize(
    ("table", "start"),
    [
        (
            "/old,/new,301\nhttp://b c/,/d,301\n",
            "t.csv:2:9: a space in the host\n    http://b c/,/d,301\n            ^",
        ),
        ("/old,/new,301\n/b,/d,30\n", "t.csv:2:7: the status is neither a code nor one of"),
        ("", "t.csv: the table is empty"),
    ],
)
def test_a_broken_row(run: Any, folder: Path, table: str, start: str) -> None:
    """Status 1: a row that is none is an error with its line, and the others are compared. Status 3 without others."""
    (folder / "t.csv").write_text(table)
    ran = run("test", "nginx.conf", "t.csv")
    if table:
        assert ran.status == 1
        assert ran.out.decode().startswith(start)
        assert "t.csv: 2 rows: 1 passed, 1 broken" in ran.out.decode()
        for format_ in FORMATS:
            assert run("test", "nginx.conf", "t.csv", "--format", format_).status == 1
        (folder / "named.csv").write_text(f"from,to,status\n{table}")
        recorded = run("test", "nginx.conf", "named.csv", "--record")
        assert (recorded.status, recorded.out.count(b"\n")) == (1, 2)
    (folder / "t.csv").write_text(table.partition("\n")[2])
    ran = run("test", "nginx.conf", "t.csv")
    assert (ran.status, ran.out) == (3, b"")
    assert ran.err.startswith(start.replace(":2:", ":1:"))


def test_what_cannot_be_read(run: Any, folder: Path) -> None:
    """Status 3 for files that are not there, or that nginx refuses; status 2 for options that contradict."""
    assert run("test", "none.conf", "good.csv").status == 3
    assert run("test", "nginx.conf", "none.csv").status == 3
    (folder / "bad.conf").write_text("http { server { rewrite ( /x; } }")
    assert run("test", "bad.conf", "good.csv").status == 3
    assert run("test", "nginx.conf", "good.csv", "--record", "--follow").status == 2
    assert run("test", "-", "-").status == 2
    ran = run("test", "nginx.conf", "good.csv", "--base", "shop.example")
    assert (ran.status, ran.err) == (2, "--base: a URL begins with http:// or https://\n    shop.example\n    ^\n")


def test_a_recorded_table_passes(run: Any, folder: Path) -> None:
    """--record writes what is answered today; requests whose answer is unknown are left out, with the reason."""
    ran = run("test", "nginx.conf", "mixed.csv", "--record", "--output", "today.csv")
    assert (ran.status, ran.out) == (0, b"")
    assert ran.err == (
        "left out: https://shop.example/files/x: whether /srv/files/x exists\n"
        "left out: http://shop.example:81/: http://shop.example:81: no server listens at port 81\n"
    )
    assert (folder / "today.csv").read_text() == (
        "from,to,status\n"
        "https://shop.example/old,https://shop.example/new,301\n"
        "https://shop.example/a,https://shop.example/b,301\n"
        "http://shop.example/a?x,https://shop.example/a?x,301\n"
        "https://shop.example/c,,200\n"
        "https://shop.example/b,https://shop.example/c,301\n"
        "https://shop.example/gone/a,,410\n"
        "https://shop.example/api,http://app:8080/api,proxy\n"
    )
    assert run("test", "nginx.conf", "today.csv").status == 0


def test_a_table_of_a_list(run: Any, folder: Path) -> None:
    """A list of URLs and a log can be recorded; methods and headers make JSON lines."""
    (folder / "urls.txt").write_text("/old\nPOST https://shop.example/gone/x\nX-A: 1\n\n/never/\n")
    ran = run("test", "nginx.conf", "urls.txt", "--record")
    assert [json.loads(line) for line in ran.out.splitlines()] == [
        {"from": "https://shop.example/old", "to": "https://shop.example/new", "status": 301},
        {"from": "https://shop.example/never/", "to": "", "status": "closed"},
        {
            "from": "https://shop.example/gone/x", "to": "", "status": 410, "method": "POST", "headers": {"X-A": "1"},
        },
    ]  # fmt: skip
    (folder / "table.jsonl").write_bytes(ran.out)
    assert run("test", "nginx.conf", "table.jsonl").status == 0
    (folder / "targets.json").write_text(
        '{"method":"GET","url":"/old"}\n{"method":"POST","url":"/gone/x","body":"YQ=="}\n'
    )
    ran = run("test", "nginx.conf", "targets.json", "--record")
    assert [json.loads(line)["status"] for line in ran.out.splitlines()] == [301, 410]
    line = '192.0.2.1 - - [10/Oct/2024:13:55:36 +0000] "GET /old HTTP/1.1" 301 0 "-" "-"\n'
    (folder / "access.log").write_text(line * 3)
    ran = run("test", "nginx.conf", "access.log", "--record")
    assert ran.out == b"from,to,status\nhttps://shop.example/old,https://shop.example/new,301\n"
    assert ran.err == "note: the log has no host: its requests are taken as those to https://shop.example (--base)\n"


def test_many_requests_are_left_out(run: Any, folder: Path) -> None:
    """Ten requests that are left out are listed, and all are counted."""
    (folder / "urls.txt").write_text("".join(f"/files/{number}\n" for number in range(12)))
    ran = run("test", "nginx.conf", "urls.txt", "--record")
    assert ran.err.count("left out: ") == 10
    assert ran.err.endswith("12 requests left out in all\n")


def test_a_location_that_is_no_address(run: Any, folder: Path) -> None:
    """A redirect whose Location no row can have is left out."""
    (folder / "nginx.conf").write_text('http { server { server_name h; location / { return 301 "/a b"; } } }')
    (folder / "urls.txt").write_text("/\n")
    ran = run("test", "nginx.conf", "urls.txt", "--record")
    assert ran.out == b"from,to,status\n"
    assert ran.err == "left out: http://h/: its Location is not an address: http://h/a b\n"


@pytest.mark.usefixtures("folder")
def test_standard_input(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table may come from standard input."""
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(GOOD.encode())))
    ran = run("test", "nginx.conf", "-")
    assert ran.status == 0
    assert b"\n-: 4 rows: 4 passed" in ran.out


def test_a_fragment_is_noted(run: Any, folder: Path) -> None:
    """What is taken as given for a file of rules is said."""
    (folder / "rules.conf").write_text("rewrite ^/old$ /new permanent;")
    (folder / "nginx.conf").unlink()
    ran = run("test", "rules.conf", "good.csv", "--base", "http://h")
    assert ran.err.startswith("note: ")


def test_every_format_is_one() -> None:
    """Reports are in the formats that --format names."""
    assert [*FORMATS] == ["text", "json", "junit", "github"]
    assert TestReport.__test__ is False
