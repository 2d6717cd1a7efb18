"""The charts of a report: growth with the number of rules, ratios with their intervals, and latency distributions.

Each is a row of panels, one per case or comparison, with common scales. Colours are variables of the page
(`--baseline`, `--series-0` ...); lines also differ in dashes and points in shapes, for paper and colour-blind readers.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from nginxopt.bench import measure
from nginxopt.bench.report import keys as looks
from nginxopt.bench.report import sentences, vega
from nginxopt.bench.report.keys import SERIES, SHAPES, Key
from nginxopt.bench.report.scales import at_least, ticks
from nginxopt.bench.report.vega import Spec
from nginxopt.bench.result import Ratio, Result, Sample
from nginxopt.text.escape import xml

_WIDTH, _HEIGHT = 270, 190
_STEP = 15  # of a row of ratios, in pixels
_MOST_LINEAR = 50  # times the lowest value: beyond, a linear scale shows nothing of what is low
_DECADE, _LEAST_RATIO = 10.0, 2.0  # what a scale shows at least, so that a small difference looks small
_MICRO = 1e6  # charts are in microseconds
_TIMES = """\
datum.value >= 1e6 ? datum.value / 1e6 + ' s' : datum.value >= 1e3 ? datum.value / 1e3 + ' ms' : datum.value + ' us'"""


@dataclass(frozen=True, slots=True)
class Panel:
    """A chart (an `<svg>` element) and its title."""

    title: str
    svg: str


@dataclass(frozen=True, slots=True)
class Figure:
    """Panels under one legend."""

    title: str
    caption: str
    keys: tuple[Key, ...]
    panels: tuple[Panel, ...]


def growth(result: Result, figure: str) -> Figure | None:
    """Return the growth of a figure with the number of rules, by case; None if all variants have the same size."""
    experiment = result.experiment
    name = sentences.name(figure)
    cases = [case for case in experiment.cases if len({size for size, _ in _sizes(result, case, figure)}) > 1]
    if not cases:
        return None
    keys = looks.series(experiment)
    rows = {case: _growth_rows(result, case, figure) for case in cases}
    axis = _growth_axis(figure, [row["value"] for of in rows.values() for row in of])
    panels = []
    for case, of in rows.items():
        title = f"{name} by number of rules: {case}"
        svg = vega.svg(_growth(of, keys, axis), title, f"The table of the case {case} has the numbers.")
        panels.append(Panel(case, svg))
    caption = "Large marks are medians of the rounds, small marks single rounds."
    caption += " The scale is logarithmic." if axis["scale"]["type"] == "log" else ""
    return Figure(f"{name} by number of rules", caption, tuple(keys.values()), tuple(panels))


def distribution(result: Result) -> Figure | None:
    """Return the distribution of latencies by case, over all rounds; None if there are none."""
    experiment = result.experiment
    rows = {case: list(_distribution_rows(result, case)) for case in experiment.cases}
    everything = [row for of in rows.values() for row in of]
    if not everything:
        return None
    keys = looks.variants(experiment)
    low, high = at_least(_DECADE, *(pick(row["latency"] for row in everything) for pick in (min, max)))
    most = max(row["rank"] for row in everything)
    panels = []
    for case, of in rows.items():
        if of:
            title = f"Latency by percentile: {case}"
            svg = vega.svg(_distribution(of, keys, low, high, most), title, f"The table of {case} has the numbers.")
            panels.append(Panel(case, svg))
    caption = "Latency that a percentage of the requests stay below; both scales are logarithmic."
    return Figure("Latency distribution", caption, tuple(keys.values()), tuple(panels))


def ratios(result: Result, figures: Sequence[str]) -> Figure | None:
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
            svg = vega.svg(_ratios(of, present, low, high), title, "The table of ratios has the numbers.")
            panels.append(Panel(sentences.pair(pair), svg))
    caption = "Bars are 95 % intervals, the scale is logarithmic. Hollow marks: no difference seen, or too few rounds."
    keys = (Key(sentences.name(figure), shape=SHAPES[place % SERIES]) for place, figure in enumerate(present))
    return Figure("Ratios", caption, tuple(keys), tuple(panels))


def _sizes(result: Result, case: str, figure: str) -> Iterator[tuple[int, float]]:
    """The sizes of the variants of a case, and the medians of a figure."""
    sizes = {variant.name: variant.size for variant in result.experiment.variants}
    for summary in result.summaries:
        size = sizes[summary.variant]
        if summary.case == case and size is not None and figure in summary.figures:
            yield size, summary.figures[figure]


def _growth_rows(result: Result, case: str, figure: str) -> list[Spec]:
    """A row for each median and each round. Every line starts at the variant without rules."""
    experiment = result.experiment
    lines = list(looks.series(experiment))
    rows = []
    measured = [(summary.variant, summary.case, 0, summary.figures) for summary in result.summaries]
    measured += [(sample.variant, sample.case, sample.round, measure.figures(sample)) for sample in result.samples]
    for name, of, number, figures in measured:
        variant = experiment.variant(name)
        if of != case or variant.size is None or figure not in figures:
            continue
        row = {"size": variant.size, "value": figures[figure] * _factor(figure), "round": number}
        rows.append({**row, "line": str(lines.index(variant.series))})
        if name == experiment.baseline and number == 0:
            rows += [{**row, "line": str(place), "start": True} for place in range(len(lines))]
    return rows


def _growth_axis(figure: str, values: Sequence[float]) -> Spec:
    """The y axis of all cases: from zero, so that heights compare.

    A cost grows in proportion. A latency beyond the capacity grows without bound, so its scale may be logarithmic.
    """
    low, high = min(values), max(values)
    axis: Spec = {"domain": False, "ticks": False, **({"labelExpr": _TIMES} if _is_time(figure) else {})}
    if figure not in measure.LATENCIES or low <= 0 or high <= _MOST_LINEAR * low:
        return {
            "title": None,
            "scale": {"type": "linear", "domain": [0, high * 1.05]},
            "axis": {**axis, "tickCount": 5},
        }
    low, high = low / 1.2, high * 1.2
    axis["values"] = list(ticks(low, high))
    return {"title": None, "scale": {"type": "log", "domain": [low, high]}, "axis": axis}


def _is_time(figure: str) -> bool:
    return measure.FIGURES.get(figure.partition(".")[0]) == "s"


def _factor(figure: str) -> float:
    return _MICRO if _is_time(figure) else 1.0


def _growth(rows: list[Spec], keys: dict[str, Key], y: Spec) -> Spec:
    sizes = sorted({row["size"] for row in rows})
    scale = {"domain": [0, max(sizes)], "nice": False}
    x = {"field": "size", "type": "quantitative", "title": "rules", "scale": scale}
    encoding = {
        "x": {**x, "axis": {"values": sizes, "grid": False, "labelOverlap": "greedy", "format": ",d"}},
        "y": {"field": "value", "type": "quantitative", **y},
        **looks.look(list(keys.values())),
    }
    medians = [row for row in rows if row["round"] == 0]
    points = [row for row in medians if "start" not in row]
    rounds = [row for row in rows if row["round"] > 0]
    return {
        "width": _WIDTH,
        "height": _HEIGHT,
        "encoding": encoding,
        "layer": [
            {"data": {"values": medians}, "mark": {"type": "line", "strokeWidth": 1.6}},
            {"data": {"values": rounds}, "mark": {"type": "point", "filled": True, "size": 9, "opacity": 0.45}},
            {"data": {"values": points}, "mark": {"type": "point", "filled": True, "size": 55, "opacity": 1}},
        ],
    }


def _distribution_rows(result: Result, case: str) -> Iterator[Spec]:
    """Points of the distributions of a case: latencies in microseconds, and the inverse of the share above."""
    for line, variant in enumerate(result.experiment.variants):
        samples = [sample for sample in result.samples if (sample.variant, sample.case) == (variant.name, case)]
        for rank, latency in exceeded(samples) if samples else ():
            yield {"line": str(line), "rank": rank, "latency": latency * _MICRO}


def exceeded(samples: Sequence[Sample]) -> Iterator[tuple[float, float]]:
    """Yield the inverse of the share of latencies that exceed a bound, and the bound; last, the longest latency.

    Uses the percentiles of the rounds if there is no histogram.
    """
    counts = Counter[float]()
    for sample in samples:
        counts.update(dict(sample.outcome.histogram))
    total, below = counts.total(), 0
    for bound in sorted(counts):
        below += counts[bound]
        yield (total / (total - below), bound) if below < total else (float(total), _longest(samples))
    if not counts:
        for rank in measure.PERCENTILES:
            rounds = [sample.outcome.percentiles for sample in samples]
            latencies = [percentiles[f"p{rank}"] for percentiles in rounds if f"p{rank}" in percentiles]
            if rank < 100 and latencies:
                yield 100 / (100 - rank), median(latencies)


def _longest(samples: Sequence[Sample]) -> float:
    outcomes = [sample.outcome for sample in samples if sample.outcome.histogram]
    return max(outcome.percentiles.get("p100", outcome.histogram[-1][0]) for outcome in outcomes)


def _distribution(rows: list[Spec], keys: dict[str, Key], low: float, high: float, most: float) -> Spec:
    percentiles = [2, *(10**power for power in range(1, 8) if 10**power <= most)]
    names = {str(at): f"{100 - 100 / at:.6g} %" for at in percentiles}
    x = {"field": "rank", "type": "quantitative", "title": "percentile"}
    y = {"field": "latency", "type": "quantitative", "title": None}
    return {
        "width": _WIDTH,
        "height": _HEIGHT,
        "data": {"values": rows},
        "mark": {"type": "line", "strokeWidth": 1.6},
        "encoding": {
            "x": {
                **x,
                "scale": {"type": "log", "domain": [1, most], "nice": False},
                "axis": {"values": percentiles, "labelExpr": f"{vega.literal(names)}[datum.value]", "grid": True},
            },
            "y": {
                **y,
                "scale": {"type": "log", "domain": [low, high], "nice": False},
                "axis": {"values": list(ticks(low, high)), "labelExpr": _TIMES, "domain": False, "ticks": False},
            },
            **looks.look(list(keys.values())),
        },
    }


def _ratios(ratios: list[Ratio], figures: list[str], low: float, high: float) -> Spec:
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
        "width": _WIDTH - 50,
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
