"""Laws of maps that become trees: what is emitted is proved, and compiling it again changes nothing."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nginxopt.config import load_text, reread
from nginxopt.rewrite import emit, plan, prove
from nginxopt.rewrite.proving import proved
from tests.rewrite.kinds.maps.maplists import maps
from tests.rows import every_row

NUMBERS = range(40)
LISTS = {
    "prefixes": [f'"~^/archive/{number}/.*$" /to/{number};' for number in NUMBERS],
    "prefixes without an end": [f'"~^/page{number}-" /to/{number};' for number in NUMBERS],
    "captures": [f'"~^/topic{number}/(.*)$" "/t/{number}/$1";' for number in NUMBERS],
    "exact strings": [f'"~^/old{number}\\.html$" /new/{number};' for number in NUMBERS],
    "named groups": [f'"~^/shop{number}/(?<id{number}>[0-9]+)$" "/s/$id{number}";' for number in NUMBERS],
    "several": [
        f'"~^/a{number}/.*$" 1; "~^/b{number}$" 2; "~^/c{number}/(.*)$" "/$1"; "~^/a{number}" 3;' for number in NUMBERS
    ],
}


@every_row("name", LISTS)
@every_row("flags", ["", "volatile;", "default none;", "/plain x;"])
def test_usual_lists_become_trees(name: str, flags: str) -> None:
    """Lists as they are in the wild are trees that are proved, and try few of their patterns."""
    text = f"map $uri $new {{ {flags} {' '.join(LISTS[name])} }}"
    planned = plan(load_text(text.encode(), context="http"))
    assert not planned.maps.kept
    before, after = planned.cost
    assert after.worst * 4 < before.worst
    proof = prove(emit(planned))
    assert proof.holds, (proof.refutation, proof.counterexample)
    assert proof.of["maps"].lists == planned.maps.total


@pytest.mark.slow
@settings(max_examples=60)
@given(maps())
def test_a_tree_tries_no_more(block: str) -> None:
    """A tree tries no more patterns than its map did, but for the worst values, and what is emitted is proved."""
    planned = plan(load_text(block.encode(), context="http"))
    before, after = planned.cost
    assert after.far <= before.far
    assert after.near <= before.near
    _, proof = proved(planned)
    assert proof.holds, (proof.refutation, proof.counterexample)


GUARDED_IN_ANY_CASE = """map $uri $new {
    "~^/a/a.*$" "/new";
    "~*^/v1.2$" "/new";
    "~^/a/n0$" "/new";
    "~*^/a/a$" "/new";
    "~*^/a/a$" "/new";
}
"""


@pytest.mark.slow
@settings(max_examples=40)
@example([GUARDED_IN_ANY_CASE], False)
@given(st.lists(maps(40), min_size=1, max_size=3), st.booleans())
def test_a_second_run_changes_nothing(blocks: list[str], has_rewrites: bool) -> None:
    """What the command makes of a configuration, it leaves as it is."""
    named = [block.replace("$new ", f"$new{number} ") for number, block in enumerate(blocks)]
    rules = "".join(f"rewrite ^/r{number}$ /to permanent;\n" for number in range(6)) if has_rewrites else ""
    text = f"events {{}}\nhttp {{\n{''.join(named)}server {{\n{rules}}}\n}}\n"
    config = load_text(text.encode(), "nginx.conf")
    emission, proof = proved(plan(config))
    assert proof.holds, (proof.refutation, proof.counterexample)
    texts = {change.file.path: change.after for change in emission.changes}
    if emission.maps_path is not None:
        texts[emission.maps_path] = emission.maps
    again, _ = proved(plan(reread(config, texts)))
    assert not again.changes, [map_.map.variable for map_ in again.plan.maps.compiled]
