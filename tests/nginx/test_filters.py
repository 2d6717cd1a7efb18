"""Rules behind a filter, a pattern for all of them, against the rules one after the other, on nginx."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from nginxopt.config import load_text
from nginxopt.rewrite import Options
from nginxopt.rewrite.compilation import plan
from nginxopt.rewrite.differential import ask
from nginxopt.rewrite.mapfile import DEFAULT_SIZES, sizes_text
from nginxopt.rewrite.proving import proved
from nginxopt.system import nginx
from nginxopt.system.http import RequestBytes
from nginxopt.system.nginx import Instance
from nginxopt.text.display import percent_encode
from tests.nginx.compiling import different
from tests.nginx.grouplists import random_list
from tests.nginx.sides import LIMIT, Site, check, get, together
from tests.nginx.test_groups import SET, SHOW
from tests.nginx.test_groups_in_locations import LOCATIONS, SILENT
from tests.nginx.test_surroundings import FILES, HTTP, SHOWN

pytestmark = [pytest.mark.nginx, pytest.mark.extended, pytest.mark.no_cover]

GIVES_UP = "^/l/g/(a+)+$"
# Rules that go on with the new URI, break, loop, and fail; the filter passes all that begins like the one that fails.
MIXED = rf"""rewrite ^/l/p/(.*)$ /l/moved/$1 permanent;
rewrite ^/l/step/(.*)$ /l/br/$1;
rewrite {GIVES_UP} /l/kept permanent;
rewrite ^/l/br/(.*)$ /l/file break;
rewrite ^/l/f/(.*)$ /l/file?x=$1 last;
rewrite ^/l/go/([a-z]+) /l/none?y=$1;
rewrite ^/l/loop/ /l/loop/x last;
rewrite \.old$ $scheme://$host$uri.new;
"""
# Rules that certainly fire, which may stand in an `if` beside `try_files`.
FIRING = r"""rewrite ^/l/p/(.*)$ /l/moved/$1 permanent;
rewrite ^/l/f/(.*)$ /l/file?x=$1 last;
rewrite ^/l/r/([^/]+)/(.*)$ https://$host/$2/$1?x=1 redirect;
rewrite (?i)^/l/Any(/.*)?$ /l/any$1? permanent;
"""
PATHS = [
    *(
        "p/",
        "p/a",
        "p/%0A",
        "p/a%0A",
        "p/%2B+%20%3F",
        "P/a",
        "p",
        "step/x",
        "step/",
        "step/a%0Ab",
        "g/aaa",
        "g/",
        "g/b",
    ),
    *("br/x", "br/", "f/a", "f/%26", "go/abc", "go/", "go/1", "loop/", "x.old", "x.old%0A", "p/x.old", "step/x.old"),
    *("r/a/b", "r//b", "any", "ANY/%3Fx", "anyx", "file", "none", "", "moved/x"),
]
REQUESTS = [
    *(get(f"/l/{path}{end}") for path in PATHS for end in ("", "?x=1")),
    *map(get, ["/", "/l", "//l/p/a", "/L/p/a", "/start", "/start?x=1", "/x", f"/l/g/{'a' * 34}!"]),
    *(get(f"/l/{path}", method=method) for path in ("p/a", "f/a", "step/x", "none") for method in ("HEAD", "DELETE")),
    *(get(f"/l/{path}", host="cap.test") for path in ("p/a", "step/x", "g/b", "none")),
]
TRIES_FILES = {"try_files", "try_files to another"}
FIRE_AT_LAST = 2
"""How many of the last rules of `MIXED` fire."""


@pytest.mark.parametrize("arounds", together([*LOCATIONS], 10))
def test_filters_in_a_location(a_binary: nginx.Binary, arounds: Sequence[str], tmp_path: Path) -> None:
    """What passes a filter has the location's configuration; beside `try_files`, only rules that fire are behind it."""
    servers, filtered = [], []
    for around in arounds:
        for rules in (MIXED, FIRING):
            beside = rules == MIXED and around.removesuffix(", again") in TRIES_FILES
            before = LOCATIONS[around].partition("location")[0].count("rewrite ^")
            moves = (FIRE_AT_LAST if beside else rules.count("rewrite")) + before
            servers.append(SHOWN + LOCATIONS[around].replace("%s", rules))
            filtered.append(0 if around in SILENT else moves)
    check(a_binary, Site(servers, HTTP, files=FILES, gives_up=GIVES_UP, filtered=filtered), tmp_path, REQUESTS)


