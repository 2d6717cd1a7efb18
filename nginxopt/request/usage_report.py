"""The use of a site as reports show it: text for people, and JSON (`nginxopt/schemas/usage-report.json`)."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, Literal

from nginxopt import __version__
from nginxopt.request.batch import DirectiveTally, End, Ends
from nginxopt.request.log_places import LogPlaces
from nginxopt.request.real import SampleComparison
from nginxopt.request.traffic import Traffic
from nginxopt.request.usage import PARTS, Part, Usage, UsedDirective, usage
from nginxopt.semantics.site import LoweredSite
from nginxopt.semantics.site.form import Node
from nginxopt.text import shorten
from nginxopt.text.display import be, count, printable, unicode

VERSION = 1
"""Grows when a reader of reports would have to change."""

State = Literal["used", "not seen", "not logged here"]

_UNUSED: dict[State, str] = {
    "not seen": "not seen, though logged here",
    "not logged here": "not logged here, so that their use is not known",
}
_SHOWN = 20
"""How many directives of each kind the report lists without `--verbose`."""
_WIDTH = 100
"""The longest text of a directive that is shown, in characters."""


@dataclass(frozen=True)
class UsageReport:
    """What became of the requests of a file.

    Attributes:
        path: The file.
        by: The nginx that is taken as given: `nginx 1.22.1`.
        comparison: The answers of a real nginx to some of the requests; None if it was not asked.
        log: What writes to the file, if it is an access log; None for a list of requests, which has all that there are.
    """

    path: str
    traffic: Traffic
    tally: DirectiveTally
    site: LoweredSite
    by: str
    comparison: SampleComparison | None = None
    log: LogPlaces | None = None

    def state(self, use: UsedDirective) -> State:
        """Return whether a directive is used, and if not, whether the file can tell."""
        if use.requests:
            return "used"
        return "not seen" if self.log is None or self.log.logs_here(use.node) else "not logged here"

    @cached_property
    def usage(self) -> Usage:
        """The use of servers, locations and rules."""
        return usage(self.site.site, self.tally.uses)

    @cached_property
    def total(self) -> int:
        """The number of requests."""
        return self.traffic.requests

    @cached_property
    def outcomes(self) -> list[tuple[str, int | None, int]]:
        """Kinds and statuses with the numbers of requests, the most frequent first."""
        counted: Counter[tuple[str, int | None]] = Counter()
        for end, ends in self.tally.ends.items():
            counted[end.kind, end.status] += ends.requests
        return [(kind, status, number) for (kind, status), number in counted.most_common()]

    @cached_property
    def unknown(self) -> list[tuple[End, Ends]]:
        """Why outcomes are not known, the most frequent reason first."""
        unknown = [(end, ends) for end, ends in self.tally.ends.items() if end.kind in ("unknown", "refused")]
        return sorted(unknown, key=lambda pair: -pair[1].requests)

    def named(self, node: Node) -> str:
        """Return a directive; of a server its names, too."""
        text = self.site.nodes.place(node).text
        return f"{text} {self._names[node]}" if self._names.get(node) else text

    @cached_property
    def _names(self) -> dict[Node, str]:
        """The names of each server."""
        servers = self.site.site["servers"]
        return {server["node"]: " ".join(name["text"] for name in server["names"]) for server in servers}


def text(report: UsageReport, *, verbose: bool) -> Iterator[str]:
    """Yield the lines for people."""
    traffic = report.traffic
    yield f"{report.path}: {count(report.total, 'request')} ({traffic.kind}; {report.by})"
    yield from _faults(traffic)
    for kind, status, number in report.outcomes:
        yield _counted(report, number, kind if status is None else f"{kind} {status}")
    for end, ends in islice(report.unknown, _SHOWN):
        where = "" if end.node is None else f", {_line(report, end.node)}"
        yield f"        {ends.requests:,} {end.kind}: {end.reason}{where}, as of {shorten(ends.example, _WIDTH)}"
    for part in PARTS:
        yield from _used(report, part, None if verbose else _SHOWN)
    for part in PARTS:
        yield from _unused(report, part, None if verbose else _SHOWN)
    if report.comparison is not None:
        yield from _compared(report.comparison)


def _compared(comparison: SampleComparison) -> Iterator[str]:
    yield ""
    number = len(comparison.differences)
    result = f"{count(number, 'request')} answered otherwise:" if number else "the same answers"
    yield f"{comparison.nginx}, asked about {count(comparison.compared, 'request')}: {result}"
    for request, clauses in comparison.differences[:_SHOWN]:
        yield f"    {shorten(request, _WIDTH)}: {'; '.join(clauses)}"


def _faults(traffic: Traffic) -> Iterator[str]:
    if traffic.broken:
        numbers = ", ".join(map(str, traffic.broken_lines))
        more = " ..." if traffic.broken > len(traffic.broken_lines) else ""
        yield f"  {count(traffic.broken, 'line')} of another format: {numbers}{more}"
    if traffic.malformed:
        yield f"  {count(traffic.malformed, 'line')} without an HTTP request, which nginx answers with 400"
    yield from (f"  note: {note}" for note in traffic.notes)


def _used(report: UsageReport, part: Part, most: int | None) -> Iterator[str]:
    uses = report.usage.by_use(part)
    if uses:
        yield ""
        yield f"{part}s by use:"
        yield from (_counted(report, use.requests, _line(report, use.node)) for use in uses[:most])
        yield from _more(uses, most)


def _unused(report: UsageReport, part: Part, most: int | None) -> Iterator[str]:
    total = count(len(report.usage.of(part)), part)
    for state, what in _UNUSED.items():
        uses = [use for use in report.usage.unused(part) if report.state(use) == state]
        if uses:
            said = "never used" if report.log is None else what
            yield ""
            yield f"{len(uses):,} of {total} {be(len(uses))} {said}:"
            yield from (f"    {_line(report, use.node)}" for use in uses[:most])
            yield from _more(uses, most)


def _more(uses: Sequence[UsedDirective], most: int | None) -> Iterator[str]:
    if most is not None and len(uses) > most:
        yield f"    ... and {len(uses) - most:,} more (-v lists all)"


def _counted(report: UsageReport, number: int, what: str) -> str:
    return f"  {number:>11,}  {number / max(report.total, 1):>6.1%}  {what}"


def _line(report: UsageReport, node: Node) -> str:
    place = report.site.nodes.place(node)
    return f"{place.path}:{place.line}: {shorten(report.named(node), _WIDTH)}"


def document(report: UsageReport) -> str:
    """Return the JSON document, with its line end."""
    traffic = report.traffic
    content = {
        "version": VERSION,
        "nginxopt": __version__,
        "file": report.path,
        "nginx": report.by,
        "format": traffic.kind,
        "requests": report.total,
        "lines": traffic.lines,
        "broken": {"lines": traffic.broken, "first": traffic.broken_lines},
        "malformed": traffic.malformed,
        "notes": traffic.notes,
        "outcomes": [{"kind": kind, "status": status, "requests": number} for kind, status, number in report.outcomes],
        "unknown": [_unknown_form(report, end, ends) for end, ends in report.unknown],
        **{f"{part}s": _forms(report, part) for part in PARTS},
        "comparison": None if report.comparison is None else _comparison_form(report.comparison),
    }
    return unicode(json.dumps(content, indent=2, ensure_ascii=False)) + "\n"


def _comparison_form(comparison: SampleComparison) -> dict[str, Any]:
    listed = [{"request": request, "differences": list(clauses)} for request, clauses in comparison.differences]
    return {"nginx": comparison.nginx, "compared": comparison.compared, "differences": listed}


def _unknown_form(report: UsageReport, end: End, ends: Ends) -> dict[str, Any]:
    place = None if end.node is None else _place_form(report, end.node)
    return {"reason": end.reason, "requests": ends.requests, "example": ends.example, "place": place}


def _forms(report: UsageReport, part: Part) -> list[dict[str, Any]]:
    """Return the directives of a part: the most used first, then those that are not used."""
    uses = [*report.usage.by_use(part), *report.usage.unused(part)]
    return [{**_place_form(report, use.node), "requests": use.requests, "state": report.state(use)} for use in uses]


def _place_form(report: UsageReport, node: Node) -> dict[str, Any]:
    place = report.site.nodes.place(node)
    return {"file": place.path, "line": place.line, "text": report.named(node)}


def lines(report: UsageReport, *, verbose: bool) -> Iterator[str]:
    """Yield the lines of `text` for a terminal, with their ends."""
    return (f"{printable(line)}\n" for line in text(report, verbose=verbose))
