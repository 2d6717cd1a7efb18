"""A Checkstyle report, which many servers and editors read.

The format is that of `com.puppycrawl.tools.checkstyle.XMLLogger`.
"""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree

from nginxopt.lint.report.model import LintReport, Locatable, advice, details, ends
from nginxopt.lint.report.xml import sections
from nginxopt.text.display import xml
from nginxopt.text.markup import document


def render(report: LintReport) -> Iterator[str]:
    """Yield every file that was checked with its findings and errors."""
    root = ElementTree.Element("checkstyle", version="4.3")
    for section in sections(report):
        file = ElementTree.SubElement(root, "file", name=xml(section.path))
        for diagnostic in section.diagnostics:
            text = "; ".join([diagnostic.message, *advice(diagnostic)])
            _add(file, diagnostic.finding, str(diagnostic.severity), text, f"nginxopt.{diagnostic.rule}")
        for error in section.errors:
            _add(file, error, "error", "; ".join([error.message, *details(error)]), "nginxopt.input")
    yield document(root)


def _add(file: ElementTree.Element, placed: Locatable, severity: str, message: str, source: str) -> None:
    positions = ends(placed)
    # Entries without a position get the first line.
    line, column = (1, 1) if positions is None else (positions[0].line, positions[0].column)
    attributes = {"line": str(line), "column": str(column), "severity": severity, "message": xml(message)}
    ElementTree.SubElement(file, "error", attributes, source=source)
