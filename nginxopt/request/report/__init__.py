"""Reports of the results of a table, with one module per format, imported on demand.

Input is a `TestReport`; output is text in one of `FORMATS` (`render`).
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nginxopt.request.report.model import TestReport

FORMATS = {
    "text": "rows that did not pass, and what no row reaches",
    "json": "everything about them; the schema is test-report.json",
    "junit": "JUnit XML: a test case for each row",
    "github": "workflow commands of GitHub Actions",
}
"""The formats with their descriptions; each is a module of this package with `render(report)`."""


def render(
    report: TestReport, name: str, *, color: bool = False, quiet: bool = False, verbose: bool = False
) -> Iterator[str]:
    """Yield the report in a format, in pieces that follow each other; all of it can be encoded as UTF-8.

    `color` styles text for a terminal; `quiet` leaves out of it all but problems, `verbose` lists all that no row
    reaches.
    """
    module: Any = import_module(f"nginxopt.request.report.{name}")
    of_text = {"color": color, "quiet": quiet, "verbose": verbose} if name == "text" else {}
    yield from module.render(report, **of_text)
