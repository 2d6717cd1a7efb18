"""nginx accepts every example of every rule, before and after its fixes."""

from __future__ import annotations

import pytest
from _pytest.mark import ParameterSet

from nginxopt.lint import Rule, Safety
from nginxopt.lint.catalogue import catalogue
from nginxopt.lint.examples import Example, examples, wrapped
from nginxopt.system import nginx
from nginxopt.version import Version
from tests.lintcheck import TARGET, fix_text
from tests.nginx.example import verdict_on, warnings
from tests.nginx.modules import has_stream
from tests.support import NGINXES

pytestmark = pytest.mark.nginx


def cases(*kinds: str) -> list[ParameterSet]:
    """The examples of these kinds."""
    return [
        pytest.param(rule, example, id=f"{rule.id}-{example.kind}-{number}")
        for rule in catalogue().values()
        for number, example in enumerate(examples(rule.page), 1)
        if example.kind in kinds
    ]


def nginx_for(example: Example, binary: nginx.Binary) -> nginx.Binary:
    """This nginx, or one that is as new as the example asks and has its modules; the test is skipped without one."""
    for candidate in (binary, *NGINXES):
        is_new = example.target is None or example.target <= Version.of(candidate.version)
        if is_new and ("stream {" not in example.text or has_stream(candidate)):
            return candidate
    pytest.skip(f"an example for nginx {example.target or 'with stream'}")


def _is_refused(rule: Rule, example: Example) -> bool:
    """Whether a rule finds here what nginx does not start with."""
    return example.kind == "bad" and (rule.category == "refused" or rule.by_release)


@pytest.mark.parametrize(("rule", "example"), cases("bad", "good", "silent"))
def test_nginx_accepts(binary: nginx.Binary, rule: Rule, example: Example) -> None:
    """An example is a configuration that nginx accepts, but for bad ones of rules about what it refuses."""
    verdict = verdict_on(nginx_for(example, binary), wrapped(example.text, example.context))
    assert verdict.ok or _is_refused(rule, example), str(verdict)


@pytest.mark.parametrize(("rule", "example"), cases("bad"))
@pytest.mark.parametrize("unsafe", [False, True], ids=["safe", "unsafe"])
def test_nginx_accepts_what_is_fixed(binary: nginx.Binary, rule: Rule, example: Example, unsafe: bool) -> None:
    """nginx accepts a fixed example, with no more warnings than before but that a form is deprecated since."""
    if not (rule.fixes if unsafe else Safety.SAFE in rule.fixes):
        return
    binary, data = nginx_for(example, binary), wrapped(example.text, example.context)
    target = example.target or TARGET
    fixed = fix_text(rule.id, data, target=target, unsafe=unsafe)
    before, after = verdict_on(binary, data), verdict_on(binary, fixed)
    assert after.ok or (fixed == data and not before.ok), str(after)
    is_newer = Version.of(binary.version) > target
    added = [text for text in warnings(after) if not (is_newer and "is deprecated" in text)]
    assert len(added) <= len(warnings(before))
