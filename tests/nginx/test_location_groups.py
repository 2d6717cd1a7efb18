"""Regex locations in groups, against the same one after the other, on the real nginx."""

from __future__ import annotations

from pathlib import Path

import pytest

from nginxopt.config import load_text
from nginxopt.rewrite import Emission, Options, emit, plan
from nginxopt.rewrite.differential import ask
from nginxopt.system import nginx
from nginxopt.system.http import RequestBytes
from tests.nginx import raw
from tests.nginx.sides import Site, check, get

pytestmark = pytest.mark.nginx

# Some match what others do, and some are in a level of their own of the group.
RUN = r"""
location ~ ^/old/(\w+)$ { return 301 /new/$1; }
# what is between them stays
location ~* ^/CASE/([^/]+)/(.*) { return 302 https://$host/c/$2/$1$is_args$args; }
location ~ \.(?<kind>php|asp)$ { access_log off; return 403 "no $kind"; }
location ~ ^/old { rewrite ^/old/(.*)\.htm$ /page?was=$1 last; return 404; }
location ~ ^/gone/ { return 410; }
location ~ ^/set/(a|b) { set $what $1; if ($arg_x ~ ^(.)) { return 200 "$1 $what"; } return 200 "- $what"; }
location ~ "^/head/[a-z]{2}$" { add_header X-Here $uri always; error_page 418 /page; return 418; }
location ~ ^/break/(.+) { root html/deep; rewrite ^/break/(.*)$ /$1 break; }
location ~ ^/files/ { try_files $uri /page; rewrite ^/files/(x)$ /other/$1 break; }
location ~ ^/closed { return 444; }
location ~ ^/allowed { deny all; return 200 "before access"; }
location ~ ^/post { limit_except GET { deny all; } return 200 "$request_method"; }
location ~ ^/index(/.*)?$ { index page; rewrite ^/nothing /x last; }
location ~ ^/look(?!ing)(er|s)?$ { return 301 /l/$1; }
location ~ ^/back(.*)(?<!k)$ { return 200 "[$1]"; }
location ~ ^/end$ { return 200 end; }
"""
LOCATIONS = RUN.count("location ~")
AROUND = """
location = /old/exact { return 200 "="; }
location ^~ /old/first/ { return 200 "^~ $uri"; }
location /old/ { return 200 "prefix $uri"; }
location ~ ^/(late|old) { return 200 "[$1] late $uri"; }
location / { try_files $uri /page; }
location = /page { return 200 "page $uri $args [$1] [$kind]"; }
"""
URIS = (
    *("/old/exact", "/old/first/a", "/old/a", "/old/a%0A", "/old/a/b", "/old/x.htm", "/old", "/OLD/a", "/case/a/b"),
    *(
        "/Case/A/",
        "/case/a",
        "/case//b?x=1",
        "/x.php",
        "/old/x.php",
        "/x.php%0A",
        "/x.asp",
        "/x.PHP",
        "/gone/",
        "/gone",
    ),
    *("/set/a", "/set/b?x=zz", "/set/c", "/head/ab", "/head/ab%0A", "/head/abc", "/break/y", "/break/", "/break/none"),
    *("/files/x", "/files/y", "/files/", "/closed", "/allowed", "/post", "/index", "/index/", "/index/x", "/index%0A"),
    *("/look", "/looker", "/looking", "/looks%0A", "/lookx", "/back", "/backs", "/backk", "/backk%0A"),
    *("/end", "/end%0A", "/end/", "/late", "/", "/x", "/none", "//old//a", "/./old/a", "/old/../end", "/%6fld/a"),
)
FILES = {"html/x": "x", "html/page": "page", "html/deep/y": "deep", "html/files/x": "files", "html/other/x": "other"}
HTTP = "log_format main '$status $request_method $uri [$args] $sent_http_location';"
SHOWN = "access_log access.log main; server_name a.test '~^(c)(a)p';"
SERVERS = {
    "nothing else": SHOWN,
    "what locations inherit": SHOWN
    + "add_header X-Server '[$1] $uri' always; error_page 403 404 =200 /page; expires 1h; default_type text/x; "
    + "port_in_redirect off; absolute_redirect off; satisfy any; deny 127.0.0.2; root html;",
    "rules of the server that capture": SHOWN + "rewrite ^/l(a)(t)e$ /none/$2; if ($arg_c ~ ^(.)(.)) { set $c $2; }",
}


