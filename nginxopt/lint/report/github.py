"""A report as workflow commands of GitHub Actions, which shows them beside the lines of a pull request."""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.lint.report.model import LintReport, Locatable, advice, details, ends, relative
from nginxopt.settings.vocabulary import Severity
from nginxopt.text import workflow

_COMMANDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}


def render(report: LintReport) -> Iterator[str]:
    """Yield one command per line: findings, errors, and notes as notices."""
    for diagnostic in report.diagnostics:
        place = _place(diagnostic.finding, diagnostic.path, report.base)
        lines = [diagnostic.message, *advice(diagnostic), *filter(None, [diagnostic.url])]
        yield workflow.command(_COMMANDS[diagnostic.severity], {**place, "title": diagnostic.rule}, lines)
    for error in report.errors:
        lines = [error.message, *details(error)]
        yield workflow.command("error", {**_place(error, error.path, report.base), "title": "nginxopt"}, lines)
    for note in report.notes:
        path = None if note.source is None else note.source.path
        yield workflow.command("notice", {**_place(note, path, report.base), "title": "nginxopt"}, [note.message])


def _place(placed: Locatable, path: str | None, base: str) -> dict[str, str]:
    if path is None:
        return {}
    properties = {"file": relative(path, base)}
    positions = ends(placed)
    if positions is None:
        return properties
    start, end = positions
    properties |= {"line": str(start.line), "endLine": str(end.line)}
    # The runner takes columns only where both ends are in one line.
    return properties | ({"col": str(start.column), "endColumn": str(end.column)} if start.line == end.line else {})
