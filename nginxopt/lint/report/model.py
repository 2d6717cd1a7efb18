"""The content of reports, whatever the format: findings by cause with places and advice, counts, and notes.

A rule reports places, and comments, baselines and fixes apply to places. A report has one finding for each *cause*: one
change to the configuration would fix all its places. The finding is at the first place of the highest severity, and
lists the others. Findings of a rule have the same cause if they state the same one (`Finding.cause`) or, if they state
none, if they have the same message.
"""

from __future__ import annotations

import os.path
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import reduce
from itertools import chain
from typing import TYPE_CHECKING, Protocol

from nginxopt.config.filesystem import is_pattern
from nginxopt.config.places import is_of_machine, may_read_more
from nginxopt.config.templating import kind
from nginxopt.errors import InputError, RuleError
from nginxopt.lint.declare import PAGES, Rule
from nginxopt.lint.diagnostic import Diagnostic, Fix, Grade, Safety, SavedADay
from nginxopt.records import record
from nginxopt.semantics.inherit import opens
from nginxopt.settings.vocabulary import WHOLE_CONFIGURATION, Premise, Severity, listed
from nginxopt.text import ChangeSet, Position, Source, Span
from nginxopt.text.display import be, count

if TYPE_CHECKING:
    from nginxopt.config import Config, Directive, Scope
    from nginxopt.config.inputs import Inputs
    from nginxopt.lint.check import Checked
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
        diagnostics: One for each cause (`grouped`), sorted by file, offset and rule.
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


# Findings of one cause.

MOST_PLACES = 6
"""How many of the other places of a finding are named; more are counted."""

_GRADES = list(Grade)