def requests() -> list[RequestBytes]:
    """Return requests for every location, by several methods and hosts."""
    return [
        *map(get, URIS),
        *(get(uri, host="cap.test") for uri in URIS),
        *(get(uri, method=method) for uri in ("/old/a", "/post", "/set/a?c=12", "/none") for method in ("HEAD", "PUT")),
        get("/old/a?c=12"),
        get("/none?c=12", host="cap.test"),
    ]


@pytest.mark.parametrize("settings", SERVERS)
def test_in_a_server(each_binary: nginx.Binary, settings: str, tmp_path: Path) -> None:
    """Every URI finds its location, with its captures, its settings and those of the server."""
    site = Site([SERVERS[settings] + RUN + AROUND], HTTP, files=FILES, located=LOCATIONS)
    said = check(each_binary, site, tmp_path, requests())
    assert len(said.answers) == len(requests())


# Locations that serve requests themselves, one of which includes a file.
SERVING = r"""
location ~ ^/sv/proxy/(.*)$ { proxy_pass http://127.0.0.1:1; error_page 502 =200 /page?p=$1; }
location ~ ^/sv/alias/(.*)$ { alias html/files/$1; }
location ~ ^/sv/(?<name>root)/(.*)$ { root html; add_header X-N '$name [$1] [$2]' always; }
location ~ ^/sv/deny { deny all; error_page 403 @named; }
location ~ ^/sv/any { satisfy any; deny all; allow 127.0.0.1; }
location ~ ^/sv/all { satisfy all; allow 127.0.0.1; auth_basic closed-to-all; auth_basic_user_file none; }
location ~ ^/sv/err { root html; error_page 404 =202 /sv/alias/x; }
location ~ ^/sv/internal { internal; root html; }
location ~* \.(?<kind>gif|PNG)$ { empty_gif; expires 1d; }
location ~ ^/sv/auto(/.*)?$ { alias html/files$1; autoindex on; index x; }
location ~ ^/sv/inc { include settings.conf; }
location ~ ^/sv/if/(.*)$ { alias html/files/$1; if ($arg_x) { add_header X-If $1; } }
location ~ ^/sv/limited { limit_except GET { deny all; } try_files /x =404; }
location ~ ^/sv/[a-z]+/last$ { }
"""


@pytest.mark.parametrize("settings", SERVERS)
def test_of_any_content(each_binary: nginx.Binary, settings: str, tmp_path: Path) -> None:
    """Locations that serve requests themselves inherit what they did, and set the same captures."""
    named = "location @named { return 200 'named $uri [$1] [$name]'; }"
    files = {
        **FILES,
        "html/sv/root/x": "root",
        "html/sv/err/y": "err",
        "settings.conf": "root html; etag off; expires 2h;",
    }
    names = (
        "proxy/a",
        "alias/x",
        "alias/none",
        "root/x",
        "deny",
        "any/x",
        "all",
        "err/none",
        "err/y",
        "internal",
        "a.gif",
        "A.png",
        "auto/",
        "auto",
        "auto/x",
        "inc/x",
        "if/x?x=1",
        "if/x",
        "limited",
        "z/last",
        "none",
        "",
    )
    asked = [get(f"/sv/{name}", method=method) for name in names for method in ("GET", "HEAD", "POST")]
    site = Site([SERVERS[settings] + SERVING + named + AROUND], HTTP, files=files, located=SERVING.count("location ~"))
    check(each_binary, site, tmp_path, [*asked, *map(get, URIS)])


INNER = r"""
location ~ ^/in/(\w+)$ { return 301 /new/$1; }
location ~ ^/in/a/(.*)x { return 200 "$1 $uri"; }
location ~ ^/in/b { rewrite ^/in/b/(.*)$ /in/b$1 break; }
location ~ ^/in/none { add_header X-1 $uri; return 404; }
"""
OUTER = {
    "settings": "location /in/ { root html/deep; add_header X-Outer $uri always; error_page 404 =201 /page; %s }",
    "alias": "location /in/ { alias html/deep/; index y; %s }",
    "handler": "location /in/ { empty_gif; %s }",
    "no other regex": "location ^~ /in/ { %s }",
    "internal": "location /in/ { internal; %s } location ~ ^/go/(.*) { rewrite ^/go(.*) $1 last; }",
    "limited": "location /in/ { limit_except GET { deny all; } %s return 402; }",
    "rules": "location /in/ { set $x 1; if ($arg_x) { return 402; } %s }",
    "a regex location": "location ~ ^/i { access_log access.log main; %s }",
    "two levels": "location /i { expires 1h; location /in/ { add_header X-2 2; %s } }",
}


