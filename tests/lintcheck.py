"""What tests of rules need: a text checked by one rule, and fixed by it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from nginxopt.config import Config, load_text
from nginxopt.lint import Diagnostic
from nginxopt.lint.catalogue import catalogue
from nginxopt.lint.check import Judge
from nginxopt.lint.conformance import HOST
from nginxopt.lint.examples import AROUND, wrapped
from nginxopt.lint.fix import fix
from nginxopt.lint.run import Linted, Selected
from nginxopt.lint.suppress import FAULTY, UNUSED
from nginxopt.settings.file import Settings
from nginxopt.system.host import Host
from nginxopt.version import Version

TARGET = Version(1, 28, 0)


def read(text: str | bytes, context: str | None = None) -> Config:
    """The configuration `nginx.conf` with a text inside; includes that are not there are left out."""
    return load_text(wrapped(text, context), "nginx.conf", missing_ok=True)


def diagnose(
    rule: str, text: str | bytes, *, context: str | None = None, target: Version | str = TARGET
) -> tuple[Diagnostic, ...]:
    """What a rule finds in a text."""
    return judge(rule, read(text, context), target).diagnostics


def fixed(
    rule: str, text: str | bytes, *, context: str | None = None, target: Version | str = TARGET, unsafe: bool = True
) -> bytes:
    """What the fixes of a rule make of a text."""
    whole = wrapped(text, context)
    head, tail = AROUND[context]
    result = fix_text(rule, whole, target=target, unsafe=unsafe)
    assert result.startswith(head)
    assert result.endswith(tail)
    return result[len(head) : len(result) - len(tail)]


def fix_text(rule: str, data: bytes, *, target: Version | str = TARGET, unsafe: bool = True) -> bytes:
    """What the fixes of a rule make of a whole configuration."""

    def again(texts: Mapping[str, bytes]) -> Config:
        return read(texts.get("nginx.conf", data))

    drafts = fix(again, lambda config: judge(rule, config, target), unsafe=unsafe).drafts
    return drafts["nginx.conf"].text if drafts else data


def judge(rule: str, config: Config, target: Version | str = TARGET, host: Host | None = HOST) -> Linted:
    """What a rule finds in a configuration, without what comments hide.

    The rules about such comments are asked with all others: only then is it known what a comment hides.
    """
    version = Version.parse(target) if isinstance(target, str) else target
    rules = catalogue().values() if rule in (FAULTY, UNUSED) else [catalogue()[rule]]
    linted = Judge(tuple(Selected(selected, None) for selected in rules), version, Settings(), host)(config)
    return replace(
        linted, diagnostics=tuple(diagnostic for diagnostic in linted.diagnostics if diagnostic.rule == rule)
    )
