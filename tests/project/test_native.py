"""The native core takes any bytes and offsets: what is wrong with them is an error, and no panic."""

from __future__ import annotations

import inspect

import pytest

from nginxopt import _native
from tests.fuzz.native import OF_THE_PROCESS, TARGETS, WITHOUT_INPUT, panics
from tests.rows import every_row

pytestmark = pytest.mark.no_cover

ENUMS = {"Entering", "MapVerdict", "Never", "UnionFault"}

RESULTS = {"Compilation", "CompiledMap", "CompiledRun", "MapProof", "RequestTally", "StayingMap"}
"""What functions return, and what nobody else makes."""


def test_every_function_has_a_target() -> None:
    """A function or class that Python can call is fuzzed, takes nothing, or is known to concern the process."""
    public = {
        name
        for name, value in vars(_native).items()
        if not name.startswith("_") and not (inspect.isclass(value) and issubclass(value, BaseException))
    }
    assert public == {*TARGETS, *WITHOUT_INPUT, *OF_THE_PROCESS, *RESULTS, *ENUMS}


@every_row("name", sorted(TARGETS))
def test_hostile_values_do_not_panic(name: str) -> None:
    """A hundred calls with hostile texts, numbers and spans; `python -m tests.fuzz.native` makes more."""
    assert [place for seed in range(100) if (place := panics(name, seed)) is not None] == []


@pytest.mark.parametrize(("start", "end"), [(0, 9), (9, 9), (5, 2), (2**63, 2**64 - 1)])
def test_a_span_outside_of_the_text_is_an_error(start: int, end: int) -> None:
    """Of a text of eight bytes; the message has the numbers."""
    with pytest.raises(ValueError, match=f"no span of 8 bytes: {start} to {end}"):
        _native.statement_spans(b"return;\n", start, end)
    with pytest.raises(ValueError, match=f"no span of 8 bytes: {start} to {end}"):
        _native.suspicious_rewrites(b"return;\n", [(start, end)])


def test_offsets_of_another_text_are_an_error() -> None:
    """Compiled rules are asked what of a shorter text they remove."""
    text = b"".join(b"rewrite ^/a%d$ /b%d permanent;\n" % (number, number) for number in range(9))
    spans = [(event[1], event[2]) for batch in _native.Events(text) for event in batch]
    (run,) = _native.compile_rewrites(
        text,
        [(spans, False, False)],
        phase="server",
        captures_matter=False,
        reruns=None,
        readings=Readings(),
        bound=1000,
        entering=_native.Entering.ALL,
    ).runs
    assert run.removed(text)
    with pytest.raises(ValueError, match="no span of 9 bytes"):
        run.removed(text[:9])


class Readings:
    """No reading is declared."""

    ignore_case = literal_dots = literal_ends = drop_newline_twins = False
