"""Reports of findings, with one module per format, imported on demand.

Input is a `LintReport`; output is text in one of `FORMATS` (`render`).
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nginxopt.lint.report.model import LintReport

FORMATS = {
    "text": "findings with their source lines",
    "json": "everything; the schema is lint-report.json",
    "sarif": "SARIF 2.1.0, for code scanning",
    "github": "workflow commands of GitHub Actions",
    "gitlab": "a GitLab Code Quality report",
    "junit": "JUnit XML: a suite for each file, a failure for each finding that sets the status",
    "checkstyle": "Checkstyle XML",
    "markdown": "a comment on a pull request",
    "html": "a page with each finding in its source",
}
"""The formats with their descriptions; each is a module of this package with `render(report)`."""

COUNTED = ("text", "json")
"""The formats that also have `statistics(report)`."""


def render(
    report: LintReport, name: str, *, statistics: bool = False, color: bool = False, quiet: bool = False
) -> Iterator[str]:
    """Yield the report in a format, in pieces that follow each other; all of it can be encoded as UTF-8.

    `statistics` counts by rule instead of listing findings. `color` styles text for a terminal, and `quiet` omits all
    but findings and errors from it. Raises `ValueError` if there is no such format, or no statistics in it.
    """
    if name not in (COUNTED if statistics else FORMATS):
        raise ValueError(f"unknown {'statistics' if statistics else 'report'} format {name}")
    module: Any = import_module(f"nginxopt.lint.report.{name}")
    make = module.statistics if statistics else module.render
    yield from make(report, color=color, quiet=quiet) if name == "text" else make(report)
