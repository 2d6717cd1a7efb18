"""`alias` after a rewrite, where builds of one version differ: what each does, and that moved rules do the same.

Since the fix of CVE-2026-15176, nginx maps no URI that a rewrite has changed to a path by `alias` until it has found a
location again (`ngx_http_map_uri_to_path`). Debian's 1.22.1-9+deb12u11 has it; nginx 1.31.3 has not.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from nginxopt.system import nginx
from tests.nginx.sides import Site, check, get, record

pytestmark = pytest.mark.nginx

FILES = {"html/l/file": "file", "html/l/sub/file": "sub", "html/page": "page"}
SHOWN = "access_log access.log main; add_header X-Path '[$request_filename] [$1] $uri' always; server_name a.test;"
HTTP = "log_format main '$status $uri [$request_filename] [$realpath_root] $sent_http_location';"
REFUSED = '"alias" cannot be used in location "/l/" where URI was rewritten'

RULES = r"""rewrite ^/l/break$ /l/sub/file break;
rewrite ^/l/(out|off)$ /page break;
rewrite ^/l/last$ /l/file last;
rewrite ^/l/gone$ /l/file permanent;
rewrite ^/l/host$ https://$host/l/file redirect;
rewrite ^/l/name$ /l/file?f=$request_filename last;
rewrite ^/l/kept$ /l/file?f=$request_filename break;
rewrite ^/l/to$ /l/to?f=$request_filename redirect;
rewrite (?i)^/l/any/?$ /l/file last;
rewrite ^/x/last$ /l/file last;
rewrite ^/x/break$ /l/file break;
rewrite ^/x/gone$ /l/file?f=$request_filename permanent;
"""
STAYS = r"rewrite ^/l/dir-(.*)\.old$ /l/$1 break;" + "\n"
CHANGES = "rewrite ^/l/changed-(.*)$ /l/$1; rewrite ^/x/changed-(.*)$ /l/$1;\n"
# Up to the fix of CVE-2026-42945, nginx escapes what a later rule captures for the arguments of this one.
ARGUMENTS = "rewrite ^/l/changed-(.*)$ /l/$1?z=1; rewrite ^/x/changed-(.*)$ /l/$1?$request_method;"
NAMES = ("break", "out", "off", "last", "gone", "host", "name", "kept", "to", "any", "ANY/", "file", "sub/file", "none")
TARGETS = [f"/{start}/{name}" for start in ("l", "x", "l/changed-", "x/changed-") for name in NAMES]
REQUESTS = [
    get(target.replace("changed-/", "changed-") + end)
    for target in [*TARGETS, "/l/dir-file.old", "/l/dir-sub/file.old"]
    for end in ("", "?x=1", "%0A")
]

SERVERS = {
    "in a location": "location /l/ { alias html/l/; %s } location /x/ { %s }",
    "in a server": "%s location /l/ { alias html/l/; }",
    "behind a change": f"location /l/ {{ alias html/l/; {CHANGES} %s }} {CHANGES}",
    "in a server behind a change": f"{CHANGES} %s location /l/ {{ alias html/l/; }}",
    "behind a change with arguments": f"{ARGUMENTS} %s location /l/ {{ alias html/l/; {ARGUMENTS} %s }}",
    "with an if": "location /l/ { if ($arg_x) { set $y $request_filename; } alias html/l/; %s }",
    "with files to try": "location /l/ { alias html/l/; try_files $uri /page; %s }",
    "by a regex": "location ~ ^/l/(.*)$ { %s alias html/l/$1; }",
    "with a return behind": "location /l/ { alias html/l/; %s set $y $request_filename; return 200 '[$y] $args'; }",
    "nested": "location /l/ { alias html/l/; location /l/s { %s } %s }",
    "an error page to a rule": "error_page 404 500 /l/last; %s location /l/ { alias html/l/; }",
}


@pytest.mark.parametrize("around", SERVERS)
def test_moved_rules_and_alias(a_binary: nginx.Binary, around: str, tmp_path: Path) -> None:
    """Answers, paths and logs are what they were: a moved rule changes the URI where the rule did, and only there."""
    servers = [SHOWN + SERVERS[around].replace("%s", rules) for rules in (RULES, STAYS + RULES)]
    answers = check(a_binary, Site(servers, HTTP, files=FILES), tmp_path, REQUESTS).answers
    assert any(b"X-Path: [<prefix>/html/l/" in answer for answer in answers)


def test_what_builds_do_with_alias(each_binary: nginx.Binary) -> None:
    """After `break` all builds refuse the path, after `last` none; before the next location is found, some do."""
    rules = "rewrite ^/l/break$ /l/file break; rewrite ^/l/last$ /l/file last; rewrite ^/l/gone$ /l/file permanent;"
    site = Site([f"{SHOWN} location /l/ {{ alias html/l/; {rules} }}"], HTTP, files=FILES)
    outcome = record(each_binary, site, site.texts(), [get(f"/l/{name}") for name in ("break", "last", "gone")])
    broken, served, gone = outcome.answers
    assert broken.startswith(b"HTTP/1.1 500 ")
    assert b"X-Path: []" in broken
    assert b"X-Path: [<prefix>/html/l/file]" in served
    refuses = b"X-Path: []" in gone
    assert refuses or b"X-Path: [<prefix>/html/l/gone]" in gone
    errors = [line for line in outcome.errors if "GET /l/gone" in line]
    assert refuses == any(REFUSED in line for line in errors)
