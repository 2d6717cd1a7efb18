"""`nginxopt check`: its lines, its notes and its status, in a folder as a user has it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

_GOOD = "events {}\nhttp {\n  server { return 200 ok; }\n}\n"
_ASSUMED = "note: checked for nginx 1.28.0; --target-version names another\n"
_BROKEN = "events {}\nhttp {\n  sendfil on;\n  server { send_timeout 1y; }\n}\n"
_ELSE = "events {}\nhttp { server { if ($uri) { return 200; } else { return 404; } } }\n"
_UNREAD = "events {}\nhttp {\n  include conf.d/*.conf;\n  include gone.conf;\n  server { return 200 $nope; }\n}\n"


@pytest.mark.parametrize(
    ("text", "status", "found"),
    [
        (_GOOD, 0, ""),
        ("", 0, ""),
        (
            _BROKEN,
            1,
            'nginx.conf:3:3: unknown directive "sendfil"\nnginx.conf:4:12: "send_timeout" directive invalid value\n',
        ),
        (_ELSE, 1, 'nginx.conf:2:43: unknown directive "else"\n'),
    ],
)
def test_each_fault_is_a_line(run: Any, tmp_path: Path, text: str, status: int, found: str) -> None:
    """All faults are said with their places, and which nginx has them; the status says whether there are any."""
    (tmp_path / "nginx.conf").write_text(text)
    ran = run("check", "nginx.conf")
    assert (ran.status, ran.out.decode(), ran.err) == (status, found, _ASSUMED if found else "")
    assert run("check", "nginx.conf", "--target-version", "1.28").err == ""


def test_a_missing_file_is_an_error_and_the_others_are_still_judged(run: Any, tmp_path: Path) -> None:
    """A file that cannot be read has a status of its own; what was found elsewhere is said."""
    (tmp_path / "nginx.conf").write_text(_BROKEN)
    ran = run("check", "absent.conf", "nginx.conf")
    assert ran.status == 3
    assert len(ran.out.splitlines()) == 2
    assert ran.err.splitlines()[0] == "absent.conf: cannot be read: No such file or directory"


def test_an_include_that_was_not_read_is_noted(run: Any, tmp_path: Path) -> None:
    """The name may be defined there, so it is no fault; that the file was not read is said, unless with `--quiet`."""
    (tmp_path / "nginx.conf").write_text(_UNREAD)
    ran = run("check", "nginx.conf")
    assert (ran.status, ran.out) == (0, b"")
    may = "so names may be defined there"
    assert ran.err.splitlines() == [
        f"nginx.conf:3:11: note: conf.d/*.conf may read other files where it is installed, {may}",
        f"nginx.conf:4:11: note: gone.conf was not read, {may}",
    ]
    assert run("check", "nginx.conf", "--quiet").err == ""


def test_names_are_judged_beside_files_that_cannot_define_them(run: Any, tmp_path: Path) -> None:
    """`mime.types` has nothing but types, and a file within a server declares no zone, cache or format; it may set
    variables. `lint` says the same."""
    (tmp_path / "nginx.conf").write_text(
        "events {}\nhttp {\n  include mime.types;\n  server {\n    limit_req zone=z;\n    access_log l f;\n"
        "    proxy_cache c;\n    include fastcgi_params;\n    return 200 $nope;\n  }\n}\n"
    )
    ran = run("check", "nginx.conf")
    assert ran.out.decode().splitlines() == [
        'nginx.conf:6:18: unknown log format "f"',
        'nginx.conf:7:17: "proxy_cache" zone "c" is unknown',
        'nginx.conf:5:5: zero size shared memory zone "z"',
        'nginx.conf:7:17: zero size shared memory zone "c"',
    ]
    assert ran.err.splitlines()[0].startswith("nginx.conf:8:13: note: fastcgi_params was not read")
    linted = run("lint", "nginx.conf", "--select", "refused").out.decode()
    assert [line.split(":")[1] for line in linted.splitlines() if "nginx refuses it" in line] == ["5", "6", "7"]


def test_a_syntax_error_is_a_refusal_and_what_is_before_it_is_judged(run: Any, tmp_path: Path) -> None:
    """The file could be read, and nginx refuses it: status 1, as for any other fault."""
    (tmp_path / "nginx.conf").write_text("events {}\nhttp {\n  sendfil on;\n  server {\n")
    ran = run("check", "nginx.conf")
    assert (ran.status, ran.err) == (1, _ASSUMED)
    assert ran.out.decode().splitlines() == [
        'nginx.conf:3:3: unknown directive "sendfil"',
        'nginx.conf:4:10: unexpected end of file, expecting "}"',
    ]


def test_a_block_without_its_brace_is_the_fault_and_not_a_later_brace(run: Any, tmp_path: Path) -> None:
    """nginx 1.22.1 and 1.31.3 stop at the location, as `${` opens no block. `lint` and `check` say the same, once."""
    (tmp_path / "nginx.conf").write_text(
        "events {}\nhttp {\n  server {\n    location ~ \\.css${\n      expires 1h;\n    }\n    listen 80;\n  }\n}\n"
    )
    message = 'directive "location" has no opening "{"'
    ran = run("check", "nginx.conf")
    assert (ran.status, ran.out.decode()) == (1, f"nginx.conf:4:5: {message}\n")
    linted = run("lint", "nginx.conf")
    assert linted.status == 3
    lines = linted.out.decode().splitlines()
    assert lines[0] == f"nginx.conf:4:5: error {message}"
    assert f"  as nginx words it: {message} in nginx.conf:5" in lines
    assert [line for line in lines if "closes no block" in line] == []
