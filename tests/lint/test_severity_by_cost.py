"""Severities that depend on a computed cost."""

from __future__ import annotations

import re

import pytest

from nginxopt.lint import Severity
from nginxopt.lint.catalogue import catalogue
from nginxopt.lint.examples import examples
from nginxopt.lint.queries.model import Model
from nginxopt.lint.queries.severity import by_cost
from nginxopt.lint.report.pages import page
from nginxopt.lint.run import Selected, lint
from nginxopt.semantics import cost
from tests.lintcheck import TARGET, diagnose, read
from tests.rows import every_row
from tests.rulegen import literal_rewrites

pytestmark = pytest.mark.no_cover

BULKS = {
    "map-regex-bulk": lambda count: "map $uri $x {\n" + "".join(f"~^/{n}x+$ 1;\n" for n in range(count)) + "}",
    "rewrite-literal-bulk": lambda count: f"server {{\n{literal_rewrites(count, ' last')}}}",
}


@pytest.mark.slow
@every_row(
    ("count", "severity"),
    [
        (26, Severity.INFO),
        (94, Severity.INFO),
        (95, Severity.WARNING),
        (944, Severity.WARNING),
        (945, Severity.ERROR),
        (42_000, Severity.ERROR),
    ],
)
@every_row("rule", BULKS)
def test_what_costs_more_is_worse(rule: str, count: int, severity: Severity) -> None:
    """At 794 instructions a pattern the severity is warning from 75,000 instructions, and error from 750,000."""
    (diagnostic,) = diagnose(rule, BULKS[rule](count), context="http")
    assert diagnostic.severity is severity
    assert cost.time(count * 794).partition(" ")[0] in diagnostic.message
    assert by_cost(count * 794) is severity


def test_the_settings_know_better_than_the_cost() -> None:
    """A severity in the settings applies to all findings of a rule."""
    rule = catalogue()["map-regex-bulk"]
    config = read(BULKS[rule.id](945), "http")
    (diagnostic,) = lint(Model(config, TARGET), [Selected(rule, Severity.INFO)]).diagnostics
    assert diagnostic.severity is Severity.INFO


def test_only_rules_that_declare_it_have_findings_of_several_severities() -> None:
    """A rule's page names cost thresholds exactly if the severity of its findings depends on a cost."""
    by_cost = {rule.id for rule in catalogue().values() if rule.by_cost}
    assert by_cost == set(BULKS)
    for rule in catalogue().values():
        assert ("75,000 instructions a request" in page(rule)) is rule.by_cost
        for example in examples(rule.page):
            findings = diagnose(rule.id, example.text, context=example.context, target=example.target or TARGET)
            differs = rule.by_cost or rule.highest is not None
            assert all((finding.finding.severity is not None) is differs for finding in findings)


@pytest.mark.parametrize(
    ("rule", "text", "least"),
    [
        ("map-regex-bulk", BULKS["map-regex-bulk"](100), 40_000),
        ("rewrite-literal-bulk", BULKS["rewrite-literal-bulk"](100), 40_000),
        (
            "rewrite-literal-bulk",
            "server {\n" + "".join(f"rewrite ^/old/{n}/(.*)$ /new/{n}/$1 last;\n" for n in range(100)) + "}",
            40_000,
        ),
    ],
    ids=["map", "literals", "prefixes"],
)
def test_the_help_names_the_command_and_what_it_saves(rule: str, text: str, least: int) -> None:
    """What a list of patterns compiles to costs less than the patterns: by how much, the help says."""
    (diagnostic,) = diagnose(rule, text, context="http")
    saves = diagnostic.finding.saves
    assert saves is not None
    assert least < saves.instructions < 100 * cost.REGEX
    said = re.search(r"nginxopt rewrite-to-map \S+ .*saves (\d+ microseconds)", diagnostic.finding.help)
    assert said is not None, diagnostic.finding.help
    assert said[1] == cost.time(saves.instructions)


@every_row(
    ("instructions", "said"),
    [
        (0, "less than a microsecond"),
        (16_000, "less than a microsecond"),
        (16_667, "1 microsecond"),
        (665_520, "40 microseconds"),
        (2_126_280, "130 microseconds"),
        (14_000_000, "840 microseconds"),
        (16_667_000, "1 millisecond"),
        (20_000_000, "1.2 milliseconds"),
    ],
)
def test_instructions_are_told_as_time(instructions: int, said: str) -> None:
    """An operator thinks in microseconds: six for each 100,000 instructions, with two digits."""
    assert cost.time(instructions) == said


def test_the_help_of_a_map_that_stays_names_no_command() -> None:
    """Where captures are read later, the command leaves a map with a row on which PCRE may give up."""
    rows = "".join(f"~^/{n}/(.*) 1;\n" for n in range(100)) + "~^/u/(a+)+$ 1;\n"
    for body, is_left in (("$x$1", True), ("$x", False)):
        text = f"map $uri $x {{\n{rows}}}\nserver {{ location ~ ^/(a) {{ location /b {{ return 200 {body}; }} }} }}"
        (diagnostic,) = diagnose("map-regex-bulk", text, context="http")
        assert is_left is not bool(diagnostic.finding.help)


def test_a_lookup_costs_more_than_a_few_patterns() -> None:
    """What is saved is never negative."""
    assert cost.saved(4, 1) == 0
    assert cost.saved(42_000, 3) == 41_997 * cost.REGEX - cost.LOOKUP
