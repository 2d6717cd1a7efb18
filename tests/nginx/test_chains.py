"""Chains of `if`s as one lookup, against the `if`s one after the other, on the real nginx."""

from __future__ import annotations

from pathlib import Path

import pytest

from nginxopt.config import load_text
from nginxopt.rewrite import Emission, Options, emit, plan
from nginxopt.rewrite.differential import ask
from nginxopt.rewrite.kinds.chains import planning
from nginxopt.rewrite.kinds.chains.planning import Chain
from nginxopt.system import nginx
from nginxopt.system.http import RequestBytes
from tests.nginx.sides import Site, check, get

pytestmark = [pytest.mark.nginx, pytest.mark.extended]

# {v}: what is compared. Answers of every kind; some conditions are never the first that is true.
CHAIN = r"""
if ({v} ~ ^/?old/a) {{ return 301 /new/a?u=$uri; }}
if ({v} ~ ^/?old/) {{ return 301 https://$host/b; }}
if ({v} ~* ^/?CASE) {{ return 302 "/c d"; }}
if ({v} ~ "\.php$") {{ return 403; }}
if ({v} ~ zz) {{ return 403 "no $request_method $http_x_none"; }}
if ({v} ~ ^/?old/dead) {{ return 410; }}
if ({v} ~ ^/?y[yz]) {{ return https://y.test/$args; }}
if ({v} ~ ^/?closed) {{ return 444; }}
if ({v} ~ "a b|a%20b") {{ return 200; }}
if ({v} ~ ^/?empty) {{ return 404 ""; }}
if ({v} ~ ^/?where) {{ return 303 $scheme://$http_host$request_uri; }}
if ({v} ~ ^/?0$) {{ return 200 0; }}
if ({v} ~ ^/?nothing) {{ return 200 "$http_x_none"; }}
if ({v} ~ ^/?bad) {{ return 404 "$http_x_none"; }}
if ({v} ~ ^/?x$) {{ return 301; }}
"""
# Only where nothing reads captures: groups, and comparisons that leave them as they are.
GROUPS = r"""
if ({v} ~ ^/?(one|two)$) {{ return 200 "one or two"; }}
if ({v} = exact) {{ return 201 exact; }}
if ({v} = "") {{ return 200 "none"; }}
if ({v} = Exact) {{ return 202 "Exact"; }}
"""
EMPTY = "if ({v} ~ ^$) {{ return 200 'nothing at all'; }}\n"

VALUES = (
    *(
        "old/a",
        "old/ab",
        "old/",
        "old/dead",
        "OLD/a",
        "case",
        "Casex",
        "x.php",
        "x.php%0A",
        "x.phpx",
        "xzzx",
        "yy",
        "yz",
    ),
    *("ya", "closed", "a%20b", "a+b", "empty", "where", "where?x=1", "0", "00", "nothing", "bad", "x", "x%0A", "one"),
    *("two", "three", "exact", "Exact", "EXACT", "none", "", "%00", "old%2Fa", "old/a%0Ab", "?old/a", "?x=1"),
)
SHOWN = "access_log access.log main; server_name a.test '~^(c)(a)p';"
HTTP = "log_format main '$status $request_method $uri [$args] $request_uri $sent_http_location';"
READ = "add_header X-Shown '[$1] [$2] $uri' always;"
SERVED = "location / { try_files $uri /page; } location = /page { return 200 '$uri $args'; }"
FILES = {"html/x": "x", "html/page": "page"}


def requests(variable: str) -> list[RequestBytes]:
    """Return requests with every value of a variable, and some whose URI has captures."""
    if variable in ("$uri", "$request_uri", "$document_uri"):
        asked = [get(f"/{value}") for value in VALUES]
    elif variable == "$http_x_v":
        asked = [get("/", headers=f"X-V: {value}\r\n") for value in VALUES] + [get("/")]
    else:
        asked = [get(f"/page?v={value}") for value in VALUES] + [get("/page"), get("/page?v"), get("/page?")]
    return [
        *asked,
        get("/x/old", host="cap.test"),
        get("/old/a", host="cap.test"),
        get("/old/a?v=old/a", method="HEAD"),
    ]


