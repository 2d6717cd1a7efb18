"""Severities that depend on a computed cost."""

from __future__ import annotations

import pytest

from nginxopt.lint import Severity, cost
from nginxopt.lint.catalogue import catalogue
from nginxopt.lint.report.pages import page
from nginxopt.lint.run import Selected, lint
from tests.lintcheck import TARGET, diagnose, read
from tests.rulegen import literal_rewrites
from tests.rulepages import examples

BULKS = {
    "map-regex-bulk": lambda count: "map $uri $x {\n" + "".join(f"~^/{n}x+$ 1;\n" for n in range(count)) + "}",
    "rewrite-literal-bulk": lambda count: f"server {{\n{literal_rewrites(count, ' last')}}}",
}


@pytest.mark.parametrize(
    ("count", "severity"),
    [
        (20, Severity.INFO),
        (158, Severity.INFO),
        (159, Severity.WARNING),
        (1588, Severity.WARNING),
        (1589, Severity.ERROR),
        (42_000, Severity.ERROR),
    ],
)
@pytest.mark.parametrize("rule", BULKS)
def test_what_costs_more_is_worse(rule: str, count: int, severity: Severity) -> None:
    """At 472 instructions a pattern the severity is warning from 75,000 instructions, and error from 750,000."""
    (diagnostic,) = diagnose(rule, BULKS[rule](count), context="http")
    assert diagnostic.severity is severity
    assert f"{count * 472:,} " in diagnostic.message
    assert cost.severity(count * 472) is severity


def test_the_settings_know_better_than_the_cost() -> None:
    """A severity in the settings applies to all findings of a rule."""
    rule = catalogue()["map-regex-bulk"]
    config = read(BULKS[rule.id](1589), "http")
    (diagnostic,) = lint(config, [Selected(rule, Severity.INFO)], TARGET).diagnostics
    assert diagnostic.severity is Severity.INFO


def test_only_rules_by_cost_have_findings_of_several_severities() -> None:
    """A rule's page names cost thresholds exactly if the severity of its findings depends on a cost."""
    by_cost = {rule.id for rule in catalogue().values() if rule.by_cost}
    assert by_cost == set(BULKS)
    for rule in catalogue().values():
        assert ("75,000 instructions a request" in page(rule)) is rule.by_cost
        for example in examples(rule.page):
            findings = diagnose(rule.id, example.text, context=example.context, target=example.target or TARGET)
            assert all((finding.finding.severity is not None) is rule.by_cost for finding in findings)
