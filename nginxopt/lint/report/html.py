"""A report as one page to read and to pass on: each finding in its source, with filters by severity, rule and file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from nginxopt.errors import InputError
from nginxopt.lint.diagnostic import Diagnostic
from nginxopt.lint.report.model import LintReport, Locatable, Note, advice, by_rule, details, ends, headline, relative
from nginxopt.lint.report.text import fixes, measures
from nginxopt.records import record
from nginxopt.text import page
from nginxopt.text.display import count, printable

_AROUND = 2
"""Lines of the source that are shown before a place and after it."""
_WIDEST = 240
"""The most characters of a line that are shown, around the place that is marked."""


@record(eq=True)
class _Line:
    """A line of a source, of which a part may be marked."""

    number: int
    before: str
    marked: str = ""
    after: str = ""


@record(eq=True)
class _Shown:
    """A finding on the page."""

    severity: str
    rule: str
    url: str | None
    message: str
    place: str
    lines: tuple[_Line, ...]
    advice: tuple[tuple[str, str], ...]


@record(eq=True)
class _Unread:
    """A file or rule that failed."""

    place: str
    message: str
    lines: tuple[_Line, ...]
    details: tuple[str, ...]


@record(eq=True)
class _Group:
    """The findings in a file."""

    path: str
    findings: tuple[_Shown, ...]


def render(report: LintReport) -> Iterator[str]:
    """Yield the page."""
    verdict = headline(report)
    severities = Counter(diagnostic.severity for diagnostic in report.diagnostics)
    yield page.render(
        "nginxopt.lint",
        verdict=verdict[:1].upper() + verdict[1:],
        heading=list(_heading(report)),
        fixes=[line.strip() for line in fixes(report)],
        measures=[line.strip() for line in measures(report)],
        severities=[(str(severity), severities[severity]) for severity in sorted(severities, reverse=True)],
        rules=list(by_rule(report)),
        groups=list(_groups(report)),
        errors=[_unread(error, report) for error in report.errors],
        notes=[_note(note, report) for note in report.notes],
    )


def _heading(report: LintReport) -> Iterator[str]:
    if report.diagnostics or report.errors:  # the verdict names them otherwise
        yield count(len(report.files), "file")
    guess = "a guess: " if report.target.is_guess else ""
    yield f"for nginx {report.target.version} ({guess}{report.target.origin})"
    if report.places() > len(report.diagnostics):
        yield f"{report.places():,} places"


def _groups(report: LintReport) -> Iterator[_Group]:
    """Yield the files with findings, in the order of the report."""
    groups: dict[str, list[Diagnostic]] = {}
    for diagnostic in report.diagnostics:
        groups.setdefault(printable(relative(diagnostic.path, report.base)), []).append(diagnostic)
    for path, found in groups.items():
        yield _Group(path, tuple(_shown(diagnostic, report) for diagnostic in found))


def _shown(diagnostic: Diagnostic, report: LintReport) -> _Shown:
    parts = [line.partition(": ") for line in advice(diagnostic)]
    parts += [("note", ": ", f"{_place(place, None, report)}: {place.message}") for place in diagnostic.finding.related]
    return _Shown(
        str(diagnostic.severity),
        diagnostic.rule,
        diagnostic.url,
        printable(diagnostic.message),
        _place(diagnostic.finding, diagnostic.path, report),
        tuple(_lines(diagnostic.finding)),
        tuple((name, printable(text)) for name, _, text in parts),
    )


def _unread(error: InputError, report: LintReport) -> _Unread:
    lines, told = tuple(_lines(error)), tuple(map(printable, details(error)))
    return _Unread(_place(error, error.path, report), printable(error.message), lines, told)


def _note(note: Note, report: LintReport) -> str:
    place = "" if note.source is None else f"{_place(note, None, report)}: "
    return f"{place}{printable(note.message)}"


def _place(placed: Locatable, path: str | None, report: LintReport) -> str:
    """Return `file:line:column`, as far as known."""
    path = path if placed.source is None else placed.source.path
    at = ends(placed)
    return printable(relative(path or "", report.base)) + (f":{at[0].line}:{at[0].column}" if at else "")


def _lines(placed: Locatable) -> Iterator[_Line]:
    """Yield the lines around a place, which is marked in its first line; none if the file may not be shown."""
    at = ends(placed)
    if at is None or placed.source is None or placed.source.outside:
        return
    source, (start, end) = placed.source, at
    last = source.position(len(source.data)).line
    for number in range(max(1, start.line - _AROUND), min(last, start.line + _AROUND) + 1):
        text = source.line(number)
        if number != start.line:
            if number < last or text:
                yield _Line(number, _cut(text))
            continue
        first = min(start.column - 1, len(text))
        stop = end.column - 1 if end.line == start.line else len(text)
        before, marked, after = text[:first], text[first : max(stop, first + 1)], text[max(stop, first + 1) :]
        before = f"…{_cut(before[-_WIDEST:])}" if len(before) > _WIDEST else _cut(before)
        yield _Line(number, before, _cut(marked), _cut(after))


def _cut(text: str) -> str:
    """Return the beginning of a text, without characters that control a terminal or reverse text; tabs stay."""
    shown = "\t".join(map(printable, text[:_WIDEST].split("\t")))
    return f"{shown}…" if len(text) > _WIDEST else shown
