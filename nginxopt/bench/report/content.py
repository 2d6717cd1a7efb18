"""The content of all reports: figures, failures, and busy nodes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from nginxopt.bench.report import numbers
from nginxopt.bench.result import Result
from nginxopt.bench.scenario import Experiment, Metric
from nginxopt.text.display import count

COLUMNS: dict[Metric, tuple[str, ...]] = {
    "latency": ("p50", "p99", "mean", "cpu", "throughput", "errors"),
    "throughput": ("throughput", "p50", "p99", "cpu", "errors"),
    "cpu": ("cpu", "p50", "p99", "throughput", "errors"),
    "instructions": ("instructions",),
}
"""The figures to show, by metric."""

_BUSY = 0.7  # of a CPU
_QUEUE = "near capacity, latency is mostly queueing (--rate auto avoids that)"
_COMPARED = 3  # how many of them are compared, in addition to CPU and the figures of the scenario


def compared(experiment: Experiment) -> tuple[str, ...]:
    """Return the figures to compare, if measured: the first columns of the table, CPU, and those of the scenario."""
    return tuple(dict.fromkeys((*COLUMNS[experiment.metric][:_COMPARED], "cpu", *experiment.figures)))


def failures(result: Result, variant: str, case: str) -> Counter[str]:
    """Return the failures of all rounds of an attack, by kind: an error without a response, or a status from 500."""
    kinds = Counter[str]()
    for sample in result.samples:
        if (sample.variant, sample.case) == (variant, case):
            statuses = sample.outcome.statuses
            kinds.update(sample.outcome.errors)
            kinds.update({f"status {status}": count for status, count in statuses.items() if status >= "500"})
    return kinds


def busy(result: Result, case: str) -> Iterator[str]:
    """Yield a note for each node near its capacity at the requested rate, whose latency is mostly queueing."""
    rate = result.rates.get(case)
    for summary in result.summaries if rate else ():
        for figure, seconds in summary.figures.items():
            share = seconds * (rate or 0)
            if summary.case == case and figure.startswith("cpu.") and share > _BUSY:
                role = figure.removeprefix("cpu.")
                yield f"{summary.variant}: {role} took {share:.0%} of a CPU; {_QUEUE}"


def redirected(result: Result, case: str) -> Iterator[str]:
    """Yield a note for each status from 201 to 499 of an existing host, as no probe knows whether it is right."""
    for variant in result.experiment.variants:
        statuses = Counter[str]()
        for sample in result.samples if not variant.nodes else ():
            if (sample.variant, sample.case) == (variant.name, case):
                statuses.update(sample.outcome.statuses)
        for status, number in statuses.items():
            if "200" < status < "500":
                yield f"{variant.name} answered {number:,} of {statuses.total():,} requests with {status}"


def load_notes(result: Result) -> Iterator[str]:
    """Yield notes on the load: its limit, its workers and their starts, and lost workers."""
    about = result.provenance
    if "max_rate" in about:
        busiest = about.get("busiest_second", 0)
        yield f"At most {count(busiest, 'request')} began within a second; the limit is {about['max_rate']:,}."
    starts = about.get("load_starts", ())
    if starts:
        workers = [worker for start in starts for worker in start["workers"]]
        skew = max(start["skew"] for start in starts)
        error = max(worker["clock_error"] for worker in workers)
        offset = max(abs(worker["clock_offset"]) for worker in workers)
        yield (
            f"{count(len(about.get('load_workers', ())), 'worker')} made the load, and started at most {_seconds(skew)}"
            f" apart. Their clocks differ by at most {_seconds(offset)}, measured to {_seconds(error)}."
        )
    yield from (f"Lost: {text}." for text in about.get("lost_workers", ()))
    yield from _without_http2(result)


def _without_http2(result: Result) -> Iterator[str]:
    """Yield a note if requests used HTTP/1.1 where clients would use HTTP/2."""
    offered = [attack.measured for attack in result.experiment.attacks if attack.measured and attack.measured.http2]
    generator = str(result.provenance.get("generator", ""))
    if offered and (generator.startswith("wrk") or result.experiment.metric == "instructions"):
        who = "callgrind is asked" if result.experiment.metric == "instructions" else "wrk asks"
        yield f"{offered[0].address} offers HTTP/2, but {who} with HTTP/1.1."


def _seconds(seconds: float) -> str:
    return numbers.quantity("p50", seconds)
