"""`nginxopt trace --requests`: the use of servers, locations and rules by the requests of a file."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_expectations import CONF
from tests.schemas import validate

LINE = '192.0.2.1 - - [10/Oct/2024:13:55:36 +0000] "GET {} HTTP/1.1" 200 0 "-" "-"\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A configuration, a list of URLs and a log."""
    (tmp_path / "nginx.conf").write_text(CONF)
    (tmp_path / "urls.txt").write_text("/old\n/old\n/a\n/gone/x\n/files/1\n/files/2\nhttp://shop.example:81/\n/\n")
    log = "".join(LINE.format(target) for target in ("/a", "/old", "/old", "/%"))
    (tmp_path / "access.log").write_text(f"{log}broken\n{LINE.format('x y')}")
    return tmp_path


@pytest.mark.usefixtures("folder")
def test_the_table_by_use(run: Any) -> None:
    """Outcomes, then what is used, the most used first, then what is not."""
    ran = run("trace", "nginx.conf", "--requests", "urls.txt", "--target-version", "1.22.1")
    assert (ran.status, ran.err) == (0, "")
    assert (
        ran.out.decode()
        == """\
urls.txt: 8 requests (list of requests; nginx 1.22.1)
            3   37.5%  redirect 301
            2   25.0%  unknown
            1   12.5%  proxy
            1   12.5%  return 410
            1   12.5%  refused
        2 unknown: whether a file exists, nginx.conf:19: location /files/, as of https://shop.example/files/1
        1 refused: http://shop.example:81: no server listens at port 81, as of http://shop.example:81/

servers by use:
            7   87.5%  nginx.conf:8: server shop.example

locations by use:
            2   25.0%  nginx.conf:19: location /files/
            1   12.5%  nginx.conf:16: location /
            1   12.5%  nginx.conf:18: location /gone/

rules by use:
            2   25.0%  nginx.conf:13: rewrite ^/old$ /new permanent
            1   12.5%  nginx.conf:14: rewrite ^/a$ /b permanent
            1   12.5%  nginx.conf:18: return 410

1 of 2 servers is never used:
    nginx.conf:3: server shop.example

3 of 6 locations are never used:
    nginx.conf:17: location = /c
    nginx.conf:20: location /x
    nginx.conf:21: location /never/

5 of 8 rules are never used:
    nginx.conf:6: return 301 https://shop.example$request_uri
    nginx.conf:15: rewrite ^/b$ /c permanent
    nginx.conf:17: return 200 hello
    nginx.conf:20: return 302 /x
    nginx.conf:21: return 444
"""
    )


@pytest.mark.usefixtures("folder")
def test_an_access_log(run: Any) -> None:
    """Broken lines, lines without a request, and what was assumed are said."""
    ran = run("trace", "nginx.conf", "--requests", "access.log", "--input-format", "combined")
    lines = ran.out.decode().splitlines()
    assert lines[0].startswith("access.log: 4 requests (access log in the format combined; nginx ")
    assert lines[1:6] == [
        "  1 line of another format: 5",
        "  1 line without an HTTP request, which nginx answers with 400",
        "  note: the log has no host: its requests are taken as those to https://shop.example (--base)",
        "            3   75.0%  redirect 301",
        "            1   25.0%  error 400",
    ]


@pytest.mark.usefixtures("folder")
def test_json(run: Any) -> None:
    """The report follows its schema, and has all that is not used, too."""
    ran = run("trace", "nginx.conf", "--requests", "access.log", "--format", "json", "--target-version", "1.22.1")
    report = json.loads(ran.out)
    validate(report, "usage-report")
    assert (report["requests"], report["lines"], report["malformed"]) == (4, 6, 1)
    assert report["broken"] == {"lines": 1, "first": [5]}
    assert [rule["requests"] for rule in report["rules"]] == [2, 1, 0, 0, 0, 0, 0, 0]
    assert report["rules"][0] == {
        "file": "nginx.conf", "line": 13, "text": "rewrite ^/old$ /new permanent", "requests": 2, "state": "used",
    }  # fmt: skip
    ran = run("trace", "nginx.conf", "--requests", "urls.txt", "--format", "json")
    report = json.loads(ran.out)
    validate(report, "usage-report")
    assert [unknown["place"] and unknown["place"]["line"] for unknown in report["unknown"]] == [19, None]


