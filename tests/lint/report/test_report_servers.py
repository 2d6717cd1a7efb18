"""The reports for GitHub Actions and GitLab, parsed as those servers parse them."""

from __future__ import annotations

import json
import re
from typing import Any

from hypothesis import given

from nginxopt.errors import InputError
from nginxopt.lint import Severity
from nginxopt.lint.report import github, gitlab
from nginxopt.lint.report.model import LintReport, Note
from nginxopt.text import Source, Span
from nginxopt.text.display import unicode
from tests.diagnostics import diagnostic, fix, report, reports, span
from tests.schemas import validator

SOURCE = Source("a.conf", b"gzip_comp_level 9;\ngzip on;\n")
AT = span(SOURCE, b"9")

# The table of "Code Quality report format" in GitLab's documentation; no more keys than it has.
GITLAB = {
    "type": "array",
    "items": {
        "type": "object",
        "properties": {
            "description": {"type": "string"},
            "check_name": {"type": "string", "minLength": 1},
            "fingerprint": {"type": "string", "minLength": 1},
            "severity": {"enum": ["info", "minor", "major", "critical", "blocker"]},
            "location": {
                "type": "object",
                "properties": {
                    "path": {"type": "string", "minLength": 1, "not": {"pattern": "^\\./"}},
                    "lines": {
                        "type": "object",
                        "properties": {"begin": {"type": "integer", "minimum": 1}, "end": {"type": "integer"}},
                        "required": ["begin"],
                    },
                },
                "required": ["path", "lines"],
                "additionalProperties": False,
            },
        },
        "required": ["description", "check_name", "fingerprint", "severity", "location"],
        "additionalProperties": False,
    },
}


def commands(report_: LintReport) -> list[tuple[str, dict[str, str], str]]:
    """The commands as GitHub's runner reads them, line by line: name, properties, message."""
    return [command(line) for line in "".join(github.render(report_)).split("\n")[:-1]]


def command(line: str) -> tuple[str, dict[str, str], str]:
    """Name, properties and message of a command."""
    match = re.fullmatch(r"::(\w+) ((?:[^:]|:(?!:))*)::(.*)", line)
    assert match, line
    assert "\r" not in line
    pairs = (pair.split("=", 1) for pair in match[2].split(","))
    return match[1], {key: unescaped(value, "0D", "0A", "3A", "2C") for key, value in pairs}, unescaped(match[3])


def unescaped(text: str, *codes: str) -> str:
    """Text with the escapes taken back, that of `%` last."""
    for code in [*(codes or ("0D", "0A")), "25"]:
        text = text.replace(f"%{code}", chr(int(code, 16)))
    return text


def github_reads_every_command(report_: LintReport) -> None:
    """No text of a file, path or message ends a command or starts one; its place is that of the finding."""
    read = commands(report_)
    assert len(read) == len(report_.diagnostics) + len(report_.errors) + len(report_.notes)
    for (_, properties, _), diagnostic_ in zip(read, report_.diagnostics, strict=False):
        assert properties["file"] == unicode(diagnostic_.path)
        assert properties["title"] == diagnostic_.rule
        assert (properties["line"], properties["endLine"]) == (str(diagnostic_.start.line), str(diagnostic_.end.line))


def test_github_has_the_severity() -> None:
    """Each severity is a command; errors are errors, and notes notices."""
    diagnostics = [diagnostic(SOURCE, AT, severity=severity) for severity in Severity]
    read = commands(report(*diagnostics, errors=(InputError("e"),), notes=(Note("n", SOURCE, AT),)))
    assert [name for name, _, _ in read] == ["notice", "warning", "error", "error", "notice"]


def test_github_gets_columns_of_one_line_only() -> None:
    """A finding of several lines has no columns, which the runner would refuse."""
    single, several = commands(report(diagnostic(SOURCE, AT), diagnostic(SOURCE, Span(0, 25))))
    assert (single[1]["col"], single[1]["endColumn"]) == ("17", "18")
    assert several[1].keys() == {"file", "line", "endLine", "title"}


def test_github_escapes() -> None:
    """The escapes are those of GitHub's documentation."""
    source = Source("a,b:c%d.conf", SOURCE.data)
    output = "".join(github.render(report(diagnostic(source, AT, message="50% of\r\n::error::it, all"))))
    assert output.startswith(
        "::warning file=a%2Cb%3Ac%25d.conf,line=1,endLine=1,col=17,endColumn=18,title=gzip-level::"
    )
    assert "::50%25 of\\r\\n::error::it, all%0Ahttps://" in output


def issues(report_: LintReport) -> list[dict[str, Any]]:
    """The report as GitLab reads it, which holds to its documentation."""
    codequality: list[dict[str, Any]] = json.loads("".join(gitlab.render(report_)))
    validator(GITLAB).validate(codequality)
    return codequality


def gitlab_reads_every_issue(report_: LintReport) -> None:
    """Every finding and error is an issue, and no two issues have one fingerprint."""
    listed = issues(report_)
    assert len(listed) == len(report_.diagnostics) + len(report_.errors)
    assert len({issue["fingerprint"] for issue in listed}) == len(listed)


@given(reports())
def test_github_and_gitlab_read_every_report(report_: LintReport) -> None:
    """Each of the laws above holds; they are put to the same reports, which take longer to draw than to check."""
    github_reads_every_command(report_)
    gitlab_reads_every_issue(report_)


def test_gitlab_knows_an_issue_again_when_lines_move() -> None:
    """Lines above a finding change its line and not its fingerprint."""
    moved = Source("a.conf", b"# more\n" + SOURCE.data)
    (original,) = issues(report(diagnostic(SOURCE, AT)))
    (other,) = issues(report(diagnostic(moved, span(moved, b"9"))))
    assert (original["location"]["lines"]["begin"], other["location"]["lines"]["begin"]) == (1, 2)
    assert original["fingerprint"] == other["fingerprint"]


def test_gitlab_has_what_there_is() -> None:
    """A file that cannot be read is a blocker at its first line."""
    diagnostics = [diagnostic(SOURCE, AT, severity=severity) for severity in Severity]
    assert [issue["severity"] for issue in issues(report(*diagnostics))] == ["info", "major", "critical"]
    (issue,) = issues(report(diagnostic(SOURCE, Span(0, 25), fix=fix(SOURCE, AT, b"5"))))
    assert issue["description"] == "gzip_comp_level 9 costs more than it saves; fix: write 5 (--fix)"
    assert issue["check_name"] == "gzip-level"
    assert issue["location"] == {"path": "a.conf", "lines": {"begin": 1, "end": 2}}


def test_gitlab_gets_errors_as_blockers() -> None:
    """A file that could not be read is a blocker at its first line."""
    (issue,) = issues(report(errors=(InputError("no such file", path="x.conf"),)))
    assert (issue["severity"], issue["check_name"]) == ("blocker", "input")
    assert issue["location"] == {"path": "x.conf", "lines": {"begin": 1, "end": 1}}


def test_nothing_found_is_an_empty_report() -> None:
    """A clean run is an empty array for GitLab, and no command for GitHub."""
    assert "".join(gitlab.render(report())) == "[]\n"
    assert "".join(github.render(report())) == ""
