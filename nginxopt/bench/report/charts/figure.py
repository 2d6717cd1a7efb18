"""Figures of a report, and the size and units of time that all charts share."""

from __future__ import annotations

from nginxopt.bench.report.keys import LegendKey
from nginxopt.records import record

WIDTH, HEIGHT = 270, 190
MICRO = 1e6  # charts are in microseconds
TIMES = """\
datum.value >= 1e6 ? datum.value / 1e6 + ' s' : datum.value >= 1e3 ? datum.value / 1e3 + ' ms' : datum.value + ' us'"""


@record(eq=True)
class Panel:
    """A chart (an `<svg>` element) and its title."""

    title: str
    svg: str


@record(eq=True)
class Figure:
    """Panels under one legend."""

    title: str
    caption: str
    keys: tuple[LegendKey, ...]
    panels: tuple[Panel, ...]
