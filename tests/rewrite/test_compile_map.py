"""The planner of maps with patterns, as Python sees it."""

from __future__ import annotations

import pytest

from nginxopt._native import CompiledMap, StayingMap, compile_map


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
