"""Many rules of a server: the newline is taken off the URI once, and one key stands for a string and its twin.

The faults of the form are in `tests/rewrite/mutations`; here a real nginx is asked.
"""

from __future__ import annotations

from functools import cache

import pytest

from nginxopt.config import load_text
from nginxopt.rewrite import Emission, emit, plan, prove
from nginxopt.rewrite.kinds.rules.differential import differential
from tests.rewrite.mutations.programs import LINES
from tests.support import the_nginx

pytestmark = pytest.mark.no_cover

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
    return emit(plan(load_text(LINES + extra, "rules.conf", context="server")))


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
    assert emission.plan.rules.keys > 2 * LINES.count(b"/page-")


def test_only_in_a_server_and_from_many_on() -> None:
    """Not in a location, where an `if` that holds changes settings; nor for few rules, whose list is shorter."""
    for rules, context in ((LINES, "location"), (b"".join(LINES.splitlines(keepends=True)[:100]), "server")):
        emission = emit(plan(load_text(rules, "rules.conf", context=context)))
        assert prove(emission).holds
        assert b"_line" not in emission.maps


def test_not_before_a_rule_that_may_fail() -> None:
    """Captures are not emptied before a rule that stays first, which leaves them where it fails."""
    for first, lines in ((b"rewrite ^/(a+)+$ /x last;\n", False), (b"rewrite ^/a$ /x last;\n", True)):
        emission = emit(plan(load_text(first + LINES, "rules.conf", context="server")))
        assert prove(emission).holds
        assert (b"_line" in emission.maps) is lines


def test_a_second_run_changes_nothing() -> None:
    """What was emitted holds no rule to compile."""
    emission = compiled()
    again = plan(load_text(server(emission), "rules.conf", context="server"))
    assert again.rules.total == 0
    assert not emit(again).changes


@pytest.mark.nginx
@pytest.mark.parametrize("extra", [b"", b"rewrite ^/keep/(.*)$ /kept/$1 permanent;\n"])
def test_nginx_answers_as_before(extra: bytes) -> None:
    """A real nginx gives the same responses, captures included, with and without a rule that stays."""
    emission = compiled(extra)
    run = emission.plan.rules.compiled[0].native
    comparison = differential(
        before=LINES + extra,
        after=server(emission),
        maps=emission.maps,
        phase="server",
        keys=[*SPECIAL, *run.sample[::7]],
        binary=the_nginx(),
        limit=20_000,
    )
    assert comparison.requests > 5_000
    assert comparison.ok, comparison.mismatches
    assert not comparison.warnings
    assert prove(emission).holds
