"""A report as JUnit XML: a suite for each file, a failure for each finding that sets the exit status.

Other findings are test cases that pass, with their text as output; so does a file without findings.

The elements and attributes are those that `junit-10.xsd` of the Jenkins xUnit plugin allows.
"""

from __future__ import annotations

from collections.abc import Iterator
from xml.etree import ElementTree

from nginxopt.errors import InputError
from nginxopt.lint.diagnostic import Diagnostic
from nginxopt.lint.report.model import LintReport, Locatable, advice, details, ends
from nginxopt.lint.report.xml import Section, sections
from nginxopt.settings.vocabulary import Severity
from nginxopt.text import Source, Span
from nginxopt.text.display import xml
from nginxopt.text.markup import document


def render(report: LintReport) -> Iterator[str]:
    """Yield the suites; a file that could not be read or parsed has an error in its suite."""
    suites = [_suite(section, report.fail_on) for section in sections(report)]
    root = ElementTree.Element("testsuites", name="nginxopt lint")
    for name in ("tests", "failures", "errors"):
        root.set(name, str(sum(int(suite.attrib[name]) for suite in suites)))
    root.extend(suites)
    yield document(root)


def _suite(section: Section, fail_on: Severity) -> ElementTree.Element:
    path = xml(section.path)
    fails = [diagnostic.severity >= fail_on for diagnostic in section.diagnostics]
    cases = [
        (_failure if failed else _passed)(path, diagnostic)
        for diagnostic, failed in zip(section.diagnostics, fails, strict=True)
    ]
    cases += [_error(path, error) for error in section.errors]
    counts = {"failures": str(sum(fails)), "errors": str(len(section.errors))}
    cases = cases or [_case(path, "no findings")]
    suite = ElementTree.Element("testsuite", name=path, tests=str(len(cases)), attrib=counts)
    suite.extend(cases)
    return suite


def _failure(path: str, diagnostic: Diagnostic) -> ElementTree.Element:
    case = _named(path, diagnostic)
    failure = ElementTree.SubElement(case, "failure", type=str(diagnostic.severity), message=xml(diagnostic.message))
    failure.text = _text(diagnostic)
    return case


def _passed(path: str, diagnostic: Diagnostic) -> ElementTree.Element:
    case = _named(path, diagnostic)
    head = f"{diagnostic.severity}: {xml(diagnostic.message)}"
    ElementTree.SubElement(case, "system-out").text = f"{head}{_text(diagnostic)}"
    return case


def _named(path: str, diagnostic: Diagnostic) -> ElementTree.Element:
    return _case(path, f"{diagnostic.rule}{_at(diagnostic.finding)}")


def _text(diagnostic: Diagnostic) -> str:
    source, at = diagnostic.finding.source, diagnostic.finding.span
    return xml("\n".join(["", *_snippet(source, at), *advice(diagnostic), *filter(None, [diagnostic.url]), ""]))


def _error(path: str, error: InputError) -> ElementTree.Element:
    case = _case(path, f"input{_at(error)}")
    element = ElementTree.SubElement(case, "error", type="input", message=xml(error.message))
    snippet = [] if error.source is None or error.span is None else _snippet(error.source, error.span)
    element.text = xml("\n".join(["", *snippet, *details(error), ""]))
    return case


def _case(path: str, name: str) -> ElementTree.Element:
    return ElementTree.Element("testcase", classname=path, name=name)


def _at(placed: Locatable) -> str:
    positions = ends(placed)
    return "" if positions is None else f" at {positions[0].line}:{positions[0].column}"


def _snippet(source: Source, span: Span) -> list[str]:
    """Return the line of a place with carets, unless it is in a file that the user did not name."""
    return [] if source.outside else [source.snippet(span)]
