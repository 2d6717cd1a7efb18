"""What surrounds rules, before and after, on the real nginx: no response and no line of a log changes.

Each surrounding is a server with a hole for rules. The rules are of all kinds that move, with one that stays and fails
on some URIs: first in one list, in the middle in the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from nginxopt.config import load_text
from nginxopt.rewrite import emit, plan, prove
from nginxopt.system import nginx
from nginxopt.system.nginx import Instance
from tests.nginx.modules import LUA, require_lua, require_njs
from tests.nginx.sides import Site, check, get, limited, record, together

pytestmark = pytest.mark.nginx

GIVES_UP = "^/l/(a+)+$"
FAILS = f"rewrite {GIVES_UP} /l/kept permanent;\n"
MOVED = r"""rewrite ^/l/old$ /l/new permanent;
rewrite ^/l/gone$ https://$host/x redirect;
rewrite ^/l/in$ /l/file last;
rewrite ^/l/br$ /l/file break;
rewrite ^/l/(one|two)$ /l/n-$1 permanent;
rewrite ^/l/(three|four)$ /l/file last;
rewrite (?i)^/l/any/?$ /l/to permanent;
rewrite ^/l/Case$ /l/1 permanent;
rewrite ^/l/case$ /l/2 permanent;
rewrite ^/l/very\z /l/v permanent;
rewrite ^/l/args$ /l/to?k=1 permanent;
rewrite ^/l/moreargs$ /l/file?k=$request_method last;
rewrite ^/l/braces$ ${scheme}/x last;
rewrite ^/l/loop$ /l/loop/ last;
rewrite ^/l/loop/$ /l/loop last;
"""
LATE = "rewrite ^/l/late$ /l/lated permanent;\n"
# A rule stays in the middle, and first.
RULES = (MOVED + FAILS + LATE, FAILS + MOVED + LATE)

NAMES = (
    "old",
    "gone",
    "in",
    "br",
    "one",
    "two",
    "three",
    "any",
    "ANY/",
    "Case",
    "case",
    "CASE",
    "very",
    "args",
    "moreargs",
    "braces",
    "loop",
    "late",
    "file",
    "none",
    "kept",
)
FAILURE = f"/l/{'a' * 34}!"  # PCRE gives up, and nginx answers 500
TARGETS = [f"/l/{name}{end}" for name in NAMES for end in ("", "?x=1", "%0A")]
OTHERS = [
    "/",
    "/l/",
    "/L/old",
    "/l//old",
    "/l/%6Fld",
    "/l/old/",
    "/l/oldx",
    "/l/aaa",
    "/start",
    "/start?x=1",
    "/x",
    "//x",
]
REQUESTS = [
    *map(get, [*TARGETS, *OTHERS]),
    get("/l/old?x=1", method="DELETE"),
    get("/l/in", method="DELETE"),
    get("/l/br?x=1", method="HEAD"),
    *(get(target, host="cap.test") for target in ("/l/old", "/l/none", "/l/br?x=1", FAILURE)),
]

HTTP = """
    log_format main '$status $request_method $uri [$args] $request_uri $sent_http_location';