def test_much_that_is_never_used(run: Any, folder: Path) -> None:
    """Twenty directives of a part are listed, with -v all."""
    rules = "".join(f"rewrite ^/{number}$ /n permanent;" for number in range(60))
    (folder / "nginx.conf").write_text(f"http {{ server {{ server_name h; {rules} }} }}")
    (folder / "urls.txt").write_text("".join(f"/{number}\n" for number in range(30)))
    short, long = (run("trace", "nginx.conf", "--requests", "urls.txt", *more).out.decode() for more in ([], ["-v"]))
    assert short.count("rewrite ^/") == 40
    assert short.count("    ... and 10 more (-v lists all)\n") == 2
    assert long.count("rewrite ^/") == 60


def test_headers_of_a_log_decide(run: Any, folder: Path) -> None:
    """A configuration that depends on a header gets that of the log."""
    (folder / "nginx.conf").write_text(
        "http { server { server_name h; if ($http_user_agent ~ bot) { return 403; } return 204; } }"
    )
    (folder / "access.log").write_text(LINE.format("/") + LINE.format("/").replace('"-"\n', '"bot/1"\n'))
    report = json.loads(run("trace", "nginx.conf", "--requests", "access.log", "--format", "json").out)
    assert [(outcome["status"], outcome["requests"]) for outcome in report["outcomes"]] == [(204, 1), (403, 1)]


