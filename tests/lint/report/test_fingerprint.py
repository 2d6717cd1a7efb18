"""Fingerprints of findings: which changes keep them, and which make another one."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nginxopt.lint import Diagnostic
from nginxopt.lint.report.fingerprint import fingerprints
from nginxopt.lint.report.model import relative
from nginxopt.text import Source, Span
from tests.diagnostics import diagnostic, span
from tests.rows import every_row

TEXT = b"http {\n    gzip_comp_level 9;\n    gzip_comp_level 8;\n}\n"


def of(text: bytes, marked: bytes = b"gzip_comp_level 9;", path: str = "/etc/nginx/a.conf") -> str:
    """The fingerprint of a finding at the first place of `marked`."""
    source = Source(path, text)
    (fingerprint,) = fingerprints([diagnostic(source, span(source, marked))], "/etc/nginx")
    return fingerprint


@pytest.mark.parametrize(
    "text",
    [
        b"# a comment\n\n" + TEXT,
        TEXT.replace(b"    ", b"\t\t"),
        TEXT.replace(b"\n", b"\r\n"),
        TEXT.replace(b"level 8", b"level 7"),
        b"gzip_comp_level 9;",
    ],
)
def test_it_survives_what_happens_around_the_finding(text: bytes) -> None:
    """Lines before and after, indentation and line ends do not change it."""
    assert of(text) == of(TEXT)


def test_it_survives_a_move_of_the_folder() -> None:
    """It depends on the path inside the folder, however the file is named."""
    source = Source("./conf.d/../a.conf", TEXT)
    finding = diagnostic(source, span(source, b"gzip_comp_level 9;"))
    assert fingerprints([finding], "/srv/other") == (of(TEXT),)


def test_it_survives_another_wording() -> None:
    """The message of a rule does not change the fingerprint."""
    source = Source("a.conf", TEXT)
    short, other = (diagnostic(source, span(source, b"9"), message=message) for message in ("this", "that"))
    assert fingerprints([short], "/") == fingerprints([other], "/")


def test_it_tells_apart() -> None:
    """Another rule, another file, another text of the line: another fingerprint."""
    source = Source("/etc/nginx/a.conf", TEXT)
    other_rule = fingerprints([diagnostic(source, span(source, b"9"), rule="gzip-other")], "/etc/nginx")[0]
    prints = [of(TEXT), other_rule, of(TEXT, path="/etc/nginx/b.conf"), of(TEXT, b"gzip_comp_level 8;")]
    assert len(set(prints)) == len(prints)


def test_a_finding_of_several_lines_has_them_all() -> None:
    """Each marked line counts; the line after a final newline does not."""
    source = Source("a.conf", TEXT)
    first, second = span(source, b"gzip_comp_level 9;\n"), span(source, b"9;\n    gzip_comp_level 8;")
    single, both = fingerprints([diagnostic(source, first), diagnostic(source, second)], "/")
    assert single == fingerprints([diagnostic(source, span(source, b"9"))], "/")[0]
    assert both != single


@st.composite
def findings(draw: st.DrawFn) -> list[Diagnostic]:
    """Diagnostics of two rules at any places of two files with equal lines."""
    text = b"".join(draw(st.lists(st.sampled_from([b"a;", b" ", b"\n", b"\r\n", b"\xff", b"\0"]), max_size=20)))
    sources = [Source(path, text) for path in ("a", "b")]
    places = st.tuples(st.integers(0, len(text)), st.integers(0, len(text)))
    return [
        diagnostic(draw(st.sampled_from(sources)), Span(min(place), max(place)), rule=draw(st.sampled_from("xy")))
        for place in draw(st.lists(places, max_size=8))
    ]


@given(findings(), st.randoms(use_true_random=False))
def test_no_two_are_alike_in_any_order(diagnostics: list[Diagnostic], random: Random) -> None:
    """Each finding has a fingerprint of its own, whatever the order of the findings."""
    prints = fingerprints(diagnostics, "/")
    assert len(prints) == len(set(prints)) == len(diagnostics)
    turned = sorted(diagnostics, key=lambda _: random.random())
    assert set(fingerprints(turned, "/")) == set(prints)


@every_row(
    ("path", "base", "expected"),
    [
        ("a.conf", "/srv", "a.conf"),
        ("./d/../a.conf", "/srv/", "a.conf"),
        ("/srv/d/a.conf", "/srv", "d/a.conf"),
        ("/srvd/a.conf", "/srv", "/srvd/a.conf"),
        ("../a.conf", "/srv/x", "/srv/a.conf"),
        ("/etc/nginx.conf", "/", "etc/nginx.conf"),
        ("-", "/srv", "-"),
    ],
)
def test_paths_below_the_folder_are_relative(path: str, base: str, expected: str) -> None:
    """A path below the folder is relative to it, any other absolute."""
    assert relative(path, base) == expected
