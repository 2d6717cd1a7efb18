"""A report as text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from nginxopt.fleet.report.drift import FileDrift, FileForm, condensed
from nginxopt.fleet.report.facts import FleetReport
from nginxopt.fleet.report.traffic import SavedByRule
from nginxopt.text import fit
from nginxopt.text.display import count, printable

_ROWS = 20
_DIFFERENCES = 12
_WIDEST = 72


def render(report: FleetReport) -> Iterator[str]:
    """Yield the report, a section at a time; long tables end with the number of rows that are left out."""
    totals = report.totals
    yield (
        f"{count(totals.hosts, 'host')}, {count(totals.configurations, 'different configuration')},"
        f" {count(totals.files, 'different file')}\n"
        f"findings on all hosts: {count(totals.errors, 'error')}, {count(totals.warnings, 'warning')},"
        f" {totals.infos:,} info\n"
    )
    yield from _table(
        "Hosts that cannot be read or parsed",
        ("hosts", "such as", "error"),
        [(f"{error.hosts:,}", error.host, _at(error.path, error.line) + error.message) for error in report.errors],
    )
    yield from _table(
        "Findings by rule",
        ("rule", "severity", "hosts", "findings"),
        [(rule.rule, rule.severity, f"{rule.hosts:,}", f"{rule.findings:,}") for rule in report.rules],
    )
    yield from _table(
        "Findings by group",
        ("group", "hosts", "configurations", "error", "warning", "info", "with errors"),
        [
            (
                group.group,
                *_numbers(
                    group.hosts,
                    group.configurations,
                    group.errors,
                    group.warnings,
                    group.infos,
                    group.hosts_with_errors,
                ),
            )
            for group in report.shared
        ],
    )
    if len(report.groups) > 1 and report.alone:
        yield f"\n{report.alone}\n"
    yield from _savings(report)
    yield from _drift(report.drift)
    if report.since is not None:
        yield from _since(report)
    yield from _table(
        "Rows of the table that failed",
        ("line", "hosts", "such as", "request", "problem"),
        [(str(row.line), f"{row.hosts:,}", row.host, row.request, row.problem) for row in report.failed],
    )
    yield from _table(
        "Worst hosts",
        ("host", "group", "error", "warning", "info"),
        [(host.host, host.group, *_numbers(host.errors, host.warnings, host.infos)) for host in report.worst],
    )


def _savings(report: FleetReport) -> Iterator[str]:
    """Yield what findings cost: under the traffic of the hosts if it is known, otherwise for one request each."""
    traffic = report.traffic
    if traffic is None:
        yield from _table(
            "What would save most, by one request to each host",
            ("rule", "hosts", "instructions", "connections"),
            [(saved.rule, *_numbers(saved.hosts, saved.instructions, saved.connections)) for saved in report.savings],
        )
        return
    yield f"\n{traffic_of(report)}\n"
    yield from _table(
        "What would save most a day, under that traffic",
        ("rule", "hosts", "requests", "CPU", "connections", "most on"),
        [
            (saved.rule, *_numbers(saved.hosts, saved.requests), cpu(saved), f"{saved.connections:,}", saved.host)
            for saved in traffic.savings
        ],
    )


def traffic_of(report: FleetReport) -> str:
    """Return the sentences about the traffic of the hosts and what nginx needs for it."""
    traffic = report.traffic
    assert traffic is not None
    text = (
        f"Traffic of {traffic.hosts:,} of {count(report.totals.hosts, 'host')}:"
        f" {count(traffic.requests, 'request')} a day."
    )
    if traffic.share is not None:
        low, high = (100 * share for share in traffic.share)
        of = "" if traffic.hosts == 1 else f" on all of them, most on {printable(traffic.busiest or '')}"
        text += f" nginx itself needs {figure(low)} to {figure(high)} % of a processor core{of}."
    return f"{text} Nothing is worth a change for CPU." if traffic.is_small else text


def cpu(saved: SavedByRule) -> str:
    """Return the processor time that a day saves."""
    low, high = saved.cpu_seconds
    return f"{figure(low)} to {figure(high)} s"


def figure(value: float) -> str:
    """Return a figure with two digits."""
    return f"{float(f'{value:.2g}'):,g}"


def _since(report: FleetReport) -> Iterator[str]:
    since = report.since
    assert since is not None
    title = (
        f"New since {since.result} ({count(since.fixed, 'finding')} fixed, {count(since.hosts_added, 'host')} added,"
        f" {since.hosts_gone:,} gone)"
    )
    rows = [(new.rule, new.severity, f"{new.hosts:,}", new.host, new.message) for new in since.new]
    yield from _table(title, ("rule", "severity", "hosts", "such as", "message"), rows or [("none", "", "", "", "")])


def _drift(files: Sequence[FileDrift]) -> Iterator[str]:
    if files:
        yield "\nDrift: hosts of a group that should be alike\n"
    for file in files[:_ROWS]:
        usual = file.variants[0]
        what = "is missing" if usual.text is None else "is the same"
        name = f"{printable(file.group)}: {printable(file.path)}"
        yield (
            f"  {name} has {count(len(file.variants), 'variant')}; it {what} on {usual.hosts:,} of"
            f" {count(file.hosts, 'host')}\n"
        )
        for variant in file.variants[1:]:
            yield from (f"    {line}\n" for line in variant_lines(variant, usual))
    yield from (f"{line}\n" for line in _left_out(len(files), _ROWS))


def variant_lines(variant: FileForm, usual: FileForm) -> Iterator[str]:
    """Yield what a variant is, and how it differs from the usual one."""
    who = ", ".join(variant.names[:3]) + (f" and {variant.hosts - 3:,} more" if variant.hosts > 3 else "")
    alone = " alone" if variant.is_alone else ""
    if variant.text is None:
        what = " lacks it" if variant.is_alone else " lack it"
    elif usual.text is None:
        what = " has it" if variant.is_alone else " have it"
    elif variant.differences is None:
        what = ": not compared"
    else:
        what = ":" if variant.differences else ": only comments or layout differ"
    yield printable(f"{who}{alone}{what}")
    differences = condensed(variant.differences or ())
    for difference in differences[:_DIFFERENCES]:
        where = f" in {difference.context}" if difference.context else ""
        change = f"{_shown(difference.here)}, usually {_shown(difference.usual)}"
        yield printable(fit(f"  {difference.name}{where}: {change}", 2 * _WIDEST))
    yield from _left_out(len(differences), _DIFFERENCES)


def _shown(args: str | None) -> str:
    return "absent" if args is None else args or "present"


def _numbers(*values: int) -> tuple[str, ...]:
    return tuple(f"{value:,}" for value in values)


def _at(path: str | None, line: int | None) -> str:
    return "" if path is None else f"{path}: " if line is None else f"{path}:{line}: "


def _table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    if not rows:
        return
    yield f"\n{title}\n"
    cells = [heads, *([fit(printable(cell), _WIDEST) for cell in row] for row in rows[:_ROWS])]
    widths = [max(len(row[number]) for row in cells) for number in range(len(heads))]
    for row in cells:
        yield "  " + "  ".join(_padded(cell, width) for cell, width in zip(row, widths, strict=True)).rstrip() + "\n"
    yield from (f"{line}\n" for line in _left_out(len(rows), _ROWS))


def _left_out(rows: int, most: int) -> Iterable[str]:
    return [f"  ... and {rows - most:,} more (--format json has all)"] if rows > most else []


def _padded(cell: str, width: int) -> str:
    return f"{cell:>{width}}" if cell.replace(",", "").isdigit() else f"{cell:{width}}"