AROUND_IN_A_SERVER = {
    "nothing": "%s location / { return 200 '$uri [$1] [$2]'; }",
    "captures before": "if ($uri ~ ^/(l)/(.)) { set $y '$1$2'; } %s add_header X-Y '$y [$1]' always;",
    "an if behind": "%s if ($uri ~ ^/l/(f)) { set $y '$1'; } add_header X-Y '$y [$1]' always;",
    "a return behind": "%s return 203 '$uri [$1]';",
    "a rule behind": "%s set $z 1; rewrite ^/l/none /l/file?z=$z&c=$1 last;",
    "a name of the server": "server_name ~^(?<name>c).; %s add_header X-Y '$name [$1]' always;",
    "try_files": "%s try_files $uri /page;",
    "a location": "%s location /l/ { if ($arg_x) { return 203 '[$1]'; } try_files $uri =404; }",
}


@pytest.mark.parametrize("around", AROUND_IN_A_SERVER)
def test_captures_where_pcre_gives_up(a_binary: nginx.Binary, around: str, tmp_path: Path) -> None:
    """Where PCRE gives up on a rule, the error page shows the captures from before the rule, not those of a filter."""
    rules = f"rewrite {GIVES_UP} /l/kept permanent;\n{MIXED.replace(f'rewrite {GIVES_UP} /l/kept permanent;', '')}"
    servers = [f"{SHOWN} {AROUND_IN_A_SERVER[around].replace('%s', rules)}"]
    check(a_binary, Site(servers, HTTP, files=FILES, gives_up=GIVES_UP, filtered=7), tmp_path, REQUESTS)


@pytest.mark.parametrize("around", AROUND_IN_A_SERVER)
def test_captures_where_pcre_gives_up_behind_groups(a_binary: nginx.Binary, around: str, tmp_path: Path) -> None:
    """Rules in groups that did not fire leave no captures, nor does a filter behind them: the error page shows none."""
    groups = "".join(f"rewrite ^/i/{number}/(.*)$ /l/i/$1 permanent;\n" for number in range(20))
    filtered = (
        f"rewrite {GIVES_UP} /l/kept permanent;\nrewrite ^/l/g/(b.*)$ /l/$1 last;\nrewrite ^/l/p/(.*) /l/c/$1 last;\n"
    )
    servers = [f"{SHOWN} {AROUND_IN_A_SERVER[around].replace('%s', groups + filtered)}"]
    site = Site(servers, HTTP, files=FILES, gives_up=GIVES_UP, grouped=20, filtered=3)
    given_up = get(f"/l/g/{'a' * 34}!", host="cap.test")
    check(a_binary, site, tmp_path, [*REQUESTS, given_up, get("/i/3/x"), get("/i/33/x")])


@pytest.mark.parametrize("around", AROUND_IN_A_SERVER)
def test_filters_in_a_server(a_binary: nginx.Binary, around: str, tmp_path: Path) -> None:
    """A filter in a server changes nothing where no rule fires, and leaves `$1` to `$9` as the rules did."""
    servers = [
        f"access_log access.log main; {AROUND_IN_A_SERVER[around].replace('%s', rules)}" for rules in (MIXED, FIRING)
    ]
    filtered = MIXED.count("rewrite") + FIRING.count("rewrite")
    check(a_binary, Site(servers, HTTP, files=FILES, gives_up=GIVES_UP, filtered=filtered), tmp_path, REQUESTS)


# PCRE finds the literal that all of them need, and may give up on one; most go on with the new URI.
NEEDED = "^.*/need/(a+)+$"
GATED = (
    "rewrite ^/l/first$ /l/need/b-1 last;\n"
    + "".join(
        rf"rewrite ^.*/need/b-{n}(\.(xml|cfg))?$ /l/need/c-{n}?x=$1{' last' * (n % 3 == 0)};" "\n" for n in range(9)
    )
    + f"rewrite {NEEDED} /l/kept permanent;\n"
    + "".join(rf"rewrite ^.*/need/c-{n}$ /l/to/{n}?y=$1{' break' * (n % 4 == 0)};" "\n" for n in range(9))
    + "rewrite ^.*/need/.*-(x+)y(z*)$ /l/$1/$2 redirect;\n"
)
GATED_REQUESTS = [
    *(
        get(f"/l/{path}{end}")
        for path in (
            "need/b-1",
            "need/b-3.cfg",
            "x/need/c-4",
            "need/b-8",
            "first",
            "to/1",
            "need/",
            "need/a-xxyzz",
            "need/x",
            "NEED/b-1",
            "need%0A/b-1",
            "%0A/need/b-1",
            "b-1",
        )
        for end in ("", "%0A", "?q=1")
    ),
    *(get(f"/l/need/{'a' * length}{end}") for length in (3, 40) for end in ("", "!")),
    *map(get, ["/need/b-1", "/", "/x", "/start"]),
]


