"""Formats numbers for reports: figures with units, ratios with intervals, margins of gates."""

from __future__ import annotations

from nginxopt.bench.measure import FIGURES, is_exact
from nginxopt.bench.result import GateResult, Ratio

_NEAR = 0.005  # a ratio this near to 1 gets four decimals, so that it does not appear as 1.00
_SCALES = {"s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")), "B": ((1e6, "MB"), (1e3, "KB"), (1.0, "B"))}


def quantity(figure: str, number: float) -> str:
    """Return the value of a figure for display: three digits and a unit."""
    unit = FIGURES.get(figure.partition(".")[0], "")
    for scale, name in _SCALES.get(unit, ()):
        if abs(number) >= scale:
            return f"{_digits(number / scale)} {name}"
    return f"{_digits(number)} {unit}".strip()


def change(ratio: Ratio) -> str:
    """Return a ratio for display, with its interval; words instead of a number if there is no difference."""
    if is_exact(ratio.figure):
        return f"{times(ratio.ratio)} x"
    if ratio.low <= 1 <= ratio.high:
        return f"no difference seen ({times(ratio.low)} to {times(ratio.high)} x)"
    if not ratio.difference:
        return f"{times(ratio.ratio)} x (too few rounds)"
    return f"{times(ratio.ratio)} x ({times(ratio.low)} to {times(ratio.high)})"


def times(ratio: float) -> str:
    """Return a ratio for display: two decimals, two digits if it is small, or four decimals if it is close to 1."""
    if ratio >= 100:
        return f"{ratio:,.0f}"
    if 0 < abs(ratio - 1) < _NEAR:
        return f"{ratio:.4f}"
    return f"{ratio:.2f}" if ratio >= 0.1 or not ratio else f"{ratio:.2g}"


def margin(gate: GateResult) -> str:
    """Return how far a value is inside or beyond the limit of its gate, as a share of the limit unless this is zero."""
    if not gate.margin:
        return "at the limit"
    size = f"{abs(gate.margin):.1%}" if gate.limit else f"{abs(gate.margin):.4g}"
    return f"{size} {'inside' if gate.margin > 0 else 'beyond'} the limit"


def _digits(number: float) -> str:
    if number >= 999.5:
        return f"{number:,.0f}"
    return f"{number:.3g}"
