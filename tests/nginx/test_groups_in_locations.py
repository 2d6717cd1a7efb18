"""Groups of rules in a location: the `if` of a group changes no response, and no line of a log, on the real nginx."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from nginxopt.config import load_text
from nginxopt.rewrite import Options, emit, plan
from nginxopt.rewrite.differential import ask
from nginxopt.system import nginx
from tests.nginx.sides import HOST, Site, check, get, together
from tests.nginx.test_surroundings import FAILS, FILES, GIVES_UP, HTTP, IN_LOCATION, SHOWN

pytestmark = [pytest.mark.nginx, pytest.mark.extended, pytest.mark.no_cover]

BREAKS = r"""rewrite ^/l/br/(.*)$ /l/file break;
rewrite ^/l/to/(.*)$ /l/$1 break;
"""
ENDLESS = r"""rewrite ^/l/p/(.*)$ /l/moved/$1 permanent;
rewrite ^/l/r/([^/]+)/(.*)$ https://$host/$2/$1?x=1 redirect;
rewrite ^/l/f/(.*)$ /l/file?x=$1 last;
rewrite ^/l/out/(?:.*)$ /page last;
rewrite ^/l/loop/(.*)$ /l/loop/$1/ last;
rewrite ^/l/again/(.*)$ /l/br/$1 last;
rewrite (?i)^/l/Any(/.*)?$ /l/any$1? permanent;
rewrite ^/l/root/(.*)$ $document_root$request_filename last;
rewrite /rate/ /l/n/$limit_rate permanent;
rewrite \.old$ $scheme://$host$uri.new;
"""
LITERALS = "rewrite ^/l/old$ /l/new permanent;\nrewrite ^/l/in$ /l/file last;\n"
SHADOWED = "rewrite ^/l/p/literal$ /l/shadowed permanent;\nrewrite ^/l/late$ /l/1 permanent;\n"
# A rule that answers 500 stands first, in the middle, and last; the groups have their captures in each case. Literals
# are in groups, too, where that tries fewer patterns than to list them.
RULES = (
    LITERALS + BREAKS + ENDLESS + FAILS + SHADOWED,
    FAILS + LITERALS + ENDLESS + BREAKS,
    ENDLESS + FAILS + LITERALS + BREAKS + ENDLESS.replace("/l/", "/l/b/"),
)
GROUPED = (12, 14, 24)
WITHOUT_BREAKS = (10, 12, 20)

FAILURE = f"/l/{'a' * 34}!"
PATHS = [
    *("p/", "p/a", "p/literal", "p/%0A", "p/a%0A", "p/%2B+%20%3F", "P/a", "p", "r/a/b", "r/a/", "r//b", "f/a", "f/%26"),
    *("out/x", "loop/", "again/x", "again/", "any", "ANY/%3Fx", "anyx", "root/x", "x/rate/y", "x.old", "x.old%0A"),
    *(
        "br/x",
        "br/",
        "to/file",
        "to/none",
        "to/",
        "old",
        "in",
        "late",
        "file",
        "none",
        "",
        "b/p/a",
        "b/f/",
        "b/p/x.old",
    ),
]
REQUESTS = [
    *(get(f"/l/{path}{end}") for path in PATHS for end in ("", "?x=1")),
    *map(get, ["/", "/l", "//l/p/a", "/L/p/a", "/start", "/start?x=1", "/l/aaa", "/x"]),
    *(get(f"/l/{path}", method=method) for path in ("p/a", "f/a", "br/x", "none") for method in ("HEAD", "DELETE")),
    *(get(f"/l/{path}", host="cap.test") for path in ("p/a", "f/a", "br/x", "none")),
    get(FAILURE),
]

# Where an `if` says more than the rewrite module runs, or a file may, no rule is in a group.
SILENT = frozenset(
    {
        "headers of an if",
        "an error page of an if",
        "no access log in an if",
        "expires in an if",
        "a root in an if",
        "a charset and a type in an if",
        "a variable of the configuration",
        "an if that includes",
        "an if in a file",
        "two ifs",
        "an if that does not run",
        "an if behind",
        "an if between",
        "try_files and an if",
        "an alias",
        "a nested location",
        "a location by a regex",
        "a location that is no regex's",
        "limit_except",
        "an internal location",
        "an error page to a rule",
        "an error page to another",
        "a named location",
        "slashes that stay",
        "a log of rewrites",
        "a break behind",
        "conditions of a cache",
        "a redirect with a name",
    }
)
# The same, and more, without the `if`.
AROUND = {
    "try_files to another": "location /l/ { try_files $uri /page; %s }",
    "an alias": "location /l/ { alias html/l/; %s }",
    "an alias of a regex": "location ~ ^/(l)/(.*) { alias html/$1/$2; %s }",
    "a nested location": "location / { expires 1h; location /l/ { add_header A 1; %s } }",
    "a location with another": "location /l/ { %s location /l/in { return 203; } location ~ r/(a) { return 203 $1; } }",
    "a location by a regex": "location ~ ^/(l)/ { add_header X-L '$1' always; %s }",
    "an exact location": "location = /l/p/a { %s } location /l/ { return 202 '[$1]'; }",
    "a location that is no regex's": "location ^~ /l/ { expires 1h; %s } location ~ /l { return 202; }",
    "limit_except": "location /l/ { limit_except GET { deny all; } %s }",
    "an internal location": "location /l/ { internal; %s } location /start { try_files /no /l/p/a; }",
    "an error page to a rule": "error_page 404 /l/f/x; location /l/ { %s } location /start { return 404; }",
    "error pages": "location /l/ { error_page 301 =203 /page; error_page 302 404 @n; %s } location @n { return 204; }",
    "a page for a cycle": "location /l/ { error_page 500 /page; add_header X-L 1 always; %s }",
    "a named location": "location @n { %s return 200 '$uri'; } location /l/ { try_files /no @n; }",
    "all kinds of settings": (
        "location /l/ { default_type a/b; charset utf-8; expires 1h; add_header X-L '$1' always; etag off;"
        " server_tokens off; access_log access.log main; if_modified_since off; types { } absolute_redirect"
        " off; limit_rate 9k; %s }"
    ),
    "another root": "location /l/ { root other; index none; autoindex on; %s }",
    "a later regex location": "location /l/ { %s } location ~ ^/l/(f)ile { return 200 '[$1] [$2]'; }",
    "a log of rewrites": "rewrite_log on; location /l/ { %s }",
    "a proxy": "location /l/ { proxy_pass http://127.0.0.1:8/; proxy_intercept_errors on; error_page 502 /page; %s }",
    "a set before": "location /l/ { set $y '$uri'; if ($arg_x ~ (.)) { set $y '$1'; } %s add_header Y '$y' always; }",
    "an if that fires": "location /l/ { if ($arg_x) { rewrite ^/l/(none|f)(.*) /l/p$2; } %s }",
    "an if with a break": "location /l/ { if ($arg_x) { break; } %s }",
    "an if with a return behind": "location /l/ { %s if ($arg_x) { return 203 '[$1]'; } }",
}
HAS_TRY_FILES = frozenset({"try_files", "try_files to another"})


LOCATIONS = {**IN_LOCATION, **{f"{name}, again": text for name, text in AROUND.items()}}


@pytest.mark.parametrize("arounds", together([*LOCATIONS], 6))
def test_groups_in_a_location(a_binary: nginx.Binary, arounds: Sequence[str], tmp_path: Path) -> None:
    """Rules are in groups wherever no `if` says anything, and never one with `break` beside `try_files`."""
    servers: list[str] = []
    grouped: list[int] = []
    for around in arounds:
        servers += [SHOWN + LOCATIONS[around].replace("%s", rules) for rules in RULES]
        counts = WITHOUT_BREAKS if around.removesuffix(", again") in HAS_TRY_FILES else GROUPED
        grouped += [0] * len(RULES) if around in SILENT else counts
    check(a_binary, Site(servers, HTTP, files=FILES, gives_up=GIVES_UP, grouped=grouped), tmp_path, REQUESTS)


PASSES = {
    "a pass": "proxy_pass http://127.0.0.1:$server_port;",
    "headers": "proxy_pass http://127.0.0.1:$server_port; proxy_set_header Host a.test; proxy_set_header X-L $1;",
    "a body": "proxy_pass http://127.0.0.1:$server_port; proxy_method POST; proxy_set_body '$uri';",
}


@pytest.mark.parametrize("name", PASSES)
def test_a_break_before_a_pass(each_binary: nginx.Binary, name: str, tmp_path: Path) -> None:
    """A rule with `break` leads to the same request of the upstream."""
    rules = "".join(f"rewrite ^/l/{number}/(.*)$ /up/{number}/$1 break;\n" for number in range(9))
    location = f"location /l/ {{ {PASSES[name]} {rules} }}"
    upstream = "location /up/ { return 200 '$request_method $uri [$args] $http_x_l'; }"
    site = Site([f"{SHOWN} {location} {upstream}"], HTTP, files=FILES, grouped=9)
    paths = ["0/", "0/a", "8/a%0A", "8/%2B+%20", "9/a", "", "1/a?x=1"]
    answers = check(each_binary, site, tmp_path, [get(f"/l/{path}") for path in paths]).answers
    assert b"/up/0/a" in answers[1]


def test_a_differential_run_has_what_the_groups_rely_on(each_binary: nginx.Binary) -> None:
    """A rule with `break` in a group is asked about in a location without `try_files`, as its own has none."""
    rules = ENDLESS.replace("$document_root$request_filename", "/root")
    text = b"events {} http { server { location /l/ { %s } } }" % (BREAKS + rules).encode()
    emission = emit(plan(load_text(text), Options(groups=True)))
    assert emission.plan.rules.grouped == 12
    [differential] = ask(emission, each_binary)
    assert (differential.mismatched, differential.requests > 100) == (0, True)


@pytest.mark.parametrize("inherits", ["off", "on", "merge"])
def test_headers_that_a_group_would_not_inherit(each_binary: nginx.Binary, inherits: str, tmp_path: Path) -> None:
    """With `add_header_inherit` (1.29.3) anywhere, a location with headers of its own has no groups."""
    if each_binary.version < (1, 29, 3):
        pytest.skip("this nginx has no add_header_inherit")
    around = f"{SHOWN} add_header_inherit {inherits}; location /l/ {{ add_header X-L 1 always; %s }}"
    without = f"{SHOWN} add_header_inherit {inherits}; location /l/ {{ %s }}"
    for server, grouped in ((around, 0), (without, 12)):
        site = Site([server.replace("%s", LITERALS + ENDLESS)], HTTP, files=FILES, grouped=grouped)
        check(each_binary, site, tmp_path, [get(request, host=HOST) for request in ("/l/p/a", "/l/f/a", "/l/none")])
