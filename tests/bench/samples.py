"""Scenarios, experiments and results for tests of the bench."""

from __future__ import annotations

from pathlib import Path

from nginxopt.bench import gate
from nginxopt.bench.benchmark import Benchmark
from nginxopt.bench.nodes import node
from nginxopt.bench.result import NodeUse, Outcome, Result, Sample
from nginxopt.bench.scenario import (
    Attack,
    Experiment,
    OpenLoop,
    Target,
    Variant,
    VariantPair,
)


def sample(variant: str, number: int, p50: float, *, failed: int = 0) -> Sample:
    """A sample of 100 requests in a second."""
    statuses = {"200": 100 - failed} | ({"0": failed} if failed else {})
    errors = {"timeout": failed} if failed else {}
    use = {"edge": NodeUse(0.01, 2000, 1000, 10, 100)}
    outcome = Outcome(100, 1.0, {"p50": p50}, ((p50, 100),), statuses, errors, "raw.bin")
    return Sample(variant, "case", number, outcome, use, 3)


def experiment(**changes: object) -> Experiment:
    """Two variants, before and after, and one without anything."""
    variants = tuple(Variant(name, name, (node("edge", "return 200 ok;"),)) for name in ("none", "before", "after"))
    attacks = tuple(Attack(variant.name, "case", (Target("/"),), OpenLoop(100, 1)) for variant in variants)
    pairs = tuple(VariantPair(*names) for names in (("before", "after"), ("none", "before"), ("none", "after")))
    fields: dict[str, object] = {"baseline": "none", **changes}
    return Experiment("test", "A test", "Nothing.", variants, attacks, pairs, "latency", **fields)  # type: ignore[arg-type]


def result(*, after: float = 0.5, gates: tuple[str, ...] = ()) -> Result:
    """What five rounds found in which before took 1 s, none 0.4 s, and after what is given."""
    benchmark = Benchmark(experiment(), None, None, Path("run"), 5, [gate.parse(text) for text in gates])  # type: ignore[arg-type]
    for number in range(1, 6):
        for name, p50 in (("none", 0.4), ("before", 1.0), ("after", after)):
            benchmark.samples.append(sample(name, number, p50 * (1 + number / 100)))
    return benchmark.result()
