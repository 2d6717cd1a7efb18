"""Why a map with regular expressions stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from nginxopt.config import load, load_text
from nginxopt.errors import InputError
from nginxopt.rewrite import plan
from nginxopt.rewrite.kinds.maps.kind import MAPS
from nginxopt.rewrite.kinds.maps.planning import REASONS
from nginxopt.rewrite.kinds.maps.readers import CaptureReadings
from nginxopt.rewrite.kinds.maps.reading import read
from nginxopt.rewrite.kinds.maps.stability import definitions
from tests.rows import every_row

ROWS = "".join(f"~^/page/{number}/ /p{number}; " for number in range(40))


def reasons(http: str, server: str = "") -> list[tuple[str, str]]:
    """Return the map that stay, with their reasons."""
    text = f"events {{}} http {{ {http} server {{ {server} }} }}"
    kept = plan(load_text(text.encode(), "nginx.conf")).maps.kept
    assert all(row.reason in REASONS for row in kept)
    return [(row.map.variable, row.reason) for row in kept]


@every_row(
    "source",
    ["$uri", "${request_uri}", "$scheme$host$uri", "$http_user_agent", "$arg_q", "$sent_http_content_type",
     "$URI", "x", "$of_map", "$of_set", "$kept", "$from_location", "$of_geo"],
)  # fmt: skip
def test_sources_that_are_stable(source: str) -> None:
    """What is read from the request, or kept for it, is the same within a lookup."""
    http = (
        "map $uri $of_map { volatile; ~^/(a) $1; default $host; } map $msec $kept { ~1 2; } geo $of_geo { default 1; }"
    )
    server = "set $of_set $msec; location ~ (?<from_location>a) { }"
    config = load_text(f"events {{}} http {{ {http} server {{ {server} }} }}".encode(), "nginx.conf")
    assert definitions(config).is_stable(source)


@every_row(
    "source",
    ["$msec", "$host$request_time", "$time_local", "$1", "${2}x", "$upstream_response_time", "$connections_active",
     "$tcpinfo_rtt", "$realpath_root", "$request_filename", "$nobody_knows", "$of_map", "$in_row", "$of_njs", "$loop"],
)  # fmt: skip
def test_sources_that_are_not(source: str) -> None:
    """The time, the kernel, other workers, code, captures, and what nobody knows may change between two lookups."""
    http = (
        "map $msec $of_map { volatile; ~1 2; } map $uri $x { ~(?<in_row>a) 1; } js_set $of_njs main.f;"
        " map $loop $loop { volatile; ~a b; }"
    )
    config = load_text(f"events {{}} http {{ {http} }}".encode(), "nginx.conf")
    assert not definitions(config).is_stable(source)


def test_a_source_that_changes() -> None:
    """It is told, and so is a variable that nobody defines."""
    assert reasons(f"map $msec $a {{ {ROWS} }} map $unknown $b {{ {ROWS} }}") == [
        ("$a", "unstable-source"),
        ("$b", "unstable-source"),
    ]


UNBOUNDED = "~^/un(bound+)+ed$ /x;"
READERS = pytest.mark.parametrize(
    ("server", "http"),
    [
        ("location / { return 200 $1$new; }", ""),
        ("location / { set $x $new; content_by_lua_block { ngx.say(ngx.var[1]) } }", ""),
        ("some_module on;", ""),
        ("", "js_set $x main.f;"),
        ("", "perl_set $x 'sub { 1 }';"),
        ("root /x; set $x $new;", 'map $host $row { default "$1"; }'),
        ("root /x/$new; rewrite ^/(.*)$ /$1/$document_root;", ""),
        ('access_log x f; post_action /p; location / { return 200 "$1"; }', "log_format f $new;"),
        ("if ($uri ~ ^/(.*)) { if ($new) { break; } set $y $1; }", ""),
        ("location ~ ^/(.*) { location /a { proxy_pass http://$1; } set $x $new; }", ""),
    ],
)


@READERS
def test_captures_that_may_be_read(server: str, http: str) -> None:
    """What may read `$1` after the map was evaluated, or may run code, keeps it as it is if it would see others."""
    assert reasons(f"map $uri $new {{ {ROWS} {UNBOUNDED} }} {http}", server) == [("$new", "captures-read")]


@READERS
def test_captures_that_are_kept(server: str, http: str) -> None:
    """Rows of which one pattern matches what they do are looked up whoever reads captures."""
    text = f"events {{}} http {{ map $uri $new {{ {ROWS} }} {http} server {{ {server} }} }}"
    planned = plan(load_text(text.encode(), "nginx.conf"))
    (compiled,) = planned.maps.compiled
    assert (compiled.keeps_captures, compiled.after.far) == (True, 1)
    (line,) = MAPS.lines(planned, verbose=False)
    assert line.startswith("  behind guards      40  patterns of $new (")


@pytest.mark.parametrize(
    ("server", "http"),
    [
        ("ssi off; return 200 $new;", ""),
        ("ssi on; return 200 $new;", ""),
        ("", "map $uri $other { ~^/(.*) $1; default $new; }"),
        ("set $x $new;", "split_clients $uri $part { 50% a; * b; }"),
    ],
)
def test_captures_that_are_not(server: str, http: str) -> None:
    """What reads captures of its own, or none, does not."""
    assert ("$new", "captures-read") not in reasons(f"map $uri $new {{ {ROWS} }} {http}", server)


def test_captures_of_stream() -> None:
    """What another module reads are captures of its own."""
    stream = "stream { map $remote_addr $x { default $1; } }"
    text = f"events {{}} http {{ map $uri $new {{ {ROWS} }} server {{ return 200 $new; }} }} {stream}"
    assert CaptureReadings(load_text(text.encode(), "nginx.conf")).reader("$new") is None


def test_named_groups_that_are_read() -> None:
    """A row may read its own group; what else does, reads a row that a tree may not try."""
    row = '"~^/(?<id>[0-9]+)$" "/x/$id";'
    assert reasons(f"map $uri $a {{ {ROWS} {row} {UNBOUNDED} }}", "return 200 $a$id;") == [("$a", "named-captures")]
    assert reasons(f"map $uri $a {{ {ROWS} {row} }}", "return 200 $a$id;") == []
    assert reasons(f"map $uri $a {{ {ROWS} {row} {UNBOUNDED} ~^/other $id; }}") == [("$a", "named-captures")]
    assert reasons(f"map $id $b {{ a b; }} map $uri $a {{ {ROWS} {row} {UNBOUNDED} }}") == [("$a", "named-captures")]
    assert ("$a", "named-captures") not in reasons(f"map $uri $a {{ {ROWS} {row} }}", "return 200 $a;")


def test_rows_that_are_shared_or_missing(tmp_path: Path) -> None:
    """Rows of a file that two maps include would move for both, and those that are not there may be anything."""
    (tmp_path / "rows.map").write_text(ROWS)
    maps = "map $uri $a { include rows.map; } map $host $b { include rows.map; } map $uri $c { ~a b; include no.map; }"
    (tmp_path / "nginx.conf").write_text(f"events {{}}\nhttp {{ {maps} }}\n")
    kept = plan(load(tmp_path / "nginx.conf", missing_ok=True)).maps.kept
    assert [(row.map.variable, row.reason) for row in kept] == [
        ("$a", "shared-rows"),
        ("$b", "shared-rows"),
        ("$c", "missing-rows"),
    ]
    assert kept[2].why.endswith("nginx.conf:2)")


def test_maps_that_are_none_of_ours(tmp_path: Path) -> None:
    """Maps of stream, maps without patterns, and those that this command wrote are not looked at."""
    (tmp_path / "trees.conf").write_text(f"# 1 pattern, made by nginxopt rewrite-to-map.\nmap $uri $t {{ {ROWS} }}\n")
    http = "map $uri $plain { /a b; } include trees.conf;"
    stream = f"stream {{ map $remote_addr $x {{ {ROWS} }} }}"
    (tmp_path / "nginx.conf").write_text(f"events {{}}\nhttp {{ {http} }}\n{stream}\n")
    config = load(tmp_path / "nginx.conf")
    assert list(read(config, config.files)) == []


@pytest.mark.parametrize(
    ("row", "message", "nginx"),
    [
        ("~^/(b 2;", "PCRE2 does not compile the pattern: missing closing parenthesis", None),
        ("/x 2; /X 3;", "this key is in the map already, perhaps in another case", 'conflicting parameter "/X"'),
    ],
)
def test_a_row_that_nginx_refuses(row: str, message: str, nginx: str | None) -> None:
    """A row with which nginx does not start is an error with its place, whatever the map compiles to."""
    text = f"events {{}}\nhttp {{ map $uri $new {{\n{ROWS}\n{row} }}\n}}"
    with pytest.raises(InputError) as raised:
        plan(load_text(text.encode(), "nginx.conf"))
    error = raised.value
    assert error.message.startswith(message)
    assert error.source is not None
    assert error.span is not None
    assert error.source.position(error.span.start).line == 4
    assert nginx is None or nginx in str(error.nginx)
