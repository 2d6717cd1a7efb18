"""What the status of a response settles that the request leaves open: files, passwords, subrequests, upstreams."""

from __future__ import annotations

from pathlib import Path

import pytest

from nginxopt.request.client import Url
from tests.profile.lines import FILES, LINE, profiled
from tests.rows import every_row


@every_row(
    ("request_line", "status", "verdict", "line"),
    [
        ("GET /a.html HTTP/1.1", 200, "agrees", 8),
        ("GET /a.html HTTP/1.1", 304, "agrees", 8),
        ("GET /a.html HTTP/1.1", 410, "differs", 8),
        ("GET /strict/a HTTP/1.1", 200, "agrees", 9),
        ("GET /strict/a HTTP/1.1", 404, "agrees", 9),
        ("GET /strict/a HTTP/1.1", 302, "differs", 9),
        ("GET /app/x HTTP/1.1", 200, "ambiguous", None),
        ("GET /app/x HTTP/1.1", 502, "agrees", 11),
        ("GET /old HTTP/1.1", 301, "agrees", 12),
        ("GET /old HTTP/1.1", 499, "agrees", 12),
        ("GET /old HTTP/1.1", 200, "differs", 12),
        ("GET /api HTTP/1.1", 418, "agrees", 13),
    ],
)
def test_the_status_settles_files(tmp_path: Path, request_line: str, status: int, verdict: str, line: int) -> None:
    """Of the outcomes that a file decides, those remain that the status fits."""
    profile = profiled(tmp_path, LINE.format(request_line, status))
    ((key, cell),) = profile.classes.items()
    assert (key.verdict, cell.requests) == (verdict, 1)
    if line is not None:
        assert key.level is not None
        assert key.level.line == line


@pytest.mark.parametrize(
    ("page", "level", "verdict", "line"),
    [
        ("error_page 404 /404.html;", "location = /404.html { internal; }", "agrees", 9),
        ("error_page 404 /404.html;", "", "agrees", 8),
        ("error_page 404 /404.html;", "location = /404.html { proxy_pass http://127.0.0.1:8080; }", "agrees", 9),
        ("error_page 404 =200 /404.html;", "location = /404.html { internal; }", "agrees", 9),  # there is no page
        ("error_page 404 =200 /x.txt;", "location = /x.txt { return 200; }", "differs", 9),
    ],
)
def test_the_file_of_an_error_page(tmp_path: Path, page: str, level: str, verdict: str, line: int) -> None:
    """Whether the page of an error exists is not in the log, and makes no difference to the status."""
    location = "location / { try_files $uri =404; }"
    conf = f"""events {{ }}
    http {{
        server {{
            listen 80;
            server_name a.example;
            root /srv;
            {page}
            {location}
            {level}
        }}
    }}
    """
    ((key, _),) = profiled(tmp_path, LINE.format("GET /x/none HTTP/1.1", 404), conf).classes.items()
    assert key.verdict == verdict
    if verdict == "agrees":
        assert key.level is not None
        assert key.level.line == line


@every_row(
    ("user", "status", "verdict", "passwords"),
    [("bob", 200, "agrees", 1), ("bob", 401, "agrees", 1), ("-", 401, "agrees", 0), ("-", 200, "differs", 0)],
)
@every_row("is_logged", [True, False])
def test_the_status_settles_passwords(
    tmp_path: Path, user: str, status: int, verdict: str, passwords: int, is_logged: bool
) -> None:
    """A response other than 401 says that the password was right, unless the log says that there was none."""
    conf = """events { }
    http {
        log_format named '$remote_user "$request" $status';
        log_format short '"$request" $status';
        server {
            listen 80;
            auth_basic staff;
            auth_basic_user_file users;
            location / { proxy_pass http://127.0.0.1:81; }
        }
    }
    """
    line = f'{user} "GET /a HTTP/1.1" {status}\n' if is_logged else f'"GET /a HTTP/1.1" {status}\n'
    ((key, cell),) = profiled(tmp_path, line, conf).classes.items()
    if is_logged:
        assert (key.verdict, cell.tries.passwords) == (verdict, passwords)
    else:
        assert (key.verdict, cell.tries.passwords) == ("agrees", int(status == 200))