"""
# Captures may be read at the very end, and every answer shows them.
SHOWN = "access_log access.log main; add_header X-Shown '[$1] [$2] $uri' always; server_name a.test '~^(c)(a)p';"
FILES = {
    "html/l/file": "file",
    "html/l/index.html": "index",
    "html/x": "x",
    "html/page": "page",
    "other/l/file": "other",
}

# {rules} stands in a location of /l/.
IN_LOCATION = {
    "nothing": "location /l/ { %s }",
    "headers of an if": "location /l/ { if ($arg_x) { add_header X-If yes always; } %s }",
    "an error page of an if": "location /l/ { if ($arg_x) { error_page 301 302 =200 /page; } %s }",
    "no access log in an if": "location /l/ { if ($arg_x) { access_log off; } %s }",
    "expires in an if": "location /l/ { if ($arg_x) { expires 1h; } %s }",
    "a root in an if": "location /l/ { if ($arg_x) { root other; } %s }",
    "a charset and a type in an if": "location /l/ { default_type text/html; if ($arg_x) { charset utf-8; } %s }",
    "a variable of the configuration": "location /l/ { if ($arg_x) { limit_rate 1m; } %s }",
    "an if that includes": "location /l/ { if ($arg_x) { include in-if.conf; } %s }",
    "an if in a file": "location /l/ { include if.conf; %s }",
    "two ifs": "location /l/ { if ($arg_x) { add_header X-1 1; } if ($arg_x = 1) { expires 2h; } %s }",
    "an if that does not run": "location /l/ { if ($arg_y) { add_header X-If yes; } %s }",
    "an if with set": "location /l/ { if ($arg_x) { set $y 1; } %s }",
    "an if with a rule": "location /l/ { if ($arg_x) { rewrite ^/l/none$ /l/old; } %s }",
    "an if with captures": "location /l/ { if ($arg_x ~ (.)) { set $y $1; } add_header X-Y '$y' always; %s }",
    "an if behind": "location /l/ { %s if ($arg_x) { add_header X-If yes always; } }",
    "an if between": "location /l/ { rewrite ^/l/first$ /l/1 permanent; if ($arg_x) { expires 1h; } %s }",
    "an if with a pass": "location /l/ { root other; if ($arg_x) { return 202 'if'; } %s }",
    "try_files": "location /l/ { try_files $uri /page; %s }",
    "try_files and an if": "location /l/ { if ($arg_x) { add_header X-If 1 always; } try_files $uri =404; %s }",
    "an alias": "location /l/ { alias html/l/; if ($arg_x) { expires 1h; } %s }",
    "a nested location": (
        "location / { if ($arg_x) { expires 1h; } location /l/ { if ($arg_x) { add_header A 1; } %s } }"
    ),
    "a location by a regex": "location ~ ^/(l)/ { if ($arg_x) { add_header X-If '$1' always; } %s }",
    "a location that is no regex's": "location ^~ /l/ { if ($arg_x) { expires 1h; } %s } location ~ /l { return 202; }",
    "limit_except": "location /l/ { limit_except GET { deny all; } if ($arg_x) { expires 1h; } %s }",
    "an internal location": (
        "location /l/ { internal; if ($arg_x) { expires 1h; } %s } location /start { try_files /no /l/old; }"
    ),
    "captures in a location before": "location ~ ^/(s)(t)art { rewrite ^ /l/none last; } location /l/ { %s }",
    "an error page to a rule": (
        "error_page 404 /l/old; location /l/ { if ($arg_x) { expires 1h; } %s } location /start { return 404; }"
    ),
    "an error page of a failure": "error_page 500 @e; location @e { return 200 '[$1] [$2]'; } location /l/ { %s }",
    "an error page to another": "error_page 404 = /l/file?x=1; location /l/ { if ($arg_x) { add_header X-If 1; } %s }",
    "a named location": (
        "location @n { if ($arg_x) { add_header X-If 1 always; } %s return 200 '$uri'; }"
        " location /l/ { try_files /no @n; }"
    ),
    "a subrequest": "location /l/ { %s } location /start { auth_request /l/in; try_files /page =404; }",
    "a subrequest that redirects": "location /l/ { %s } location /start { auth_request /l/old; }",
    "mirrors": "location /l/ { %s } location /start { mirror /l/in; mirror /l/old; try_files /page =404; }",
    "an index": "location /l/ { %s } location = /l/ { index none /l/old; } location = / { index in /l/in; }",
    "post_action": "location /l/ { %s } location /start { post_action /l/in; return 200; }",
    "slashes that stay": "merge_slashes off; location /l/ { if ($arg_x) { expires 1h; } %s }",
    "a rule in a server before": "rewrite ^/start$ /l/old; rewrite ^/(l)/(none)$ /$1/$2; location /l/ { %s }",
    "a log of rewrites": "rewrite_log on; location /l/ { if ($arg_x) { expires 1h; } %s }",
    "a return behind": "location /l/ { %s return 200 '$uri $args [$1]'; }",
    "a set behind": "location /l/ { %s set $y '$1'; return 200 '$uri $y'; }",
    "a break behind": "location /l/ { if ($arg_x) { add_header X-If 1; } %s break; return 202; }",
    "captures by name": "location ~ ^/(?<part>l)/ { %s return 200 '$part $uri'; }",
    "access": "location /l/ { satisfy any; deny all; auth_basic x; %s }",
    "a map with a regex behind": "location /l/ { %s set $y $by_regex; return 200 '$uri $y [$1]'; }",
    "conditions of a cache": "location /l/ { etag off; if_modified_since off; if ($arg_x) { expires off; } %s }",
    "a redirect with a name": (
        "server_name_in_redirect on; absolute_redirect off; location /l/ { if ($arg_x) { add_header A 1; } %s }"
    ),
}
HTTP += "    map $args $by_regex { default -; ~^(.)=(.) $2; }\n"

# {rules} stands in the server.
IN_SERVER = {
    "nothing": "%s",
    "an if with set": "if ($arg_x) { set $y 1; } %s add_header X-Y '$y' always;",
    "an if with a rule": "if ($arg_x) { rewrite ^/l/none$ /l/old; } %s",
    "an if with captures": "if ($arg_x ~ (.)) { set $y $1; } %s add_header X-Y '$y' always;",
    "an if with a break": "if ($arg_x) { break; } %s",
    "an if behind": "%s if ($arg_x) { return 202 '[$1]'; }",
    "a set behind": "%s set $y '$1'; add_header X-Y '$y' always;",
    "a location by a regex": "%s location ~ ^/(l)/(f) { add_header X-L '[$1] [$2]' always; }",
    "a location with an if": "%s location /l/ { if ($arg_x) { add_header X-If '[$1]' always; } }",
    "an error page to a rule": "error_page 404 /l/old; %s",
    "an error page of a failure": "error_page 500 @e; location @e { return 200 '[$1] [$2]'; } %s",
    "try_files to an empty URI": (
        "%s location /start { try_files /no $arg_none; } location /l/ { try_files $uri /l/in; }"
    ),
    "a subrequest": "%s location /start { auth_request /l/in; } location /x { auth_request /l/old; }",
    "mirrors": "%s location /start { mirror /l/in; mirror /l/old; }",
    "an index": "%s location = /l/ { index none /l/old; } location = / { index in /l/in; }",
    "slashes that stay": "merge_slashes off; %s",
    "a map with a regex between": (
        "rewrite ^/(start)$ /l/$by_regex; %s set $y '$by_regex [$1]'; add_header X-Y '$y' always;"
    ),
    "headers": "add_header X-H 1 always; expires 1h; error_page 301 =200 /page; %s",
    "other modules between": "rewrite ^/l/first$ /l/1 permanent; expires 1h; %s",
}

SURROUNDINGS = {
    **{f"location: {name}": text for name, text in IN_LOCATION.items()},
    **{f"server: {name}": text for name, text in IN_SERVER.items()},
}
FILES |= {
    "in-if.conf": "add_header X-If yes always; error_page 302 =200 /page;",
    "if.conf": "if ($arg_x) { expires 1h; }",
}


@pytest.mark.parametrize("arounds", together([*SURROUNDINGS], 8))
def test_nothing_around_the_rules_changes(a_binary: nginx.Binary, arounds: Sequence[str], tmp_path: Path) -> None:
    """Whatever stands around rules: the answers, the access log and the errors are what they were."""
    servers = [SHOWN + SURROUNDINGS[around].replace("%s", rules) for around in arounds for rules in RULES]
    check(a_binary, Site(servers, HTTP, files=FILES, gives_up=GIVES_UP), tmp_path, REQUESTS)


def test_the_failure_is_that_of_the_limit_of_pcre(each_binary: nginx.Binary) -> None:
    """PCRE gives up on the URI with its own limit as with the lower one of these tests, and nginx answers 500."""
    location = f"location /l/ {{ {FAILS} return 200; }}".encode()
    with Instance(each_binary, servers=[location, limited(location, GIVES_UP.encode())]) as instance:
        for server in range(2):
            with instance.client(server) as client:
                statuses = [client.ask([get(target)])[0][:12] for target in (FAILURE, "/l/aaa", "/l/aab")]
            assert statuses == [b"HTTP/1.1 500", b"HTTP/1.1 301", b"HTTP/1.1 200"]


@pytest.mark.parametrize("inherits", ["off", "on", "merge"])
def test_headers_that_an_if_would_not_inherit(each_binary: nginx.Binary, inherits: str, tmp_path: Path) -> None:
    """With `add_header_inherit` (1.29.3), an `if` in a location may lose the location's own headers."""
    if each_binary.version < (1, 29, 3):
        pytest.skip("this nginx has no add_header_inherit")
    server = (
        f"{SHOWN} add_header_inherit {inherits}; add_trailer_inherit {inherits};"
        f" location /l/ {{ add_header X-L 1 always; if ($arg_x) {{ add_header X-If 1 always; }} {RULES[0]} }}"
    )
    answers = check(each_binary, Site([server], HTTP, files=FILES, gives_up=GIVES_UP), tmp_path, REQUESTS).answers
    assert b"\r\nX-L: 1\r\n" in answers[0]


