"""Many rules of a server: the newline is taken off the URI once, and one key stands for a string and its twin.

The form has faults of its own, which the proof has to refute, and is asked of a real nginx.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import pytest

from nginxopt.config import load_text
from nginxopt.rewrite import Emission, emit, plan, prove
from nginxopt.rewrite.nginx import differential
from tests.support import needs_nginx, the_nginx

MANY = 600

# Literals with a twin; some that have none, or whose twin is another's; a rule for all spellings; captures; classes.
RULES = (
    b"".join(b"rewrite ^/page-%d$ /new/%d permanent;\n" % (number, number) for number in range(MANY))
    + rb"""
rewrite ^/exact\z /x/exact permanent;
rewrite ^/split\z /x/split permanent;
rewrite "^/split\n$" /x/newline permanent;
rewrite ^/pages/?$ /x/pages permanent;
rewrite ^/PAGE-1$ /x/capitals permanent;
rewrite (?i)^/any-case$ /x/any permanent;
rewrite ^/(one|two)$ /x/$1 permanent;
rewrite ^/(three|four)$ /x/five last;
rewrite ^/args$ /x/args?a=b redirect;
"""
)
SPECIAL = [
    uri + end
    for uri in (
        b"/page-1",
        b"/PAGE-1",
        b"/exact",
        b"/split",
        b"/pages/",
        b"/any-CASE",
        b"/one",
        b"/three",
        b"/args",
        b"/no",
    )
    for end in (b"", b"\n", b"\n\n")
]


@cache
def compiled(extra: bytes = b"") -> Emission:
    """The rules as a fragment of a server."""
    return emit(plan(load_text(RULES + extra, "rules.conf", context="server")))


def server(emission: Emission) -> bytes:
    """What stands in place of the rules."""
    return emission.changes[0].after


def test_one_key_stands_for_two_strings() -> None:
    """The twins of literals are not listed, those of rules that need their own are, and the proof holds."""
    emission = compiled()
    assert prove(emission).holds
    assert emission.maps.count(b'"/page-7"') == 3  # key, its spelling, and what it stands for
    assert b'"/page-7\\n"' not in emission.maps
    assert b'"/any-case\\n"' in emission.maps
    assert b'_line ~ "\\n\\z") {' in server(emission)
    assert emission.plan.keys > 2 * MANY


def test_only_in_a_server_and_from_many_on() -> None:
    """In a location an `if` may not be true in passing, and for few rules the listing is shorter."""
    for rules, context in ((RULES, "location"), (b"".join(RULES.splitlines(keepends=True)[:100]), "server")):
        emission = emit(plan(load_text(rules, "rules.conf", context=context)))
        assert prove(emission).holds
        assert b"_line" not in emission.maps


def test_not_before_a_rule_that_may_fail() -> None:
    """Captures are not emptied before a rule that stays first, which leaves them where it fails."""
    for first, lines in ((b"rewrite ^/(a+)+$ /x last;\n", False), (b"rewrite ^/a$ /x last;\n", True)):
        emission = emit(plan(load_text(first + RULES, "rules.conf", context="server")))
        assert prove(emission).holds
        assert (b"_line" in emission.maps) is lines


def test_a_second_run_changes_nothing() -> None:
    """What was emitted holds no rule to compile."""
    emission = compiled()
    again = plan(load_text(server(emission), "rules.conf", context="server"))
    assert again.rules == 0
    assert not emit(again).changes


def in_server(old: bytes, new: bytes, count: int = 1) -> Callable[[Emission], Emission]:
    """A fault in what stands in place of the rules."""

    def damage(emission: Emission) -> Emission:
        assert old in server(emission)
        change = replace(emission.changes[0], after=server(emission).replace(old, new, count))
        return replace(emission, changes=(change,))

    return damage


def in_maps(old: bytes, new: bytes, count: int = 1) -> Callable[[Emission], Emission]:
    """A fault in the maps."""

    def damage(emission: Emission) -> Emission:
        assert old in emission.maps
        return replace(emission, maps=emission.maps.replace(old, new, count))

    return damage


def name(kind: bytes) -> bytes:
    """The variable of the rules above for `kind`."""
    stem = server(compiled()).split(b"set $")[1].split(b"_")[:2]
    return b"$" + b"_".join(stem) + b"_" + kind


FAULTS = {
    "the variable is never set": lambda: in_server(b"set " + name(b"line") + b" $uri;\n", b""),
    "it holds something else": lambda: in_server(
        b"set " + name(b"line") + b" $uri;", b"set " + name(b"line") + b" $request_uri;"
    ),
    "the newline is not taken off": lambda: in_server(b"    set " + name(b"line") + b" " + name(b"text") + b";\n", b""),
    "it is taken off wherever it stands": lambda: in_server(b'~ "\\n\\z"', b'~ "\\n"'),
    "`$` also stands before a newline": lambda: in_server(b'~ "\\n\\z"', b'~ "\\n$"'),
    "another variable is tested": lambda: in_server(b"if (" + name(b"line") + b" ~", b"if ($request_uri ~"),
    "captures of the newline stay": lambda: in_server(b'    rewrite "^a(?!)" /;\n', b""),
    "a rule stands in the block": lambda: in_server(b'    rewrite "^a(?!)" /;\n', b"    rewrite ^ /x last;\n"),
    "the guard compares with the URI": lambda: in_server(b" = " + name(b"line") + b")", b" = $uri)"),
    "the variable is set after the guards": lambda: in_server(b"set " + name(b"line") + b" $uri;\n", b""),
    "the text is cut short": lambda: in_maps(b".*)\\n\\z", b".*).\\n\\z"),
    "the text stops at the first newline": lambda: in_maps(b"(?s)", b""),
    "the text is another group's": lambda: in_maps(b" " + name(b"rest") + b";", b" $uri;"),
    "the map of the text has a key": lambda: in_maps(b'    "~', b'    "/page-1" "/page-2";\n    "~'),
    "the map of the text has a default": lambda: in_maps(b'    default "";\n    "~', b'    default "/page-1";\n    "~'),
    "the text is cached": lambda: in_maps(b'{\n    volatile;\n    default "";\n    "~', b'{\n    default "";\n    "~'),
    "a target is asked about the URI": lambda: in_maps(
        b"map " + name(b"line") + b" " + name(b"to"), b"map $uri " + name(b"to")
    ),
    "a target is asked about something else": lambda: in_maps(
        b"map " + name(b"line") + b" " + name(b"to"), b"map $request_uri " + name(b"to")
    ),
    "the keys are asked about something else": lambda: in_maps(
        b"map " + name(b"line") + b" " + name(b"key"), b"map $host " + name(b"key")
    ),
    "a key of strings without a twin is moved to those with one": lambda: in_maps(
        b'    "/page-1" ', b'    "/exact" "/exact";\n    "/page-1" '
    ),
    "every spelling is answered": lambda: in_maps(b'"/page-1";', b"$uri;"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_are_refuted(fault: str) -> None:
    """Each fault changes the text, and the proof does not hold any more."""
    emission = compiled()
    damaged = FAULTS[fault]()(emission)
    assert damaged != emission
    assert not prove(damaged).holds


@needs_nginx
@pytest.mark.parametrize("extra", [b"", b"rewrite ^/keep/(.*)$ /kept/$1 permanent;\n"])
def test_nginx_answers_as_before(extra: bytes) -> None:
    """A real nginx gives the same responses, captures included, with and without a rule that stays."""
    emission = compiled(extra)
    run = emission.compiled[0].run.native
    asked = differential(
        before=RULES + extra,
        after=server(emission),
        maps=emission.maps,
        level="server",
        keys=[*SPECIAL, *run.sample[::7]],
        binary=the_nginx(),
        limit=20_000,
    )
    assert asked.requests > 5_000
    assert asked.ok, asked.mismatches
    assert not asked.warnings
    assert prove(emission).holds
