"""Patterns that some PCRE takes are not refused."""

from __future__ import annotations

from nginxopt.lint import pattern_error
from tests.rows import every_row

_SOME = [
    "a*?",
    "a*+",
    "a{2}+",
    "\\\\x{61}*",
    "(?x)a + # ++",
    "[*+]+",
    "(*COMMIT)a",
    "\\\\1x",
    "(?<a>b)[(?]",
    "\\\\Q(?\\\\E",
    "(?#(?)a",
    "(?J)(?<a>b)(?<a>c)",
    "(?|(?<a>b)|(?<a>c))",
    "(?i)a",
    "(?i-s:a)",
    "[[(?]",
    # what some releases read
    "(?<*a)b",
    "(?<=a|bc)d",
    "(?X)a",
    "(?n)a",
    "(*NO_JIT)a",
    "(*sr:a)",
    "\\\\8",
    "\\\\y",
    "\\\\x{zz}",
    "(?<1a>b)",
    "(?''a)",
    "(?<aaaaaaaaaabbbbbbbbbbccccccccccddd>x)",
]


@every_row("pattern", _SOME)
def test_what_looks_like_it_is_not_refused(pattern: str) -> None:
    """Some PCRE takes it."""
    assert pattern_error(pattern.replace("\\\\", "\\").encode()) is None