NJS = "function read(r) { r.return(200, `[${r.variables[1]}]`); } export default { read };"
READERS = {
    "Lua": (
        "content_by_lua_block { ngx.say('[', ngx.var[1], ']') }",
        LUA,
        "",
    ),
    "Lua in a filter": (
        "header_filter_by_lua_block { ngx.header['X-Read'] = ngx.var[1] }",
        LUA,
        "",
    ),
    "njs": ("js_content read.read;", "", "js_import read.js;"),
    "SSI": ("ssi on; ssi_types *;", "", ""),
    "the text": ("return 200 '[$1]';", "", ""),
}


@pytest.mark.parametrize("reader", READERS)
def test_captures_that_no_text_shows(a_binary: nginx.Binary, reader: str, tmp_path: Path) -> None:
    """What programs read of `$1` is what it was, after a URI of no rule, of a rule, and of one that captures."""
    reads, main, http = READERS[reader]
    if main:
        require_lua(a_binary)
    if reader == "njs":
        require_njs(a_binary)
    files = FILES | {"read.js": NJS, "html/l/file": "[<!--# echo var='1' -->]"}
    server = (
        f"{SHOWN.replace('[$1] [$2] ', '')} rewrite ^/l/first$ /l/1 last; rewrite ^/l/(x|y)$ /l/file last;"
        f" location /l/ {{ if ($arg_x ~ (.)) {{ set $y 1; }} {RULES[0]} {reads} }}"
    )
    requests = [*REQUESTS, get("/l/x"), get("/l/file?x=1"), get("/l/file", host="cap.test")]
    answers = check(a_binary, Site([server], HTTP + http, main, files, GIVES_UP), tmp_path, requests).answers
    assert any(b"x" in answer.partition(b"\r\n\r\n")[2] for answer in answers)


