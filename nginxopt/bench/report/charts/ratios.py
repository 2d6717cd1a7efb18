"""Draws the ratios of after to before."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from nginxopt.bench.report import sentences, vega
from nginxopt.bench.report.charts.figure import WIDTH, Figure, Panel
from nginxopt.bench.report.keys import SERIES, SHAPES, LegendKey
from nginxopt.bench.report.scales import ticks
from nginxopt.bench.report.vega import Spec
from nginxopt.bench.result import Ratio, Result
from nginxopt.text.display import xml

_STEP = 15  # the height of a row in pixels
_LEAST_RATIO = 2.0  # the scale shows at least this ratio, so that a small difference looks small


def draw(result: Result, figures: Sequence[str]) -> Figure | None:
    """Return the ratios of after to before with intervals, by comparison; None if there are none."""
    shown = [ratio for ratio in result.ratios if ratio.figure in figures and ratio.low > 0]
    if not shown:
        return None
    low = min(1 / _LEAST_RATIO, *(ratio.low for ratio in shown))
    high = max(_LEAST_RATIO, *(ratio.high for ratio in shown))
    present = [figure for figure in figures if any(ratio.figure == figure for ratio in shown)]
    panels = []
    for pair in result.experiment.comparisons:
        of = [ratio for ratio in shown if (ratio.before, ratio.after) == (pair.before, pair.after)]
        if of:
            title = f"Ratios of {pair.after} over {pair.before}"
            svg = vega.svg(_chart(of, present, low, high), title, "The table of ratios has the numbers.")
            panels.append(Panel(sentences.pair(pair), svg))
    caption = "Bars are 95 % intervals, the scale is logarithmic. Hollow marks: no difference seen, or too few rounds."
    keys = (LegendKey(sentences.name(figure), shape=SHAPES[place % SERIES]) for place, figure in enumerate(present))
    return Figure("Ratios", caption, tuple(keys), tuple(panels))


def _chart(ratios: list[Ratio], figures: list[str], low: float, high: float) -> Spec:
    cases = list(dict.fromkeys(ratio.case for ratio in ratios))
    rows = [
        {
            "case": str(cases.index(ratio.case)),
            "figure": str(figures.index(ratio.figure)),
            "ratio": ratio.ratio,
            "low": ratio.low,
            "high": ratio.high,
            "seen": sentences.is_seen(ratio),
        }
        for ratio in ratios
    ]
    labels = {str(place): [xml(line) for line in textwrap.wrap(case, 16)] for place, case in enumerate(cases)}
    order = [str(place) for place in range(len(figures))]
    scale = {"type": "log", "domain": [low / 1.05, high * 1.05], "nice": False}
    marks = list(ticks(low / 1.05, high * 1.05))
    x = {"field": "low", "type": "quantitative", "scale": scale, "title": "after over before"}
    y = {"field": "case", "type": "nominal", "title": None, "sort": None}
    return {
        "width": WIDTH - 50,
        "height": {"step": _STEP, "for": "offset"},
        "data": {"values": rows},
        "encoding": {
            "x": {**x, "axis": {"values": marks, "labelOverlap": "greedy", "labelSeparation": 8, "format": "~r"}},
            "y": {
                **y,
                "axis": {
                    "labelExpr": f"{vega.literal(labels)}[datum.value]",
                    "domain": False,
                    "ticks": False,
                    "labelLimit": 130,
                },
            },
            "yOffset": {"field": "figure", "type": "nominal", "scale": {"domain": order}},
        },
        "layer": [
            {
                "mark": {"type": "rule", "color": "var(--muted)"},
                "encoding": {"x": {"datum": 1}, "y": None, "yOffset": None},
            },
            {"mark": {"type": "rule", "color": "currentColor"}, "encoding": {"x2": {"field": "high"}}},
            {
                "mark": {"type": "point", "size": 45, "opacity": 1, "stroke": "currentColor", "strokeWidth": 1.2},
                "encoding": {
                    "x": {"field": "ratio", "type": "quantitative"},
                    "shape": {
                        "field": "figure",
                        "type": "nominal",
                        "scale": {"domain": order, "range": [SHAPES[place % SERIES] for place in range(len(order))]},
                        "legend": None,
                    },
                    "fill": {
                        "field": "seen",
                        "type": "nominal",
                        "scale": {"domain": [True, False], "range": ["currentColor", "var(--paper)"]},
                        "legend": None,
                    },
                },
            },
        ],
    }
