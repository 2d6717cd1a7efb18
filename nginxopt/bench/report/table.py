"""Renders a result for a terminal: the figures of every variant by case, and the ratios of after to before."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nginxopt.bench.report import content, numbers
from nginxopt.bench.result import AttackMedians, GateResult, Result
from nginxopt.text.display import count


def lines(result: Result) -> Iterator[str]:
    """Yield the lines of the table."""
    experiment = result.experiment
    columns = content.COLUMNS[experiment.metric]
    if experiment.metric != "instructions":
        columns += experiment.figures
    yield f"{experiment.title} ({experiment.scenario}, {count(result.rounds, 'round')})"
    yield experiment.expects
    for note in experiment.notes:
        yield f"note: {note}"
    for case in experiment.cases:
        yield ""
        yield from _case(result, case, columns)
    yield from _resources(result)
    yield from _published(result)
    yield from _gates(result.gates)
    notes = list(content.load_notes(result))
    yield from ["", *notes] if notes else []
    if not result.complete:
        yield ""
        yield f"The run ended early: these figures include {count(len(result.samples), 'load run')}."


def _case(result: Result, case: str, columns: Sequence[str]) -> Iterator[str]:
    rate = result.rates.get(case) if result.experiment.metric != "instructions" else None
    of = f", {rate / result.capacities[case]:.0%} of the capacity" if case in result.capacities and rate else ""
    at = f" at {rate:,.0f} req/s{of}" if rate else ""
    rows = [[f"{case}{at}", *columns]]
    for summary in result.summaries:
        if summary.case == case:
            cells = [_cell(summary, name) for name in columns]
            rows.append([f"  {summary.variant}", *cells])
    yield from _aligned(rows)
    yield from _failed(result, case)
    yield from (f"  {line}" for line in (*content.busy(result, case), *content.redirected(result, case)))
    yield from _compared(result, case, content.compared(result.experiment))


def _cell(summary: AttackMedians, figure: str) -> str:
    return numbers.quantity(figure, summary.figures[figure]) if figure in summary.figures else "-"


def _compared(result: Result, case: str, columns: Sequence[str]) -> Iterator[str]:
    for pair in result.experiment.comparisons:
        changes = {
            ratio.figure: numbers.change(ratio)
            for ratio in result.ratios
            if (ratio.before, ratio.after, ratio.case) == (pair.before, pair.after, case)
        }
        shown = [f"{name} {changes[name]}" for name in columns if name in changes]
        if shown:
            yield f"  {pair.before} -> {pair.after}: {', '.join(shown)}"


def _failed(result: Result, case: str) -> Iterator[str]:
    for variant in result.experiment.variants:
        kinds = content.failures(result, variant.name, case)
        if kinds:
            yield f"  {variant.name} failed: {', '.join(f'{count:,} {kind}' for kind, count in kinds.most_common())}"


def _resources(result: Result) -> Iterator[str]:
    """Yield lines with the resources of each variant, idle and under load."""
    rows = [["", "nginx -t", "memory (PSS)"]]
    for variant in result.experiment.variants:
        of_variant = [summary.figures for summary in result.summaries if summary.variant == variant.name]
        memory = [figures["pss"] for figures in of_variant if "pss" in figures]
        seconds = result.test_seconds.get(variant.name)
        if memory and seconds is not None:
            cells = numbers.quantity("mean", seconds), numbers.quantity("pss", max(memory))
            rows.append([f"  {variant.name}", *cells])
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
        verdict = "held" if gate.holds else "FAILED" if gate.decided else "open"
        if not gate.decided:
            yield f"{verdict:<7} {gate.gate}: too few rounds to decide it ({gate.where})"
            continue
        yield f"{verdict:<7} {gate.gate}: {gate.value:.4g} ({gate.where}), {numbers.margin(gate)}"


def _aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for name, *cells in rows:
        yield "  ".join(
            [name.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(cells, widths[1:], strict=True))]
        )