def test_a_terminal_shows_progress(run: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a terminal there is a bar for reading and one for tracing; the result is the same."""
    plain = run("trace", "nginx.conf", "--requests", "access.log")
    monkeypatch.setattr(type(sys.stderr), "isatty", lambda _: True, raising=False)
    monkeypatch.setattr("nginxopt.cli.stdout._Guarded.isatty", lambda _: True)
    monkeypatch.setenv("NO_COLOR", "1")
    ran = run("trace", "nginx.conf", "--requests", "access.log")
    assert (ran.status, ran.out) == (0, plain.out)
    assert "reading access.log" in ran.err
    assert "tracing" in ran.err
    assert folder.exists()


@pytest.mark.parametrize(
    ("args", "status", "message"),
    [
        (["--requests", "none.log"], 3, "none.log: cannot be read: No such file or directory"),
        (["--requests", "nginx.conf"], 3, "nginx.conf:1:1: neither a request nor a line of an access log"),
        (["--requests", "urls.txt", "/x"], 2, "--requests takes neither a URL nor"),
        (["--requests", "urls.txt", "-H", "A: 1"], 2, "--requests takes neither a URL nor"),
        (["--input-format", "urls", "/x"], 2, "--input-format is for --requests"),
        (["--requests", "access.log", "--input-format", "timed"], 2, 'unknown format "timed"'),
    ],
)
@pytest.mark.usefixtures("folder")
def test_what_is_refused(run: Any, args: list[str], status: int, message: str) -> None:
    """Files that are none of requests, and options that contradict, are errors."""
    ran = run("trace", "nginx.conf", *args)
    assert (ran.status, ran.out) == (status, b"")
    assert ran.err.startswith(message)


RULES = """events {}
http {
    server {
        listen 80;
        server_name shop.example;
        rewrite ^/old/a$ /new/a permanent;
        rewrite ^/old/b$ /new/b permanent;
        rewrite ^/old/c$ /new/c permanent;
    }
}
"""


def test_rows_of_compiled_rules_are_used(run: Any, tmp_path: Path) -> None:
    """After `rewrite-to-map`, the use of each rule shows as that of its row, in the file of maps."""
    (tmp_path / "nginx.conf").write_text(RULES)
    assert run("rewrite-to-map", "nginx.conf", "-o", "out", "--name", "m_").status == 0
    (tmp_path / "urls.txt").write_text("/old/b\n/old/b\n/old/c\n")
    ran = run("trace", "out/nginx.conf", "--requests", "urls.txt", "--format", "json", "--target-version", "1.22.1")
    rows = {rule["text"]: rule for rule in json.loads(ran.out)["rules"] if rule["file"] == "out/m_.conf"}
    used = {text: row["requests"] for text, row in rows.items() if "/new/" in text and 'n"' not in text}
    assert used == {'"/old/a" "/new/a"': 0, '"/old/b" "/new/b"': 2, '"/old/c" "/new/c"': 1}
    lines = (tmp_path / "out" / "m_.conf").read_text().splitlines()
    assert lines[rows['"/old/b" "/new/b"']["line"] - 1].split() == ['"/old/b"', '"/new/b";']


def test_an_absolute_target_is_shown_as_sent(run: Any, tmp_path: Path) -> None:
    """A request in absolute form, as in the log of a proxy, is not glued to its site."""
    (tmp_path / "nginx.conf").write_text("events {}\nhttp { server { listen 80; if ($geoip_city) { return 403; } } }")
    (tmp_path / "a.log").write_text(LINE.format("http://evil/"))
    ran = run("trace", "nginx.conf", "--requests", "a.log", "--format", "json", "--base", "http://shop.example")
    assert [unknown["example"] for unknown in json.loads(ran.out)["unknown"]] == [
        "http://evil/ sent to http://shop.example"
    ]


STATES = """
events { }
http {
    map $uri $old { default ""; /x /y; ~^/z /w; }
    log_format short '"$request" $status';
    server {
        listen 80;
        server_name h;
        root /srv;
        access_log /var/log/nginx/h.log short;
        if ($old) { return 301 $old; }
        location / { try_files $uri =404; }
        location /quiet { access_log off; return 204; }
        location /some { access_log /var/log/nginx/h.log short if=$arg_log; return 204; }
        location /other { access_log /var/log/nginx/other.log; return 204; }
        location /both {
            access_log /var/log/nginx/h.log short;
            access_log /var/log/nginx/other.log;
            return 204;
        }
    }
}
"""


def test_three_states(run: Any, folder: Path) -> None:
    """Used, not seen though it logs here, and what does not log here: `access_log off`, `if=`, another file."""
    (folder / "nginx.conf").write_text(STATES)
    lines = ["GET /x HTTP/1.1", "GET /a.html HTTP/1.1", "GET /none HTTP/1.1"]
    log = "".join(f'"{line}" {status}\n' for line, status in zip(lines, (301, 200, 404), strict=True))
    (folder / "h.log.1").write_text(log)
    command = ("trace", "nginx.conf", "--requests", "h.log.1", "--target-version", "1.22.1")
    report = json.loads(run(*command, "--format", "json").out)
    validate(report, "usage-report")
    states = {(use["line"], use["text"]): use["state"] for part in ("locations", "rules") for use in report[part]}
    locations = {text.split()[1]: state for (_, text), state in states.items() if text.startswith("location")}
    assert locations == {
        "/": "used",
        "/quiet": "not logged here",
        "/some": "not logged here",
        "/other": "not logged here",
        "/both": "not seen",
    }
    assert [states[4, row] for row in ("/x /y", "~^/z /w")] == ["used", "not seen"]
    assert [state for (line, _), state in states.items() if line in (13, 14, 15)].count("not logged here") == 6
    text = run(*command).out.decode()
    assert "1 of 5 locations is not seen, though logged here:\n    nginx.conf:16: location /both\n" in text
    assert "3 of 5 locations are not logged here, so that their use is not known:\n" in text
    assert "never used" not in text


def test_the_status_tells_of_files(run: Any, folder: Path) -> None:
    """A log has the status, so that it is known whether a file existed; a list of URLs leaves that open."""
    (folder / "nginx.conf").write_text(STATES)
    (folder / "h.log").write_text('"GET /a HTTP/1.1" 200\n"GET /a HTTP/1.1" 404\n"GET /b HTTP/1.1" 304\n')
    (folder / "urls.txt").write_text("/a\n")
    of_log, of_list = (
        json.loads(run("trace", "nginx.conf", "--requests", name, "--format", "json").out)
        for name in ("h.log", "urls.txt")
    )
    ends = {(one["kind"], one["requests"]) for one in of_log["outcomes"]}
    assert ends == {("static", 2), ("error", 1)}
    assert [one["kind"] for one in of_list["outcomes"]] == ["unknown"]


def test_a_status_that_several_responses_have(run: Any, folder: Path) -> None:
    """A file and an upstream may both answer with 200."""
    (folder / "nginx.conf").write_text(
        "http { server { server_name h; root /s; location / { try_files $uri @up; } "
        "location @up { proxy_pass http://127.0.0.1:81; } } }"
    )
    (folder / "access.log").write_text(LINE.format("/a"))
    report = json.loads(run("trace", "nginx.conf", "--requests", "access.log", "--format", "json").out)
    (unknown,) = report["unknown"]
    assert unknown["reason"] == "which of several responses with its status it is"
