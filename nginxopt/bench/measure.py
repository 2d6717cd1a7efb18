"""Statistics: percentiles of an attack, figures of a sample, and ratios of after to before with intervals.

Other work on a machine changes times by more than many improvements do. So all variants are attacked one after the
other in each round, and a ratio is computed in each round: what slows down a whole round leaves its ratio unchanged.
The result is the median of these ratios, with a bootstrap interval.
"""

from __future__ import annotations

import math
import random
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from operator import itemgetter
from statistics import fmean, median

from nginxopt.bench.result import AttackMedians, Ratio, Sample
from nginxopt.bench.scenario import Experiment

PERCENTILES = (50, 66, 75, 80, 90, 95, 98, 99, 100)
SECONDS_A_DAY = 86_400

_BOUNDS_A_DECADE = 20
_SHORTEST, _LONGEST = -6, 2  # decades of seconds: from a microsecond to 100 seconds
BOUNDS = tuple(
    10 ** (_SHORTEST + number / _BOUNDS_A_DECADE) for number in range((_LONGEST - _SHORTEST) * _BOUNDS_A_DECADE + 1)
)
"""The upper bounds of the classes of a histogram, in seconds. There are 20 per decade, so each class is 12 % wide."""

FEWEST_ROUNDS = 5
"""With fewer rounds, no difference is reported: all would agree by chance too often (1 in 8 for 4 rounds)."""

_EXACT = frozenset({"instructions"})
"""The figures that are counted once, and are the same each time."""

_RESAMPLES = 4_000
_CONFIDENCE = 0.95

LATENCIES = (*(f"p{rank}" for rank in PERCENTILES), "mean", "min")
FIGURES: dict[str, str] = {
    **dict.fromkeys(LATENCIES, "s"),
    "throughput": "req/s",
    "hits_a_day": "",
    "errors": "",
    "cpu": "s",
    "instructions": "",
    "rss": "B",
    "pss": "B",
    "time_wait": "",
}
"""The figures of a sample and their units.

`throughput` is the number of successful responses a second. `errors` is the number of failures: no response, or a
status of 500 or more. `cpu` is the CPU time of all nodes per request, `cpu.ROLE` that of one node. `accepts.ROLE` and
`requests.ROLE` are the connections and requests that a node received per request of the load.
"""


def percentiles(latencies: Sequence[float]) -> dict[str, float]:
    """Return `p50` to `p100`, `mean` and `min` of sorted latencies, in their unit; empty if there are none.

    A percentile is the smallest latency that this percentage does not exceed (nearest rank).
    """
    if not latencies:
        return {}
    ranks = {f"p{rank}": latencies[max(0, math.ceil(rank / 100 * len(latencies)) - 1)] for rank in PERCENTILES}
    return {**ranks, "mean": fmean(latencies), "min": latencies[0]}


def histogram(latencies: Sequence[float]) -> tuple[tuple[float, int], ...]:
    """Return the histogram of sorted latencies: the upper bound and the count of each class that is not empty."""
    counts, at = [], 0
    for bound in (*BOUNDS[:-1], math.inf):
        end = bisect_right(latencies, bound, lo=at)
        if end > at:
            counts.append((min(bound, BOUNDS[-1]), end - at))
        at = end
    return tuple(counts)


def figures(sample: Sample) -> dict[str, float]:
    """Return the available figures of a sample, by name."""
    if sample.instructions is not None:
        return {"instructions": sample.instructions}
    outcome = sample.outcome
    failed = sum(count for status, count in outcome.statuses.items() if has_failed(status))
    rate = (outcome.requests - failed) / outcome.seconds if outcome.seconds else 0.0
    answers = {"throughput": rate, "hits_a_day": rate * SECONDS_A_DAY, "errors": float(failed)}
    sockets = {} if sample.time_wait is None else {"time_wait": float(sample.time_wait)}
    return {**outcome.percentiles, **answers, **sockets, **_node_figures(sample)}


def has_failed(status: str) -> bool:
    """Return whether a status is 0 (no response) or at least 500."""
    return status == "0" or status >= "500"


