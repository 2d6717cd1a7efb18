"""The patterns of a table: which row answers first, and at what cost."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nginxopt import _native
from nginxopt.rewrite.tables import read
from nginxopt.rewrite.tables.meaning import Meaning, RowRequest
from nginxopt.rewrite.tables.patterns import NO_MARK, for_plain_paths
from nginxopt.text import Source

REGEXES = ["^/a/(.*)$", "/b(.)", "^/a/b", "(?i)^/A/([^/]+)$", "^/(a|b)/(.*)", "/c$", "^/[?]"]
PATHS = [b"/a/b", b"/a/b?c", b"/b/c", b"/A/x", b"/c", b"/?", b"/a/", b"/a/\n"]


@given(st.lists(st.sampled_from(REGEXES), min_size=1, max_size=12), st.lists(st.sampled_from(PATHS), min_size=1))
def test_the_first_pattern_answers(regexes: list[str], paths: list[bytes]) -> None:
    """The answer is that of the patterns one after the other, also if rows are added between questions."""
    targets = [f"/{number}$1" if "(" in regex.lstrip("(?i)") else f"/{number}" for number, regex in enumerate(regexes)]
    lines = [f"RedirectMatch {regex} {target}\n" for regex, target in zip(regexes, targets, strict=True)]
    rows = read(Source("redirects.conf", "".join(lines).encode()), "apache").rows
    assert len(rows) == len(regexes)
    meaning = Meaning((), in_order=True)
    for number, row in enumerate(rows):
        meaning.add(number, row)
        for path in paths:
            matching = (
                at for at, one in enumerate(rows[: number + 1]) if one.pattern and _is_match(one.pattern.regex, path)
            )
            assert meaning.row(RowRequest(b"", path, b"")) == next(matching, None)


def _is_match(regex: bytes, path: bytes) -> bool:
    return _native.Patterns([regex]).first(path) is not None


def test_a_pattern_more_compiles_few_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Patterns and questions that alternate take hardly longer than one after the other, and a path tries few."""
    compiled: list[int] = []
    patterns = _native.Patterns

    def compiling(regexes: Sequence[bytes]) -> _native.Patterns:
        compiled.append(len(regexes))
        return patterns(regexes)

    monkeypatch.setattr(_native, "Patterns", compiling)
    lines = "".join(f"RedirectMatch ^/old{number}/(.*)$ /new{number}/$1\n" for number in range(512))
    rows = read(Source("redirects.conf", lines.encode()), "apache").rows
    compiled.clear()
    meaning = Meaning((), in_order=True)
    for number, row in enumerate(rows):
        meaning.add(number, row)
        assert meaning.row(RowRequest(b"", b"/old%d/x" % number, b"")) == number
    assert sum(compiled) <= 512 * 10


@pytest.mark.parametrize(
    ("regex", "plain"),
    [
        (b"(?s)^" + NO_MARK + b"/a/(.*)", b"(?s)^/a/(.*)"),
        (b"(?s)(?i)^" + NO_MARK + b".*?(?:/a)", b"(?s)(?i)^.*?(?:/a)"),
        (b"(?s)/a[^" + NO_MARK + b"]", b"(?s)/a[^" + NO_MARK + b"]"),
        (b"(?s)^/a", b"(?s)^/a"),
    ],
)
def test_what_refuses_a_question_mark_is_left_out(regex: bytes, plain: bytes) -> None:
    """Of a pattern for paths without `?`, only where the tool has put it: at the beginning."""
    assert for_plain_paths(regex) == plain