def grouped(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Return one diagnostic for each cause, in the order of their first places; the others are its `places`."""
    causes: dict[tuple[str, str, str], list[Diagnostic]] = {}
    for diagnostic in diagnostics:
        causes.setdefault(cause(diagnostic), []).append(diagnostic)
    return tuple(map(_together, causes.values()))


def cause(diagnostic: Diagnostic) -> tuple[str, str, str]:
    """Return what findings of one cause have in common: the configuration, the rule and the cause."""
    return diagnostic.tree, diagnostic.rule, diagnostic.cause


def _together(found: Sequence[Diagnostic]) -> Diagnostic:
    """Return one diagnostic for those of a cause."""
    if len(found) == 1:
        return found[0]
    first = max(found, key=lambda diagnostic: diagnostic.severity)  # the first of them
    others = tuple(diagnostic for diagnostic in found if diagnostic is not first)
    days = [diagnostic.a_day for diagnostic in found if diagnostic.a_day is not None]
    a_day = reduce(SavedADay.plus, days) if days else None
    return replace(first, finding=replace(first.finding, fix=_fix([first, *others])), places=others, a_day=a_day)


def _fix(found: Iterable[Diagnostic]) -> Fix | None:
    """Return the fixes of all places that have the safest kind of fix, as one; None if no place has a fix."""
    fixes = [diagnostic.fix for diagnostic in found if diagnostic.fix]
    if not fixes:
        return None
    grade = min((fix.safety.grade for fix in fixes), key=_GRADES.index)
    alike = [fix for fix in fixes if fix.safety.grade is grade]
    together = ChangeSet()
    made = [fix for fix in alike if together.take(fix.changes)]
    safety = made[0].safety
    for fix in made[1:]:
        safety = safety & fix.safety
    apart = {id(fix.changes): fix.changes for fix in made}.values()
    return Fix(made[0].title, tuple(dict.fromkeys(chain.from_iterable(apart))), safety)


def other_places(diagnostic: Diagnostic) -> str:
    """Return where else a finding is, such as `3 more places: lines 12, 30, conf.d/a.conf:7`; empty if nowhere."""
    if not diagnostic.places:
        return ""
    named = diagnostic.places if len(diagnostic.places) <= MOST_PLACES else diagnostic.places[: MOST_PLACES - 1]
    here = list(dict.fromkeys(place.start.line for place in named if place.path == diagnostic.path))
    words = [f"{'lines' if len(here) > 1 else 'line'} {', '.join(map(str, here))}"] if here else []
    words += dict.fromkeys(f"{place.path}:{place.start.line}" for place in named if place.path != diagnostic.path)
    left = len(diagnostic.places) - len(named)
    more = f" and {left:,} others" if left else ""
    return f"{count(len(diagnostic.places), 'more place')}: {', '.join(words)}{more}"


# Positions and advice.


class Locatable(Protocol):
    """Anything that may have a position: a finding, a related place, an error, a note."""

    @property
    def source(self) -> Source | None:
        """The text, None if there is none."""

    @property
    def span(self) -> Span | None:
        """The place in it, None for no particular one."""


def ends(placed: Locatable) -> tuple[Position, Position] | None:
    """Return the positions of the first character and after the last; None without a position."""
    if placed.source is None or placed.span is None:
        return None
    return placed.source.position(placed.span.start), placed.source.position(placed.span.end)


def relative(path: str, base: str) -> str:
    """Return `path` relative to the folder `base` if it is below it, else absolute; both without `.` and `..`.

    `path` is itself relative to `base`, or absolute. Does not use the disk, so links are not resolved.
    """
    folder = os.path.normpath(base).rstrip("/") + "/"
    whole = os.path.normpath(path if path.startswith("/") else folder + path)
    return whole.removeprefix(folder)


def advice(diagnostic: Diagnostic) -> list[str]:
    """Return the lines below a finding: its other places, its witness, the fix and its option, the help."""
    lines = []
    if diagnostic.places:
        lines.append(f"also: {other_places(diagnostic)}")
    if diagnostic.finding.witness is not None:
        lines.append(f"witness: {diagnostic.finding.witness}")
    if diagnostic.fix is not None:
        lines.append(f"fix: {diagnostic.fix.title} ({option(diagnostic.fix.safety)})")
    if diagnostic.a_day is not None:
        lines.append(f"saves: {diagnostic.a_day}")
    if diagnostic.finding.help:
        lines.append(f"help: {diagnostic.finding.help}")
    return lines


def option(safety: Safety) -> str:
    """Return the option that applies a fix of that safety."""
    if safety.premises is None:
        return "unsafe: --unsafe-fixes"
    return f"--assume {listed(safety.premises)}" if safety.premises else "--fix"


# Notes of a run: what was not checked, and what its findings depend on.

_SHOWN = 3
"""How many paths a note shows."""


def notes(checked: Checked) -> Iterator[Note]:
    """Yield the notes of a run."""
    yield from _missing(checked.configs)
    yield from _elsewhere(checked.configs, is_all=checked.is_all)
    yield from _unknown(checked)
    yield from _refused(checked)
    yield from _templates(checked)
    yield from _guessed(checked)
    yield from _cut(checked)


def _cut(checked: Checked) -> Iterator[Note]:
    """Yield a note for each rule that did not look at everything, at the place where it stopped."""
    for rule, error in checked.cut:
        yield Note(f"{rule} did not look at this and what follows: {error.message}", error.source, error.span)


def _guessed(checked: Checked) -> Iterator[Note]:
    """Yield a note for the findings that depend on the release, which is a guess."""
    if checked.guessed:
        first = checked.guessed[0]
        messages = {diagnostic.message: None for diagnostic in checked.guessed}
        more = f" and {count(len(checked.guessed) - 1, 'more place')}" if len(checked.guessed) > 1 else ""
        yield Note(
            f"which nginx runs this is not stated, and it depends on that whether it starts "
            f"({next(iter(messages))}{more}): --target-version says it",
            first.finding.source,
            first.finding.span,
        )


def notes_of_inputs(inputs: Inputs) -> Iterator[Note]:
    """Yield a note on the files of other programs, and one on the templates that could not be read."""
    if inputs.foreign:
        many = len(inputs.foreign)
        what = f"{'does' if many == 1 else 'do'} not look like nginx's and {be(many)} not checked"
        yield Note(f"{count(many, 'file')} {what}: {_some(inputs.foreign)} (name a file to check it)")
    if inputs.templates:
        first = inputs.templates[0]
        others = [error.path or "-" for error in inputs.templates[1:]]
        more = f"; nor {_some(others)}" if others else ""
        because = f" ({first.hint})" if first.hint else ""
        yield Note(f"{first.message}, which is not checked{because}{more}", first.source, first.span)


def _some(paths: Sequence[str]) -> str:
    """Return the first of some paths, and how many more there are."""
    more = [f"{count(len(paths) - _SHOWN, 'other')}"] if len(paths) > _SHOWN else []
    return ", ".join([*paths[:_SHOWN], *more])


def _missing(configs: Iterable[Config]) -> Iterator[Note]:
    """Yield a note for each file of an include that was not read; one of many that a pattern matches by its path."""
    yield from _once(
        (unread.include, unread.path if is_pattern(unread.include.args[0]) else str(unread.include.args[0]), unread.why)
        for config in configs
        for unread in config.unread
    )


def _once(told: Iterable[tuple[Directive, str, str]]) -> Iterator[Note]:
    """Yield a note for each path of an include and each reason why it was not read, at the first of its places."""
    places: dict[tuple[str, str], dict[tuple[Source, int], Directive]] = {}
    for include, path, why in told:
        places.setdefault((path, why), {}).setdefault(include.origin, include)
    for (path, why), includes in places.items():
        first, *others = includes.values()
        more = f" (nor for {count(len(others), 'other include')})" if others else ""
        yield Note(f"{path} {why} and is not checked{more}", *_place(first))


def _elsewhere(configs: Iterable[Config], *, is_all: bool) -> Iterator[Note]:
    """Yield a note for each kind of includes that may read other files where they are installed, or that do here.

    An include that matches nothing always gets a note, and so does one that reads files of this machine for a
    configuration that is not installed here.
    """
    kinds: dict[tuple[str, bool], list[Directive]] = {}
    for config in configs:
        for include, scope in config.walk():
            if include.name != "include" or config.is_missing(include) or not include.args:
                continue
            may_set = not is_all and opens(config, include, _kind(scope))
            what = "taken" if is_of_machine(config, include) else _nothing(config, include)
            if what or may_set:
                kinds.setdefault((what, may_set), []).append(include)
    for (what, may_set), includes in kinds.items():
        names = list(dict.fromkeys(str(include.args[0]) for include in includes))
        subject = f"{names[0]} and {count(len(names) - 1, 'other include')}" if len(names) > 1 else names[0]
        says = [_WHAT[what][len(names) > 1]] if what else []
        yield Note(f"{subject} {' and '.join([*says, *([_MAY_SET] if may_set else [])])}", *_place(includes[0]))


_WHAT = {
    "taken": ("is taken from this machine", "are taken from this machine"),
    "nothing": ("matches no file here", "match no file here"),
}
_MAY_SET = (
    "may read other files where this is installed: what these may set counts as unknown, and fixes that depend on it "
    f"need --assume {WHOLE_CONFIGURATION.name}"
)


def _nothing(config: Config, include: Directive) -> str:
    return "nothing" if not config.included(include) and may_read_more(config, include) else ""


def _place(include: Directive) -> tuple[Source, Span]:
    return include.source, include.args[0].span


def _kind(scope: Scope) -> str:
    return scope.context[-1] if scope.context else "main"


def _unknown(checked: Checked) -> Iterator[Note]:
    """Yield a note with the number of rules that asked for what may be around a fragment."""
    names = Counter(name for asked in checked.unknown.values() for name in sorted(asked))
    if names:
        shown = ", ".join(name for name, _ in names.most_common(3))
        yield Note(
            f"{count(len(checked.unknown), 'rule')} could not judge all, as the file that includes this one may set "
            f"{shown}: name it with --assume FILE, or --assume stock for the nginx.conf that comes with nginx"
        )


def _refused(checked: Checked) -> Iterator[Note]:
    """Yield a note for each configuration that nginx refuses where rules would have asked what becomes of requests."""
    for error in checked.refusals:
        message = f"nginx does not start with this ({error.message}), so no rule could trace requests"
        yield Note(message, error.source, error.span)


def _templates(checked: Checked) -> Iterator[Note]:
    """Yield a note for each template, and one with the number of rules whose findings depend on tags."""
    kinds: dict[str, dict[str, Source]] = {}
    for config in checked.unsettled:
        for path, template in config.templates.files.items() if config.templates else ():
            kinds.setdefault(kind(template.source), {}).setdefault(path, template.source)
    for name, (first, *others) in ((name, sources.values()) for name, sources in kinds.items()):
        more = f" (so {be(len(others))} {count(len(others), 'other file')})" if others else ""
        yield Note(f"this is {name}{more}: only what holds whatever its tags are is reported", first, Span(0, 0))
    rules = sorted(frozenset().union(*checked.unsettled.values()))
    if rules:
        shown = ", ".join(rules[:3])
        yield Note(
            f"{count(len(rules), 'rule')} found more that depends on tags, such as {shown}: check the rendered files"
        )