@pytest.mark.parametrize("outer", OUTER)
def test_in_a_location(a_binary: nginx.Binary, outer: str, tmp_path: Path) -> None:
    """In a location, too, they have what it has."""
    regex = "" if outer == "a regex location" else "location ~ ^/in/(.*) { return 200 'a regex beside: $1'; }"
    site = Site(
        [SHOWN + OUTER[outer] % INNER + regex + "location = /page { return 200 '$uri [$1]'; }"],
        HTTP,
        files={**FILES, "html/deep/b/x": "x", "html/deep/in/by": "y"},
        located=INNER.count("location ~"),
    )
    names = ("a", "a%0A", "a/xx", "a/yx", "a/", "b", "b/x", "b/y", "none", "other", "y", "")
    uris = [f"{start}/in/{name}" for name in names for start in ("", "/go")]
    asked = [get(uri, method=method) for uri in uris for method in ("GET", "HEAD", "PUT")]
    check(a_binary, site, tmp_path, [*asked, get("/in/a?x=1"), get("/in"), get("/i"), get("/page")])


@pytest.mark.parametrize("around", ["off", "on", "merge"])
@pytest.mark.parametrize("inside", ["off", "on", "merge"])
def test_inherited_headers(each_binary: nginx.Binary, around: str, inside: str, tmp_path: Path) -> None:
    """With `add_header_inherit` (1.29.3), a location that says itself what it inherits is in no group, as one around it
    may have no headers; others have the headers that they had.
    """
    if each_binary.version < (1, 29, 3):
        pytest.skip("this nginx has no add_header_inherit")
    said = "".join(f"location ~ ^/s{number} {{ add_header_inherit {inside}; return 200; }}" for number in range(3))
    server = f"{SHOWN} add_header X-A 1 always; add_header_inherit {around}; location /in/ {{ {INNER} }} {INNER} {said}"
    site = Site([server], HTTP, files=FILES, located=2 * INNER.count("location ~"))
    check(each_binary, site, tmp_path, [get(f"/{uri}") for uri in ("in/a", "in/a/x", "in/none", "s1", "none")])


def compiled(text: str) -> Emission:
    """Compile a fragment of a server."""
    emission = emit(plan(load_text(text.encode(), "site.conf", context="server"), Options(groups=True)))
    assert emission.plan.locations.moved
    return emission


@pytest.mark.parametrize("what", ["right", "narrow", "wide"])
def test_nginx_is_asked(what: str, each_binary: nginx.Binary) -> None:
    """`--nginx` requests what each location matches and what is next to it, and sees a pattern that is wrong."""
    lines = "".join(f"location ~ ^/p{number}/(.*)$ {{ return 301 /to/{number}/$1; }}\n" for number in range(5))
    emission = compiled(lines)
    (run,) = emission.plan.locations.compiled
    (group,) = run.groups
    if what != "right":
        union = group.union.replace(b"4", b"5") if what == "narrow" else group.union.replace(b"/.*$", b"")
        assert union != group.union
        object.__setattr__(group, "union", union)
    (differential,) = ask(emission, each_binary)
    assert differential.requests > 50
    assert bool(differential.mismatched) == (what != "right")


def test_captures_of_a_host_behind_patterns_that_fail(each_binary: nginx.Binary) -> None:
    """With PCRE 8, a location that does not match overwrites a capture of the name of the server; with PCRE2, none."""
    server = (
        "server_name '~^(c)aptured(.test)$'; location ~ ^/(about|bugs)(-[^.]+)?(.html)?$ { return 404; }"
        " location ~ ^/(q)(w)(e)?$ { return 404; } location / { return 200 '[$1] [$2]'; }"
    )
    asked = [raw.get(target, host="captured.test") for target in ("/other", "/aboutxhtml/")]
    (answers,) = raw.answers([server], asked, binary=each_binary)
    has_pcre2 = b"pcre2_match" in Path(each_binary.path).read_bytes()
    overwritten = b"[c] [.test]" if has_pcre2 else b"[c] []"
    assert [answer.partition(b"\r\n\r\n")[2] for answer in answers] == [b"[c] [.test]", overwritten]
