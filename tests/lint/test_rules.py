"""The rules about comments do what their pages show, when all rules are asked; `test_conformance` tests the others.
Fixes are for their target version."""

from __future__ import annotations

from operator import attrgetter

import pytest

from nginxopt.lint import Diagnostic, Rule
from nginxopt.lint.catalogue import catalogue, selection
from nginxopt.lint.check import Judge
from nginxopt.lint.examples import Example, declares, examples
from nginxopt.lint.suppress import FAULTY, UNUSED
from nginxopt.settings.file import Settings
from nginxopt.version import Version
from tests.lintcheck import TARGET, diagnose, fixed, read

RULES = [catalogue()[FAULTY], catalogue()[UNUSED]]


def of_kind(rule: Rule, *kinds: str) -> list[Example]:
    """The examples of these kinds."""
    return [example for example in examples(rule.page) if example.kind in kinds]


@pytest.mark.parametrize("rule", RULES, ids=attrgetter("id"))
def test_bad_is_found(rule: Rule) -> None:
    """The rule reports bad examples, with a message of one line without a full stop."""
    for example in of_kind(rule, "bad"):
        messages = [finding.message for finding in diagnose_example(rule, example)]
        assert messages, example.text
        assert [message for message in messages if "\n" in message or message.endswith(".")] == []


@pytest.mark.parametrize("rule", RULES, ids=attrgetter("id"))
def test_good_is_silent(rule: Rule) -> None:
    """The rule reports nothing in good and silent examples."""
    assert [shown for shown in of_kind(rule, "good", "silent") if diagnose_example(rule, shown)] == []


@pytest.mark.parametrize("rule", RULES, ids=attrgetter("id"))
def test_a_fix_is_complete(rule: Rule) -> None:
    """The fix of a bad example leaves nothing to fix, and a second run changes nothing."""
    for example in of_kind(rule, "bad"):
        once = fix_example(rule, example)
        again = Example(example.kind, once.decode(), example.context, example.target)
        assert fix_example(rule, again) == once
        assert all(finding.fix is None for finding in diagnose_example(rule, again))


@pytest.mark.parametrize("rule", [rule for rule in RULES if rule.fixes], ids=attrgetter("id"))
def test_the_page_shows_the_fix(rule: Rule) -> None:
    """The first good example is the fixed first bad example, and fixes are as safe as the rule declares."""
    bad, good = of_kind(rule, "bad"), of_kind(rule, "good")
    assert fix_example(rule, bad[0]).decode() == good[0].text
    offered = {found.fix.safety for example in bad for found in diagnose_example(rule, example) if found.fix}
    assert all(declares(rule, safety) for safety in offered)
    assert rule.fixes[0].grade in {safety.grade for safety in offered}


OLD = tuple(map(Version.parse, ("1.4.7", "1.12.2")))
"""Versions without much of what fixes could add, such as TLSv1.3."""


@pytest.mark.parametrize("target", OLD, ids=str)
def test_no_fix_adds_what_a_version_refuses(target: Version) -> None:
    """The fixes of examples bring nothing that the target version refuses."""
    refusing = selection(catalogue().values(), Settings(), select=["refused"])
    fixing = [rule for rule in catalogue().values() if rule.fixes and rule.speaks_of(target)]
    added = {}
    for rule, example in ((each, example) for each in fixing for example in of_kind(each, "bad")):
        after = fixed(rule.id, example.text, context=example.context, target=target)
        before, now = (
            {found.message for found in Judge(refusing, target, Settings())(read(text, example.context)).diagnostics}
            for text in (example.text, after)
        )
        if now - before:
            added[rule.id] = now - before
    assert added == {}


def diagnose_example(rule: Rule, example: Example) -> tuple[Diagnostic, ...]:
    """The findings of the rule in an example."""
    return diagnose(rule.id, example.text, context=example.context, target=example.target or TARGET)


def fix_example(rule: Rule, example: Example) -> bytes:
    """An example after the fixes of the rule."""
    return fixed(rule.id, example.text, context=example.context, target=example.target or TARGET)