@every_row(
    ("target", "status", "verdict", "kind"),
    [
        ("/app/x", 200, "agrees", "proxy"),
        ("/app/x", 401, "ambiguous", None),  # of the upstream, or of the subrequest
        ("/app/x", 502, "agrees", "proxy"),
        ("/x", 200, "agrees", "static"),
        ("/x", 403, "agrees", "error"),
        ("/x", 404, "agrees", "error"),
        ("/x", 302, "differs", None),
        ("/x", 500, "agrees", "error"),
    ],
)
def test_the_status_settles_subrequests(
    tmp_path: Path, target: str, status: int, verdict: str, kind: str | None
) -> None:
    """Whether a subrequest that an upstream answers lets the request pass shows in the status of the response."""
    conf = """events { }
    http {
        log_format short '"$request" $status';
        server {
            listen 80;
            auth_request /auth;
            root /srv;
            location /app/ { proxy_pass http://127.0.0.1:81; }
            location = /auth { internal; proxy_pass http://127.0.0.1:82; }
        }
    }
    """
    ((key, _),) = profiled(tmp_path, f'"GET {target} HTTP/1.1" {status}\n', conf).classes.items()
    assert key.verdict == verdict
    assert kind in (None, key.kind)


_BASE = Url("http", "a.example", 80, b"/")

REFERERS = """events {{ }}
http {{
    log_format value '"$request" $status "$invalid_referer"';
    log_format short '"$request" $status';
    server {{
        listen 80;
        server_name a.example;
        location / {{ valid_referers none {}; if ($invalid_referer) {{ return 403; }} return 200 all; }}
        location /b/ {{ valid_referers none {}; if ($invalid_referer) {{ return 403; }} return 200 b; }}
    }}
    server {{
        listen 80;
        server_name other.example;
        location / {{ valid_referers server_names; if ($invalid_referer) {{ return 403; }} return 200 other; }}
    }}
}}
"""


@every_row(
    ("names", "line", "verdict"),
    [
        ("a.test a.test", '"GET / HTTP/1.1" 200 3 "http://a.test/" "-"', "agrees"),
        ("a.test a.test", '"GET / HTTP/1.1" 200 3 "http://b.test/" "-"', "differs"),
        ("a.test a.test", '"GET /b/ HTTP/1.1" 403 3 "http://b.test/" "-"', "agrees"),
        ("a.test a.test", '"GET /b/ HTTP/1.1" 200 3 "-" "-"', "agrees"),
        ("a.test b.test", '"GET / HTTP/1.1" 403 3 "http://c.test/" "-"', "agrees"),
        ("a.test b.test", '"GET /b/ HTTP/1.1" 403 3 "http://b.test/" "-"', "unknown"),
    ],
)
def test_referers_are_those_of_each_line(tmp_path: Path, names: str, line: str, verdict: str) -> None:
    """`$invalid_referer` is known for a line, unless blocks of the server that answers give it several values."""
    log = f"192.0.2.1 - - [27/Nov/2026:10:00:00 +0200] {line}\n"
    profile = profiled(tmp_path, log * 3 + "broken\n", REFERERS.format(*names.split()), base=_BASE)
    ((key, cell),) = profile.classes.items()
    assert (key.verdict, cell.requests) == (verdict, 3)
    (file,) = profile.files
    assert (file.all_lines, file.lines, file.broken, file.broken_lines) == (4, 4, 1, [4])
    assert sum(one.requests for one in profile.clients.values()) == 3


@pytest.mark.parametrize(
    ("end", "verdict"), [(' "1"', "differs"), (' ""', "agrees"), ("", "unknown")]
)  # a format without the header or the variable tells nothing
def test_referers_of_formats(tmp_path: Path, end: str, verdict: str) -> None:
    """The variable itself may be in the log."""
    ((key, _),) = profiled(
        tmp_path, f'"GET / HTTP/1.1" 200{end}\n', REFERERS.format("a", "a"), base=_BASE
    ).classes.items()
    assert key.verdict == verdict


WITH_UPSTREAM = FILES.replace(
    "http {", "http { log_format up '$host \"$request\" $status $request_time $upstream_response_time';", 1
)


@pytest.mark.parametrize(("time", "line"), [("0.200", 11), ("0.100, 0.100 : 0.001", 11), ("-", 10)])
def test_an_upstream_that_was_asked(tmp_path: Path, time: str, line: int) -> None:
    """Where the format tells whether an upstream was asked, its answers and files are told apart."""
    profile = profiled(tmp_path, f'a.example "GET /app/x HTTP/1.1" 200 0.250 {time}\n', WITH_UPSTREAM)
    ((key, cell),) = profile.classes.items()
    assert (key.verdict, key.level and key.level.line) == ("agrees", line)
    assert cell.upstream.sum == {"0.200": 200, "-": 0}.get(time, 201)
    assert cell.request.sum == 250
