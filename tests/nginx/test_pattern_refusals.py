"""Patterns that every PCRE refuses are refused by each nginx that is there, whatever library it has."""

from __future__ import annotations

from pathlib import Path

import pytest

from nginxopt.lint import pattern_error
from tests.support import NGINXES, nginx_verdict

pytestmark = pytest.mark.nginx

_ALL = [
    "^/(?", "(?", "(?<", "(?<a", "(?P", "(?P<a>", "(?i", "(?-", "(?%)", "(?<:a>b)", "(?<a>b)(?<a>c)", "(?P<a>b)(?'a'c)",
    "a**", "a+*", "a{2}{3}", "a*+?", "(a)??*", "[a", "*a", "a{2,1}", "[z-a]", "a(b", "a)b", "(?:a",
    "a$*", "(.$*)", "a$?", "^*a", "^+/a", "a${2}", r"\b*a", r"\A?a", r"a\z+", r"\G*a", r"a\K*b", r"a\Z*?",
    "^/(?<ax)", "(?<a-b>c)", "(?'a)", "(?P<a", "(?<a.", "(?<>a)", "(?P=a", "(?&a", "(?P>)", "(?P=a)",
    "(?<a>b)(?&c)", r"\k<a", r"\k{a}", "(?(a)b)", "(?1)", "(?R", "(?C256)", "(?#a", "(?m:a", "(?>a", "(?=a", "(?|a",
    "(?<a>b)(?(<a>)c|d|e)", "(?<=a*)b", "(?<!a+b)c", "[[:foo:]]", "[[.a.]]", "[[=a=]]", "[:alpha:]", r"a\c",
    r"\php", r"[\ph]", r"\p", r"\P7", r"\p.", r"\p{", r"\p{}", r"\p{^}", r"\p{h}", r"\p^L",
]  # fmt: skip


@pytest.mark.parametrize("pattern", _ALL)
def test_all_refuse_it(tmp_path: Path, pattern: str) -> None:
    """And so do we."""
    assert pattern_error(pattern.encode()) is not None
    (tmp_path / "nginx.conf").write_text(
        f'events {{}}\nhttp {{ server {{ listen unix:{tmp_path}/s; location ~ "{pattern}" {{}} }} }}\n'
    )
    assert NGINXES
    for binary in NGINXES:
        verdict = nginx_verdict(binary, tmp_path)
        assert not verdict.ok
        assert "compile() failed" in verdict.reasons[0]
