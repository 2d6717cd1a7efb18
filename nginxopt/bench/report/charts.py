"""The charts of a report: growth with the number of rules, ratios with their intervals, and latency distributions.

Each is a row of panels, one a case or a comparison, which share their scales. Colours are variables of the page
(`--baseline`, `--series-0` ...); lines also differ in their dashes and points in their shapes, for paper and for eyes
that see no colours.
"""

from __future__ import annotations

import math
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from nginxopt.bench import measure
from nginxopt.bench.report import sentences, vega
from nginxopt.bench.report.vega import Spec
from nginxopt.bench.result import Ratio, Result, Sample
from nginxopt.bench.scenario import Experiment, Variant
from nginxopt.text.escape import xml

SERIES = 6
"""How many colours there are; a later line takes the first again, with other dashes."""

_DASHES = ((1, 0), (7, 3), (3, 2), (9, 3, 2, 3), (5, 2, 1, 2), (12, 3))
_DOTS = (1.5, 2.5)  # of the baseline
_SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
_OUTLINES = {
    "circle": "M3.5,0A3.5,3.5,0,1,1,-3.5,0A3.5,3.5,0,1,1,3.5,0Z",
    "square": "M-3,-3h6v6h-6Z",
    "triangle-up": "M-3.5,3L0,-4L3.5,3Z",
    "diamond": "M-3.5,0L0,-4.5L3.5,0L0,4.5Z",
    "cross": "M-4,-1.4h2.6v-2.6h2.8v2.6h2.6v2.8h-2.6v2.6h-2.8v-2.6h-2.6Z",
    "triangle-down": "M-3.5,-3L0,4L3.5,-3Z",
}

_WIDTH, _HEIGHT = 270, 190
_STEP = 15  # of a row of ratios, in pixels
_MOST_LINEAR = 50  # times the lowest value: beyond, a linear scale shows nothing of what is low
_DECADE, _LEAST_RATIO = 10.0, 2.0  # what a scale shows at least, so that a small difference looks small
_MOST_TICKS = 6
_MICRO = 1e6  # charts are in microseconds
_TIMES = """\
datum.value >= 1e6 ? datum.value / 1e6 + ' s' : datum.value >= 1e3 ? datum.value / 1e3 + ' ms' : datum.value + ' us'"""


@dataclass(frozen=True, slots=True)
class Key:
    """How a line or a point looks: in the legend and in the charts."""

    label: str
    color: str = "currentColor"
    dash: tuple[float, ...] = ()
    shape: str = ""

    @property
    def outline(self) -> str:
        """The path of its shape, about 8 units wide; empty if it has none."""
        return _OUTLINES.get(self.shape, "")


@dataclass(frozen=True, slots=True)
class Panel:
    """A chart (an `<svg>` element) and what it is about."""

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
    """Return how a figure grows with the number of rules, by case; None if no variants differ in their size."""
    experiment = result.experiment
    name = sentences.name(figure)
    cases = [case for case in experiment.cases if len({size for size, _ in _sizes(result, case, figure)}) > 1]
    if not cases:
        return None
    keys = _series(experiment)
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
    """Return how latencies are distributed, by case, all rounds together; None if none were measured."""
    experiment = result.experiment
    rows = {case: list(_distribution_rows(result, case)) for case in experiment.cases}
    everything = [row for of in rows.values() for row in of]
    if not everything:
        return None
    keys = _variants(experiment)
    low, high = _at_least(_DECADE, *(pick(row["latency"] for row in everything) for pick in (min, max)))
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
    """Return what after is over before, with its interval, by comparison; None if nothing was compared."""
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
    keys = (Key(sentences.name(figure), shape=_SHAPES[place % SERIES]) for place, figure in enumerate(present))
    return Figure("Ratios", caption, tuple(keys), tuple(panels))


def _series(experiment: Experiment) -> dict[str, Key]:
    """The lines of a growth curve: one a series."""
    names = dict.fromkeys(variant.series for variant in experiment.variants if variant.size is not None)
    return {name: _key(experiment, name, place, name == _baseline(experiment)) for place, name in enumerate(names)}


def _variants(experiment: Experiment) -> dict[str, Key]:
    """The lines of a distribution: one a variant, in the colour of its series."""
    series = list(dict.fromkeys(_line(variant) for variant in experiment.variants))
    keys = {}
    for place, variant in enumerate(experiment.variants):
        key = _key(experiment, variant.name, series.index(_line(variant)), variant.name == experiment.baseline)
        number = place - 1 if experiment.baseline is not None else place
        keys[variant.name] = Key(key.label, key.color, key.dash if key.dash == _DOTS else _DASHES[number % SERIES])
    return keys


def _key(experiment: Experiment, label: str, place: int, baseline: bool) -> Key:
    if baseline:
        return Key(label, "var(--baseline)", _DOTS, "circle")
    number = place - 1 if experiment.baseline is not None else place
    return Key(label, f"var(--series-{number % SERIES})", _DASHES[number % SERIES], _SHAPES[(number + 1) % SERIES])


def _line(variant: Variant) -> str:
    return variant.series or variant.name


def _baseline(experiment: Experiment) -> str | None:
    return None if experiment.baseline is None else experiment.variant(experiment.baseline).series


def _sizes(result: Result, case: str, figure: str) -> Iterator[tuple[int, float]]:
    """The sizes of the variants of a case, and the medians of a figure."""
    sizes = {variant.name: variant.size for variant in result.experiment.variants}
    for summary in result.summaries:
        size = sizes[summary.variant]
        if summary.case == case and size is not None and figure in summary.figures:
            yield size, summary.figures[figure]


def _growth_rows(result: Result, case: str, figure: str) -> list[Spec]:
    """A row for each median and for each round. Every line starts at the variant without rules."""
    experiment = result.experiment
    lines = list(_series(experiment))
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
        **_look(list(keys.values())),
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


def _look(keys: list[Key]) -> Spec:
    """The channels of a line: lines are known by their number, so that no text from outside is in a specification."""
    domain = [str(place) for place in range(len(keys))]
    ranges = {
        "color": [key.color for key in keys],
        "strokeDash": [list(key.dash) for key in keys],
        **({"shape": [key.shape for key in keys]} if keys[0].shape else {}),
    }
    return {
        channel: {"field": "line", "type": "nominal", "scale": {"domain": domain, "range": values}, "legend": None}
        for channel, values in ranges.items()
    }


def _distribution_rows(result: Result, case: str) -> Iterator[Spec]:
    """Points of the distributions of a case: a latency, in microseconds, and one over the share that exceeds it."""
    for line, variant in enumerate(result.experiment.variants):
        samples = [sample for sample in result.samples if (sample.variant, sample.case) == (variant.name, case)]
        for rank, latency in exceeded(samples) if samples else ():
            yield {"line": str(line), "rank": rank, "latency": latency * _MICRO}


def exceeded(samples: Sequence[Sample]) -> Iterator[tuple[float, float]]:
    """Yield one over the share of all latencies that exceed a bound, and the bound; last, the longest.

    From the percentiles of the rounds where no histogram was kept.
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
            **_look(list(keys.values())),
        },
    }


def _at_least(span: float, low: float, high: float) -> tuple[float, float]:
    """Return the ends of a logarithmic scale that are at least `span` times apart, with the values in its middle."""
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
                        "scale": {"domain": order, "range": [_SHAPES[place % SERIES] for place in range(len(order))]},
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
