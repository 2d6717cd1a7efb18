"""Planning ends: lists that once made it loop or panic, and lists with the shapes of real ones."""

from __future__ import annotations

from itertools import product

from benchmarks import shapes
from nginxopt import _native
from nginxopt.config import load_text
from nginxopt.lint.queries.model import Model
from nginxopt.rewrite import plan
from nginxopt.rewrite.kinds.maps.planning import REASONS
from nginxopt.rewrite.proving import proved
from nginxopt.settings.target import choose
from tests.rows import every_row


def compiled(rows: bytes) -> _native.CompiledMap | _native.StayingMap:
    """Compile a map of these rows."""
    return _native.compile_map(b"map $request_uri $to { default 0;\n%s}\n" % rows, stem="m_")


def test_a_small_sibling_in_another_case() -> None:
    """Of two paths that differ in case, the one with the many long keys is cut off, and the result is proved."""
    heads = [f"i{letter}" for letter in "abcdefghijklmnopqrstuvwxyzABCD"[:26]]
    rows = [f"~^/{head}{letter * 123} 1;" for head, letter in product(heads, "xy")]
    rows += [f"~^/{letter}{letter * 109} 2;" for letter in "cd"] + [f"~^/I{letter}{letter * 100} 3;" for letter in "cd"]
    text = f"events {{}} http {{ map $request_uri $to {{ {' '.join(rows)} }} }}"
    emission, proof = proved(plan(load_text(text.encode(), "nginx.conf")))
    assert proof.holds
    assert emission.plan.maps.compiled


def test_rows_that_begin_in_very_many_ways() -> None:
    """Rows of optional parts have no place in a tree, and stay or get a guard."""
    rows = "".join(f"~^/a?b?c?d?e?f?/p{number}$ {number};\n" for number in range(5))
    result = compiled(rows.encode())
    assert isinstance(result, _native.CompiledMap) or result.reason in REASONS


@every_row("seed", range(12))
def test_shapes_of_real_lists(seed: int) -> None:
    """Each list compiles or stays with a reason that has a sentence."""
    result = compiled(b"".join(shapes.rows(400, seed)))
    assert isinstance(result, _native.CompiledMap) or result.reason in REASONS


def test_every_native_reason_has_its_sentence() -> None:
    """What the native planner may say is in the table of reasons."""
    assert dict(_native.map_reasons()).items() <= REASONS.items()


def test_a_remark_takes_less_work() -> None:
    """`lint` plans under a bound of its own."""
    config = load_text(b"events {} http { map $uri $to { ~^/a/ 1; } }", "nginx.conf")
    model = Model(config, choose(None, None).version)
    assert model.plan.options.for_remark
    assert not plan(config).options.for_remark
