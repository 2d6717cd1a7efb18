"""Selection of rules, their severities, and the findings that are reported."""

from __future__ import annotations

import pytest

from nginxopt.errors import UsageError
from nginxopt.lint import Diagnostic, Finding, Severity, catalogue
from nginxopt.settings.file import Settings
from nginxopt.text import Source, Span
from tests.lint.sample_rules import RULES


def ids(*, select: tuple[str, ...] = (), ignore: tuple[str, ...] = (), **values: object) -> set[str]:
    """The ids of the rules that are selected by settings and command line."""
    chosen = catalogue.selection(RULES.values(), Settings(**values), select=select, ignore=ignore)  # type: ignore[arg-type]
    return {rule.id for rule, _ in chosen}


def test_the_default_rules_run() -> None:
    """Without settings the default rules run, with their own severities."""
    chosen = catalogue.selection(RULES.values(), Settings())
    assert [(rule.id, severity, rule.severity) for rule, severity in chosen] == [
        ("keepalive-missing", None, Severity.WARNING),
        ("cache-stampede", None, Severity.WARNING),
        ("gzip-level", None, Severity.WARNING),
    ]


DEFAULT = {"keepalive-missing", "cache-stampede", "gzip-level"}


def test_selecting() -> None:
    """Ids and `all` select any rule, categories their default rules, as the reference says."""
    assert ids(select=("zone-missing",)) == {"zone-missing"}
    assert ids(select=("proxy",)) == {"keepalive-missing"}
    assert ids(select=("all",)) == set(RULES)
    assert ids(select=("all", "proxy")) == set(RULES)
    assert ids(extend_select=("zone-missing",)) == DEFAULT | {"zone-missing"}
    assert ids(extend_select=("client",)) == DEFAULT
    assert ids(select=("all",), ignore=("client",)) == {"keepalive-missing", "zone-missing", "cache-stampede"}
    assert ids(ignore=("cache",)) == {"keepalive-missing", "gzip-level"}


def test_the_more_exact_name_counts() -> None:
    """An id overrides a category, a category overrides `all`; at one level ignoring wins."""
    assert ids(select=("gzip-level",), ignore=("client",)) == {"gzip-level"}
    assert ids(select=("client",), ignore=("all",)) == {"gzip-level"}
    assert ids(select=("client",), ignore=("client",)) == set()
    assert ids(select=("gzip-level",), ignore=("gzip-level",)) == set()
    assert ids(ignore=("all",)) == set()


def test_the_command_line_counts_more() -> None:
    """`--select` replaces the settings; `--ignore` adds to them."""
    chosen = catalogue.selection(RULES.values(), Settings(select=("proxy",), ignore=("all",)), select=["cache"])
    assert [rule.id for rule, _ in chosen] == ["cache-stampede"]
    chosen = catalogue.selection(RULES.values(), Settings(select=("gzip-level", "cache")), ignore=["client"])
    assert [rule.id for rule, _ in chosen] == ["cache-stampede"]


def test_severities_are_those_of_the_settings() -> None:
    """A severity of the settings replaces that of the rule."""
    chosen = catalogue.selection(RULES.values(), Settings(severity={"gzip-level": Severity.ERROR}))
    assert {rule.id: severity for rule, severity in chosen}["gzip-level"] is Severity.ERROR


def test_an_unknown_name_is_wrong_usage() -> None:
    """An unknown name on the command line is refused, with a suggestion."""
    with pytest.raises(UsageError) as caught:
        ids(ignore=("gzip-levle",))
    assert caught.value.render().endswith('hint: did you mean "gzip-level"?')


def test_some_files_are_left_alone() -> None:
    """Findings in excluded files, and of rules ignored for their file, are not reported."""
    settings_ = Settings(exclude=("old",), per_file_ignores={"a/*": ("client",), "a/b": ("proxy",), "all/*": ("all",)})
    diagnostics = [
        Diagnostic(rule, Severity.INFO, Finding(Source(path, b""), Span(0, 0), "it is slow"), RULES[rule].url)
        for path in ("a/b", "a/c", "old/x", "all/x", "x")
        for rule in ("tcp-nodelay-off", "zone-missing", "cache-stampede")
    ]
    left = [
        (diagnostic.path, diagnostic.rule) for diagnostic in catalogue.reported(iter(diagnostics), RULES, settings_)
    ]
    assert left == [
        ("a/b", "cache-stampede"),
        ("a/c", "zone-missing"),
        ("a/c", "cache-stampede"),
        ("x", "tcp-nodelay-off"),
        ("x", "zone-missing"),
        ("x", "cache-stampede"),
    ]