VARIABLES = ("$uri", "$request_uri", "$document_uri", "$args", "$arg_v", "$http_x_v", "$kept", "$mapped")
LEVELS = {
    "server": "%s",
    "location": "location / { %s try_files $uri /page; }",
    "location with headers": "location / { add_header X-L 1 always; error_page 403 =200 /page; %s }",
    "location behind an if": "location / { if ($arg_x) { add_header X-If 1 always; } %s root html; }",
    "location by a regex": "location ~ ^/(o|c) { %s return 200 '$uri'; }",
    "location with a set behind": 'location / { %s set $y "$uri"; return 200 $y; }',
}


def at_each_level(before: str, conditions: str) -> list[str]:
    """Return a server for each of the levels."""
    return [
        f"{before} {text.replace('%s', conditions)} "
        + (SERVED if level == "server" else SERVED.replace("location / {", "location /none {"))
        for level, text in LEVELS.items()
    ]


@pytest.mark.parametrize("reads", [False, True], ids=["captures unread", "captures read"])
@pytest.mark.parametrize("variable", VARIABLES)
def test_chains(a_binary: nginx.Binary, variable: str, reads: bool, tmp_path: Path) -> None:
    """The first true condition decides, whatever it returns; none leaves `$1` to `$9` empty if they are read.

    Each level is a server of one site.
    """
    chain = (CHAIN if reads else GROUPS + CHAIN) + EMPTY
    conditions = chain.format(v=variable)
    http = f"{HTTP} map $args $mapped {{ volatile; default -; v= ''; v=x x; v=yy yy; ~old /old/a; }}"
    servers = at_each_level(f"{SHOWN} {READ if reads else ''} set $kept $arg_v;", conditions)
    site = Site(servers, http, files=FILES, chained=conditions.count("if (") * len(servers))
    check(a_binary, site, tmp_path, requests(variable))


STRINGS = "".join(
    [
        *(f"if ({{v}} = {text}) {{{{ return 301 /to/{text}?u=$uri; }}}}\n" for text in ("exact", "Two", "/old/a", "x")),
        *(f"if ({{v}} = /{number}) {{{{ return 40{number % 4} '$args'; }}}}\n" for number in range(9)),
        "if ({v} = '/y z') {{ rewrite ^ /page last; }}\n",
        "if ({v} = /old/ab) {{ rewrite ^ /page?a=1 permanent; }}\n",
        "if ({v} = exact) {{ return 410; }}\n",
        "if ({v} = old/a) {{ rewrite .* https://b.test$request_uri permanent; }}\n",
        "if ({v} = /old/) {{ return 418; }}\n",
    ]
)


@pytest.mark.parametrize("variable", VARIABLES)
def test_strings(a_binary: nginx.Binary, variable: str, tmp_path: Path) -> None:
    """Comparisons with strings leave what was captured before them, whether one is true or not."""
    conditions = STRINGS.format(v=variable)
    http = f"{HTTP} map $args $mapped {{ volatile; default -; v= ''; v=x x; v=yy Two; ~old /old/a; }}"
    before = f"{SHOWN} {READ} set $kept $arg_v; rewrite ^/(start)/(.*)$ /$2;"
    servers = at_each_level(before, conditions)
    site = Site(servers, http, files=FILES, chained=conditions.count("if (") * len(servers))
    asked = [*requests(variable), *(get(f"/start/{value}") for value in VALUES), get("/start/page?v=Two")]
    asked += [get("/5", host="cap.test"), get("/start/page?v=TWO"), get("/start/page?v=two", headers="X-V: Two\r\n")]
    check(a_binary, site, tmp_path, asked)


