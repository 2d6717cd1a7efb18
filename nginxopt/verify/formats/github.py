"""A comparison as workflow commands of GitHub Actions, which shows them beside the lines of a pull request."""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.text import workflow
from nginxopt.verify.formats.model import VerifyReport

_COMMANDS = {"different": "error", "unknown": "warning", "changed": "notice"}


def render(report: VerifyReport) -> Iterator[str]:
    """Yield one command per line: what is different, in doubt or changed, then the summary."""
    for finding in report.findings():
        place = {} if finding.place is None else {"file": finding.place.file, "line": str(finding.place.line)}
        lines = [finding.title, *finding.lines]
        yield workflow.command(_COMMANDS[finding.kind], {**place, "title": "nginxopt verify"}, lines)
    yield workflow.command("notice", {"title": "nginxopt verify"}, [report.headline, report.summary])
