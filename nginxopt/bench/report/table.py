"""A result as text for a terminal: for each case the figures of every variant, and what after is over before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from nginxopt.bench.measure import FIGURES
from nginxopt.bench.result import GateResult, Ratio, Result
from nginxopt.bench.scenario import Experiment, Metric

COLUMNS: dict[Metric, tuple[str, ...]] = {
    "latency": ("p50", "p99", "mean", "cpu", "throughput", "errors"),
    "throughput": ("throughput", "p50", "p99", "cpu", "errors"),
    "cpu": ("cpu", "p50", "p99", "throughput", "errors"),
    "instructions": ("instructions",),
}
"""The figures that are shown, by what the run is about."""

_NEAR = 0.005  # to 1, which is not 1.00
_BUSY = 0.7  # of a CPU
_QUEUE = "near the capacity of a worker, latency is that of the queue (--rate auto keeps away from it)"
_COMPARED = 3  # of them, how many are compared, beside CPU and what the scenario is about
_SCALES = {"s": ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns")), "B": ((1e6, "MB"), (1e3, "KB"), (1.0, "B"))}


def lines(result: Result) -> Iterator[str]:
    """Yield the lines of the table."""
    experiment = result.experiment
    columns = (*COLUMNS[experiment.metric], *(experiment.figures if experiment.metric != "instructions" else ()))
    yield f"{experiment.title} ({experiment.scenario}, {result.rounds} rounds)"
    yield experiment.expects
    for note in experiment.notes:
        yield f"note: {note}"
    for case in experiment.cases:
        yield ""
        yield from _case(result, case, columns)
    yield from _resources(result)
    yield from _published(result)
    yield from _gates(result.gates)
    if not result.complete:
        yield ""
        yield f"The run was ended early: {len(result.samples)} of its attacks are in these figures."


def compared(experiment: Experiment) -> tuple[str, ...]:
    """Return the figures that are compared, those that were measured: the first of the table, CPU, the scenario's."""
    return tuple(dict.fromkeys((*COLUMNS[experiment.metric][:_COMPARED], "cpu", *experiment.figures)))


def value(figure: str, number: float) -> str:
    """Return a figure as it is shown: three digits and its unit."""
    unit = FIGURES.get(figure.partition(".")[0], "")
    for scale, name in _SCALES.get(unit, ()):
        if abs(number) >= scale:
            return f"{_digits(number / scale)} {name}"
    return f"{_digits(number)} {unit}".strip()


def comparison(ratio: Ratio) -> str:
    """Return a ratio as it is shown, with its interval; no number where no difference was seen."""
    if ratio.low == ratio.high == ratio.ratio:
        return f"{times(ratio.ratio)} x"
    if ratio.low <= 1 <= ratio.high:
        return f"no difference seen ({times(ratio.low)} to {times(ratio.high)} x)"
    if not ratio.difference:
        return f"{times(ratio.ratio)} x (too few rounds to tell)"
    return f"{times(ratio.ratio)} x ({times(ratio.low)} to {times(ratio.high)})"


def times(ratio: float) -> str:
    """Return a ratio as it is shown: two decimals, or two digits where it is small, or four decimals next to 1."""
    if ratio >= 100:
        return f"{ratio:,.0f}"
    if 0 < abs(ratio - 1) < _NEAR:
        return f"{ratio:.4f}"
    return f"{ratio:.2f}" if ratio >= 0.1 or not ratio else f"{ratio:.2g}"


def margin(gate: GateResult) -> str:
    """Return how far a value lies inside or beyond the limit of its gate: as a share of it, where it is not zero."""
    if not gate.margin:
        return "at the limit"
    size = f"{abs(gate.margin):.1%}" if gate.limit else f"{abs(gate.margin):.4g}"
    return f"{size} {'inside' if gate.margin > 0 else 'beyond'} the limit"


