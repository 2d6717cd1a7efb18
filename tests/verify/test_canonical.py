"""Groups that `verify` takes for the same capture the same, whatever PCRE matches."""

from __future__ import annotations

from hypothesis import assume, given
from hypothesis import strategies as st

from nginxopt._native import captures
from nginxopt.verify.symbols import Capture, Derived, Join, KnownBytes, Match, Variable, behind_segments, canonical
from tests.rows import every_row

RESTS = (
    b"(.*)$",
    b"([^/]*)/(.*)",
    b"(a|/)+(b)?",
    b"x?(.*)\\z",
    b"(?<n>[ab/]+?)(/.*)?$",
    b"(\\n)?",
    b"^(a)",
    b"[/a]*(b)",
    b"",
)


@every_row(
    ("pattern", "same"),
    [
        (rb"^/a/b/(.*)$", rb"^/[^/]*/[^/]*/(.*)$"),
        (rb"^/a\.b-c//(x)", rb"^/[^/]*/[^/]*/(x)"),
        (rb"^/a/b?(x)/", rb"^/[^/]*/b?(x)/"),
        (rb"^/a/?(.*)", rb"^/a/?(.*)"),
        (rb"^/a/+(.*)", rb"^/a/+(.*)"),
        (rb"^/a/{2}(.*)", rb"^/a/{2}(.*)"),
        (rb"^/a.b/(.*)", rb"^/a.b/(.*)"),
        (rb"^/a\/(.*)", rb"^/a\/(.*)"),
        (rb"^/\d/(.*)", rb"^/\d/(.*)"),
        (rb"(?i)^/a/(.*)", rb"(?i)^/a/(.*)"),
        (rb"/a/(.*)", rb"/a/(.*)"),
        (rb"^a/(.*)", rb"^a/(.*)"),
        (rb"^/a/(.*)|/b", rb"^/a/(.*)|/b"),
        (rb"^/a/(?i)(.*)", rb"^/a/(?i)(.*)"),
        (rb"^/a/(x)\1", rb"^/a/(x)\1"),
        (rb"^/a/((x)y)", rb"^/a/((x)y)"),
        (rb"^/a/(?<=a/)(.*)", rb"^/a/(?<=a/)(.*)"),
    ],
)
def test_what_stands_for_a_pattern(pattern: bytes, same: bytes) -> None:
    """Any segments stand for plain ones before what does not depend on them; otherwise the pattern stays."""
    assert behind_segments(pattern) == same
    assert behind_segments(same) == same


@given(
    st.lists(st.sampled_from([b"a", b"b", b"ab", b""]), max_size=3),
    st.sampled_from(RESTS),
    st.text("ab/\n", max_size=7),
)
def test_captures_are_the_same(segments: list[bytes], rest: bytes, tail: str) -> None:
    """Where the pattern matches, both capture the same."""
    start = b"/".join([b"", *segments, b""])
    pattern, subject = b"^" + start + rest, start + tail.encode()
    found = captures(pattern, subject)
    assume(found is not None)
    assert captures(behind_segments(pattern), subject) == found


def test_values() -> None:
    """Captures stand for others wherever they are in a value."""

    def value(pattern: bytes) -> object:
        group = Capture(Match(Variable("uri"), pattern), "1", "redirect")
        return (Join((KnownBytes(b"/x/"), group)), frozenset([("k", Derived("more", (group,)))]), None, "301")

    assert value(rb"^/a/(.*)$") != value(rb"^/b/(.*)$")
    assert canonical(value(rb"^/a/(.*)$")) == canonical(value(rb"^/b/(.*)$"))
    assert canonical(value(rb"^/a/(.*)$")) != canonical(value(rb"^/b/c/(.*)$"))
