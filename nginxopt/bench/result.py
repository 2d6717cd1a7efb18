"""The result of a run, as data and as the JSON of `nginxopt/schemas/bench-result.json`.

Times are in seconds, memory in bytes, and CPU time in seconds of all nodes of a variant together.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from nginxopt.bench.scenario import Experiment, OpenLoop

FORMAT = 1
"""The version of the JSON; it changes when a field changes its meaning or goes away."""


@dataclass(frozen=True, slots=True)
class NodeUse:
    """The activity and resources of one nginx during one attack.

    `accepts` and `requests` are without those of the measurement itself, and None where it serves no status.
    """

    cpu: float
    rss: int
    pss: int
    accepts: int | None = None
    requests: int | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one attack, from the load generator; empty where it was not used.

    Attributes:
        requests: How many were answered or failed.
        seconds: From the first request to the last answer.
        percentiles: The latency of the answers, in seconds: `p50`, `p66`, `p75`, `p80`, `p90`, `p95`, `p98`, `p99`,
            `p100`, `mean`, `min`. Failures, which can be much faster, are left out where the generator tells them
            apart (vegeta).
        histogram: Pairs of a bound in seconds and how many of them lie below it and not below the bound before; empty
            where the generator keeps no single latency (wrk).
        statuses: How often each status came; `0` where there was no answer.
        errors: How often each kind of error came: `connection refused`, `timeout`, `connection reset` ...
        raw: The file it wrote, relative to the folder of the run; None if it keeps none.
        unfinished: How many requests it may have begun beside those, and given up when its time was over.
        busiest_second: The most requests that began within any second; 0 where the generator keeps no times (wrk).
    """

    requests: int = 0
    seconds: float = 0.0
    percentiles: Mapping[str, float] = field(default_factory=dict)
    histogram: tuple[tuple[float, int], ...] = ()
    statuses: Mapping[str, int] = field(default_factory=dict)
    errors: Mapping[str, int] = field(default_factory=dict)
    raw: str | None = None
    unfinished: int = 0
    busiest_second: int = 0


OUTCOME_FIELDS = ("requests", "seconds", "percentiles", "histogram", "statuses", "errors", "raw")
"""The fields of an outcome that are in the JSON, there as fields of its sample."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One attack in one round.

    Attributes:
        variant, case: Of which attack.
        round: From 1.
        outcome: What the load generator saw.
        nodes: What each node did and took, by role.
        time_wait: Sockets of the variant's nodes in TIME_WAIT after it, where they stay for a minute.
        instructions: Of the entry node, a request, where they were counted (and then the outcome is empty).
    """

    variant: str
    case: str
    round: int
    outcome: Outcome = field(default_factory=Outcome)
    nodes: Mapping[str, NodeUse] = field(default_factory=dict)
    time_wait: int | None = None
    instructions: float | None = None


@dataclass(frozen=True, slots=True)
class Summary:
    """The medians over the rounds of one attack, by figure (see `nginxopt.bench.measure.FIGURES`)."""

    variant: str
    case: str
    figures: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Ratio:
    """The ratio of after to before: the median of the rounds, and its confidence interval.

    `difference` is False if the interval contains 1 (no difference was seen), or if the rounds are too few to tell.
    """

    before: str
    after: str
    case: str
    figure: str
    ratio: float
    low: float
    high: float
    difference: bool


@dataclass(frozen=True, slots=True)
class GateResult:
    """A gate as it was written, whether it holds, and the value furthest off: where it was seen, and by how much of
    the limit it stays below (or, negative, exceeds) it."""

    gate: str
    holds: bool
    value: float
    limit: float
    margin: float
    where: str


@dataclass(frozen=True, slots=True)
class LoadWorker:
    """A worker that made a share of the load: its address and host, its CPUs, and the version of its vegeta."""

    address: str
    host: str
    cpus: int
    vegeta: str


@dataclass(frozen=True, slots=True)
class WorkerStart:
    """How one worker started, in seconds: its clock is ahead by `clock_offset`, known to `clock_error`, and its first
    request was `late`, on the clock of the command. `share` is its part of the load."""

    address: str
    share: str
    clock_offset: float
    clock_error: float
    late: float


@dataclass(frozen=True, slots=True)
class LoadStart:
    """How the workers started one attack: `skew` is between the one least and the one most late, in seconds."""

    variant: str
    case: str
    round: int | str
    skew: float
    workers: tuple[WorkerStart, ...]


@dataclass(frozen=True, slots=True)
class Result:
    """All of a run. `test_seconds` is how long `nginx -t` takes, by variant; `rates` the requests a second of the open
    loops, by case, and `capacities` what they are a share of, where that was found first."""

    experiment: Experiment
    rounds: int
    samples: tuple[Sample, ...]
    summaries: tuple[Summary, ...]
    ratios: tuple[Ratio, ...]
    gates: tuple[GateResult, ...] = ()
    rates: Mapping[str, float] = field(default_factory=dict)
    capacities: Mapping[str, float] = field(default_factory=dict)
    test_seconds: Mapping[str, float] = field(default_factory=dict)
    provenance: Mapping[str, Any] = field(default_factory=dict)
    complete: bool = True


def to_json(result: Result) -> str:
    """Return the result as JSON, indented."""
    return json.dumps(to_dict(result), indent=2) + "\n"


def to_dict(result: Result) -> dict[str, Any]:
    """Return the result as the JSON has it: the scenario's words and loads, and not the texts of configurations."""
    experiment = result.experiment
    return {
        "format": FORMAT,
        "scenario": {
            "name": experiment.scenario,
            "title": experiment.title,
            "expects": experiment.expects,
            "metric": experiment.metric,
            "baseline": experiment.baseline,
            "figures": list(experiment.figures),
            "notes": list(experiment.notes),
            "published": [asdict(figure) for figure in experiment.published],
        },
        "variants": [
            {
                "name": variant.name,
                "says": variant.says,
                "series": variant.series,
                "size": variant.size,
                "nodes": {node.role: node.says for node in variant.nodes},
                "test_seconds": result.test_seconds.get(variant.name),
            }
            for variant in experiment.variants
        ],
        "attacks": [
            {
                "variant": attack.variant,
                "case": attack.case,
                "targets": [f"{target.method} {target.path}" for target in attack.targets[:10]],
                "target_count": len(attack.targets),
                "load": {
                    "kind": "open loop" if isinstance(attack.load, OpenLoop) else "closed loop",
                    **asdict(attack.load),
                    **({"rate": result.rates.get(attack.case)} if isinstance(attack.load, OpenLoop) else {}),
                },
            }
            for attack in experiment.attacks
        ],
        "capacities": dict(result.capacities),
        "rounds": result.rounds,
        "complete": result.complete,
        "samples": [_sample(sample) for sample in result.samples],
        "summaries": [asdict(summary) for summary in result.summaries],
        "ratios": [asdict(ratio) for ratio in result.ratios],
        "gates": [asdict(gate) for gate in result.gates],
        "provenance": dict(result.provenance),
    }


def _sample(sample: Sample) -> dict[str, Any]:
    return {
        "variant": sample.variant,
        "case": sample.case,
        "round": sample.round,
        **{name: getattr(sample.outcome, name) for name in OUTCOME_FIELDS if name != "raw"},
        "nodes": {role: asdict(use) for role, use in sample.nodes.items()},
        "time_wait": sample.time_wait,
        "raw": sample.outcome.raw,
        "instructions": sample.instructions,
    }
