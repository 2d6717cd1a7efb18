"""A map and its tree give equal responses on a real nginx, whatever is looked up."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from nginxopt.config import load_text
from nginxopt.rewrite import emit, plan, prove
from nginxopt.rewrite.differential import ask
from nginxopt.rewrite.kinds.maps.differential import example, sender
from nginxopt.system import nginx
from tests.nginx.raw import answers, get
from tests.rewrite.kinds.maps.maplists import maps

pytestmark = [pytest.mark.nginx, pytest.mark.extended]

ROWS = "".join(f'"~^/archive/{number}-.*$" /news/{number};\n"~^/Docs/n{number}/(.*)$" "/d/$1";' for number in range(30))
UNANCHORED = "".join(f'"~topic{number}[0-9]+" /topic/{number};\n' for number in range(8))


@pytest.mark.parametrize(
    "source", ["$uri", "$request_uri", "$host", "$args", "$arg_page", "$http_x", "$scheme$host$uri"]
)
@pytest.mark.parametrize("flags", ["", "volatile; default none;"])
def test_a_map_and_its_tree(a_binary: nginx.Binary, source: str, flags: str) -> None:
    """The responses to values that the rows match, and to values near them, are equal."""
    block = f"map {source} $new {{ {flags} {ROWS} {UNANCHORED} /archive/1-plain plain; }}"
    emission = emit(plan(load_text(block.encode(), context="http")))
    assert emission.plan.maps.compiled
    assert prove(emission).holds
    (comparison,) = ask(emission, a_binary)
    assert comparison.ok, [str(mismatch) for mismatch in comparison.mismatches]
    assert comparison.requests > 400


APART = (
    '"~^/(?<u>.*)/trackback$" "$u"; "~^/(?<u>[^.]*)\\.$" "$u";'
    + ROWS
    + '"~^/docs/(.*)foo(.*)bar(.*)baz$" "/$1/$3"; "~/old-[0-9]+$" /old; "~^/xy{,3}z" /unread;'
    + UNANCHORED
    + '"~^/late/(.*)$" "/later/$1"; "~^/last" /latest;'
)
"""Rows that set variables, that PCRE releases read differently, or on which PCRE may give up, between others."""


def test_rows_kept_apart(a_binary: nginx.Binary) -> None:
    """So are the responses if some rows are kept apart, as they must not be evaluated for nothing."""
    emission = emit(plan(load_text(f"map $uri $new {{ default none; {APART} }}".encode(), context="http")))
    assert prove(emission).holds
    assert b"_apart {" in emission.trees
    (comparison,) = ask(emission, a_binary)
    assert comparison.ok, [str(mismatch) for mismatch in comparison.mismatches]
    assert comparison.requests > 400


def test_long_subjects_apart(a_binary: nginx.Binary) -> None:
    """A row on which PCRE gives up for long values is kept apart by their length, and nginx answers as before."""
    others = '"~^/late/(.*)$" "/later/$1"; "~^/last" /latest;'
    block = f'map $request_uri $new {{ default none; {ROWS} "~^/.+/.*/foo.*bar$" found; {UNANCHORED} {others} }}'
    emission = emit(plan(load_text(block.encode(), context="http")))
    assert prove(emission).holds
    assert b'"~(?s)^.{1025}"' in emission.trees
    compiled = (emission.http + emission.after(emission.plan.config.main)).decode()
    texts = ["", "/x", "/foo", "/foo/bar", "topic3", "topic3/foo/7bar", "/archive/7-", "/Docs/n3/"]
    lengths = (1, 255, 1000, 1019, 1020, 1021, 1022, 1023, 1024, 1025, 1026, 1027, 2500, 7000)
    targets = [
        f"{start}{fill * length}{text}"
        for start in ("/", "/archive/7-", "/Docs/n3/")
        for fill in "a/"
        for length in lengths
        for text in texts
    ]
    requests = [get(target) for target in targets]
    (before,), (after,) = (
        answers(['return 200 "[$new]";'], requests, http=text, binary=a_binary) for text in (block, compiled)
    )
    assert before == after
    assert 0 < sum(b"[found]" in answer for answer in before) < len(before)


def test_a_difference_is_found(a_binary: nginx.Binary) -> None:
    """A request reveals a tree with one wrong value."""
    from dataclasses import replace

    emission = emit(plan(load_text(f"map $uri $new {{ {ROWS} }}".encode(), context="http")))
    wrong = emission.trees.replace(b'"/news/7"', b'"/news/8"')
    assert wrong != emission.trees
    (comparison,) = ask(replace(emission, maps=emission.maps_of_rewrites + wrong, trees=wrong), a_binary)
    assert not comparison.ok


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(maps(40))
def test_random_maps(a_binary: nginx.Binary, block: str) -> None:
    """Every tree that is proved gives the responses of its map."""
    emission = emit(plan(load_text(block.encode(), context="http")))
    if emission.plan.maps.compiled and prove(emission).holds:
        for comparison in ask(emission, a_binary):
            assert comparison.ok, [str(mismatch) for mismatch in comparison.mismatches]


@pytest.mark.parametrize(
    ("pattern", "string"),
    [
        (b"^/a(b|c)(?:x(y|z)|q)d?[^/]+/.*\\.html?$", b"/abxyx/x.htm"),
        (b"^/(\\d+)-[\\w-]+(?<n>x)$|foo", b"/1-wx"),
        (b"(?i)bot", b"bot"),
        (b"^/[]a]x{2,3}", b"/]x"),
        (b"^/a(b(c|d)e|f)g", b"/abceg"),
    ],
)
def test_an_example_of_a_pattern(pattern: bytes, string: bytes) -> None:
    """It takes the first of each alternation, and one byte of each class."""
    assert example(pattern) == string


def test_values_that_no_request_has() -> None:
    """What a client cannot send is not asked for."""
    for source, value in (("$uri", b"a"), ("$uri", b"/a/../b"), ("$request_uri", b"/a b"), ("$http_x", b"a\nb"),
                          ("$host", b""), ("$msec", b" a")):  # fmt: skip
        assert sender(source)[0](value) is None, (source, value)
