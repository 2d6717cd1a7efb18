"""Draws the distribution of latencies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from statistics import median

from nginxopt.bench import measure
from nginxopt.bench.report import keys as looks
from nginxopt.bench.report import vega
from nginxopt.bench.report.charts.figure import HEIGHT, MICRO, TIMES, WIDTH, Figure, Panel
from nginxopt.bench.report.keys import LegendKey
from nginxopt.bench.report.scales import at_least, ticks
from nginxopt.bench.report.vega import Spec
from nginxopt.bench.result import Result, Sample

_DECADE = 10.0  # the minimum ratio of the ends of the scale, so that a small difference looks small


def draw(result: Result) -> Figure | None:
    """Return the distribution of latencies by case, over all rounds; None if there are none."""
    experiment = result.experiment
    rows = {case: list(_rows(result, case)) for case in experiment.cases}
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
            svg = vega.svg(_chart(of, keys, low, high, most), title, f"The table of {case} has the numbers.")
            panels.append(Panel(case, svg))
    caption = "Latency that a percentage of the requests stay below; both scales are logarithmic."
    return Figure("Latency distribution", caption, tuple(keys.values()), tuple(panels))


def _rows(result: Result, case: str) -> Iterator[Spec]:
    """Yield the points of a case: a latency in microseconds, and the inverse of the share of longer latencies."""
    for line, variant in enumerate(result.experiment.variants):
        samples = [sample for sample in result.samples if (sample.variant, sample.case) == (variant.name, case)]
        for rank, latency in exceeded(samples) if samples else ():
            yield {"line": str(line), "rank": rank, "latency": latency * MICRO}


def exceeded(samples: Sequence[Sample]) -> Iterator[tuple[float, float]]:
    """Yield pairs of the inverse of the share of latencies above a bound, and the bound. The last one is the maximum.

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


def _chart(rows: list[Spec], keys: dict[str, LegendKey], low: float, high: float, most: float) -> Spec:
    percentiles = [2, *(10**power for power in range(1, 8) if 10**power <= most)]
    names = {str(at): f"{100 - 100 / at:.6g} %" for at in percentiles}
    x = {"field": "rank", "type": "quantitative", "title": "percentile"}
    y = {"field": "latency", "type": "quantitative", "title": None}
    return {
        "width": WIDTH,
        "height": HEIGHT,
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
                "axis": {"values": list(ticks(low, high)), "labelExpr": TIMES, "domain": False, "ticks": False},
            },
            **looks.look(list(keys.values())),
        },
    }
