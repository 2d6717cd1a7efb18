"""Which rules are run, how severe their findings are, and which findings are reported."""

from __future__ import annotations

import pytest

from nginxopt.errors import UsageError
from nginxopt.lint import Diagnostic, Finding, Severity, selection
from nginxopt.lint.settings import Settings
from nginxopt.text import Source, Span
from tests.lint.sample_rules import RULES


def ids(*, select: tuple[str, ...] = (), ignore: tuple[str, ...] = (), **values: object) -> set[str]:
    """The ids of the rules that are selected by settings and command line."""
    chosen = selection.selection(RULES.values(), Settings(**values), select=select, ignore=ignore)  # type: ignore[arg-type]
    return {rule.id for rule, _ in chosen}


def test_the_default_rules_are_asked() -> None:
    """Without settings the default rules are selected, and each says itself how severe its findings are."""
    chosen = selection.selection(RULES.values(), Settings())
    assert [(rule.id, severity, rule.severity) for rule, severity in chosen] == [
        ("keepalive-missing", None, Severity.WARNING),
        ("cache-stampede", None, Severity.WARNING),
        ("gzip-level", None, Severity.WARNING),
    ]


DEFAULT = {"keepalive-missing", "cache-stampede", "gzip-level"}


def test_selecting() -> None:
    """Names select as the reference says: ids and `all` anything, categories their default rules."""
    assert ids(select=("zone-missing",)) == {"zone-missing"}
    assert ids(select=("proxy",)) == {"keepalive-missing"}
    assert ids(select=("all",)) == set(RULES)
    assert ids(select=("all", "proxy")) == set(RULES)
    assert ids(extend_select=("zone-missing",)) == DEFAULT | {"zone-missing"}
    assert ids(extend_select=("client",)) == DEFAULT
    assert ids(select=("all",), ignore=("client",)) == {"keepalive-missing", "zone-missing", "cache-stampede"}
    assert ids(ignore=("cache",)) == {"keepalive-missing", "gzip-level"}


def test_the_more_exact_name_counts() -> None:
    """An id counts more than a category, a category more than `all`; between equals, ignoring does."""
    assert ids(select=("gzip-level",), ignore=("client",)) == {"gzip-level"}
    assert ids(select=("client",), ignore=("all",)) == {"gzip-level"}
    assert ids(select=("client",), ignore=("client",)) == set()
    assert ids(select=("gzip-level",), ignore=("gzip-level",)) == set()
    assert ids(ignore=("all",)) == set()


def test_the_command_line_counts_more() -> None:
    """`--select` takes the place of what the settings select and ignore; `--ignore` takes away from it."""
    chosen = selection.selection(RULES.values(), Settings(select=("proxy",), ignore=("all",)), select=["cache"])
    assert [rule.id for rule, _ in chosen] == ["cache-stampede"]
    chosen = selection.selection(RULES.values(), Settings(select=("gzip-level", "cache")), ignore=["client"])
    assert [rule.id for rule, _ in chosen] == ["cache-stampede"]


def test_severities_are_those_of_the_settings() -> None:
    """A severity of the settings takes the place of the rule's own."""
    chosen = selection.selection(RULES.values(), Settings(severity={"gzip-level": Severity.ERROR}))
    assert {rule.id: severity for rule, severity in chosen}["gzip-level"] is Severity.ERROR


def test_an_unknown_name_is_wrong_usage() -> None:
    """A name on the command line that is none is refused, with a suggestion."""
    with pytest.raises(UsageError) as caught:
        ids(ignore=("gzip-levle",))
    assert caught.value.render().endswith('hint: did you mean "gzip-level"?')


def test_some_files_are_left_alone() -> None:
    """Findings are not told in files that are excluded, nor those of rules ignored for their file."""
    said = Settings(exclude=("old",), per_file_ignores={"a/*": ("client",), "a/b": ("proxy",), "all/*": ("all",)})
    found = [
        Diagnostic(rule, Severity.INFO, Finding(Source(path, b""), Span(0, 0), "it is slow"), RULES[rule].url)
        for path in ("a/b", "a/c", "old/x", "all/x", "x")
        for rule in ("tcp-nodelay-off", "zone-missing", "cache-stampede")
    ]
    left = [(each.path, each.rule) for each in selection.reported(iter(found), RULES, said)]
    assert left == [
        ("a/b", "cache-stampede"),
        ("a/c", "zone-missing"),
        ("a/c", "cache-stampede"),
        ("x", "tcp-nodelay-off"),
        ("x", "zone-missing"),
        ("x", "cache-stampede"),
    ]
