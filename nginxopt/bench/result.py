"""The result of a run, as data and as the JSON of `nginxopt/schemas/bench-result.json`.

Times are in seconds, memory in bytes, and CPU time in seconds of all nodes of a variant together.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, field
from typing import Any

from nginxopt.bench.scenario import Experiment, OpenLoop
from nginxopt.records import record

FORMAT = 1
"""The version of the JSON. It changes if a field is removed or changes its meaning."""


@record(eq=True)
class NodeUse:
    """The activity and resources of one nginx during one attack.

    `accepts` and `requests` exclude those of the measurement itself, and are None if the node serves no status.
    """

    cpu: float
    rss: int
    pss: int
    accepts: int | None = None
    requests: int | None = None


@record(eq=True)
class Outcome:
    """The outcome of one attack, from the load generator; empty if none was used.

    Attributes:
        requests: The number of requests that were answered or failed.
        seconds: The time from the first request to the last response.
        percentiles: The latency of responses in seconds: `p50`, `p66`, `p75`, `p80`, `p90`, `p95`, `p98`, `p99`,
            `p100`, `mean`, `min`. Failures can be much faster; they are left out if the generator distinguishes them
            (vegeta).
        histogram: Pairs of an upper bound in seconds, and the number of latencies between the previous bound and this
            one; empty if the generator keeps no single latencies (wrk).
        statuses: The number of responses by status; `0` for requests without a response.
        errors: The number of errors by kind: `connection refused`, `timeout`, `connection reset` ...
        raw: The result file of the generator, relative to the folder of the run; None if it keeps none.
        unfinished: The most requests that the generator may have begun in addition, and given up at the end.
        busiest_second: The most requests that began within any second; 0 if the generator keeps no times (wrk).
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
"""The fields of an outcome in the JSON, where they are fields of the sample."""


@record(eq=True)
class Sample:
    """One attack in one round.

    Attributes:
        variant: The variant that was attacked.
        case: The case of the attack.
        round: The number of the round, from 1.
        outcome: The measurements of the load generator.
        nodes: The activity and resources of each node, by role.
        time_wait: The number of sockets of the nodes in TIME_WAIT after the attack, where they stay for a minute.
        instructions: The instructions of the entry node per request, if they were counted; then the outcome is empty.
    """

    variant: str
    case: str
    round: int
    outcome: Outcome = field(default_factory=Outcome)
    nodes: Mapping[str, NodeUse] = field(default_factory=dict)
    time_wait: int | None = None
    instructions: float | None = None


@record(eq=True)
class AttackMedians:
    """The medians over the rounds of one attack, by figure (see `nginxopt.bench.measure.FIGURES`)."""

    variant: str
    case: str
    figures: Mapping[str, float]


@record(eq=True)
class Ratio:
    """The ratio of after to before: the median of the rounds, and its confidence interval.

    `difference` is False if the interval contains 1, or if there are too few rounds to detect a difference
    in a figure that varies.
    """

    before: str
    after: str
    case: str
    figure: str
    ratio: float
    low: float
    high: float
    difference: bool


@record(eq=True)
class GateResult:
    """The outcome of a gate.

    Attributes:
        gate: The gate as written.
        holds: Whether all values meet it; False if that is not decided.
        value: The value that is closest to the limit, or furthest beyond it.
        limit: The limit.
        margin: How far inside the limit the value is, as a share of the limit; negative if it is beyond.
        where: Where the value was measured.
        decided: Whether there were enough rounds to decide it.
    """

    gate: str
    holds: bool
    value: float
    limit: float
    margin: float
    where: str
    decided: bool = True


@record(eq=True)
class LoadWorker:
    """A worker that made a share of the load: its address and host, its CPUs, and the version of its vegeta."""

    address: str
    host: str
    cpus: int
    vegeta: str


@record(eq=True)
class WorkerStart:
    """How one worker started an attack.

    Attributes:
        address: The worker.
        share: Its share of the load.
        clock_offset: How far its clock is ahead, in seconds.
        clock_error: The largest error of the offset, in seconds.
        late: The delay of its first request by the clock of the command, in seconds.
    """

    address: str
    share: str
    clock_offset: float
    clock_error: float
    late: float


@record(eq=True)
class LoadStart:
    """How the workers started one attack; `skew` is the time between the first and the last start, in seconds."""

    variant: str
    case: str
    round: int | str
    skew: float
    workers: tuple[WorkerStart, ...]


@record(eq=True)
class Result:
    """The result of a run.

    Attributes:
        experiment: The experiment.
        rounds: The number of rounds.
        samples: The measurements of all attacks.
        summaries: The medians over the rounds.
        ratios: The ratios of after to before.
        gates: The outcome of the gates.
        rates: The requests a second of open loops, by case.
        capacities: The measured capacities of which these rates are a share, by case.
        test_seconds: The duration of `nginx -t`, by variant.
        provenance: The machine, the versions and so on.
        complete: Whether the run was not interrupted.
    """

    experiment: Experiment
    rounds: int
    samples: tuple[Sample, ...]
    summaries: tuple[AttackMedians, ...]
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
    """Return the content of the JSON, which includes the loads of the scenario, but not texts of configurations."""
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
                "measured": None if attack.measured is None else asdict(attack.measured),
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
