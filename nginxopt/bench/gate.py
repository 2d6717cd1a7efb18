"""Gates: conditions on a result, written as `p99<=2ms`, `instructions<=1.05x`, `p50<=1.05x none`, `errors==0`.

    GATE   = FIGURE OP NUMBER [UNIT] | FIGURE OP NUMBER x [none]
    FIGURE = p50 ... p100, mean, throughput, errors, cpu, instructions, rss ..., or one of a node: cpu.edge
    OP     = <= | < | >= | > | ==
    UNIT   = ns us ms s | B KB MB | k M | req/s

With `x`, the gate applies to the ratio of after to before, in every comparison and case; with `x none`, to the ratio of
after to the variant without rules. Without `x`, it applies to the value of the variant after, in every case.

A ratio of a varying figure is not reliable before five rounds (`nginxopt.bench.measure.FEWEST_ROUNDS`). With fewer,
such a gate is refused; if a run ends early, it stays undecided.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Sequence

from nginxopt import lazy
from nginxopt.bench.measure import FEWEST_ROUNDS, FIGURES, is_exact
from nginxopt.bench.result import AttackMedians, GateResult, Ratio
from nginxopt.bench.scenario import Experiment
from nginxopt.errors import UsageError
from nginxopt.records import record

_OPERATORS: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "<": operator.lt,
    ">": operator.gt,
}
_UNITS = {"s": {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}, "B": {"B": 1.0, "KB": 1e3, "MB": 1e6, "GB": 1e9}}
_PLAIN = {"k": 1e3, "M": 1e6, "req/s": 1.0}

_FIGURE = lazy.pattern(r"\s*([a-z_][a-z0-9_]*(?:\.[a-z][a-z0-9]*)?)\s*")
_OPERATOR = lazy.pattern(r"(<=|>=|==|<|>)\s*")
_NUMBER = lazy.pattern(r"(\d+(?:\.\d+)?|\.\d+)\s*")
_UNIT = lazy.pattern(r"([A-Za-z/]+)\s*")
_NONE = lazy.pattern(r"none\s*")
_OF_NODES = ("cpu", "accepts", "requests")


@record(eq=True)
class Gate:
    """A gate: `figure` of the variant after, or (`of`) its ratio to the variant before or without rules."""

    text: str
    figure: str
    operator: str
    value: float
    of: str | None = None

    @property
    def fewest_rounds(self) -> int:
        """The number of rounds without which it cannot be decided."""
        return 1 if self.of is None or is_exact(self.figure) else FEWEST_ROUNDS

    def holds(self, value: float) -> bool:
        """Return whether a value meets the condition."""
        return _OPERATORS[self.operator](value, self.value)

    def margin(self, value: float) -> float:
        """Return how far inside the limit a value lies, as a share of the limit; negative outside."""
        inside = value - self.value if self.operator in (">", ">=") else self.value - value
        inside = -abs(inside) if self.operator == "==" else inside
        return inside / self.value if self.value else inside


def parse(text: str) -> Gate:
    """Return the gate that `text` describes. Raises `UsageError` with a caret under the error."""
    figure, at = _take(text, 0, _FIGURE, "a figure, such as p99, throughput, cpu or instructions")
    _refuse_unknown(text, figure)
    comparison, at = _take(text, at, _OPERATOR, "one of <= < >= > ==")
    number, at = _take(text, at, _NUMBER, "a number")
    of = None
    scale = 1.0
    if at < len(text):
        start = at
        unit, at = _take(text, at, _UNIT, "a unit, or x")
        if unit == "x":
            of = "before"
            if at < len(text):
                _, at = _take(text, at, _NONE, "none (for the variant without rules) or the end")
                of = "none"
        else:
            scale = _scale(text, start, figure, unit)
    if at < len(text):
        raise _error(text, at, "the end")
    return Gate(text.strip(), figure, comparison, float(number) * scale, of)


def refuse_early(gates: Sequence[Gate], rounds: int) -> None:
    """Raise `UsageError` for a gate that `rounds` cannot decide."""
    for gate in gates:
        if rounds < gate.fewest_rounds:
            raise UsageError(
                f"gate {gate.text!r}: a ratio is no fact before {gate.fewest_rounds} rounds",
                hint=f"use --rounds {gate.fewest_rounds}, or a gate on instructions, which do not vary",
            )


def check(
    gates: Sequence[Gate],
    experiment: Experiment,
    summaries: Sequence[AttackMedians],
    ratios: Sequence[Ratio],
    rounds: int = FEWEST_ROUNDS,
) -> tuple[GateResult, ...]:
    """Return the outcome of each gate for the value with the least margin, after so many complete `rounds`.

    Raises `UsageError` for a gate on a figure that was not measured.
    """
    return tuple(
        _check(gate, list(_values(gate, experiment, summaries, ratios)), is_decided=rounds >= gate.fewest_rounds)
        for gate in gates
        if summaries
    )


def _check(gate: Gate, values: list[tuple[float, str]], *, is_decided: bool) -> GateResult:
    if not values and is_decided:
        raise UsageError(f"gate {gate.text!r}: {gate.figure} was not measured in this run")
    if not is_decided:
        return GateResult(gate.text, False, 0.0, gate.value, 0.0, "the run ended early", decided=False)
    value, where = min(values, key=lambda seen: gate.margin(seen[0]))
    return GateResult(gate.text, gate.holds(value), value, gate.value, gate.margin(value), where)


def _values(
    gate: Gate, experiment: Experiment, summaries: Sequence[AttackMedians], ratios: Sequence[Ratio]
) -> Iterator[tuple[float, str]]:
    """Yield each value that a gate covers, and its place."""
    after = {pair.after for pair in experiment.comparisons if pair.before != experiment.baseline}
    after = after if experiment.comparisons else {variant.name for variant in experiment.variants}
    if gate.of is None:
        for summary in summaries:
            if summary.variant in after and gate.figure in summary.figures:
                yield summary.figures[gate.figure], f"{summary.variant}, {summary.case}"
        return
    for ratio in ratios:
        is_none = ratio.before == experiment.baseline
        if ratio.figure == gate.figure and is_none == (gate.of == "none") and ratio.after in after:
            yield ratio.ratio, f"{ratio.after} over {ratio.before}, {ratio.case}"


def _take(text: str, at: int, pattern: re.Pattern[str], expected: str) -> tuple[str, int]:
    match = pattern.match(text, at)
    if match is None:
        raise _error(text, at, expected)
    return match[match.lastindex or 0], match.end()


def _refuse_unknown(text: str, figure: str) -> None:
    name, _, node = figure.partition(".")
    if not (name in _OF_NODES if node else name in FIGURES):
        raise _error(text, len(text) - len(text.lstrip()), f"one of {', '.join(FIGURES)}, or cpu.ROLE for a node")


def _scale(text: str, at: int, figure: str, unit: str) -> float:
    units = _UNITS.get(FIGURES.get(figure.partition(".")[0], ""), _PLAIN)
    if unit not in units:
        raise _error(text, at, f"x, or one of {', '.join(units)}")
    return units[unit]


def _error(text: str, at: int, expected: str) -> UsageError:
    return UsageError("invalid gate:", below=[f"    {text}", f"    {' ' * at}^", f"  expected {expected}"])
