"""Draws the growth of a figure with the number of rules."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nginxopt.bench import measure
from nginxopt.bench.report import keys as looks
from nginxopt.bench.report import sentences, vega
from nginxopt.bench.report.charts.figure import HEIGHT, MICRO, TIMES, WIDTH, Figure, Panel
from nginxopt.bench.report.keys import LegendKey
from nginxopt.bench.report.scales import ticks
from nginxopt.bench.report.vega import Spec
from nginxopt.bench.result import Result

_MOST_LINEAR = 50  # times the lowest value: beyond, a linear scale hides the low values


def draw(result: Result, figure: str) -> Figure | None:
    """Return the growth of a figure with the number of rules, by case; None if all variants have the same size."""
    experiment = result.experiment
    name = sentences.name(figure)
    cases = [case for case in experiment.cases if len({size for size, _ in _sizes(result, case, figure)}) > 1]
    if not cases:
        return None
    keys = looks.series(experiment)
    rows = {case: _rows(result, case, figure) for case in cases}
    axis = _axis(figure, [row["value"] for of in rows.values() for row in of])
    panels = []
    for case, of in rows.items():
        title = f"{name} by number of rules: {case}"
        svg = vega.svg(_chart(of, keys, axis), title, f"The table of the case {case} has the numbers.")
        panels.append(Panel(case, svg))
    caption = "Large marks are medians of the rounds, small marks single rounds."
    caption += " The scale is logarithmic." if axis["scale"]["type"] == "log" else ""
    return Figure(f"{name} by number of rules", caption, tuple(keys.values()), tuple(panels))


def _sizes(result: Result, case: str, figure: str) -> Iterator[tuple[int, float]]:
    """Yield the size of each variant of a case, and the median of a figure."""
    sizes = {variant.name: variant.size for variant in result.experiment.variants}
    for summary in result.summaries:
        size = sizes[summary.variant]
        if summary.case == case and size is not None and figure in summary.figures:
            yield size, summary.figures[figure]


def _rows(result: Result, case: str, figure: str) -> list[Spec]:
    """Return a row for each median and each round. Every line starts at the variant without rules."""
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


def _axis(figure: str, values: Sequence[float]) -> Spec:
    """Return the y axis of all cases, which starts at zero, so that heights are comparable.

    Costs grow in proportion to the number of rules. Latencies grow without bound beyond the capacity, so their scale
    may be logarithmic.
    """
    low, high = min(values), max(values)
    axis: Spec = {"domain": False, "ticks": False, **({"labelExpr": TIMES} if _is_time(figure) else {})}
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
    return MICRO if _is_time(figure) else 1.0


def _chart(rows: list[Spec], keys: dict[str, LegendKey], y: Spec) -> Spec:
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
        "width": WIDTH,
        "height": HEIGHT,
        "encoding": encoding,
        "layer": [
            {"data": {"values": medians}, "mark": {"type": "line", "strokeWidth": 1.6}},
            {"data": {"values": rounds}, "mark": {"type": "point", "filled": True, "size": 9, "opacity": 0.45}},
            {"data": {"values": points}, "mark": {"type": "point", "filled": True, "size": 55, "opacity": 1}},
        ],
    }