@pytest.mark.parametrize("around", AROUND_IN_A_SERVER)
def test_one_gate_for_many_rules(a_binary: nginx.Binary, around: str, tmp_path: Path) -> None:
    """Rules that go on, break or fail are all behind one pattern, and do what they did."""
    servers = [f"{SHOWN} {AROUND_IN_A_SERVER[around].replace('%s', GATED)}"]
    # The first two are a run of their own, of which one moves.
    site = Site(servers, HTTP, files=FILES, gives_up=NEEDED, filtered=GATED.count("rewrite") - 2)
    check(a_binary, site, tmp_path, GATED_REQUESTS)


NAMED = "".join(
    rf"rewrite ^/l/n{n}/(?<old>[^/]*)(?<more>/.*)?$ /l/m{n}/$old {flag};" "\n"
    for n, flag in enumerate(["last", "permanent", "break", "redirect"] * 5)
)
NAMED += "rewrite ^/l/(?<old>n.*)$ /l/file?was=$old last;\n"
NAMED_REQUESTS = [
    *(get(f"/l/n{n}/{end}") for n in (0, 1, 2, 3, 9, 18, 19, 20) for end in ("", "a", "a/b", "%26%20/c", "a%0A")),
    *map(get, ["/l/other", "/", "/l/n", "/l/N1/a", "/start"]),
]


@pytest.mark.parametrize("around", AROUND_IN_A_SERVER)
def test_named_groups(a_binary: nginx.Binary, around: str, tmp_path: Path) -> None:
    """The rule that fires sets its variables, and the lookup that finds it sets none."""
    shown = f"{SHOWN} set $old before; rewrite ^/l/set/(?<more>.*) /l/$more; add_header X-Old '[$old] [$more]' always;"
    site = Site([f"{shown} {AROUND_IN_A_SERVER[around].replace('%s', NAMED)}"], HTTP, files=FILES, grouped=21)
    asked = [*NAMED_REQUESTS, *(get(f"/l/set/n{n}/x") for n in (1, 2, 30))]
    check(a_binary, site, tmp_path, asked)


def test_a_differential_run_asks_about_filters(each_binary: nginx.Binary) -> None:
    """--nginx asks each run with filters, in a server and in a location."""
    mixed = MIXED.replace(f"rewrite {GIVES_UP} /l/kept permanent;\n", "").replace("/l/loop/x last", "/l/-/x last")
    text = "events {} http { server { %s location /l/ { %s } location /k/ { try_files $uri =404; %s } } }"
    emission, proof = proved(plan(load_text((text % (mixed, mixed, FIRING)).encode()), Options(groups=True)))
    assert (proof.holds, emission.plan.rules.filtered, emission.maps) == (True, 18, b"")
    differentials = ask(emission, each_binary)
    assert [differential.mismatched for differential in differentials] == [0, 0, 0]
    assert all(differential.requests > 50 for differential in differentials)


@pytest.mark.parametrize("jit", [b"off", b"on"])
def test_random_short_lists_answer_as_before(each_binary: nginx.Binary, jit: bytes) -> None:
    """Random lists of up to eight rules, some without a flag, answer as before."""
    filtered = 0
    servers: list[bytes] = []
    texts: list[bytes] = []
    maps: list[bytes] = []
    asked: list[list[RequestBytes]] = []
    for number in range(30):
        draw = random.Random(f"filters {number}")
        text, uris = random_list(draw)
        lines = text.splitlines(keepends=True)[: draw.randint(3, 8)]
        rules = b"".join(line if draw.random() < 0.7 else _without_a_flag(line) for line in lines)
        emission, proof = proved(plan(load_text(rules, context="server"), Options(groups=True, name=f"l{number}")))
        assert proof.holds
        filtered += emission.plan.rules.filtered
        servers.append(SET + _limited(rules) + SHOW)
        texts.append(SET + _limited(emission.after(emission.plan.config.main)) + SHOW)
        maps.append(emission.maps.removeprefix(sizes_text(emission.sizes)))
        asked.append([RequestBytes(b"GET %s?k=v HTTP/1.1\r\nHost: h\r\n\r\n" % percent_encode(uri)) for uri in uris])
    main = b"pcre_jit %s;" % jit
    mapped = b"map $arg_k $mapped { v bee; }"
    tables = sizes_text(dict.fromkeys(DEFAULT_SIZES, 8_192))
    with (
        Instance(each_binary, servers=servers, http=mapped, main=main) as before,
        Instance(each_binary, servers=texts, http=tables + mapped + b"".join(maps), main=main) as after,
    ):
        for server, requests in enumerate(asked):
            assert different(before, after, requests, server) == [], servers[server].decode(errors="replace")
    assert filtered > 40


def _without_a_flag(line: bytes) -> bytes:
    return line.rpartition(b" ")[0] + b";\n"


def _limited(text: bytes) -> bytes:
    """A text with the limit before the pattern of each rule, on some of which PCRE gives up."""
    return re.sub(rb"""(rewrite +['"]?)""", lambda match: match[1] + LIMIT, text)
