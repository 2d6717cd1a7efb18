"""What tests of rules need: a text judged by one rule, and mended by it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from nginxopt.config import Config, load_text
from nginxopt.lint import Diagnostic
from nginxopt.lint.catalogue import catalogue
from nginxopt.lint.check import Judge
from nginxopt.lint.fix import fix
from nginxopt.lint.run import Linted, Selected
from nginxopt.lint.settings import Settings
from nginxopt.lint.suppress import FAULTY, UNUSED
from nginxopt.system.host import Host, Nofile
from nginxopt.version import Version

TARGET = Version(1, 28, 0)

HOST = Host(
    file_max=65_536,
    nr_open=1_048_576,
    nofile=Nofile(1_024, 524_288, "nginx.service"),
    somaxconn=4_096,
    ports=28_232,
    processors=4,
    cpus=4,
)
"""The machine that examples are judged for: that of a small server, with Linux's usual limits."""


_AROUND = {
    None: (b"", b""),
    "http": (b"events {}\nhttp {\n", b"}\n"),
    "server": (b"events {}\nhttp {\nserver {\n", b"}\n}\n"),
    "location": (b"events {}\nhttp {\nserver {\nlocation / {\n", b"}\n}\n}\n"),
}


def wrapped(text: str | bytes, context: str | None) -> bytes:
    """The whole configuration of which a text is the inside of a block."""
    head, tail = _AROUND[context]
    return head + (text.encode() if isinstance(text, str) else text) + tail


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
    head, tail = _AROUND[context]
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
