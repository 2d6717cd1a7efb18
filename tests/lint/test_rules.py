"""Each rule does what its page shows: examples are reported and fixed, and the page is complete."""

from __future__ import annotations

from operator import attrgetter

import pytest
from _pytest.mark import ParameterSet

from nginxopt.lint import Diagnostic, Rule
from nginxopt.lint.catalogue import catalogue
from nginxopt.lint.diagnostic import Grade
from nginxopt.lint.examples import EFFECTS, FIX_SAFETY, SECTIONS, Example, declares, effects, examples, sections
from tests.lintcheck import TARGET, diagnose, fixed

pytestmark = pytest.mark.no_cover

RULES = catalogue()


def of_kind(*kinds: str) -> list[ParameterSet]:
    """The examples of these kinds."""
    return [
        pytest.param(rule, example, id=f"{rule.id}-{example.kind}-{number}")
        for rule in RULES.values()
        for number, example in enumerate(examples(rule.page), 1)
        if example.kind in kinds
    ]


@pytest.mark.parametrize("rule", RULES.values(), ids=attrgetter("id"))
def test_a_page_is_whole(rule: Rule) -> None:
    """A page has a title, says what the rule flags, and has every section in the usual order."""
    assert rule.page.title
    assert rule.page.text.partition("\n")[0] == rule.page.title, "a title ends without a full stop"
    assert rule.page.summary
    fixes = bool(rule.fixes)
    assert tuple(sections(rule.page)) == tuple(name for name in SECTIONS if fixes or name != FIX_SAFETY)
    assert set(effects(rule.page)) <= set(EFFECTS)
    assert bool(effects(rule.page)) == fixes, "the section begins with what the fix may change"


@pytest.mark.parametrize("rule", RULES.values(), ids=attrgetter("id"))
def test_a_page_has_its_examples(rule: Rule) -> None:
    """A page has at least one bad, one good and one silent example."""
    assert {example.kind for example in examples(rule.page)} == {"bad", "good", "silent"}


@pytest.mark.parametrize(("rule", "example"), of_kind("bad"))
def test_bad_is_found(rule: Rule, example: Example) -> None:
    """The rule reports bad examples, with a message of one line without a full stop."""
    findings = diagnose_example(rule, example)
    assert findings
    for finding in findings:
        assert "\n" not in finding.message
        assert not finding.message.endswith(".")


@pytest.mark.parametrize(("rule", "example"), of_kind("good", "silent"))
def test_good_is_silent(rule: Rule, example: Example) -> None:
    """The rule reports nothing in good and silent examples."""
    assert diagnose_example(rule, example) == ()


@pytest.mark.parametrize(("rule", "example"), of_kind("bad"))
def test_a_fix_is_complete(rule: Rule, example: Example) -> None:
    """The fix of a bad example leaves nothing to fix, and a second run changes nothing."""
    once = fix_example(rule, example)
    again = Example(example.kind, once.decode(), example.context, example.target)
    assert fix_example(rule, again) == once
    assert all(finding.fix is None for finding in diagnose_example(rule, again))


@pytest.mark.parametrize("rule", [rule for rule in RULES.values() if rule.fixes], ids=attrgetter("id"))
def test_the_page_shows_the_fix(rule: Rule) -> None:
    """The first good example is the fixed first bad example, byte for byte."""
    bad, good = (next(example for example in examples(rule.page) if example.kind == kind) for kind in ("bad", "good"))
    assert fix_example(rule, bad).decode() == good.text


@pytest.mark.parametrize("rule", RULES.values(), ids=attrgetter("id"))
def test_fixes_are_as_safe_as_the_rule_says(rule: Rule) -> None:
    """Fixes of examples have the safeties that the rule declares, and at least one has the safest of them."""
    offered = {
        finding.fix.safety
        for example in examples(rule.page)
        for finding in diagnose_example(rule, example)
        if finding.fix is not None
    }
    assert all(declares(rule, safety) for safety in offered)
    assert {safety.grade for safety in rule.fixes[:1]} <= {safety.grade for safety in offered}
    grades = list(Grade)
    assert list(rule.fixes) == sorted(rule.fixes, key=lambda safety: grades.index(safety.grade))


def diagnose_example(rule: Rule, example: Example) -> tuple[Diagnostic, ...]:
    """The findings of the rule in an example."""
    return diagnose(rule.id, example.text, context=example.context, target=example.target or TARGET)


def fix_example(rule: Rule, example: Example) -> bytes:
    """An example after the fixes of the rule."""
    return fixed(rule.id, example.text, context=example.context, target=example.target or TARGET)
