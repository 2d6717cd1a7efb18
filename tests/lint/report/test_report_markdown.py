"""The Markdown report: what a reviewer reads in a pull request, whatever is in names and messages."""

from __future__ import annotations

from dataclasses import replace

import hypothesis.strategies as st
import pytest
from hypothesis import given
from markdown_it import MarkdownIt

from nginxopt.errors import InputError
from nginxopt.lint.report import render
from nginxopt.lint.report.model import LintReport, Note
from nginxopt.settings.vocabulary import Severity
from nginxopt.text import Source
from nginxopt.text.display import printable
from tests.diagnostics import diagnostic, fix, report, span

SOURCE = Source("conf.d/a.conf", b"http {\n    gzip_comp_level 9;\n    gzip_comp_level 9;\n}\n")
AT = span(SOURCE, b"9")


def text(report_: LintReport) -> str:
    """The report."""
    return "".join(render(report_, "markdown"))


def test_a_finding_with_its_advice() -> None:
    """An item names the rule with its page, the place, and what to do."""
    finding = diagnostic(SOURCE, AT, fix=fix(SOURCE, AT, b"5"), help="measure it")
    lines = text(report(finding)).splitlines()
    assert lines[0] == "### nginxopt: 1 warning"
    assert lines[2].startswith("- **warning** [gzip-level](https://")
    assert lines[3:6] == ["  - at `` conf.d/a.conf:2 ``", "  - fix: write 5 (--fix)", "  - help: measure it"]
    assert lines[-1] == "For nginx 1.22.1 (nginx -v)."


def test_findings_that_say_the_same_are_one_item() -> None:
    """Places are listed up to five, and counted from there on."""
    lines = text(report(*(diagnostic(SOURCE, AT) for _ in range(8)))).splitlines()
    assert [line for line in lines if line.startswith("- ")] == [lines[2]]
    assert lines[3].count("conf.d/a.conf:2") == 5
    assert lines[3].endswith(" and 3 more")


def test_the_gravest_come_first_and_advice_is_folded() -> None:
    """Errors stand before warnings; what is only information is behind a click."""
    grades = (Severity.INFO, Severity.WARNING, Severity.ERROR)
    findings = [replace(diagnostic(SOURCE, AT), severity=severity) for severity in grades]
    result = text(report(*findings))
    assert result.startswith("### nginxopt: 1 error, 1 warning, 1 info\n")
    assert (
        result.index("**error**") < result.index("**warning**") < result.index("<details>") < result.index("**info**")
    )


def test_nothing_found() -> None:
    """A clean run is one line, with the version."""
    assert text(report(files=("a", "b"))) == "### nginxopt: no findings in 2 files\n\nFor nginx 1.22.1 (nginx -v).\n"


def test_errors_and_notes() -> None:
    """A file that cannot be read is in the headline; notes follow the findings."""
    error = InputError("} is missing", source=SOURCE, span=AT, expected="a directive")
    result = text(report(errors=(error,), notes=(Note("x.conf is not checked", SOURCE, AT), Note("all is well"))))
    assert result.startswith("### nginxopt: 1 file not checked\n")
    assert "- **error** `` conf.d/a.conf:2 `` } is missing\n  - expected: a directive\n" in result
    assert "\n`` conf.d/a.conf:2 `` x.conf is not checked.\n\nall is well.\n" in result


@given(st.text(min_size=1, max_size=30).map(lambda text: text.replace("/", "|")).filter(str.strip))
@pytest.mark.parametrize("place", ["help", "path"])
def test_nothing_is_markup(place: str, words: str) -> None:
    """No text of a configuration becomes a link, a heading or HTML, and each is read as it is."""
    source = Source(f"a{words}b" if place == "path" else "a.conf", SOURCE.data)
    result = text(report(diagnostic(source, AT, help=f"a{words}b" if place == "help" else "c")))
    html = MarkdownIt().enable("table").render(result)
    tokens = [token for block in MarkdownIt().parse(result) for token in [block, *(block.children or [])]]
    assert not [token for token in tokens if token.type in ("html_block", "html_inline", "image", "fence")]
    assert html.count("<a ") == 1
    shown = "".join(token.content for token in tokens if token.type in ("text", "code_inline", "text_special"))
    shown = shown.replace("\N{WORD JOINER}", "")
    expected = f"a{printable(words)}b"
    assert (expected.replace("`", "'") if place == "path" else expected.replace("`", "")) in shown.replace("`", "")


def test_code_is_code() -> None:
    """What a message has between grave accents is code; a lone one is no beginning of any."""
    result = text(report(diagnostic(SOURCE, AT, help="write `set $a_b [1]; @c` or *`*")))
    assert "help: write \\`set \\$a_b \\[1" in result
    result = text(report(diagnostic(SOURCE, AT, help="write `set $a_b [1]; @c` or *")))
    assert "help: write `set $a_b [1]; @c` or \\*\n" in result
