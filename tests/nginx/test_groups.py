"""Rules in groups behind a tree of maps, against the rules one after the other, on nginx."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from nginxopt.config import load_text
from nginxopt.rewrite import Options, emit, plan, prove
from nginxopt.rewrite.mapfile import DEFAULT_SIZES, sizes_text
from nginxopt.rewrite.proving import proved
from nginxopt.system import nginx
from nginxopt.system.http import RequestBytes
from nginxopt.system.nginx import Instance
from nginxopt.text.display import percent_encode
from tests.nginx.compiling import different
from tests.nginx.grouplists import random_list

pytestmark = [pytest.mark.nginx, pytest.mark.extended]

SHOW = b'location / { add_header X "[$1][$2]"; return 200 "$uri $args"; }'
SET = b"root /; set $sv s;"
PREFIXES = b"".join(b"rewrite ^/p%d/(.*)$ /to/%d/$1 permanent;\n" % (number, number) for number in range(9))
SEVERAL = (
    rb"""rewrite ^/a/([^/]+)/(.*)$ /b/$2/$1 last;
rewrite ^/q/(?<name>[a-z]+) /named/$name?x=1 last;
rewrite (?i)^/Case/(.*)$ /case/$1? redirect;
rewrite /any/where /found break;
rewrite ^/dot.html /dots permanent;
rewrite \.old$ https://$host/new permanent;
rewrite ^/(.*)/index\.php$ /$1/ permanent;
"""
    + PREFIXES
    + b"rewrite ^/p1/more/(.*)$ /dead/$1 permanent;\nrewrite ^/lit$ /literal permanent;\n"
)
# On its own subjects, PCRE gives up: nginx answers 500.
GIVES_UP = rb"rewrite ^/x(a+)+$ /gone permanent;" + b"\n"
TOO_LONG = b"/x" + b"a" * 40 + b"b"

# Rules of several kinds, and some that share nothing with others.
OF_KINDS = b"".join(
    line % ((number,) * line.count(b"%d"))
    for line, count in (
        (rb"rewrite ^/k/%d/(.*)$ /to/%d/$1 permanent;" + b"\n", 40),
        (rb"rewrite ^/l/%d/ /to/%d? last;" + b"\n", 25),
        (rb"rewrite ^/m/a\.b-%d/([a-z]+)/(.*)$ https://ex.test/%d%%20x?a=$1 redirect;" + b"\n", 20),
        (rb"rewrite ^/o/%d/(x|y(z))? $scheme://$host/o%%2F%d/$2$uri redirect;" + b"\n", 15),
        (rb'rewrite ^/p/%d/([^/]*)/(.*)$ "/br \"%d\"/$2/$1?k=$1&x=%%41" break;' + b"\n", 15),
        (rb"rewrite ^/same/%d/(.*)$ /same/$1?$args? permanent;" + b"\n", 10),
        (rb"rewrite (?i)^/Case/%d/ https://ex.test/%d last;" + b"\n", 10),
        (rb"rewrite /in/%d/ /in/%d/$1 permanent;" + b"\n", 10),
        (rb"rewrite ^/n%d(.*)$ /own/$1/%d permanent;" + b"\n", 10),
        (rb"rewrite ^/q/%d/(?<name>.*)$ /named/$name last;" + b"\n", 3),
    )
    for number in range(count)
)
STARTS = (
    *(b"/k/%d", b"/l/%d", b"/m/a.b-%d/ab", b"/m/axb-%d/ab", b"/o/%d", b"/p/%d", b"/p/%d/c+d", b"/p/%d/%%0A/%%25"),
    *(b"/same/%d", b"/CASE/%d", b"/x/in/%d", b"/n%d", b"/q/%d", b"/k/k/%d", b"//k/%d", b"/k%%2F%d", b"/k/%%0A/%d"),
)
ENDS = (
    *(
        b"",
        b"/",
        b"/a",
        b"/a/b",
        b"//",
        b"/a%20b",
        b"/a%2Fb",
        b"/a+b",
        b"/%0A",
        b"/a%0A",
        b"/%3Fz",
        b"/%25",
        b"/\xc3\xa9",
    ),
    *(b"/x", b"/yz", b"/y?x=1&z=%20", b"/a?", b"/$uri", b"/%22%5C"),
)

URIS = (
    *(b"/a/1/2/3", b"/a/1/", b"/a//2", b"/a/%2B/a+b%20c", b"/q/abc", b"/q/1", b"/case/X", b"/CASE/y", b"/x/any/where/"),
    *(b"/dot.html", b"/dotxhtml", b"/dot.htm", b"/b.old", b"/b.old\n", b"/b.oldx", b"/d/index.php", b"/index.php"),
    *(
        b"/p1/a",
        b"/p1/more/a",
        b"/p1",
        b"/p1/",
        b"/P1/a",
        b"/p8/\nb",
        b"/p8/b\n",
        b"/p9/x",
        b"/lit",
        b"/lit\n",
        b"/",
        b"/zz",
    ),
    *(b"/xaaa", b"/xb", TOO_LONG, b"/p1/%3Fa", b"/p1//a", b"/p1/" + b"b" * 3_000),
)


@pytest.mark.parametrize(
    ("rules", "grouped"),
    [
        (PREFIXES, 9),
        (SEVERAL, 17),
        (GIVES_UP + PREFIXES, 9),
        (PREFIXES + GIVES_UP, 9),
        (SEVERAL + GIVES_UP + PREFIXES.replace(b"/p", b"/z"), 26),
    ],
    ids=["prefixes", "several", "gives up first", "gives up last", "gives up between"],
)
@pytest.mark.parametrize("jit", [b"off", b"on"])
def test_groups_answer_as_the_rules(a_binary: nginx.Binary, rules: bytes, grouped: int, jit: bytes) -> None:
    """A rule of any pattern, target and flag fires in its group; one on which PCRE gives up stays alone."""
    emission = emit(plan(load_text(rules, context="server"), Options(groups=True)))
    assert emission.plan.rules.grouped == grouped
    assert emission.plan.rules.reasons()["backtracking"] == rules.count(GIVES_UP)
    assert prove(emission).holds
    requests = [RequestBytes(b"GET %s?k=v HTTP/1.1\r\nHost: h\r\n\r\n" % percent_encode(uri)) for uri in URIS]
    main = b"pcre_jit %s;" % jit
    with (
        Instance(a_binary, servers=[rules + SHOW], main=main) as before,
        Instance(
            a_binary,
            servers=[emission.changes[0].after + SHOW],
            http=emission.http,
            main=main,
        ) as after,
    ):
        assert different(before, after, requests) == []
        if GIVES_UP in rules:
            with after.client() as client:
                (answer,) = client.ask([RequestBytes(b"GET %s HTTP/1.1\r\nHost: h\r\n\r\n" % TOO_LONG)])
            assert answer[:12] == b"HTTP/1.1 500"


@pytest.mark.parametrize("jit", [b"off", b"on"])
def test_kinds_answer_as_the_rules(a_binary: nginx.Binary, jit: bytes) -> None:
    """Rules that share a rewrite lead where each of them does, whatever is escaped, and leave its captures."""
    emission = emit(plan(load_text(OF_KINDS, context="server"), Options(groups=True)))
    after = emission.changes[0].after
    assert emission.plan.rules.grouped == OF_KINDS.count(b"\n") >= 150
    assert (after.count(b"_kind = "), after.count(b"_target")) == (10, 8)
    assert prove(emission).holds
    uris = [(start % number) + end for start in STARTS for number in (0, 2, 9, 14, 39, 41) for end in ENDS]
    requests = [RequestBytes(b"GET %s HTTP/1.1\r\nHost: h\r\n\r\n" % uri) for uri in uris]
    main = b"pcre_jit %s;" % jit
    with (
        Instance(a_binary, servers=[OF_KINDS + SHOW], main=main) as rules,
        Instance(a_binary, servers=[after + SHOW], http=emission.http, main=main) as kinds,
    ):
        assert different(rules, kinds, requests) == []


@pytest.mark.parametrize("rules", [OF_KINDS, PREFIXES + b"rewrite ^/r/(.*)$ /to/r/$1 last;\n"], ids=["kinds", "groups"])
@pytest.mark.parametrize("page", [b"/zz", b"/k/3/x", b"/p1/y", b"/r/z"])
def test_an_internal_redirect_looks_up_again(a_binary: nginx.Binary, rules: bytes, page: bytes) -> None:
    """What the lookup told of the first URI is not told of the next one."""
    emission = emit(plan(load_text(rules, context="server"), Options(groups=True)))
    assert emission.plan.rules.grouped == rules.count(b"\n")
    around = b"error_page 404 %s; location / { add_header X [$1] always; return 404; }" % page
    around += b"location /to/r { return 200 $uri; } location = /zz { return 200 $uri; }"
    requests = [
        RequestBytes(b"GET %s HTTP/1.1\r\nHost: h\r\n\r\n" % uri) for uri in (b"/l/1/", b"/r/a", b"/k/2/a", b"/a")
    ]
    with (
        Instance(a_binary, servers=[rules + around]) as before,
        Instance(a_binary, servers=[emission.changes[0].after + around], http=emission.http) as after,
    ):
        assert different(before, after, requests) == []


def test_random_lists_answer_as_before(a_binary: nginx.Binary) -> None:
    """Groups of random rules answer as the rules. With JIT, PCRE gives up sooner."""
    lists = [random_list(random.Random(number)) for number in range(20)]
    assert compare(a_binary, lists, b"pcre_jit on;") > len(lists) * 5


def compare(binary: nginx.Binary, lists: Sequence[tuple[bytes, list[bytes]]], main: bytes) -> int:
    """Ask both sides for the URIs of each list, of which one is a server; return the number of rules in groups."""
    configs = [load_text(rules, context="server") for rules, _ in lists]
    emissions = [proved(plan(config, Options(groups=True, name=f"l{at}")))[0] for at, config in enumerate(configs)]
    texts = [emission.after(emission.plan.config.main) for emission in emissions]
    mapped = b"map $arg_k $mapped { v bee; }"
    maps = b"".join(emission.maps.removeprefix(sizes_text(emission.sizes)) for emission in emissions)
    http = b"".join((sizes_text(dict.fromkeys(DEFAULT_SIZES, 8_192)), mapped, maps))
    with (
        Instance(binary, servers=[SET + rules + SHOW for rules, _ in lists], http=mapped, main=main) as before,
        Instance(binary, servers=[SET + text + SHOW for text in texts], http=http, main=main) as after,
    ):
        for server, (rules, uris) in enumerate(lists):
            requests = [RequestBytes(b"GET %s?k=v HTTP/1.1\r\nHost: h\r\n\r\n" % percent_encode(uri)) for uri in uris]
            assert different(before, after, requests, server) == [], rules.decode(errors="replace")
    return sum(emission.plan.rules.grouped for emission in emissions)
