"""Runs rules on a configuration; the findings are sorted and without duplicates.

A file that is included twice is read twice, and each reading has its own place in the tree. So a rule may find the same
twice, or something in one reading only. The findings of one place are merged into one. A fix changes the file for all
readings, so it is kept only if the rule offers it in each. A fix that may depend on text that was not read gets the
premise `whole-configuration`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import chain
from typing import NamedTuple

from nginxopt.budget import ExceededError
from nginxopt.config import Config
from nginxopt.config.places import is_borrowed
from nginxopt.config.tree import collector_paused
from nginxopt.errors import InputError, InternalError
from nginxopt.faults import collecting, isolated
from nginxopt.lint.declare import Rule
from nginxopt.lint.diagnostic import Diagnostic, Finding, Fix, Grade, Related, Safety
from nginxopt.lint.queries.model import Model
from nginxopt.lint.queries.whole import with_premise
from nginxopt.lint.withheld import shared_level
from nginxopt.records import record
from nginxopt.settings.vocabulary import Severity
from nginxopt.text import Change, ChangeSet, Source, Span


class Selected(NamedTuple):
    """A rule to run, and the severity of its findings from the settings; None if they do not set it."""

    rule: Rule
    severity: Severity | None

    def severity_of(self, finding: Finding) -> Severity:
        """Return the severity of a finding: from the settings, else from its cost, else from the rule."""
        return self.severity or finding.severity or self.rule.severity


@record(eq=True)
class Linted:
    """The findings in order of files and places, and the errors that stopped rules.

    `unknown` are the rules that asked for settings which may be around a fragment, with the names of these settings;
    `unsettled` are the rules with findings that depend on the tags of a template. `declined` are the rules that could
    not judge everything, so that the absence of a finding means nothing. `refusal` is what nginx refuses, so that rules
    could not ask what becomes of requests. `left` are the files outside of the named paths that fixes would change,
    with the grades of these fixes. `guessed` are findings that depend on the release, which is a guess. `cut` are the
    rules that did not look at everything, each with the budget that it exceeded.
    """

    diagnostics: tuple[Diagnostic, ...]
    errors: tuple[InputError, ...] = ()
    unknown: Mapping[str, frozenset[str]] = field(default_factory=dict)
    unsettled: frozenset[str] = frozenset()
    declined: frozenset[str] = frozenset()
    refusal: InputError | None = None
    left: frozenset[tuple[str, Grade]] = frozenset()
    guessed: tuple[Diagnostic, ...] = ()
    cut: Mapping[str, ExceededError] = field(default_factory=dict)


def lint(model: Model, rules: Iterable[Selected]) -> Linted:
    """Run every rule that applies to the version of the model, and those for the machine if there is a host.

    Findings in a main configuration around a fragment are not reported.
    """
    config = model.config
    diagnostics: list[Diagnostic] = []
    errors: dict[str, InputError] = {}
    times = {file.source: config.times(file) for file in config.files}
    unknown: dict[str, frozenset[str]] = {}
    declined: set[str] = set()
    cut: dict[str, ExceededError] = {}
    with collector_paused(), collecting() as faults:
        for selected in rules:
            rule = selected.rule
            if not rule.speaks_of(model.target) or (rule.host and model.host is None):
                declined.add(rule.id)
                continue
            if rule.about and model.lacks(rule.about):
                continue
            try:
                with isolated(f"rule {rule.id}", path=config.main.path):
                    found = [*rule.check(model)] if rule.origin is None else _guarded(rule, model)
                    diagnostics += _diagnosed(found, selected, model, times) if found else ()  # most rules find nothing
            except InputError as error:  # only some rules parse this part, which nginx would reject
                errors[error.render()] = error
                declined.add(rule.id)
            if exceeded := model.exceeded():
                cut[rule.id] = exceeded
            if model.has_declined():
                declined.add(rule.id)
            if names := model.unknown():
                unknown[rule.id] = frozenset(names)
        found_in_order = tuple(sorted(diagnostics, key=_order(config)))
        refusal = model.refusal
    failed = (*errors.values(), *_once(faults))
    return Linted(found_in_order, failed, unknown, declined=frozenset(declined), refusal=refusal, cut=cut)


def _once(errors: Sequence[InternalError]) -> Iterable[InternalError]:
    """Return errors without repetitions: what several rules ask for fails for each of them."""
    return {error.render(): error for error in errors}.values()


def _guarded(rule: Rule, model: Model) -> list[Finding]:
    """Return the findings of a rule from outside of nginxopt. Raises its `RuleError`."""
    from nginxopt.lint.own import guarded

    return guarded(rule, model)


def _diagnosed(
    found: Iterable[Finding], selected: Selected, model: Model, times: Mapping[Source, int]
) -> Iterator[Diagnostic]:
    """Yield the diagnostics of the findings of a rule that are in files of the configuration."""
    rule = selected.rule
    for finding in _merged([*_safe(_here(found, model), rule, model)], rule, times):
        yield Diagnostic(rule.id, selected.severity_of(finding), finding, rule.url, rule.scenario)


def _here(findings: Iterable[Finding], model: Model) -> Iterator[Finding]:
    """Yield the findings in the files of a configuration, without fixes that belong in the main file around it.

    What a file of this machine has to do with a copy of a configuration is said at the place in the copy, if any.
    """
    files = {file.source for file in model.config.files}
    borrowed = {file.source for file in model.config.files[1:] if is_borrowed(model.config, file.path)}
    reasons: dict[int, tuple[Fix, str]] = {}  # by identity: thousands of findings may have one fix
    for finding in findings:
        if _file(finding.source) not in files:
            continue
        if borrowed and _file(finding.source) in borrowed:
            place = next((each for each in finding.related if _file(each.source) not in borrowed), None)
            if place is None:
                continue
            there = Related(finding.source, finding.span, "the other place")
            finding = replace(finding, source=place.source, span=place.span, fix=None, related=(there,))
        why = ""
        if finding.fix is not None:
            if id(finding.fix) not in reasons:
                reasons[id(finding.fix)] = finding.fix, _why_elsewhere(finding.fix, files, model)
            why = reasons[id(finding.fix)][1]
        if finding.fix and why:
            yield replace(finding, fix=None, help=f"{finding.fix.title} (not by --fix: {why})")
        else:
            yield finding


def _safe(findings: Iterable[Finding], rule: Rule, model: Model) -> Iterator[Finding]:
    """Yield findings whose fixes need the premise `whole-configuration` if they may depend on what was not read."""
    for finding in findings:
        yield replace(finding, fix=with_premise(finding.fix, rule.reach, model)) if finding.fix else finding


def _why_elsewhere(fix: Fix, files: Container[Source], model: Model) -> str:
    """Return why a fix belongs in the main file around a fragment; empty if it does not."""
    if any(_file(change.source) not in files for change in fix.changes):
        return "that changes the main file that includes this one"
    if any(map(shared_level(model).gets, fix.changes)):
        return "another file that nginx includes may have it already, and nginx refuses it twice"
    return ""


def _merged(read: Sequence[Finding], rule: Rule, times: Mapping[Source, int]) -> Iterator[Finding]:
    """Yield each finding once, however often its file is included.

    A fix changes a file for all places that include it, so it is kept only if the same fix is offered for all of them.
    So does a finding of a rule with `everywhere`.
    """
    groups: dict[tuple[Source, Span, str], list[tuple[Finding, bool]]] = {}
    offers = _Offers(times)
    for finding in read:
        offers.add(finding.fix)
    for finding in read:
        stands = finding.fix is not None and offers.stands(finding.fix)
        reported = _original(finding) if offers.are_shared else finding
        groups.setdefault((reported.source, reported.span, reported.message), []).append((reported, stands))
    readings: dict[tuple[Source, Span], set[Source]] = {}
    for finding in read if rule.everywhere else ():
        readings.setdefault((_file(finding.source), finding.span), set()).add(finding.source)
    for (source, span, _), group in groups.items():
        if rule.everywhere and len(readings[source, span]) < times.get(source, 1):
            continue
        standing = [finding for finding, stands in group if stands]
        yield _joined(standing) if standing else offers.without_fix(group[0][0])


def _joined(findings: list[Finding]) -> Finding:
    """Merge the findings of one place; the fix of the result has the changes for every reading of the file."""
    first = findings[0]
    fixes = dict.fromkeys(finding.fix for finding in findings if finding.fix)
    if first.fix is None or len(fixes) == 1:
        return first
    together = ChangeSet()
    safety = first.fix.safety
    joined = [fix.changes for fix in fixes if fix.safety == safety and together.take(fix.changes)]
    changes = tuple(dict.fromkeys(chain.from_iterable(joined)))
    return replace(first, fix=replace(first.fix, changes=changes))


_Key = tuple[tuple[Change, ...], Safety]


class _Offers:
    """The fixes that a rule offers, with the readings of files that each would change.

    `times` is how often each file is read; if all are read once, there is nothing to compare.
    """

    def __init__(self, times: Mapping[Source, int]) -> None:
        self._times = times
        self.are_shared = any(number > 1 for number in times.values())
        self._readings: dict[_Key, set[Source]] = {}
        self._stands: dict[_Key, bool] = {}

    def add(self, fix: Fix | None) -> None:
        """Record a fix that a rule offers."""
        if fix is not None and self.are_shared:
            self._readings.setdefault(_key(fix), set()).update(change.source for change in fix.changes)

    def stands(self, fix: Fix) -> bool:
        """Return whether the fix is offered for every reading of the files that it changes."""
        if not self.are_shared:
            return True
        key = _key(fix)
        if key not in self._stands:
            counted = Counter(source.original for source in self._readings[key])
            times = {change.source: self._times.get(change.source, 1) for change in key[0]}
            self._stands[key] = all(counted[file] == number for file, number in times.items() if number > 1)
        return self._stands[key]

    def without_fix(self, finding: Finding) -> Finding:
        """Return a finding with the reason in place of its fix, which does not stand."""
        if finding.fix is None:
            return finding
        shared = max((change.source for change in finding.fix.changes), key=lambda source: self._times.get(source, 1))
        why = f"{shared.path} is included in {self._times[shared]} places, and the fix is not right for all"
        helps = [f"{finding.fix.title} (not by --fix: {why})", *([finding.help] if finding.help else [])]
        return replace(finding, fix=None, help="; ".join(helps))


def _key(fix: Fix) -> _Key:
    return tuple(_of_file(change) for change in fix.changes), fix.safety


def _file(source: Source) -> Source:
    return source.original or source


def _of_file(change: Change) -> Change:
    return Change(_file(change.source), change.edit)


def _original(finding: Finding) -> Finding:
    """Return a finding in a reading of a file as a finding in the file."""
    return replace(
        finding,
        source=_file(finding.source),
        fix=finding.fix and replace(finding.fix, changes=tuple(dict.fromkeys(map(_of_file, finding.fix.changes)))),
        related=tuple(replace(related, source=_file(related.source)) for related in finding.related),
    )


def _order(config: Config) -> Callable[[Diagnostic], tuple[int, Span, str, str]]:
    numbers = {file.source: number for number, file in enumerate(config.files)}
    return lambda diagnostic: (
        numbers[diagnostic.finding.source],
        diagnostic.finding.span,
        diagnostic.rule,
        diagnostic.message,
    )
