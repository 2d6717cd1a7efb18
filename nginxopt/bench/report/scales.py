"""Logarithmic scales of charts, and their ticks."""

from __future__ import annotations

import math
from collections.abc import Iterator

_MOST_TICKS = 6


def at_least(span: float, low: float, high: float) -> tuple[float, float]:
    """Return the ends of a logarithmic scale around `low` and `high` whose ratio is at least `span`."""
    wider = max(1.0, math.sqrt(span * low / high))
    return low / wider, high * wider


def ticks(low: float, high: float) -> Iterator[float]:
    """Yield round numbers on a logarithmic scale: over two decades 1, 2, 5, 10 ..., over more the powers of ten."""
    steps: tuple[float, ...] = (1, 2, 5) if high / low <= 100 else (1,)
    if high / low <= 2.5:
        steps = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    every = math.ceil(sum(low <= 10.0**power <= high for power in powers) / _MOST_TICKS) or 1
    for power in (power for power in powers if power % every == 0):
        for step in steps:
            tick = float(f"{step * 10.0**power:.6g}")
            if low <= tick <= high:
                yield tick
