"""The charts of the HTML report: their content and the start of their axes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nginxopt.bench import measure
from nginxopt.bench.report import html, vega
from nginxopt.bench.report.charts import distribution, growth
from nginxopt.bench.report.scales import ticks
from nginxopt.bench.result import Outcome, Result, Sample
from tests.bench.pages import SVG, parsed, words


@pytest.mark.parametrize(
    ("figure", "longest", "scale"), [("p50", 4, "linear"), ("p50", 80, "log"), ("cpu", 80, "linear")]
)
def test_growth_starts_at_zero_unless_it_cannot(
    result: Result, monkeypatch: pytest.MonkeyPatch, figure: str, longest: int, scale: str
) -> None:
    """A growth curve is linear from zero, but for latencies that differ too much; its scale holds every value."""
    specs: list[Any] = []

    def kept(spec: Any, *_: str) -> str:
        specs.append(spec)
        return ""

    monkeypatch.setattr(vega, "svg", kept)
    last = result.experiment.variants[-2].name
    samples = []
    for sample in result.samples:
        percentiles = {**sample.outcome.percentiles, "p50": (longest if sample.variant == last else 1) * 100e-6}
        samples.append(replace(sample, outcome=replace(sample.outcome, percentiles=percentiles)))
    slower = replace(result, samples=tuple(samples), summaries=measure.summaries(samples))
    drawn = growth.draw(slower, figure)
    assert drawn is not None
    assert ("logarithmic" in drawn.caption) == (scale == "log")
    assert len(specs) == 2
    for spec in specs:
        axis = spec["encoding"]["y"]["scale"]
        low, high = axis["domain"]
        assert axis["type"] == scale
        assert (low == 0) == (scale == "linear")
        values = [row["value"] for layer in spec["layer"] for row in layer["data"]["values"]]
        assert low <= min(values)
        assert max(values) <= high


def test_charts_are_named(page: str) -> None:
    """Each chart is an image with a title and a description for a screen reader, and its parts stay inside."""
    drawn = [element for element in parsed(page).iter(f"{SVG}svg") if element.get("role") == "img"]
    assert len(drawn) == 6 + 2 * 2 + 2  # comparisons; two growth curves and the distribution, by case
    for chart in drawn:
        assert chart[0].tag == f"{SVG}title"
        assert chart[1].tag == f"{SVG}desc"
        assert chart.get("viewBox")
        assert chart.get("width") is None
    assert len({chart[0].text for chart in drawn}) == len(drawn)


def test_instructions_have_growth_and_no_distribution(result: Result) -> None:
    """Of a run that counted instructions there are their ratios and their growth, and nothing of latencies."""
    sizes = {variant.name: variant.size or 0 for variant in result.experiment.variants}
    counted = tuple(
        Sample(sample.variant, sample.case, 1, instructions=5000.0 + 100 * sizes[sample.variant])
        for sample in result.samples
        if sample.round == 1
    )
    counting = replace(result.experiment, metric="instructions")
    counted_result = replace(
        result,
        experiment=counting,
        samples=counted,
        summaries=measure.summaries(counted),
        ratios=measure.ratios(counting, counted),
        gates=(),
        complete=False,
    )
    text = words(html.render(counted_result))
    assert "Instructions per request by number of rules" in text
    assert "callgrind, one request after the other: GET /favicon.ico" in text
    assert f"The run ended early: these figures include {len(counted)} load runs" in text
    assert "Latency distribution" not in text
    assert "Gates" not in text


@given(
    st.lists(
        st.dictionaries(st.sampled_from(measure.BOUNDS), st.integers(1, 1000), min_size=1, max_size=30),
        min_size=1,
        max_size=3,
    )
)
def test_distribution_is_monotone(histograms: list[dict[float, int]]) -> None:
    """The points of a distribution go up and to the right, from no more than all requests to no more than one."""
    outcomes = [Outcome(1, 1.0, {"p100": max(histogram)}, tuple(histogram.items())) for histogram in histograms]
    samples = [Sample("", "", 1, outcome) for outcome in outcomes]
    points = list(distribution.exceeded(samples))
    total = sum(sum(histogram.values()) for histogram in histograms)
    assert points == sorted(points)
    assert points[0][0] >= 1
    assert points[-1] == (float(total), max(max(histogram) for histogram in histograms))


def test_distribution_of_percentiles() -> None:
    """Where no histogram was kept, the percentiles are the distribution."""
    samples = [Sample("", "", 1, Outcome(1, 1.0, {"p50": 0.001, "p99": 0.004, "p100": 0.1}))]
    assert list(distribution.exceeded(samples)) == [(2.0, 0.001), (100.0, 0.004)]


@given(st.floats(1e-9, 1e9), st.floats(1.01, 1e9))
def test_ticks_are_round_and_inside(low: float, span: float) -> None:
    """The marks of a logarithmic scale lie on it, ascend, and are few."""
    high = low * span
    marks = list(ticks(low, high))
    assert marks == sorted(marks)
    assert all(low <= tick <= high for tick in marks)
    assert len(marks) <= 10
