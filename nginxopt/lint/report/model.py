"""The content of a lint report, in any format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from nginxopt.errors import InputError, RuleError
from nginxopt.lint.declare import PAGES, Rule
from nginxopt.lint.diagnostic import Diagnostic, Grade
from nginxopt.records import record
from nginxopt.settings.premises import Premise
from nginxopt.settings.selecting import Severity
from nginxopt.text import Source, Span
from nginxopt.text.display import count

if TYPE_CHECKING:
    from nginxopt.settings.target import TargetVersion

PROJECT = PAGES.partition("/blob/")[0]
"""The page of the project."""

NOUNS = {Severity.ERROR: "errors", Severity.WARNING: "warnings", Severity.INFO: "info"}
"""The severities, the gravest first, in the plural."""


@record(eq=True)
class Note:
    """A message about a run apart from its findings, such as an include without a file.

    `message` is a sentence without a full stop; the place may be missing.
    """

    message: str
    source: Source | None = None
    span: Span | None = None


@record(eq=True)
class LintReport:
    """One run.

    Attributes:
        diagnostics: One for each cause (`nginxopt.lint.causes`), sorted by file, offset and rule.
        files: Every checked file, as named in messages, in the order of reading.
        target: The target nginx version.
        base: The base of relative paths, an absolute folder.
        rules: The rules that were run.
        errors: The files that could not be read or parsed, and the rules from outside of nginxopt that failed.
        notes: Other messages.
        fixed: The number of findings fixed before `diagnostics` were found; None without --fix.
        changed: The files that fixes changed, or would change if they are only shown.
        left: The files outside of the named paths that fixes would change.
        fail_on: The lowest severity that makes the exit status 1.
        link: The URL below which Markdown links the files, such as those of a commit; None for no links.
        shown: Whether the fixes were only shown: then `diagnostics` are the findings that would remain.
    """

    diagnostics: tuple[Diagnostic, ...]
    files: tuple[str, ...]
    target: TargetVersion
    base: str
    rules: tuple[Rule, ...]
    errors: tuple[InputError, ...] = ()
    notes: tuple[Note, ...] = ()
    fixed: int | None = None
    shown: bool = False
    changed: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    fail_on: Severity = Severity.INFO
    link: str | None = None

    def places(self) -> int:
        """Return the number of places of all findings."""
        return sum(1 + len(diagnostic.places) for diagnostic in self.diagnostics)

    def failures(self) -> tuple[int, int]:
        """Return the number of errors of files, and of those of rules from outside of nginxopt."""
        rules = sum(isinstance(error, RuleError) for error in self.errors)
        return len(self.errors) - rules, rules

    def undeclared(self) -> frozenset[Premise]:
        """Return the premises that would allow more fixes."""
        fixes = (diagnostic.fix for diagnostic in self.diagnostics if diagnostic.fix is not None)
        return frozenset(premise for fix in fixes for premise in fix.safety.premises or ())

    def fixable(self) -> Counter[Grade]:
        """Return the number of findings with a fix, by kind of fix."""
        return Counter(diagnostic.fix.safety.grade for diagnostic in self.diagnostics if diagnostic.fix is not None)


def headline(report: LintReport) -> str:
    """Return how many errors, warnings and other findings there are, and what was not checked."""
    if not report.diagnostics and not report.errors:
        return f"no findings in {count(len(report.files), 'file')}"
    numbers = Counter(diagnostic.severity for diagnostic in report.diagnostics)
    files, rules = report.failures()
    parts = [f"{count(files, 'file')} not checked"] if files else []
    parts += [f"{count(rules, 'rule')} failed"] if rules else []
    parts += [count(numbers[grade], str(grade), noun) for grade, noun in NOUNS.items() if numbers[grade]]
    return ", ".join(parts)


@record(eq=True)
class RuleCount:
    """The number of findings of a rule, and how many have a fix of each `Grade`, in that order.

    `title` is empty for a rule that is not in the report.
    """

    rule: str
    title: str
    count: int
    safe: int
    conditional: int
    unsafe: int


def by_rule(report: LintReport) -> Iterator[RuleCount]:
    """Yield the counts of rules with findings, most frequent first, then by id."""
    counts = Counter(diagnostic.rule for diagnostic in report.diagnostics)
    titles = {rule.id: rule.title for rule in report.rules if rule.id in counts}
    fixes = Counter(
        (diagnostic.rule, diagnostic.fix.safety.grade)
        for diagnostic in report.diagnostics
        if diagnostic.fix is not None
    )
    for rule, number in sorted(counts.items(), key=lambda item: (-item[1], item[0])):
        yield RuleCount(rule, titles.get(rule, ""), number, *(fixes[rule, grade] for grade in Grade))


def details(error: InputError) -> list[str]:
    """Return the details of an error as lines: what was expected, what nginx says, a hint."""
    parts = {"expected": error.expected, "as nginx words it": error.nginx, "hint": error.hint}
    return [f"{name}: {text}" for name, text in parts.items() if text]
