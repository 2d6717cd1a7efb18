"""The HTML report: findings in their source, whatever is in names and messages."""

from __future__ import annotations

from dataclasses import replace
from xml.etree.ElementTree import Element

import html5lib
import hypothesis.strategies as st
from hypothesis import given

from nginxopt.errors import InputError
from nginxopt.lint.report import render
from nginxopt.lint.report.model import LintReport, Note
from nginxopt.text import Source, Span
from tests.diagnostics import diagnostic, fix, report, span

SOURCE = Source("conf.d/a.conf", b"http {\n    gzip on;\n    gzip_comp_level 9;\n}\n")
AT = span(SOURCE, b"9")
HTML = "{http://www.w3.org/1999/xhtml}"


def document(report_: LintReport) -> Element:
    """The page, parsed strictly."""
    parsed = html5lib.HTMLParser(strict=True).parse("".join(render(report_, "html")))
    assert isinstance(parsed, Element)
    return parsed


def words(element: Element) -> str:
    """The text of an element."""
    return "".join(element.itertext())


def test_a_finding_in_its_source() -> None:
    """The lines about it are shown with their numbers, and the place is marked."""
    page = document(report(diagnostic(SOURCE, AT, fix=fix(SOURCE, AT, b"5"), help="measure `gzip`")))
    (excerpt,) = page.iter(f"{HTML}pre")
    assert words(excerpt).splitlines() == ["1http {", "2    gzip on;", "3    gzip_comp_level 9;", "4}"]
    assert [words(mark) for mark in excerpt.iter(f"{HTML}mark")] == ["9"]
    assert excerpt.get("aria-label") == "conf.d/a.conf:3:21"
    assert [words(line) for line in page.iter(f"{HTML}dd")] == ["write 5 (--fix)", "measure gzip"]
    assert "gzip" in [words(code) for code in page.iter(f"{HTML}code")]
    assert words(next(page.iter(f"{HTML}h1"))) == "1 warning"


def test_files_elsewhere_are_not_quoted() -> None:
    """Of a file that only a configuration names, the place alone is shown."""
    outside = Source("/etc/shadow", b"root:secret\n", outside=True)
    page = document(report(errors=(InputError("no directive", source=outside, span=Span(0, 4)),)))
    assert "secret" not in words(page)
    assert "/etc/shadow:1:1" in words(page)


def test_nothing_found() -> None:
    """A clean run says so, and has no filter."""
    page = document(report(files=("a", "b"), notes=(Note("a.conf includes nothing"),)))
    assert words(next(page.iter(f"{HTML}h1"))) == "No findings in 2 files"
    assert not list(page.iter(f"{HTML}form"))
    assert "a.conf includes nothing" in words(page)


@given(text=st.text(max_size=40), data=st.binary(max_size=80))
def test_whatever_the_text(text: str, data: bytes) -> None:
    """Names, messages and sources are text, never markup, and no byte of them breaks the page."""
    source = Source(f"{text}.conf", data + b"9")
    found = diagnostic(source, Span(len(data), len(data) + 1), help=text)
    page = document(report(replace(found, finding=replace(found.finding, message=f"`{text}`<b>"))))
    assert not list(page.iter(f"{HTML}b")) or words(page).count("<b>") >= 1
    assert [words(mark) for mark in page.iter(f"{HTML}mark")] == ["9"]
