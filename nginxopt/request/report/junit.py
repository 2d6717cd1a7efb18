"""A report as JUnit XML: a suite for the table, a test case for each row.

The elements and attributes are those that `junit-10.xsd` of the Jenkins xUnit plugin allows.
"""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree

from nginxopt.request.expectations import RowResult
from nginxopt.request.report.model import TestReport
from nginxopt.request.report.text import details
from nginxopt.text.escape import xml
from nginxopt.text.markup import document


def render(report: TestReport) -> Iterator[str]:
    """Yield the document; a row whose answer is unknown is an error."""
    results = report.results
    counts = {
        "tests": str(len(results.rows)),
        "failures": str(len(results.of("failed"))),
        "errors": str(len(results.of("unknown"))),
    }
    root = ElementTree.Element("testsuites", name="nginxopt test", attrib=counts)
    suite = ElementTree.SubElement(root, "testsuite", name=xml(report.path), attrib=counts)
    suite.extend(_case(report, result) for result in results.rows)
    yield document(root)


def _case(report: TestReport, result: RowResult) -> ElementTree.Element:
    name = f"{result.row.line}: {result.row.request}"
    case = ElementTree.Element("testcase", classname=xml(report.path), name=xml(name))
    if result.verdict != "passed":
        tag = "failure" if result.verdict == "failed" else "error"
        problem = ElementTree.SubElement(case, tag, type=result.verdict, message=xml(result.problem))
        problem.text = xml("\n".join(["", *details(report, result), ""]))
    return case
