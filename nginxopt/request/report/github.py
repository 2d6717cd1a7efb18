"""A report as workflow commands of GitHub Actions, which shows them beside the rows of the table."""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.request.report.model import TestReport, line_of
from nginxopt.request.report.text import details, summary
from nginxopt.text import workflow


def render(report: TestReport) -> Iterator[str]:
    """Yield an error for each row that did not pass, then the counts as a notice."""
    for result in report.results.rows:
        if result.verdict != "passed":
            place = {"file": report.path, "line": str(result.row.line), "title": "nginxopt test"}
            yield workflow.command("error", place, [str(result.row.request), *details(report, result)])
    for error in report.broken:
        place = {"file": report.path, "line": str(line_of(error)), "title": "nginxopt test"}
        yield workflow.command("error", place, ["a broken row", error.message])
    yield workflow.command("notice", {"title": "nginxopt test"}, [summary(report)])