def _node_figures(sample: Sample) -> dict[str, float]:
    if not sample.nodes:
        return {}
    requests = max(1, sample.outcome.requests)
    uses = sample.nodes.values()
    figures = {"cpu": sum(use.cpu for use in uses) / requests}
    for role, use in sample.nodes.items():
        figures[f"cpu.{role}"] = use.cpu / requests
        if use.accepts is not None and use.requests is not None:
            figures |= {f"accepts.{role}": use.accepts / requests, f"requests.{role}": use.requests / requests}
    return {**figures, "rss": float(sum(use.rss for use in uses)), "pss": float(sum(use.pss for use in uses))}


def summaries(samples: Sequence[Sample]) -> tuple[AttackMedians, ...]:
    """Return the medians over the rounds of each attack, in order of first occurrence."""
    return tuple(AttackMedians(variant, case, _medians(of)) for (variant, case), of in _by_attack(samples).items())


def ratios(experiment: Experiment, samples: Sequence[Sample]) -> tuple[Ratio, ...]:
    """Return the ratio of after to before for every comparison, case and figure.

    Before and after are measured right after each other in every round, so each round gives a ratio. The result is the
    median of these ratios, with a 95 % bootstrap interval (percentile method; seeded, so that the same samples give the
    same interval).
    """
    attacks = _by_attack(samples)
    ratios: list[Ratio] = []
    for comparison in experiment.comparisons:
        for case in experiment.cases:
            before, after = (attacks.get((name, case), []) for name in (comparison.before, comparison.after))
            for figure, pairs in _pairs(before, after).items():
                ratio, low, high = interval([second / first for first, second in pairs])
                different = (is_exact(figure) or len(pairs) >= FEWEST_ROUNDS) and not low <= 1 <= high
                ratios.append(Ratio(comparison.before, comparison.after, case, figure, ratio, low, high, different))
    return tuple(ratios)


def is_exact(figure: str) -> bool:
    """Return whether a figure is a fact after one round, because it does not vary."""
    return figure in _EXACT


def interval(values: Sequence[float]) -> tuple[float, float, float]:
    """Return the median of at least one value and its 95 % bootstrap interval."""
    if len(values) == 1:
        return values[0], values[0], values[0]
    medians = sorted(median(resample(values)) for resample in _resamples(len(values)))
    tail = int((1 - _CONFIDENCE) / 2 * len(medians))
    return median(values), medians[tail], medians[-1 - tail]


@lru_cache(maxsize=8)
def _resamples(count: int) -> tuple[Callable[[Sequence[float]], tuple[float, ...]], ...]:
    """Return functions that take the resamples of the bootstrap from `count` (at least 2) values."""
    draw = random.Random(count)
    return tuple(itemgetter(*draw.choices(range(count), k=count)) for _ in range(_RESAMPLES))


def _pairs(before: Sequence[Sample], after: Sequence[Sample]) -> dict[str, list[tuple[float, float]]]:
    """Return the pairs of values, by round, of each figure that both variants have, if all its ratios are defined."""
    rounds = {sample.round: figures(sample) for sample in after}
    both = [(figures(sample), rounds[sample.round]) for sample in before if sample.round in rounds]
    names = [
        name for name in (both[0][0] if both else {}) if all(name in first and name in second for first, second in both)
    ]
    pairs = {name: [(first[name], second[name]) for first, second in both] for name in names}
    return {name: values for name, values in pairs.items() if all(first > 0 for first, _ in values)}


def _by_attack(samples: Sequence[Sample]) -> dict[tuple[str, str], list[Sample]]:
    attacks: dict[tuple[str, str], list[Sample]] = {}
    for sample in samples:
        attacks.setdefault((sample.variant, sample.case), []).append(sample)
    return attacks


def _medians(samples: Sequence[Sample]) -> Mapping[str, float]:
    rounds = [figures(sample) for sample in samples]
    common = [name for name in rounds[0] if all(name in measured for measured in rounds)]
    return {name: median(measured[name] for measured in rounds) for name in common}
