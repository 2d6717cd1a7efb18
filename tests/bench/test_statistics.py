"""Percentiles, histograms, intervals and ratios."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nginxopt.bench import measure
from nginxopt.bench.report import numbers, sentences
from nginxopt.bench.result import Sample
from tests.bench.samples import experiment, result, sample

pytestmark = pytest.mark.no_cover

LATENCIES = st.lists(st.floats(1e-7, 50, allow_nan=False), min_size=1).map(sorted)


@given(LATENCIES)
def test_percentiles(latencies: list[float]) -> None:
    """A percentile is a measured latency; at least that share of latencies does not exceed it."""
    percentiles = measure.percentiles(latencies)
    assert percentiles["p100"] == latencies[-1]
    assert percentiles["min"] == latencies[0]
    for rank in measure.PERCENTILES:
        value = percentiles[f"p{rank}"]
        assert sum(latency <= value for latency in latencies) >= rank / 100 * len(latencies)
        assert sum(latency < value for latency in latencies) < rank / 100 * len(latencies)


@given(LATENCIES)
def test_histogram(latencies: list[float]) -> None:
    """Every latency is in one class, and none exceeds the bound of its class."""
    classes = measure.histogram(latencies)
    assert sum(count for _, count in classes) == len(latencies)
    at = 0
    for bound, count in classes:
        assert max(latencies[at : at + count]) <= bound
        at += count


@settings(max_examples=20)  # each draws some thousand resamples
@given(st.lists(st.floats(0.1, 10), min_size=1, max_size=20))
def test_interval(values: list[float]) -> None:
    """The interval holds the median, lies within the values, and is the same each time."""
    middle, low, high = measure.interval(values)
    assert min(values) <= low <= middle <= high <= max(values)
    assert measure.interval(values) == (middle, low, high)


def test_ratios() -> None:
    """What after is over before, by pairs of rounds; an interval that contains 1 is no difference."""
    ratios = {(ratio.before, ratio.after): ratio for ratio in result().ratios if ratio.figure == "p50"}
    halved = ratios["before", "after"]
    assert halved.ratio == pytest.approx(0.5)
    assert halved.difference
    assert not next(ratio for ratio in result(after=1.0).ratios if ratio.figure == "p50").difference
    # CPU, memory and counters are the same in all samples here.
    assert all(ratio.ratio == 1 for ratio in result().ratios if ratio.figure in ("cpu", "pss", "accepts.edge"))


@pytest.mark.parametrize(("rounds", "tells"), [(1, False), (4, False), (5, True)])
def test_few_rounds_show_no_difference(rounds: int, tells: bool) -> None:
    """A few agreeing pairs may be chance, and are not a difference."""
    pairs = [(sample("before", number, 1.0), sample("after", number, 9.0)) for number in range(rounds)]
    ratios = measure.ratios(experiment(), [sample for pair in pairs for sample in pair])
    assert [ratio.difference for ratio in ratios if ratio.figure == "p50"] == [tells]


@pytest.mark.parametrize("rounds", range(1, measure.FEWEST_ROUNDS))
def test_what_is_seen_needs_its_rounds(rounds: int) -> None:
    """No figure that varies is a fact in fewer rounds, although all of them agree; an exact count is one at once."""
    pairs = [(sample("before", number, 1.0), sample("after", number, 0.5)) for number in range(rounds)]
    for ratio in measure.ratios(experiment(), [each for pair in pairs for each in pair]):
        assert not sentences.is_seen(ratio)
        assert "lower" not in sentences.conclusion(ratio.figure, [ratio, ratio])
        assert ratio.ratio == 1 or numbers.change(ratio).endswith("(too few rounds)")
    counts = [Sample(name, "case", 1, instructions=count) for name, count in (("before", 200.0), ("after", 100.0))]
    (exact,) = measure.ratios(experiment(), counts)
    assert (exact.difference, sentences.is_seen(exact), numbers.change(exact)) == (True, True, "0.50 x")


def test_a_round_that_is_half_done_is_no_pair() -> None:
    """What was measured on one side only does not count as a pair."""
    samples = [sample("before", 1, 1.0), sample("after", 1, 2.0), sample("before", 2, 50.0)]
    assert {ratio.ratio for ratio in measure.ratios(experiment(), samples) if ratio.figure == "p50"} == {2.0}


def test_failures_are_no_throughput() -> None:
    """Answers that failed count as errors, and not as throughput."""
    figures = measure.figures(sample("before", 1, 1.0, failed=40))
    assert (figures["throughput"], figures["errors"], figures["hits_a_day"]) == (60, 40, 60 * 86_400)
    assert (figures["cpu"], figures["cpu.edge"], figures["accepts.edge"]) == (0.0001, 0.0001, 0.1)