LUA_AROUND = {
    "a URI that Lua changes": (
        "location /l/ { %s } location /start { rewrite_by_lua_block { ngx.req.set_uri('/l/old', true) } }"
        " location /x { rewrite_by_lua_block { ngx.req.set_uri('/l/in', false) } }"
    ),
    "rules before Lua": (
        "location /l/ { rewrite_by_lua_block { ngx.ctx.a = ngx.var[1];"
        " if ngx.var.arg_x then ngx.req.set_uri('/l/br') end } %s header_filter_by_lua_block { ngx.header.A"
        " = ngx.ctx.a } }"
    ),
    "a value of Lua between": (
        "location /l/ { rewrite ^/l/first$ /l/1 last; set_by_lua_block $y { return ngx.var[1] } %s add_header Y '$y'; }"
    ),
    "a jump of Lua": "location /l/ { %s } location /start { access_by_lua_block { ngx.exec('/l/in') } }",
    "subrequests of Lua": (
        "location /l/ { %s } location /start { content_by_lua_block { local r = ngx.location.capture('/l/in')"
        " ngx.say(r.status, r.body, ngx.location.capture('/l/old').status, '[', ngx.var[1], ']') } }"
    ),
    "a body of Lua in an if": "location /l/ { if ($arg_x) { content_by_lua_block { ngx.say(ngx.var[1]) } } %s }",
    "Lua in the server": "%s rewrite_by_lua_block { ngx.header.Y = ngx.var[1] } location ~ ^/(l)/f { }",
}


@pytest.mark.parametrize("around", LUA_AROUND)
def test_lua_around_the_rules(a_binary: nginx.Binary, around: str, tmp_path: Path) -> None:
    """Lua may change the URI, ask for others, and read captures, before, between and behind the rules."""
    require_lua(a_binary)
    servers = [SHOWN + LUA_AROUND[around].replace("%s", rules) for rules in RULES]
    check(a_binary, Site(servers, HTTP, LUA, FILES, GIVES_UP), tmp_path, REQUESTS)


WORDS = [f"/l/{number * 7919 % 100_003:05d}/{'ab'[number % 2]}.html" for number in range(600)]
DEEP = [f"/l/deep/{'x' * length}" for length in range(1, 300)]


