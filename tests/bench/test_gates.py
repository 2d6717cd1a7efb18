"""Gates: their syntax, and when they hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from nginxopt.bench import gate
from nginxopt.bench.benchmark import Benchmark
from nginxopt.bench.report import table
from nginxopt.bench.result import to_json
from nginxopt.bench.saved import from_json
from nginxopt.errors import UsageError
from tests.bench.samples import experiment, result, sample
from tests.rows import every_row


@every_row(
    ("text", "figure", "operator", "value", "of"),
    [
        ("p99<=2ms", "p99", "<=", 0.002, None),
        ("errors==0", "errors", "==", 0, None),
        ("instructions<=1.05x", "instructions", "<=", 1.05, "before"),
        (" p50 <= 1.05 x none ", "p50", "<=", 1.05, "none"),
        ("throughput>=20k", "throughput", ">=", 20_000, None),
        ("cpu.edge<30us", "cpu.edge", "<", 30e-6, None),
        ("pss<=64MB", "pss", "<=", 64e6, None),
        ("accepts.app<.5", "accepts.app", "<", 0.5, None),
    ],
)
def test_gates(text: str, figure: str, operator: str, value: float, of: str | None) -> None:
    """A gate is a figure, a comparison and a value with a unit, or a ratio."""
    parsed = gate.parse(text)
    assert (parsed.figure, parsed.operator, parsed.of) == (figure, operator, of)
    assert parsed.value == pytest.approx(value)


@every_row(
    ("text", "column", "expected"),
    [
        ("", 0, "a figure"),
        ("p51<=2ms", 0, "one of p50"),
        ("p99=<2ms", 3, "one of <="),
        ("p99<=fast", 5, "a number"),
        ("p99<=2KB", 6, "x, or one of ns"),
        ("p99<=2xx", 6, "x, or one of ns"),
        ("p99<=2x some", 8, "none"),
        ("p99<=2ms now", 9, "the end"),
        ("rss.edge<=2MB", 0, "one of p50"),
    ],
)
def test_gates_that_cannot_be_read(text: str, column: int, expected: str) -> None:
    """An error shows the gate, a caret where it stops making sense, and what could stand there."""
    with pytest.raises(UsageError) as error:
        gate.parse(text)
    _, shown, caret, hint = str(error.value).split("\n")
    assert shown == f"    {text}"
    assert caret.index("^") == 4 + column
    assert hint.startswith(f"  expected {expected}")


def test_gates_are_held_where_it_is_worst() -> None:
    """A gate reports the value furthest from its limit, where it was measured, and the margin, without the baseline."""
    texts = ("p50<=0.6x", "p50<=1.05x none", "p50<=2s", "errors==0", "throughput>=101")
    held = {verdict.gate: verdict for verdict in result(gates=texts).gates}
    assert [held[text].holds for text in texts] == [True, False, True, True, False]
    assert held["p50<=1.05x none"].value == pytest.approx(1.25)
    assert held["p50<=1.05x none"].margin == pytest.approx(-0.2 / 1.05)
    assert held["p50<=1.05x none"].where == "after over none, case"
    assert held["p50<=2s"].where == "after, case"
    assert held["throughput>=101"].margin == pytest.approx(-1 / 101)


def test_a_gate_on_nothing() -> None:
    """A gate on a figure that was not measured is an error, and does not hold in silence."""
    with pytest.raises(UsageError, match="instructions was not measured"):
        result(gates=("instructions<=1x",))


@pytest.mark.parametrize(("text", "rounds"), [("p50<=1.05x", 4), ("cpu<1x none", 1)])
def test_a_ratio_of_few_rounds_decides_nothing(text: str, rounds: int) -> None:
    """A gate on a ratio that varies needs five rounds; values and counted instructions do not."""
    gates = [gate.parse(text)]
    with pytest.raises(UsageError, match="no fact before 5 rounds"):
        gate.refuse_early(gates, rounds)
    gate.refuse_early(gates, 5)
    gate.refuse_early([gate.parse("p50<=2ms"), gate.parse("instructions<=1.05x")], 1)


def test_a_run_that_ends_early_decides_no_ratio() -> None:
    """After two of five rounds a gate on a ratio is open, in every report; one on a value is decided."""
    benchmark = Benchmark(experiment(), None, None, Path("run"), 5, [gate.parse("p50<=9x"), gate.parse("p50<=9s")])  # type: ignore[arg-type]
    for number in (1, 2):
        for name in ("none", "before", "after"):
            benchmark.samples.append(sample(name, number, 1.0))
    early = benchmark.result()
    assert [(held.decided, held.holds) for held in early.gates] == [(False, False), (True, True)]
    assert "open    p50<=9x: too few rounds to decide it (the run ended early)" in table.lines(early)
    assert from_json(to_json(early).encode(), "r.json").gates == early.gates
