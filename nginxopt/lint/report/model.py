"""What one run of the linter has to report, whatever the format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nginxopt.errors import InputError
from nginxopt.lint.declare import PAGES, Rule
from nginxopt.lint.diagnostic import Diagnostic, Grade
from nginxopt.lint.premises import Premise
from nginxopt.text import Source, Span

if TYPE_CHECKING:
    from nginxopt.lint.target import Target

PROJECT = PAGES.partition("/blob/")[0]
"""Where nginxopt is told about."""


@dataclass(frozen=True, slots=True)
class Note:
    """What is to be known of a run beside its findings, such as an include that names no file.

    `message` is a sentence without a full stop; the place may be missing.
    """

    message: str
    source: Source | None = None
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """One run.

    Attributes:
        diagnostics: Sorted by file, offset and rule.
        files: Every file that was checked, as it is named in messages, in the order of reading.
        target: The nginx that the configuration was judged for.
        base: The folder that relative paths start from, absolute.
        rules: The rules that were asked.
        errors: The files that could not be read or parsed.
        notes: What else is to be known.
        fixed: How many findings were fixed before `diagnostics` were found; None if nothing was to be fixed.
        shown: Whether the fixes were only shown: then `diagnostics` are what would be left.
    """

    diagnostics: tuple[Diagnostic, ...]
    files: tuple[str, ...]
    target: Target
    base: str
    rules: tuple[Rule, ...]
    errors: tuple[InputError, ...] = ()
    notes: tuple[Note, ...] = ()
    fixed: int | None = None
    shown: bool = False

    def undeclared(self) -> frozenset[Premise]:
        """Return the premises with which more of the findings could be fixed."""
        fixes = (diagnostic.fix for diagnostic in self.diagnostics if diagnostic.fix is not None)
        return frozenset(premise for fix in fixes for premise in fix.safety.premises or ())

    def fixable(self) -> Counter[Grade]:
        """Return how many findings have a fix, by its kind."""
        return Counter(diagnostic.fix.safety.grade for diagnostic in self.diagnostics if diagnostic.fix is not None)


@dataclass(frozen=True, slots=True)
class RuleCount:
    """How often a rule found something, and how many of these have a fix of each `Grade`, in that order.

    `title` is empty for a rule that is not in the report.
    """

    rule: str
    title: str
    count: int
    safe: int
    conditional: int
    unsafe: int


def by_rule(report: Report) -> Iterator[RuleCount]:
    """Yield the counts of the rules that found something, the most frequent first, then by their ids."""
    titles = {rule.id: rule.title for rule in report.rules}
    counts = Counter(diagnostic.rule for diagnostic in report.diagnostics)
    fixes = Counter(
        (diagnostic.rule, diagnostic.fix.safety.grade)
        for diagnostic in report.diagnostics
        if diagnostic.fix is not None
    )
    for rule, count in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        yield RuleCount(rule, titles.get(rule, ""), count, *(fixes[rule, grade] for grade in Grade))


def details(error: InputError) -> list[str]:
    """Return what helps with an error, a line each: what could stand there, what nginx says, a hint."""
    parts = {"expected": error.expected, "nginx says": error.nginx, "hint": error.hint}
    return [f"{name}: {text}" for name, text in parts.items() if text]
