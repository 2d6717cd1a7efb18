"""Rules made for one test, and configurations in memory for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from nginxopt.config import Config, Directive, load_text
from nginxopt.config.filesystem import Overlay
from nginxopt.lint import Check, Finding, Fix, Model, Page, Rule, Safety, Severity
from nginxopt.lint.baseline import Baseline, unaccepted
from nginxopt.lint.fix import Fixed, fix
from nginxopt.lint.run import Linted, Selected, lint
from nginxopt.version import Version

TARGET = Version(1, 22, 1)

MakeFix = Callable[[Directive], Fix | None]


def rule_of(check: Check, name: str = "test-rule", since: Version | None = None, until: Version | None = None) -> Rule:
    """A rule that does nothing but check."""
    return Rule(name, check, Page("A page"), Severity.WARNING, "config", (Safety.UNSAFE,), since, until)


def about(directive: str, make_fix: MakeFix = lambda _: None, name: str = "test-rule") -> Rule:
    """A rule that reports every directive with that name, with the fix that `make_fix` returns."""

    def check(model: Model) -> Iterator[Finding]:
        for matched, _ in model.each(directive):
            yield Finding(matched.source, matched.name.span, "found", make_fix(matched))

    return rule_of(check, name)


def configuration(texts: Mapping[str, bytes]) -> Config:
    """The configuration `nginx.conf` of files in memory."""
    return load_text(texts["nginx.conf"], "nginx.conf", files=Overlay(texts), missing_ok=True)


def run_rules(config: Config, *rules: Rule) -> Linted:
    """What rules find in a configuration."""
    return lint(Model(config, TARGET), [Selected(rule, None) for rule in rules])


def fix_texts(texts: Mapping[str, bytes], *rules: Rule, unsafe: bool = True, known: Baseline | None = None) -> Fixed:
    """What the fixes of rules make of files in memory, beside a baseline."""
    return fix(
        lambda new: configuration({**texts, **new}),
        lambda config: run_rules(config, *rules),
        unsafe=unsafe,
        wanted=unaccepted(known),
    )


def texts_of(texts: Mapping[str, bytes], fixed: Fixed) -> dict[str, bytes]:
    """The files with their fixes made."""
    return {**texts, **{path: draft.text for path, draft in fixed.drafts.items()}}
