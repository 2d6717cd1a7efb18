"""nginx accepts every example of every rule, and what the fixes make of it."""

from __future__ import annotations

import pytest
from _pytest.mark import ParameterSet

from nginxopt.lint import Rule, Safety
from nginxopt.lint.catalogue import catalogue
from nginxopt.system import nginx
from nginxopt.version import Version
from tests.lintcheck import TARGET, mend, wrapped
from tests.nginx.example import verdict_on, warnings
from tests.rulepages import Example, examples


def cases(*kinds: str) -> list[ParameterSet]:
    """The examples of these kinds."""
    return [
        pytest.param(rule, example, id=f"{rule.id}-{example.kind}-{number}")
        for rule in catalogue().values()
        for number, example in enumerate(examples(rule.page), 1)
        if example.kind in kinds
    ]


def for_this(binary: nginx.Binary, example: Example) -> bytes:
    """The configuration of an example; the test is skipped if it is one for a later nginx."""
    if example.target and example.target > Version(*binary.version[:3]):
        pytest.skip(f"an example for nginx {example.target}")
    return wrapped(example.text, example.context)


@pytest.mark.parametrize(("rule", "example"), cases("bad", "good", "silent"))
def test_nginx_accepts(binary: nginx.Binary, rule: Rule, example: Example) -> None:
    """An example is a configuration that nginx accepts, but for bad ones of rules about what it refuses."""
    data = for_this(binary, example)
    verdict = verdict_on(binary, data)
    assert verdict.ok or (example.kind == "bad" and rule.category == "config"), str(verdict)


@pytest.mark.parametrize(("rule", "example"), cases("bad"))
@pytest.mark.parametrize("unsafe", [False, True], ids=["safe", "unsafe"])
def test_nginx_accepts_what_is_fixed(binary: nginx.Binary, rule: Rule, example: Example, unsafe: bool) -> None:
    """What the fixes make of an example is accepted, with no more warnings than before."""
    if not (rule.fixes if unsafe else Safety.SAFE in rule.fixes):
        return
    data = for_this(binary, example)
    fixed = mend(rule.id, data, target=example.target or TARGET, unsafe=unsafe)
    before, after = verdict_on(binary, data), verdict_on(binary, fixed)
    assert after.ok or (fixed == data and not before.ok), str(after)
    assert len(warnings(after)) <= len(warnings(before))