def failures(result: Result, variant: str, case: str) -> Counter[str]:
    """Return what failed how, of all rounds of an attack: no answer, by the reason, or a status from 500."""
    kinds = Counter[str]()
    for sample in result.samples:
        if (sample.variant, sample.case) == (variant, case):
            kinds.update(sample.errors)
            kinds.update({f"status {status}": count for status, count in sample.statuses.items() if status >= "500"})
    return kinds


def busy(result: Result, case: str) -> Iterator[str]:
    """Say which nodes were near their capacity at a rate that was asked for: there, latency is that of the queue."""
    rate = result.rates.get(case)
    for summary in result.summaries if rate else ():
        for figure, seconds in summary.figures.items():
            share = seconds * (rate or 0)
            if summary.case == case and figure.startswith("cpu.") and share > _BUSY:
                role = figure.removeprefix("cpu.")
                yield f"{summary.variant}: {role} took {share:.0%} of a CPU; {_QUEUE}"


def _case(result: Result, case: str, columns: Sequence[str]) -> Iterator[str]:
    rate = result.rates.get(case) if result.experiment.metric != "instructions" else None
    of = f", {rate / result.capacities[case]:.0%} of the capacity" if case in result.capacities and rate else ""
    at = f" at {rate:,.0f} req/s{of}" if rate else ""
    rows = [[f"{case}{at}", *columns]]
    for summary in result.summaries:
        if summary.case == case:
            cells = [value(name, summary.figures[name]) if name in summary.figures else "-" for name in columns]
            rows.append([f"  {summary.variant}", *cells])
    yield from _aligned(rows)
    yield from _failed(result, case)
    yield from (f"  {line}" for line in busy(result, case))
    yield from _compared(result, case, compared(result.experiment))


def _compared(result: Result, case: str, columns: Sequence[str]) -> Iterator[str]:
    for pair in result.experiment.comparisons:
        found = {
            ratio.figure: comparison(ratio)
            for ratio in result.ratios
            if (ratio.before, ratio.after, ratio.case) == (pair.before, pair.after, case)
        }
        shown = [f"{name} {found[name]}" for name in columns if name in found]
        if shown:
            yield f"  {pair.before} -> {pair.after}: {', '.join(shown)}"


def _failed(result: Result, case: str) -> Iterator[str]:
    for variant in result.experiment.variants:
        kinds = failures(result, variant.name, case)
        if kinds:
            yield f"  {variant.name} failed: {', '.join(f'{count:,} {kind}' for kind, count in kinds.most_common())}"


def _resources(result: Result) -> Iterator[str]:
    """What each variant takes before it is asked anything, and while it is."""
    rows = [["", "nginx -t", "memory (PSS)"]]
    for variant in result.experiment.variants:
        most = [
            found.figures["pss"]
            for found in result.summaries
            if found.variant == variant.name and "pss" in found.figures
        ]
        seconds = result.test_seconds.get(variant.name)
        if most and seconds is not None:
            rows.append([f"  {variant.name}", value("mean", seconds), value("pss", max(most))])
    if len(rows) > 1:
        yield ""
        yield from _aligned(rows)


def _published(result: Result) -> Iterator[str]:
    if result.experiment.published:
        yield ""
        yield "Published:"
    for figure in result.experiment.published:
        change = f"{figure.before} -> {figure.after}" if figure.before else figure.after
        ratio = f" ({figure.ratio:.2f} x)" if figure.ratio else ""
        yield f"  {figure.what}: {change}{ratio}"


def _gates(gates: Sequence[GateResult]) -> Iterator[str]:
    if gates:
        yield ""
    for gate in gates:
        yield f"{'held' if gate.holds else 'FAILED':<7} {gate.gate}: {gate.value:.4g} ({gate.where}), {margin(gate)}"


def _aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for name, *cells in rows:
        yield "  ".join(
            [name.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True))]
        )


def _digits(number: float) -> str:
    if number >= 999.5:
        return f"{number:,.0f}"
    return f"{number:.3g}"