def test_captures_before_and_behind_a_chain(a_binary: nginx.Binary, tmp_path: Path) -> None:
    """What a rule, a location or an error page reads of `$1` is what it was, whether a condition was true or not."""
    chain = CHAIN.format(v="$request_uri")
    server = (
        f"{SHOWN} rewrite ^/(start)/(.*)$ /$2; {chain} error_page 403 404 @e; location @e {{ return 200 '[$1] [$2]'; }}"
        " location ~ ^/(.)(.*) { return 200 '[$1] [$2]'; } location = / { return 200 '[$1]'; }"
        " location = /page { try_files /none =404; }"
    )
    asked = [*requests("$request_uri"), *(get(f"/start/{value}") for value in VALUES)]
    check(a_binary, Site([server], HTTP, files=FILES, chained=chain.count("if (")), tmp_path, asked)


# The last true condition decides: many are true at once. What sets nothing leaves what was set before.
SETS = r"""
if ({v} ~ ^/?old) {{ set $set 1; }}
if ({v} ~* ^/?old/A) {{ set $set "$host/$arg_v"; }}
if ({v} ~ ^/?old/ab) {{ set $set ""; }}
if ({v} ~ ^/?y) {{ set $set 1; }}
if ({v} ~ ^/?yz) {{ set $set 2; }}
if ({v} ~ ^/?x) {{ set $set "x $uri"; }}
if ({v} ~ ^/?xzz) {{ set $set 3; }}
if ({v} ~ ^/?(?:0|a)) {{ set $set 4; }}
if ({v} ~ "a%20b|a\+b") {{ set $set 5; }}
if ({v} ~ where) {{ set $set 1; }}
if ({v} ~ ^$) {{ set $set empty; }}
"""
FEW_SETS = r"""
if ({v} ~ ^/?old) {{ set $SET 1; }}
if ({v} ~ ^/?y) {{ set $SET 1; }}
if ({v} ~ ^/?old/a) {{ set $SET ""; }}
if ({v} ~ ^/?old/ab) {{ set $SET 1; }}
if ({v} ~ ^/?x) {{ set $SET 1; }}
if ({v} ~ ^/?yy$) {{ set $SET ""; }}
if ({v} ~ ^/?a) {{ set $SET 1; }}
if ({v} ~ ^/?c) {{ set $SET 1; }}
"""
# The first true one decides, by a return or a rewrite.
REWRITES = r"""
if ({v} ~ ^/?old/ab) {{ rewrite ^ /page?r=$arg_v last; }}
if ({v} ~ ^/?old) {{ rewrite ^ https://$host/n? permanent; }}
if ({v} ~ ^/?yy) {{ rewrite .* /x break; }}
if ({v} ~ ^/?xz) {{ return 403; }}
if ({v} ~ ^/?x) {{ rewrite ^.* "/page?" last; }}
if ({v} ~ ^/?o) {{ rewrite ^ https://$host/n? permanent; }}
if ({v} ~ ^/?y) {{ rewrite ^ $scheme://$host$uri; }}
if ({v} ~ ^/?c) {{ rewrite ^ /page?r=$arg_v redirect; }}
if ({v} ~ ^/?wh) {{ return 301 /w; }}
"""


@pytest.mark.parametrize("reads", [False, True], ids=["captures unread", "captures read"])
@pytest.mark.parametrize("chain", [SETS, FEW_SETS, REWRITES], ids=["sets", "few sets", "rewrites"])
@pytest.mark.parametrize("variable", ["$request_uri", "$arg_v", "$http_x_v"])
def test_chains_that_set_and_rewrite(
    a_binary: nginx.Binary, variable: str, chain: str, reads: bool, tmp_path: Path
) -> None:
    """Of conditions that set a variable the last true one decides, of those that rewrite the first."""
    conditions = chain.format(v=variable)
    shown = f"{SHOWN} {READ if reads else ''} add_header X-Set '[$set]' always; set $set before;"
    servers = at_each_level(shown, conditions)
    # Behind `try_files`, whether $args is empty or absent in a log is left to chance (`ngx_http_split_args`).
    http = HTTP.replace(" [$args]", "").replace("$sent_http_location", "$sent_http_location [$set]")
    site = Site(servers, http, files=FILES, chained=conditions.count("if (") * len(servers))
    check(a_binary, site, tmp_path, requests(variable))


