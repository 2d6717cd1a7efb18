"""Tests a rule with its page: the rule does what its examples show, and the page is complete."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from nginxopt.config import Config, load_text
from nginxopt.errors import DefectError, InputError
from nginxopt.lint.catalogue import Catalogue
from nginxopt.lint.check import Judge
from nginxopt.lint.declare import Rule
from nginxopt.lint.diagnostic import Diagnostic, Grade
from nginxopt.lint.examples import (
    AROUND,
    EFFECTS,
    FIX_SAFETY,
    SECTIONS,
    Example,
    declares,
    effects,
    examples,
    sections,
    wrapped,
)
from nginxopt.lint.fix import fix
from nginxopt.lint.run import Linted, Selected
from nginxopt.settings.file import Settings
from nginxopt.system.host import Host, Nofile
from nginxopt.text import Edit, Span, decode, encode
from nginxopt.text.diff import unified
from nginxopt.version import Version

TARGET = Version(1, 28, 0)
"""The nginx version of examples that name none."""

HOST = Host(
    file_max=65_536,
    nr_open=1_048_576,
    nofile=Nofile(1_024, 524_288, "nginx.service"),
    somaxconn=4_096,
    ports=28_232,
    processors=4,
    cpus=4,
)
"""The limits of the machine that examples are judged for: those of a small server, with Linux's usual limits."""

_NAME = "nginx.conf"


def example_host() -> Host:
    """Return the machine that examples are judged for, with its files, users and host names."""
    from nginxopt.lint.example_machine import machine

    return replace(HOST, machine=machine())


class Failure(NamedTuple):
    """What is wrong with a rule or its page: the part, such as `bad 1`, and a sentence, which may have more lines."""

    part: str
    message: str


def failures(rule: Rule) -> Iterator[Failure]:
    """Yield what is wrong with a rule; nothing for a rule that does what its page says.

    A failure of the rule itself is one of the example in which it occurs.
    """
    yield from (Failure("page", message) for message in _page(rule))
    tried = [_Trial(rule, example, part) for part, example in _numbered(examples(rule.page))]
    for trial in tried:
        yield from (Failure(trial.part, message) for message in trial.failures())
    if rule.fixes:
        yield from _shown(tried)
    if all(trial.linted and not trial.linted.errors for trial in tried):
        yield from (Failure("fix", message) for message in _safeties(rule, tried))


def _page(rule: Rule) -> Iterator[str]:
    """Yield what a page lacks."""
    if not rule.page.title:
        yield "the module has no docstring: its first line is the title of the page"
        return
    if rule.page.text.partition("\n")[0] != rule.page.title:
        yield "the title ends with a full stop"
    if not rule.page.summary:
        yield "there is no text between the title and the first section: say what the rule flags"
    expected = [name for name in SECTIONS if rule.fixes or name != FIX_SAFETY]
    if list(sections(rule.page)) != expected:
        yield f"the sections are {_listed(sections(rule.page))}, not {_listed(expected)}"
    if missing := [kind for kind in ("bad", "good", "silent") if not _of(rule, kind)]:
        yield f"no example under {_listed(kind.capitalize() for kind in missing)}"
    if rule.fixes and not (effects(rule.page) and set(effects(rule.page)) <= set(EFFECTS)):
        yield f'"{FIX_SAFETY}" does not begin with "May change: " and some of: {_listed(EFFECTS)}'


def _of(rule: Rule, kind: str) -> list[Example]:
    return [example for example in examples(rule.page) if example.kind == kind]


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"


def _difference(expected: str, text: str) -> str:
    """Return how a text differs from what was expected, as a unified diff."""
    before = encode(expected)
    return decode(unified(before, [Edit(Span(0, len(before)), encode(text))], "example")).rstrip("\n")


def _numbered(shown: tuple[Example, ...]) -> Iterator[tuple[str, Example]]:
    numbers: Counter[str] = Counter()
    for example in shown:
        numbers[example.kind] += 1
        yield f"{example.kind} {numbers[example.kind]}", example


