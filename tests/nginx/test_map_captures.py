"""Readers that see whether a map became a tree: those that read captures after it was evaluated, and no others."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from nginxopt.config import load_text
from nginxopt.rewrite.kinds.maps.readers import CaptureReadings
from nginxopt.system import nginx
from nginxopt.system.http import RequestBytes
from tests.nginx.sides import Site, check, get

pytestmark = pytest.mark.nginx

MAP = 'map $uri $new { "~^/hit/(.*)" v; default d; }'
TREE = 'map $uri $new { default $t; } map $uri $t { "~^(?!/hit/)" d; "~^/hit/(.*)" v; }'
"""The same as a tree may be: another pattern matches on a miss."""


@dataclass(frozen=True)
class Case:
    """A server with `http` around it, and who of it is named as a reader: none if nobody sees a difference."""

    claim: str
    server: str
    reader: str | None = None
    http: str = ""


CASES = [
    Case(
        "a rewrite reads the captures of its own pattern",
        'if ($new = v) { set $x 1; } rewrite ^/a/(.*)$ /b/$1 break; location / { return 200 "$uri $new"; }',
    ),
    Case(
        "unless its target evaluates the map",
        'rewrite ^/a/(.*)$ /b/$1/$new break; location / { return 200 "$uri"; }',
        "rewrite",
    ),
    Case(
        "unless it evaluates a map whose value is the map",
        'rewrite ^/a/(.*)$ /b/$1/$outer break; location / { return 200 "$uri"; }',
        "rewrite",
        "map $server_port $outer { default $new; }",
    ),
    Case(
        "a location reads the captures of its own pattern, which is matched after the rules of the server",
        'if ($new = v) { return 200 v; } location ~ ^/a/(.*)$ { return 200 "[$1]"; }',
    ),
    Case(
        "unless something in a location evaluates the map",
        'location ~ ^/a/(.*)$ { set $x $new; return 200 "[$1]"; }',
        "return",
    ),
    Case(
        "a location without a pattern reads the captures of anything",
        'server_name "~^(.*)$"; if ($new = v) { return 200 v; } location / { return 200 "[$1]"; }',
        "return",
    ),
    Case(
        "a condition's captures are read right after it",
        'if ($uri ~ ^/a/(.*)$) { set $y $1; set $z $new; } location / { return 200 "[$y] $z"; }',
    ),
    Case(
        "unless the map is evaluated before",
        'if ($uri ~ ^/a/(.*)$) { set $z $new; set $y $1; } location / { return 200 "[$y] $z"; }',
        "set",
    ),
    Case(
        "the row of a map reads the captures of its own pattern",
        'location / { return 200 "$new $row"; }',
        None,
        'map $uri $row { "~^/a/(.*)$" "[$1]"; }',
    ),
    Case(
        "the default of a map reads those of anything",
        'server_name "~^(.*)$"; location / { set $x $new; return 200 "$row"; }',
        "default",
        'map $uri $row { default "[$1]"; }',
    ),
    Case(
        "and so does the source of a map",
        'server_name "~^(.*)$"; location / { set $x $new; return 200 "$row"; }',
        "map",
        'map $1 $row { default -; "~(.+)" "<$1>"; }',
    ),
    Case(
        "server-side includes have captures of their own",
        "default_type text/html; ssi on; server_name '~^(.*)$'; "
        "location / { return 200 \"$new<!--# echo var='1' -->\"; }",
    ),
    Case(
        "but they evaluate any variable, and then the default of a map reads captures",
        "default_type text/html; ssi on; server_name '~^(.*)$'; "
        "location / { return 200 \"<!--# echo var='new' --><!--# echo var='row' -->\"; }",
        "default",
        'map $uri $row { default "[$1]"; }',
    ),
    Case(
        "what is evaluated for the log is seen by the log only",
        'server_name "~^(.*)$"; access_log logs f; location / { return 200 "[$1]"; }',
        None,
        'log_format f "$new";',
    ),
]


@pytest.mark.parametrize("case", CASES, ids=[case.claim for case in CASES])
def test_captures_after_a_map(a_binary: nginx.Binary, case: Case) -> None:
    """A reader is named if the answers on nginx differ, and none if they do not."""
    server = case.server.replace("logs", "access.log")
    text = f"events {{}} http {{ {MAP} {case.http} server {{ {server} }} }}"
    reader = CaptureReadings(load_text(text.encode(), "nginx.conf")).reader("$new")
    assert (reader and str(reader.name)) == case.reader
    answers = [_answers(a_binary, server, f"{http} {case.http}") for http in (MAP, TREE)]
    assert (answers[0] == answers[1]) is (reader is None)


ROWS = r"""
"~^/hit/(.*)" v;
"~^/a/(b)(c)?" "w$1$2";
"~*/NONE$" "$uri";
"~^/none/.*x$" x;
"~(?<named>z+)/(y)" "z$named$2";
"~^/a/$" "";
"""
ASKED = ("a/b", "a/bc", "a/", "a/%0A", "hit/c", "hit/", "none", "NONE", "none%0A", "none/x", "zz/y", "a/zz/y", "c", "")


@pytest.mark.parametrize("case", CASES, ids=[case.claim for case in CASES])
def test_captures_after_a_compiled_map(a_binary: nginx.Binary, case: Case, tmp_path: Path) -> None:
    """Whatever reads captures, or a named group, sees in the compiled maps what it saw in the map."""
    shown = "add_header X-Shown '[$1] [$2] [$named]' always; access_log access.log shown;"
    http = f"map $uri $new {{ default d; {ROWS} }} {case.http} log_format shown '$new [$named]';"
    servers = [f"{shown} {case.server.replace('logs', 'other.log')}"]
    requests = [get(f"/{path}", host=host) for path in ASKED for host in ("a.test", "cap.test")]
    check(a_binary, Site(servers, http), tmp_path, requests)


def _answers(binary: nginx.Binary, server: str, http: str) -> list[bytes]:
    paths = ("/a/b", "/hit/c", "/none", "/a/")
    requests = [RequestBytes(f"GET {path} HTTP/1.1\r\nHost: a.test\r\n\r\n".encode()) for path in paths]
    with nginx.Instance(binary, servers=[server.encode()], http=http.encode()) as instance, instance.client() as client:
        return [answer.partition(b"\r\n\r\n")[2] for answer in client.ask(requests)]
