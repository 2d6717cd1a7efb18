"""The planner of maps with patterns, as Python sees it."""

from __future__ import annotations

import pytest

from nginxopt._native import CompiledMap, StayingMap, compile_map, prove_map


def block(rows: str, flags: str = "") -> bytes:
    """A map of `$uri`."""
    return f"map $uri $to {{ {flags} {rows} }}".encode()


def test_a_list_becomes_a_tree() -> None:
    """Rows, maps, names, keys and costs come as Python types, and a miss tries fewer patterns."""
    rows = " ".join(f'"~^/shop/item{number}/.*" {number};' for number in range(40))
    compiled = compile_map(block(rows, "default none;"), stem="nxo_1_")
    assert isinstance(compiled, CompiledMap)
    assert (compiled.rows, compiled.in_tree, compiled.exact, compiled.floating) == (40, 40, 0, 0)
    assert compiled.before == (40, 40, 40)
    assert max(compiled.after) <= 2
    assert compiled.guard is None
    assert compiled.default.startswith(b'"$nxo_1_')
    assert compiled.maps.count(b"map ") == compiled.maps_written
    assert {"nxo_1_key", "nxo_1_prefix", "nxo_1_tree"} <= set(compiled.variables)
    assert len(compiled.keys[-1]) == compiled.buckets == 40
    assert b"/shop/item7/" in compiled.keys[-1]


def test_the_same_text_twice() -> None:
    """The same block gives the same bytes."""
    rows = " ".join(f'"~{"*" if number % 7 == 0 else ""}/p{number}(.*)$" $1;' for number in range(90))
    first, second = (compile_map(block(rows), stem="nxo_1_") for _ in range(2))
    assert isinstance(first, CompiledMap)
    assert isinstance(second, CompiledMap)
    assert first.maps == second.maps


def test_kept_patterns_prove_the_same() -> None:
    """The proof says the same with patterns that were kept, with none, and with those of another map."""
    original, another = (block(" ".join(f'"~^/{name}{at}/.*" {at};' for at in range(40))) for name in "ab")
    kept, others = (compile_map(text, stem="nxo_1_", keeps_patterns=True) for text in (original, another))
    forgotten = compile_map(original, stem="nxo_1_")
    assert isinstance(kept, CompiledMap)
    assert isinstance(others, CompiledMap)
    assert isinstance(forgotten, CompiledMap)
    assert kept.maps == forgotten.maps
    emitted = block(f"default {kept.default.decode()};") + kept.maps
    for text, holds in ((emitted, True), (emitted.replace(b'"/a7/" "7"', b'"/a7/" "8"'), False)):
        proofs = [prove_map(original, text, compiled=compiled) for compiled in (kept, others, forgotten, None)]
        verdicts = [(proof.holds, proof.refutation, proof.counterexample, proof.obligations) for proof in proofs]
        assert verdicts == verdicts[:1] * 4
        assert verdicts[0][0] == holds


def test_a_small_list_as_a_large_one() -> None:
    """Tests get the forms of large lists, which are determined by the text as well, and proved."""
    plain = (f'"~^/v1.{number % 7}/page{number}.html$" {number};' for number in range(40))
    others = (f'"~^/[a-c]{number}/" {number};' for number in range(3))
    rows = block(" ".join((*plain, *others)), "default none;")
    small, large, again = (compile_map(rows, stem="nxo_1_", as_large=as_large) for as_large in (False, True, True))
    assert isinstance(small, CompiledMap)
    assert isinstance(large, CompiledMap)
    assert isinstance(again, CompiledMap)
    assert large.maps == again.maps
    forms = [b"$nxo_1_front {" in compiled.maps for compiled in (small, large)]
    assert forms == [False, True]
    assert prove_map(rows, block(f"default {large.default.decode()};") + large.maps).holds


def test_reasons() -> None:
    """A map that cannot or need not be compiled says why."""
    few = compile_map(block("~^/a 1;"), stem="nxo_1_")
    assert isinstance(few, StayingMap)
    assert (few.reason, few.row) == ("not-worse", None)
    captured = compile_map(block(" ".join(f"~^/a{number} 1;" for number in range(30)), "default $1;"), stem="nxo_1_")
    assert isinstance(captured, StayingMap)
    assert captured.reason == "default-captures"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"map $a $b {", "unexpected end of file"),
        (b"geo $a $b { }", "no map of a variable at byte 0"),
        (b"map $a $b { include f; }", "an include in a map at byte 12"),
        (b"", "no map block"),
    ],
)
def test_what_is_no_map(text: bytes, message: str) -> None:
    """Anything but one block is refused."""
    with pytest.raises(ValueError, match=message):
        compile_map(text, stem="nxo_1_")