@pytest.mark.parametrize("jit", ["on", "off"])
def test_long_lists(each_binary: nginx.Binary, jit: str, tmp_path: Path) -> None:
    """Patterns as long and as deep as they may be match their keys and nothing near them, with and without JIT."""
    rules = "\n".join(
        f"rewrite ^{uri.replace('.', '[.]')}$ /to/{number} last;" for number, uri in enumerate(WORDS + DEEP)
    )
    server = f"location /l/ {{ {rules} return 200 '-'; }} location /to/ {{ return 200 $uri; }}"
    uris = [*WORDS[::12], *DEEP[::9], "/l/deep/", "/l/deep/" + "x" * 300]
    ends = ["", "%0A", "%0A%0A", "y", "/"]
    check(
        each_binary, Site([server], main=f"pcre_jit {jit};"), tmp_path, [get(uri + end) for uri in uris for end in ends]
    )


TARGETS_READ_TWICE = {
    "braces": "rewrite ^/l/a$ ${scheme}/x last; rewrite ^/l/b$ ${scheme}/y last; rewrite ^/l/c$ ${scheme}s/x break;",
    "a scheme that is captured": "rewrite ^/l/(http://|https://)a$ $1x last; rewrite ^/l/(/x)$ $1 last;",
    "a question mark that is captured": r"rewrite ^/l/(a\?b|c)$ /l/$1/d last; rewrite ^/l/(d\?)$ /l/$1 break;",
    "arguments that are captured": r"rewrite ^/l/(a=b|c)$ /l/file?$1? last; rewrite ^/l/(d|e)$ /x?$1$1 permanent;",
    "a name that runs on": "rewrite ^/l/(x|y)$ /$host$1 last; rewrite ^/l/(_|z)$ https://${host}$1/ permanent;",
    "a dollar that is captured": r"rewrite ^/l/(\$host|c)$ /l/$1 last; rewrite ^/l/d$ /l/d permanent;",
}


@pytest.mark.parametrize("level", ["server", "location"])
@pytest.mark.parametrize("name", TARGETS_READ_TWICE)
def test_targets_that_could_be_read_otherwise(a_binary: nginx.Binary, name: str, level: str, tmp_path: Path) -> None:
    """A target as it is written again is no redirect and has no arguments that it did not have."""
    rules = TARGETS_READ_TWICE[name] + " rewrite ^/l/always$ /l/moved permanent;"
    around = {"server": "location /l/ { return 200 '$uri [$args]'; }", "location": "location /x { return 200 $uri; }"}
    inner = rules if level == "server" else f"location /l/ {{ {rules} return 200 '$uri [$args]'; }}"
    server = f"merge_slashes off; {inner} {around[level]} location / {{ return 201 '$uri [$args]'; }}"
    paths = [*"abcdexyz_", "a%3Fb", "d%3F", "a=b", "http://a", "https://a", "/x", "$host", "$scheme", "always"]
    check(
        a_binary,
        Site([server], files=FILES),
        tmp_path,
        [get(f"/l/{path}{end}") for path in paths for end in ("", "?q")],
    )


# What a fragment does not show: it is included into servers and locations of these.
AROUND_FRAGMENTS = {
    "server": [text for name, text in IN_SERVER.items() if "between" not in name],
    "location": list(IN_LOCATION.values()),
}


@pytest.mark.parametrize("context", AROUND_FRAGMENTS)
def test_a_fragment_is_right_wherever_it_is_included(each_binary: nginx.Binary, context: str) -> None:
    """A fragment for a location is right behind any `if`, and in a server, too; one for a server in any server."""
    fragment = emit(plan(load_text(RULES[0].encode(), "rules.conf", context=context)))
    assert prove(fragment).holds
    server = fragment.after(fragment.plan.config.main)
    places = [*AROUND_FRAGMENTS[context], *(AROUND_FRAGMENTS["server"][:5] if context == "location" else [])]
    site = Site([SHOWN + around.replace("%s", "include rules.conf;") for around in places], HTTP, files=FILES)
    before = {**site.texts(), "rules.conf": RULES[0].encode()}
    main = site.texts()["nginx.conf"].replace(b"http {", b"http { include maps.conf;", 1)
    after = {**site.texts(), "nginx.conf": main, "maps.conf": fragment.maps, "rules.conf": server}
    requests = [request for request in REQUESTS if FAILURE.encode() not in request.data]
    was, is_now = (record(each_binary, site, files, requests) for files in (before, after))
    assert was == is_now
