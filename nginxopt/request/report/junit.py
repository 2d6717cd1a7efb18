"""A report as JUnit XML: a suite for the table, a test case for each row.

The elements and attributes are those that `junit-10.xsd` of the Jenkins xUnit plugin allows.
"""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree

from nginxopt.errors import InputError
from nginxopt.request.expectations import RowResult
from nginxopt.request.report.model import TestReport, line_of
from nginxopt.request.report.text import details
from nginxopt.text.display import xml
from nginxopt.text.markup import document


def render(report: TestReport) -> Iterator[str]:
    """Yield the document; a row whose answer is unknown, or that is broken, is an error."""
    results = report.results
    counts = {
        "tests": str(len(results.rows) + len(report.broken)),
        "failures": str(len(results.of("failed"))),
        "errors": str(len(results.of("unknown")) + len(report.broken)),
    }
    root = ElementTree.Element("testsuites", name="nginxopt test", attrib=counts)
    suite = ElementTree.SubElement(root, "testsuite", name=xml(report.path), attrib=counts)
    suite.extend(_case(report, result) for result in results.rows)
    suite.extend(_broken(report, error) for error in report.broken)
    yield document(root)


def _case(report: TestReport, result: RowResult) -> ElementTree.Element:
    name = f"{result.row.line}: {result.row.request}"
    case = ElementTree.Element("testcase", classname=xml(report.path), name=xml(name))
    if result.verdict != "passed":
        tag = "failure" if result.verdict == "failed" else "error"
        problem = ElementTree.SubElement(case, tag, type=result.verdict, message=xml(result.problem))
        problem.text = xml("\n".join(["", *details(report, result), ""]))
    return case


def _broken(report: TestReport, error: InputError) -> ElementTree.Element:
    case = ElementTree.Element("testcase", classname=xml(report.path), name=f"{line_of(error)}: a broken row")
    problem = ElementTree.SubElement(case, "error", type="broken", message=xml(error.message))
    problem.text = xml(f"\n{error.render()}\n")
    return case
