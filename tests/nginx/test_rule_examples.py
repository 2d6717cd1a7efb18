"""nginx accepts every example of every rule, before and after its fixes."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from operator import attrgetter

import pytest

from nginxopt.lint import Rule, Safety
from nginxopt.lint.catalogue import catalogue
from nginxopt.lint.examples import Example, examples, wrapped
from nginxopt.system import nginx
from nginxopt.version import Version
from tests.lintcheck import TARGET, fix_text
from tests.nginx.example import verdict_on, warnings
from tests.nginx.modules import has_http3, has_stream
from tests.support import NGINXES

pytestmark = pytest.mark.nginx


EVERY_RULE = pytest.mark.parametrize("rule", catalogue().values(), ids=attrgetter("id"))


def numbered(rule: Rule, *kinds: str) -> Iterator[tuple[int, Example]]:
    """Yield the examples of these kinds with their numbers on the page; all if none is named."""
    for number, example in enumerate(examples(rule.page), 1):
        if not kinds or example.kind in kinds:
            yield number, example


def nginx_for(example: Example, binary: nginx.Binary) -> nginx.Binary | None:
    """This nginx, or one that is as new as the example asks and has its modules; None if there is none."""
    for candidate in (binary, *NGINXES):
        is_new = example.target is None or example.target <= Version.of(candidate.version)
        has_modules = ("stream {" not in example.text or has_stream(candidate)) and (
            " quic" not in example.text or has_http3(candidate)
        )
        if is_new and has_modules:
            return candidate
    return None


def _is_refused(rule: Rule, example: Example) -> bool:
    """Whether a rule finds here what nginx does not start with."""
    return example.kind == "bad" and (rule.category == "refused" or rule.by_release)


@EVERY_RULE
def test_nginx_accepts(binary: nginx.Binary, rule: Rule) -> None:
    """An example is a configuration that nginx accepts, but for bad ones of rules about what it refuses.

    Fixed, it has no more warnings than before but that a form is deprecated since.
    """
    verdict = cache(verdict_on)
    wrong = []
    for number, example in numbered(rule):
        asked = nginx_for(example, binary)
        if asked is None:
            continue
        data, target = wrapped(example.text, example.context), example.target or TARGET
        if not (_is_refused(rule, example) or verdict(asked, data).ok):
            wrong.append(f"{example.kind} example, number {number} of the page: {verdict(asked, data)}")
        for unsafe in (False, True) if example.kind == "bad" else ():
            if not (rule.fixes if unsafe else Safety.SAFE in rule.fixes):
                continue
            fixed = fix_text(rule.id, data, target=target, unsafe=unsafe)
            before, after = verdict(asked, data), verdict(asked, fixed)
            is_newer = Version.of(asked.version) > target
            added = [text for text in warnings(after) if not (is_newer and "is deprecated" in text)]
            is_accepted = after.ok or (fixed == data and not before.ok)
            if not is_accepted or len(added) > len(warnings(before)):
                wrong.append(f"example number {number} of the page, {unsafe=}: {after}")
    assert wrong == []
