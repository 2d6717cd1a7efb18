"""The XML reports: JUnit and Checkstyle."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from xml.etree import ElementTree

from hypothesis import given

from nginxopt.errors import InputError
from nginxopt.lint.report import checkstyle, junit
from nginxopt.lint.report.model import LintReport
from nginxopt.text import Source
from nginxopt.text.display import xml
from tests.diagnostics import diagnostic, fix, report, reports, span
from tests.rows import every_row

SOURCE = Source("a.conf", b"gzip_comp_level 9;\n")
AT = span(SOURCE, b"9")
ERROR = InputError("it ends ]]> \x1b", path="b.conf", nginx="unexpected end of file")

# What junit-10.xsd of the Jenkins xUnit plugin allows: attributes, those that must be there, and elements.
JUNIT = {
    "testsuites": ({"name", "tests", "failures", "errors"}, set(), {"testsuite"}),
    "testsuite": ({"name", "tests", "failures", "errors"}, {"name", "tests", "failures", "errors"}, {"testcase"}),
    "testcase": ({"name", "classname"}, {"name"}, {"failure", "error"}),
    "failure": ({"type", "message"}, set(), set()),
    "error": ({"type", "message"}, set(), set()),
}


def parsed(render: Callable[[LintReport], Iterator[str]], report_: LintReport) -> ElementTree.Element:
    """The root of the document that a report is."""
    return ElementTree.fromstring("".join(render(report_)).encode())


def junit_has_the_form_that_servers_know(report_: LintReport) -> None:
    """Every report is well-formed and has the elements and attributes of the schema, and no others."""
    for element in parsed(junit.render, report_).iter():
        allowed, required, inside = JUNIT[element.tag]
        assert required <= set(element.attrib) <= allowed
        assert {child.tag for child in element} <= inside


def junit_counts_what_it_lists(report_: LintReport) -> None:
    """The counts of each suite and of the whole are those of its cases, and every finding and error is one."""
    root = parsed(junit.render, report_)
    for element in [root, *root.iter("testsuite")]:
        for name, tag in [("tests", "testcase"), ("failures", "failure"), ("errors", "error")]:
            assert int(element.attrib[name]) == len(list(element.iter(tag)))
    assert (int(root.attrib["failures"]), int(root.attrib["errors"])) == (len(report_.diagnostics), len(report_.errors))


def test_junit_passes_a_file_without_findings() -> None:
    """A file that was checked and has no findings is a suite that passes; one that could not be is an error."""
    report_ = report(diagnostic(SOURCE, AT, fix=fix(SOURCE, AT, b"5")), files=("c.conf", "a.conf"), errors=(ERROR,))
    clean, failed, broken = parsed(junit.render, report_)
    assert (clean.attrib["name"], clean.attrib["tests"], clean.attrib["failures"]) == ("c.conf", "1", "0")
    assert list(clean[0]) == []
    assert failed[0].attrib == {"classname": "a.conf", "name": "gzip-level at 1:17"}
    assert failed[0][0].attrib == {"type": "warning", "message": "gzip_comp_level 9 costs more than it saves"}
    assert (failed[0][0].text or "").split("\n")[1:4] == [
        "gzip_comp_level 9;",
        "                ^",
        "fix: write 5 (--fix)",
    ]
    assert broken[0][0].attrib == {"type": "input", "message": "it ends ]]> \ufffd"}
    assert "as nginx words it: unexpected end of file" in (broken[0][0].text or "")


def checkstyle_lists_files_and_errors(report_: LintReport) -> None:
    """Every report is well-formed: every file once, with its findings and errors in order."""
    root = parsed(checkstyle.render, report_)
    assert root.tag == "checkstyle"
    names = [file.attrib["name"] for file in root]
    assert names[: len(report_.files)] == [xml(path) for path in report_.files]
    listed = [error.attrib for error in root.iter("error")]
    assert len(listed) == len(report_.diagnostics) + len(report_.errors)
    for attributes in listed:
        assert attributes.keys() == {"line", "column", "severity", "message", "source"}
        assert attributes["severity"] in {"info", "warning", "error"}
        assert min(int(attributes["line"]), int(attributes["column"])) >= 1


@given(reports())
def test_every_report_is_what_servers_know(report_: LintReport) -> None:
    """Each of the laws above holds; they are put to the same reports, which take longer to draw than to check."""
    junit_has_the_form_that_servers_know(report_)
    junit_counts_what_it_lists(report_)
    checkstyle_lists_files_and_errors(report_)


def test_checkstyle_has_what_there_is() -> None:
    """A finding has its place, severity, message with the fix, and the rule as its source."""
    report_ = report(diagnostic(SOURCE, AT, fix=fix(SOURCE, AT, b"5")), files=("a.conf",), errors=(ERROR,))
    (finding,), (error,) = parsed(checkstyle.render, report_)
    assert finding.attrib == {
        "line": "1",
        "column": "17",
        "severity": "warning",
        "message": "gzip_comp_level 9 costs more than it saves; fix: write 5 (--fix)",
        "source": "nginxopt.gzip-level",
    }
    assert error.attrib["message"] == "it ends ]]> \ufffd; as nginx words it: unexpected end of file"


@every_row("render", [junit.render, checkstyle.render])
@every_row("message", ["]]>", "<&\"'>", "ä中👍"])
def test_text_comes_back(render: Callable[[LintReport], Iterator[str]], message: str) -> None:
    """What XML can carry is read as it was written."""
    root = parsed(render, report(diagnostic(SOURCE, AT, message=message)))
    assert message in [element.attrib.get("message") for element in root.iter()]
