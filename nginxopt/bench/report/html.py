"""Renders a result as a self-contained HTML page without scripts and network access, with the numbers of the JSON.

The page is a template (`templates/report.html.j2`) that escapes all values except the charts, which
`nginxopt.bench.report.charts` draws. It follows the reader's light or dark mode, and prints light.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from nginxopt.bench.measure import PERCENTILES
from nginxopt.bench.report import content, numbers, sentences
from nginxopt.bench.report.charts import distribution, growth, ratios
from nginxopt.bench.report.charts.figure import Figure
from nginxopt.bench.result import AttackMedians, Ratio, Result
from nginxopt.bench.scenario import VariantPair
from nginxopt.records import record
from nginxopt.text import page
from nginxopt.text.display import count

_RANKS = tuple(f"p{rank}" for rank in PERCENTILES)
_GROUPS = (
    ("Latency", (*_RANKS, "mean")),
    ("Answers", ("throughput", "hits_a_day", "errors")),
    ("Cost", ("instructions", "cpu", "rss", "pss", "time_wait")),
)
_MOST_COLUMNS = 6
_NOTHING = "\u2013"


@record(eq=True)
class Conclusion:
    """The result of a comparison: how far the first figure changed and where, and a sentence for each figure."""

    pair: str
    figure: str
    headline: str
    sentences: tuple[str, ...]


@record(eq=True)
class PageRow:
    """A row of a table: its head and its cells."""

    head: str
    cells: tuple[str, ...]


@record(eq=True)
class RowGroup:
    """Rows of a table that belong together."""

    title: str
    rows: tuple[PageRow, ...]


@record(eq=True)
class PageTable:
    """A table: title, column heads, and groups of rows."""

    title: str
    caption: str
    columns: tuple[str, ...]
    groups: tuple[RowGroup, ...]


def render(result: Result) -> str:
    """Return the page. Raises `MissingError` without the chart package (`nginxopt.bench.report.vega`)."""
    return page.render("nginxopt.bench", **_page(result))


def _page(result: Result) -> dict[str, Any]:
    compared = {ratio.figure for ratio in result.ratios}
    figures = [figure for figure in content.compared(result.experiment) if figure in compared]
    return {
        "result": result,
        "experiment": result.experiment,
        "heading": list(_heading(result)),
        "notes": [*result.experiment.notes, *_busy(result)],
        "conclusions": list(_conclusions(result, figures)),
        "gates": [(gate, numbers.margin(gate)) for gate in result.gates],
        "figures": [figure for figure in _figures(result, figures) if figure is not None],
        "ratios": _ratios(result, figures),
        "tables": list(_cases(result)),
        "published": list(_published(result)),
        "variants": list(_variants(result)),
        "loads": list(_loads(result)),
        "provenance": list(_provenance(result)),
        "lost_workers": result.provenance.get("lost_workers", ()),
        "commands": dict(result.provenance.get("commands", {})),
    }


def _heading(result: Result) -> Iterator[str]:
    about = result.provenance
    if "date" in about:
        yield _date(about["date"])
    if "nginx" in about:
        yield str(about["nginx"])
    yield count(result.rounds, "round")
    yield f"by {result.experiment.metric}"
    match about:
        case {"load": [int() | float() as load, *_], "cpus": int(cpus)}:
            yield f"load average {load:g} on {count(cpus, 'CPU')} before it"


def _date(text: str) -> str:
    """Return an ISO 8601 date in words; any other text unchanged."""
    try:
        return datetime.fromisoformat(text).strftime("%Y-%m-%d %H:%M UTC")
    except (TypeError, ValueError):
        return str(text)


def _busy(result: Result) -> Iterator[str]:
    for case in result.experiment.cases if result.experiment.metric != "instructions" else ():
        lines = (*content.busy(result, case), *content.redirected(result, case))
        yield from (f"{case}, {line}." for line in lines)


def _conclusions(result: Result, figures: Sequence[str]) -> Iterator[Conclusion]:
    for pair in result.experiment.comparisons:
        by_figure = {figure: list(_of(result, pair.before, pair.after, figure)) for figure in figures}
        compared = {figure: ratios for figure, ratios in by_figure.items() if ratios}
        if compared:
            first = next(iter(compared))
            lines = tuple(sentences.conclusion(figure, ratios) for figure, ratios in compared.items())
            yield Conclusion(sentences.pair(pair), sentences.name(first), sentences.headline(compared[first]), lines)


def _of(result: Result, before: str, after: str, figure: str) -> Iterator[Ratio]:
    for ratio in result.ratios:
        if (ratio.before, ratio.after, ratio.figure) == (before, after, figure):
            yield ratio


def _figures(result: Result, figures: Sequence[str]) -> Iterator[Figure | None]:
    yield ratios.draw(result, figures)
    for figure in dict.fromkeys((content.COLUMNS[result.experiment.metric][0], "cpu")):
        yield growth.draw(result, figure)
    yield distribution.draw(result)


def _ratios(result: Result, figures: Sequence[str]) -> PageTable:
    groups = []
    for pair in result.experiment.comparisons:
        rows = []
        for case in result.experiment.cases:
            ratios = {ratio.figure: ratio for ratio in result.ratios if _is_of(ratio, pair) and ratio.case == case}
            if ratios:
                cells = (_two_lines(ratios[figure]) if figure in ratios else _NOTHING for figure in figures)
                rows.append(PageRow(case, tuple(cells)))
        groups.append(RowGroup(sentences.pair(pair), tuple(rows)))
    caption = "Median ratios of the rounds, with 95 % intervals."
    return PageTable(
        "All ratios", caption, tuple(map(sentences.name, figures)), tuple(group for group in groups if group.rows)
    )


def _two_lines(ratio: Ratio) -> str:
    """Return a ratio, with its interval on a second line."""
    first, _, interval = numbers.change(ratio).partition(" (")
    return f"{first}\n{interval.removesuffix(')')}" if interval else first


def _is_of(ratio: Ratio, pair: VariantPair) -> bool:
    return (ratio.before, ratio.after) == (pair.before, pair.after)


def _cases(result: Result) -> Iterator[PageTable]:
    """Yield the figures of each case; many variants are divided into tables that fit on paper."""
    for case in result.experiment.cases:
        summaries = [summary for summary in result.summaries if summary.case == case]
        for start in range(0, len(summaries), _MOST_COLUMNS):
            yield _case(result, case, summaries[start : start + _MOST_COLUMNS])


def _case(result: Result, case: str, summaries: Sequence[AttackMedians]) -> PageTable:
    names = tuple(summary.variant for summary in summaries)
    groups = [RowGroup(title, tuple(_rows(summaries, figures))) for title, figures in _groups(summaries)]
    groups.append(RowGroup("Failed requests, all rounds", tuple(_failed(result, case, names))))
    groups.append(RowGroup("Start", tuple(_start(result, names))))
    return PageTable(case, _conditions(result, case), names, tuple(group for group in groups if group.rows))


def _rows(summaries: Sequence[AttackMedians], figures: Sequence[str]) -> Iterator[PageRow]:
    """Yield a row for each figure that at least one of the summaries has."""
    for figure in figures:
        values = [summary.figures.get(figure) for summary in summaries]
        if any(value is not None for value in values):
            yield PageRow(_head(figure), tuple(_cell(figure, value) for value in values))


def _cell(figure: str, value: float | None) -> str:
    return _NOTHING if value is None else numbers.quantity(figure, value)


def _failed(result: Result, case: str, variants: Sequence[str]) -> Iterator[PageRow]:
    failures = [content.failures(result, name, case) for name in variants]
    for kind in dict.fromkeys(kind for kinds in failures for kind in kinds):
        yield PageRow(kind, tuple(f"{kinds[kind]:,}" for kinds in failures))


def _start(result: Result, variants: Sequence[str]) -> Iterator[PageRow]:
    durations = [result.test_seconds.get(name) for name in variants]
    if any(seconds is not None for seconds in durations):
        yield PageRow("nginx -t", tuple(_cell("mean", seconds) for seconds in durations))


def _groups(summaries: Sequence[AttackMedians]) -> Iterator[tuple[str, tuple[str, ...]]]:
    yield from _GROUPS
    figures = dict.fromkeys(figure for summary in summaries for figure in summary.figures)
    alone = sum(figure.startswith("cpu.") for figure in figures) == 1  # the CPU time of a single node is that of all
    kinds = ("accepts", "requests") if alone else ("cpu", "accepts", "requests")
    yield "By node", tuple(figure for figure in figures if figure.partition(".")[0] in kinds and "." in figure)


def _head(figure: str) -> str:
    if figure in _RANKS:
        rank = figure.removeprefix("p")
        return f"{rank} %" + {"50": " (median)", "100": " (longest)"}.get(rank, "")
    return figure if figure == "mean" else sentences.name(figure)


def _conditions(result: Result, case: str) -> str:
    """Return the rate of a case, and its share of the capacity if that was measured."""
    rate = result.rates.get(case)
    if rate is None or result.experiment.metric == "instructions":
        return ""
    capacity = result.capacities.get(case)
    share = f", {rate / capacity:.0%} of the capacity of the slowest variant ({capacity:,.0f})" if capacity else ""
    return f"At {rate:,.0f} requests per second{share}."


def _published(result: Result) -> Iterator[tuple[str, str, str, str]]:
    """Yield for each published figure: what it is, its values, their ratio, and the measured ratio by case."""
    for figure in result.experiment.published:
        ours = list(_of(result, *figure.compares, figure.figure)) if len(figure.compares) == 2 else []
        yield (
            figure.what,
            f"{figure.before} \u2192 {figure.after}" if figure.before else figure.after,
            f"{numbers.times(figure.ratio)} x" if figure.ratio else _NOTHING,
            "; ".join(f"{ratio.case}: {numbers.change(ratio)}" for ratio in ours) or "not measured alike",
        )


def _variants(result: Result) -> Iterator[tuple[str, str]]:
    for variant in result.experiment.variants:
        nodes = [f"{node.role}: {node.says}" for node in variant.nodes if node.says]
        yield variant.name, "; ".join([variant.says, *nodes])


def _loads(result: Result) -> Iterator[tuple[str, str]]:
    """Yield the load and the targets of each case, as given for its first variant."""
    for case in result.experiment.cases:
        attack = next(attack for attack in result.experiment.attacks if attack.case == case)
        counted = any(sample.instructions is not None for sample in result.samples)
        how = "callgrind, one request after the other" if counted else sentences.load(attack.load)
        yield case, f"{how}: {sentences.targets(attack) if attack.measured is None else sentences.told(attack)}"


def _provenance(result: Result) -> Iterator[tuple[str, str]]:
    about = result.provenance
    for head, text in (
        ("Command", shlex.join(map(str, about.get("command", ())))),
        ("Date", about.get("date")),
        ("nginxopt", about.get("nginxopt")),
        ("nginx", " ".join(str(about[key]) for key in ("nginx", "path") if key in about)),
        ("Load generator", about.get("generator")),
        ("Load", " ".join(content.load_notes(result))),
        ("Runner", about.get("runner")),
        ("Target", about.get("target")),
        ("Addresses", about.get("addresses")),
        ("Address used", about.get("address")),
        ("Kernel", " ".join(str(about[key]) for key in ("kernel", "architecture") if key in about)),
        ("CPU", " x ".join(str(about[key]) for key in ("cpus", "cpu") if key in about)),
        ("Memory", numbers.quantity("rss", about["memory"]) if isinstance(about.get("memory"), int) else None),
        ("Load average before", ", ".join(map(str, about.get("load", ())))),
    ):
        if text:
            yield head, str(text)
