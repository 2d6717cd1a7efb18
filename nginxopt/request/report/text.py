"""A report for people: the rows that did not pass, then what no row reaches, then the counts."""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.request.expectations import RowResult
from nginxopt.request.report.model import COVERED, TestReport, place_of
from nginxopt.text.display import be, count, printable, unicode

_SHOWN = 10
"""The directives that are listed of each part unless all are."""

_RED, _YELLOW, _GREEN, _BOLD = "31", "33", "32", "1"
_COLORS = {"failed": _RED, "unknown": _YELLOW}


def render(report: TestReport, *, color: bool, quiet: bool, verbose: bool) -> Iterator[str]:
    """Yield the lines."""

    def styled(text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if color else text

    for result in report.results.rows:
        if result.verdict != "passed":
            place = f"{printable(report.path)}:{result.row.line}"
            verdict = styled(result.verdict, _COLORS[result.verdict])
            yield f"{styled(place, _BOLD)}: {verdict} {printable(str(result.row.request))}\n"
            yield from (f"    {printable(line)}\n" for line in details(report, result))
    for error in report.broken:
        yield from (f"{printable(line)}\n" for line in error.render().splitlines())
    if quiet:
        return
    yield from _coverage(report, verbose=verbose)
    yield styled(summary(report), _GREEN if report.passed else _RED) + "\n"


def details(report: TestReport, result: RowResult) -> Iterator[str]:
    """Yield what is wrong with a row, the redirects that were followed, and the directive that answered."""
    yield result.problem
    if len(result.chain) > 1:
        yield f"via {' -> '.join(result.chain)}"
    place = report.place(result)
    if place is not None:
        yield f"by {place_of(place)}"


def summary(report: TestReport) -> str:
    """Return the counts, one line."""
    rows = report.results
    counts = [f"{len(found):,} {verdict}" for verdict in ("failed", "unknown") if (found := rows.of(verdict))]
    counts += [f"{len(report.broken):,} broken"] if report.broken else []
    passed = f"{len(rows.of('passed')):,} passed"
    total = len(rows.rows) + len(report.broken)
    return f"{unicode(report.path)}: {count(total, 'row')}: {', '.join([passed, *counts])} ({report.by})"


def _coverage(report: TestReport, *, verbose: bool) -> Iterator[str]:
    for part in COVERED:
        every, places = report.results.reached.of(part), list(report.unreached(part))
        if not places:
            continue
        yield f"{len(places):,} of {count(len(every), part)} {be(len(places))} reached by no row:\n"
        shown = places if verbose else places[:_SHOWN]
        yield from (f"    {printable(place_of(place))}\n" for place in shown)
        if len(shown) < len(places):
            yield f"    ... and {len(places) - len(shown):,} more (-v lists all)\n"