@pytest.mark.parametrize("chain", [SETS, REWRITES], ids=["sets", "rewrites"])
def test_nginx_is_asked_about_sets_and_rewrites(a_binary: nginx.Binary, chain: str) -> None:
    """`--nginx` finds no difference where there is none."""
    (differential,) = ask(chained(chain.format(v="$request_uri")), a_binary)
    assert differential.ok
    assert differential.requests > 30


def test_nginx_sees_a_set_of_the_first(binary: nginx.Binary, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lookup of the first true condition that sets a variable is a difference."""
    monkeypatch.setattr(Chain, "by_precedence", property(lambda chain: chain.conditions))
    (differential,) = ask(chained(SETS.format(v="$request_uri")), binary)
    assert differential.mismatches


STAYS = {
    "captures-returned": "if ($uri ~ ^/{n}/(.)) {{ return 301 /$1; }}\n",
    "unstable-text": "if ($uri ~ ^/{n}/) {{ return 200 $msec; }}\n",
    "unstable-variable": "if ($msec ~ ^{n}) {{ return 200; }}\n",
    "unbounded-pattern": "if ($uri ~ ^/{n}/(a+)+$) {{ return 200; }}\n",
    "named-group": "if ($uri ~ ^/{n}/(?<n{n}>.)) {{ return 200; }}\n",
    "variable-value": "if ($uri = /{n}$args) {{ return 200; }}\n",
    "unread-pattern": "if ($uri ~ '^/{n}/\\p{{Lu}}') {{ return 200; }}\n",
    "comment-inside": "if ($uri ~ ^/{n}/) {{ return # Why.\n200; }}\n",
    "captures-kept": "if ($uri = '') {{ return 200; }}\n",
    "captures-read": "if ($uri ~ ^/{n}/(a|b)) {{ return 200; }}\n",
}


@pytest.mark.parametrize("reason", STAYS)
def test_conditions_that_stay(reason: str) -> None:
    """Conditions stay where a lookup would not return what they do, with the reason."""
    conditions = "".join(STAYS[reason].format(n=number) for number in range(8))
    reads = READ if reason in ("captures-kept", "captures-read") else ""
    config = load_text(f"events {{}} http {{ server {{ {reads}\n{conditions} }} }}".encode())
    compiled = plan(config, Options(groups=True))
    assert dict(compiled.chains.reasons()) == {reason: 8}
    assert compiled.chains.moved == 0


def chained(conditions: str) -> Emission:
    """Return the emission of a server with a chain."""
    return emit(plan(load_text(f"events {{}} http {{ server {{ {conditions} }} }}".encode()), Options(groups=True)))


@pytest.mark.parametrize("variable", ["$request_uri", "$http_x_v", "$remote_user"])
def test_nginx_is_asked_about_chains(a_binary: nginx.Binary, variable: str) -> None:
    """`--nginx` finds no difference where there is none, for variables that a request sets and for another."""
    (differential,) = ask(chained(CHAIN.format(v=variable)), a_binary)
    assert differential.ok
    assert differential.requests > 100


def test_nginx_sees_a_wrong_answer(binary: nginx.Binary, monkeypatch: pytest.MonkeyPatch) -> None:
    """A text that belongs to another condition is a difference."""
    emission = chained(CHAIN.format(v="$request_uri"))
    maps = planning.maps
    monkeypatch.setattr(
        planning, "maps", lambda compiled: maps(compiled).replace(b"https://$host/b", b"https://$host/c")
    )
    (differential,) = ask(emission, binary)
    assert differential.mismatches
    assert all(b"/old" in mismatch.request for mismatch in differential.mismatches)