class _Trial:
    """A rule and one of its examples.

    Attributes:
        linted: What the rule finds; None if the example cannot be read.
        fixed: The example after all fixes of the rule; None if that is not known.
    """

    def __init__(self, rule: Rule, example: Example, part: str) -> None:
        self.part = part
        self.example = example
        self.linted: Linted | None = None
        self.fixed: str | None = None
        self._judge = _judge(rule, example.target or TARGET)

    def failures(self) -> Iterator[str]:
        """Yield what is wrong, one thing after the other."""
        if self.example.context not in AROUND:
            yield f'unknown context "{self.example.context}": use {_listed(filter(None, AROUND))}, or none'
            return
        try:
            self.linted = self._judge(_read(wrapped(self.example.text, self.example.context)))
        except InputError as error:
            yield f"the example cannot be read\n{error.render()}"
            return
        if self.linted.errors:
            yield from (error.render() for error in self.linted.errors)
            return
        yield from self._bad() if self.example.kind == "bad" else map(_unexpected, self.linted.diagnostics)

    def _bad(self) -> Iterator[str]:
        findings = self.linted.diagnostics if self.linted else ()
        if not findings:
            yield "nothing is found"
        for finding in findings:
            if "\n" in finding.message or finding.message.endswith("."):
                yield f'the message is not one sentence on one line without a full stop: "{finding.message}"'
        try:
            self.fixed = self._fix(self.example.text)
            again = self._fix(self.fixed)
            left = self._judge(_read(wrapped(self.fixed, self.example.context))).diagnostics
        except (DefectError, InputError) as error:
            yield f"the fix fails\n{error.render()}"
            return
        if again != self.fixed:
            yield f"a second run of the fix changes something\n{_difference(self.fixed, again)}"
        yield from (f"a finding still has a fix after it: {found.message}" for found in left if found.fix)

    def _fix(self, text: str) -> str:
        """Return the content of a block after all fixes, those that are not safe too."""
        head, tail = AROUND[self.example.context]
        whole = wrapped(text, self.example.context)
        drafts = fix(lambda texts: _read(texts.get(_NAME, whole)), self._judge, unsafe=True).drafts
        result = drafts[_NAME].text if drafts else whole
        if not (result.startswith(head) and result.endswith(tail)):
            raise DefectError("it changes what is around the example")
        return decode(result[len(head) : len(result) - len(tail)])


def _judge(rule: Rule, target: Version) -> Callable[[Config], Linted]:
    return Judge((Selected(rule, None),), target, Settings(), example_host(), catalogue=Catalogue({rule.id: rule}))


def _read(data: bytes) -> Config:
    return load_text(data, _NAME, missing_ok=True)


def _unexpected(diagnostic: Diagnostic) -> str:
    place = f"line {diagnostic.start.line} of the whole configuration"
    return f"something is found at {place}: {diagnostic.message}"


def _shown(tried: list[_Trial]) -> Iterator[Failure]:
    """Yield a failure if the first good example is not the fixed first bad one."""
    bad = next((trial for trial in tried if trial.example.kind == "bad"), None)
    good = next((trial for trial in tried if trial.example.kind == "good"), None)
    if bad and good and bad.fixed is not None and bad.fixed != good.example.text:
        difference = _difference(good.example.text, bad.fixed)
        yield Failure(bad.part, f"the fix does not make the first good example of it\n{difference}")


def _safeties(rule: Rule, tried: list[_Trial]) -> Iterator[str]:
    """Yield the safeties of fixes in examples that the rule does not declare, and of those that it declares first."""
    diagnostics = [found for trial in tried if trial.linted for found in trial.linted.diagnostics]
    offered = {found.fix.safety for found in diagnostics if found.fix is not None}
    for safety in offered:
        if not declares(rule, safety):
            yield f"the rule does not declare a fix that is {safety}, which an example has"
    for safety in rule.fixes[:1]:
        if safety.grade not in {other.grade for other in offered}:
            yield f"no example has a fix that is {safety}, the safest that the rule declares"
    grades = list(Grade)
    if list(rule.fixes) != sorted(rule.fixes, key=lambda safety: grades.index(safety.grade)):
        yield "the rule does not declare the safest fix first"
