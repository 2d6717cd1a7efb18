"""Laws of maps that become trees: what is emitted is proved, and compiling it again changes nothing."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from nginxopt.config import load_text, reread
from nginxopt.rewrite import emit, plan, prove
from tests.rewrite.maps.maplists import maps


@settings(max_examples=60)
@given(maps())
def test_what_is_emitted_is_proved(block: str) -> None:
    """Each plan of a map has a proof, and tries no more patterns than the map did."""
    planned = plan(load_text(block.encode(), context="http"))
    before, after = planned.cost
    assert all(now <= then for now, then in zip(after, before, strict=True))
    proof = prove(emit(planned))
    assert proof.holds, (proof.refutation, proof.counterexample)


@settings(max_examples=40)
@given(st.lists(maps(40), min_size=1, max_size=3), st.booleans())
def test_a_second_run_changes_nothing(blocks: list[str], has_rewrites: bool) -> None:
    """What the command makes of a configuration, it leaves as it is."""
    named = [block.replace("$new ", f"$new{number} ") for number, block in enumerate(blocks)]
    rules = "".join(f"rewrite ^/r{number}$ /to permanent;\n" for number in range(6)) if has_rewrites else ""
    text = f"events {{}}\nhttp {{\n{''.join(named)}server {{\n{rules}}}\n}}\n"
    config = load_text(text.encode(), "nginx.conf")
    emission = emit(plan(config))
    proof = prove(emission)
    assert proof.holds, (proof.refutation, proof.counterexample)
    texts = {change.file.path: change.after for change in emission.changes}
    if emission.maps_path is not None:
        texts[emission.maps_path] = emission.maps
    again = plan(reread(config, texts))
    assert not again.changes, [each.map.variable for each in again.maps.compiled]
