"""Missing includes on the real nginx: no response changes, whatever the files contain.

The rules are compiled without a file that is included between them, in the http block or at the main level. Then the
file exists, with text as hostile as possible, and both sides receive the same requests.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from nginxopt.system import nginx
from tests.nginx.modules import LUA, require_lua, require_njs
from tests.nginx.sides import Site, check, compiled, get, record
from tests.nginx.test_surroundings import FILES, GIVES_UP, HTTP, MOVED, NJS, REQUESTS, RULES

pytestmark = [pytest.mark.nginx, pytest.mark.extended]

BETWEEN = MOVED.splitlines(keepends=True)
PARTS = ("".join(BETWEEN[:5]), "".join(BETWEEN[5:10]), "".join(BETWEEN[10:]))
"""The rules in three parts, with the missing file between each two."""

SERVER = f"access_log access.log main; {PARTS[0]} include once.conf; {PARTS[1]} include script.conf; {PARTS[2]}"
LOCATION = (
    f"access_log access.log main; include server.conf; location /l/ {{ {PARTS[0]} include once.conf; {PARTS[1]}"
    f" include script.conf; {PARTS[2]} }}"
)
BEFORE = f"access_log access.log main; include once.conf; {RULES[1]} location /l/f {{ include script.conf; }}"
SERVERS = (SERVER, LOCATION, BEFORE)

SHOWN = "add_header X-Shown '[$1] [$2] $uri' always;"
SCRIPTS = {
    "nothing": "",
    "a header with captures": SHOWN,
    "a variable of captures": "set $y '$1'; add_header X-Y '$y' always;",
    "a condition with captures": f"if ($arg_x ~ (.)) {{ set $y $1; }} {SHOWN}",
    "another URI": "rewrite ^/l/case$ /l/args; rewrite ^/l/(b)r$ /l/$1r/;",
    "a rule for a URI of rules behind": f"rewrite ^/l/(c)ase$ /l/script-$1 permanent; {SHOWN}",
    "a rule for every URI": "rewrite ^/l/(.*)$ /l/script-$1 permanent;",
    "a return": "return 200 '[$1] [$2] $uri';",
    "a conditional return": "if ($uri ~ ^/(l)/c) { return 200 '[$1] $uri'; }",
    "a break": f"break; {SHOWN}",
    "a conditional break": f"if ($arg_x) {{ break; }} {SHOWN}",
    "an error page to a rule": "error_page 404 405 /l/old; error_page 301 =200 /l/in;",
    "variables of similar names": "set $m_keys $uri; set $key $1; set $m_hit 1; add_header X-M '$m_keys $key' always;",
    "arguments": "set $args 'k=$1'; add_header X-A '$args' always;",
    "a map with a regex": f"set $y '$by_regex [$1]'; {SHOWN} add_header X-Y '$y' always;",
    "a value of Lua": "set_by_lua_block $y { return (ngx.var[1] or '-') .. ngx.var.uri } add_header X-Y '$y' always;",
}
ONCE = {
    "SSI": "ssi on; ssi_types *;",
    "Lua": "header_filter_by_lua_block { ngx.header['X-Read'] = ngx.var[1] }",
    "Lua that sets the URI": (
        "rewrite_by_lua_block { if ngx.var.arg_x then ngx.req.set_uri('/l/in') end ngx.header.Y = ngx.var[1] }"
    ),
}
"""What may stand once in a block."""
IN_LOCATION = {
    "njs": "js_header_filter read.head;",
    "another configuration from an if on": "if ($arg_x) { add_header X-If '[$1]' always; error_page 302 =200 /page; }",
}

NJS_HEAD = NJS.replace("default { read }", "default { read, head }") + (
    "\nfunction head(r) { r.headersOut['X-Read'] = String(r.variables[1]); }\n"
)


def skip_without(binary: nginx.Binary, text: str) -> None:
    """Skip the test if nginx is built without a module that a text needs."""
    if "_by_lua" in text:
        require_lua(binary)
    if "js_" in text:
        require_njs(binary)


@pytest.mark.parametrize("script", [*SCRIPTS, *ONCE, *IN_LOCATION])
def test_any_script_between_the_rules(a_binary: nginx.Binary, script: str, tmp_path: Path) -> None:
    """Script of a missing file between rules, before and behind them, of a server and of a location."""
    text = {**SCRIPTS, **ONCE, **IN_LOCATION}[script]
    servers = (LOCATION,) if script in IN_LOCATION else SERVERS
    skip_without(a_binary, text)
    files = FILES | {"html/l/file": "[<!--# echo var='1' -->]"}
    http = "js_import read.js;" if "js_" in text else ""
    main = "include modules.conf;"
    modules = LUA if "_by_lua" in text else ""
    missing = {
        "once.conf": text,
        "script.conf": text if script in SCRIPTS else "",
        "modules.conf": modules,
        "server.conf": "",
        "unread.conf": http,
        "read.js": NJS_HEAD,
    }
    check(a_binary, Site(servers, HTTP + "include unread.conf;", main, files, GIVES_UP, missing), tmp_path, REQUESTS)


IN_SERVER = {
    "locations": "location /l/in { return 200 '[$1] in'; } location ~ ^/(l)/(n) { return 200 '[$1] [$2]'; }",
    "a name with captures": "server_name a.test '~^(c)(a)p'; location / { return 200 '[$1] $uri'; }",
    "slashes that stay": "merge_slashes off; server_name a.test;",
    "a subrequest": "location /start { auth_request /l/in; } location /x { auth_request /l/old; }",
    "files to try": "location /start { try_files /no /l/in; } location = / { index in /l/in; }",
    "a named location": "error_page 404 @e; location @e { return 200 '[$1] [$2]'; }",
}


@pytest.mark.parametrize("text", IN_SERVER)
def test_anything_beside_the_rules(a_binary: nginx.Binary, text: str, tmp_path: Path) -> None:
    """Locations, names and internal redirects of a missing file of the server."""
    servers = [f"include server.conf; {RULES[0]}", f"{RULES[1]} include server.conf;"]
    check(
        a_binary,
        Site(servers, HTTP, files=FILES, gives_up=GIVES_UP, missing={"server.conf": IN_SERVER[text]}),
        tmp_path,
        REQUESTS,
    )


IN_HTTP = {
    "nothing": "",
    "larger buckets": "map_hash_bucket_size 256;",
    "larger tables": "map_hash_max_size 4096; map_hash_bucket_size 128; map $uri $n { /a b; }",
    "a map": "map $uri $n { ~^/(.)(.)  $1; default $2; } add_header X-N '$n [$1]' always;",
    "sizes of variables": "variables_hash_max_size 2048; variables_hash_bucket_size 128; add_header X '$1' always;",
    "a header with captures": SHOWN,
    "SSI": "ssi on; ssi_types *;",
    "a log of captures": "map $uri $n { volatile; default '[$1]'; } log_format n '$n $uri'; access_log access.log n;",
    "arguments by a map": "map $request_uri $args { default x=1; ~old k=v; }",
    "slashes that stay": "merge_slashes off;",
    "Lua": "header_filter_by_lua_block { ngx.header['X-Read'] = ngx.var[1] }",
    "Lua that sets the URI": "rewrite_by_lua_block { if ngx.var.arg_x then ngx.req.set_uri('/l/in') end }",
}
LEVELS = {
    "first": "include unread.conf;",
    "last": "map $host $known { a.test 1; default 0; }\n include unread.conf;",
    "behind sizes": "map_hash_max_size 2048;\n include unread.conf;",
    "in a file": "include there.conf;",
    "twice": "include unread-too.conf;\n include unread.conf;\n",
}


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("text", IN_HTTP)
def test_anything_in_the_http_block(a_binary: nginx.Binary, text: str, level: str, tmp_path: Path) -> None:
    """Sizes of hash tables, maps, headers and programs of a missing file of the http block."""
    hostile = IN_HTTP[text]
    skip_without(a_binary, hostile)
    if "map_hash" in hostile and (level == "last" or ("map_hash_max_size" in hostile and level == "behind sizes")):
        pytest.skip("nginx refuses such sizes there")
    files = FILES | {"html/l/file": "[<!--# echo var='1' -->]", "there.conf": "include unread.conf;"}
    missing = {
        "unread.conf": hostile,
        "unread-too.conf": "gzip off;",
        "modules.conf": LUA if "_by_lua" in hostile else "",
    }
    servers = [f"server_name a.test; {rules}" for rules in RULES]
    http = LEVELS[level]
    check(a_binary, Site(servers, http, "include modules.conf;", files, GIVES_UP, missing), tmp_path, REQUESTS[:40])


def test_a_missing_file_makes_nginx_refuse(each_binary: nginx.Binary) -> None:
    """One that has a name; one by wildcards that match nothing, in no folder, is none."""
    missing = each_binary.test(nginx.configuration(http=b"include mime.types;"))
    assert not missing.ok
    assert "failed (2: No such file or directory)" in str(missing)
    assert each_binary.test(nginx.configuration(http=b"include nowhere/*.conf; include *.types;")).ok


def test_sizes_behind_a_map_are_refused(each_binary: nginx.Binary) -> None:
    """So the maps stand behind a missing file, which may set sizes, and before one that stands behind a map."""
    size = b"map_hash_bucket_size 128;"
    table = b"map $uri $a { a b; }"
    assert each_binary.test(nginx.configuration(http=size + table)).ok
    refused = each_binary.test(nginx.configuration(http=table + size))
    assert '"map_hash_bucket_size" directive is duplicate' in str(refused)


def test_rules_in_a_location_are_what_the_premise_is_for(each_binary: nginx.Binary, tmp_path: Path) -> None:
    """A missing file that includes the rules in a location gets the form for a server, in which an `if` is lost."""
    rules = "rewrite ^/l/old$ /l/file break;\nrewrite ^/l/other$ /l/file break;\n"
    hostile = "location /l/ { if ($uri) { add_header X-If yes always; } include server-1.conf; }"
    missing = {"more.conf": hostile, "unread.conf": ""}
    site = Site(["include more.conf;", rules], "include unread.conf;", files=FILES, missing=missing)
    requests = [get("/l/old"), get("/l/none")]
    before, after = (record(each_binary, site, files, requests) for files in (site.texts(), compiled(site, tmp_path)))
    assert [b"X-If: yes" in answer for answer in before.answers[:2]] == [True, True]
    assert [b"X-If: yes" in answer for answer in after.answers[:2]] == [False, True]


def test_the_requests_see_what_a_known_file_hides(each_binary: nginx.Binary, tmp_path: Path) -> None:
    """Rules compiled with an empty file in place of the hostile one respond differently: captures stay set."""
    part = "rewrite ^/start$ /l/none; rewrite ^/(l)/(none)$ /$1/$2; include once.conf; " + PARTS[0]
    site = Site([part], files=FILES | {"once.conf": ""})
    answers: list[bytes] = []
    for texts in (site.texts(), compiled(site, tmp_path)):
        hostile = {**texts, "server-0.conf": texts["server-0.conf"] + SHOWN.encode()}
        answers += record(each_binary, site, hostile, [get("/l/none")]).answers
    assert b"X-Shown: [] []" in answers[0]
    assert b"X-Shown: [l] [none]" in answers[1]
