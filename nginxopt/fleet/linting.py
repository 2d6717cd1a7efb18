"""Lints one configuration like `nginxopt lint`, and keeps what a report needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING

from nginxopt.errors import InputError
from nginxopt.faults import collecting, isolated
from nginxopt.fleet.plan import FleetOptions
from nginxopt.lint import Diagnostic
from nginxopt.lint.baseline import compare, entries
from nginxopt.lint.check import Checked, check, fixes
from nginxopt.lint.queries.model import Model
from nginxopt.lint.report.model import Note, notes
from nginxopt.records import record
from nginxopt.settings.target import GUESSES, TargetVersion, recognised
from nginxopt.text.diff import unified

if TYPE_CHECKING:
    from nginxopt.config import Config
    from nginxopt.lint.baseline import BaselineEntry
    from nginxopt.lint.check import Judge
    from nginxopt.profile.savings import Concern


@record(eq=True)
class LintResult:
    """What is found in a configuration.

    Attributes:
        diagnostics: The findings that the baseline does not record and nginx does not refute.
        errors: The user's own rules that failed.
        hidden: The number of findings that the baseline records.
        notes: What is not checked, and what nginx was not asked.
        entries: The entries of a new baseline, if one is written.
        patches: The unified diffs of fixes by path, if these are kept.
        concerns: For each finding that saves something, by its number, what a profile needs to know to compute how
        much.
    """

    diagnostics: tuple[Diagnostic, ...]
    errors: tuple[InputError, ...] = ()
    hidden: int = 0
    notes: tuple[Note, ...] = ()
    entries: tuple[BaselineEntry, ...] = ()
    patches: Mapping[str, bytes] = field(default_factory=dict)
    concerns: Mapping[int, Concern] = field(default_factory=dict)


def lint(config: Config, plan: FleetOptions, *, is_complete: bool) -> LintResult:
    """Return what is found in a configuration; `is_complete` is whether all of it could be read.

    Raises the errors of `nginxopt.lint.fix` if a fix of the user's own rules cannot be applied.
    """
    judge = replace(_judge_of(config, plan), is_complete=is_complete, known=plan.known)
    checked = check([config], judge)
    left = _beside_baseline(checked, plan)
    diagnostics, answers = _confirmed(config, left, plan)
    patches: Mapping[str, bytes] = {}
    with collecting() as faults, isolated("the fixes"):
        patches = _patches(config, judge, plan) if plan.diff and any(found.fix for found in left) else {}
    return LintResult(
        diagnostics,
        (*checked.errors, *faults),
        len(checked.diagnostics) - len(left),
        (*notes(checked), *answers),
        _entries(checked, plan),
        patches,
        _concerns(checked.configs[0], judge, diagnostics),
    )


def _judge_of(config: Config, plan: FleetOptions) -> Judge:
    """Return the judge for the nginx that a configuration shows, if the target version is a guess."""
    if not plan.guesses:
        return plan.judge
    target = recognised([config], TargetVersion(plan.target, "", is_guess=True), here=False)
    return replace(plan.judge, target=target.version, maybe=GUESSES if target.is_guess else ())


def _beside_baseline(checked: Checked, plan: FleetOptions) -> tuple[Diagnostic, ...]:
    """Return the findings that the baseline does not record."""
    known = plan.known
    if known is None:
        return checked.diagnostics

    return compare(known, checked.diagnostics, files=(), rules=(), on_host=checked.on_host).diagnostics


def _confirmed(
    config: Config, diagnostics: tuple[Diagnostic, ...], plan: FleetOptions
) -> tuple[tuple[Diagnostic, ...], tuple[Note, ...]]:
    """Return the findings whose witnesses nginx does not refute, and notes about its answers."""
    if plan.nginx is None or not any(found.finding.witness for found in diagnostics):
        return diagnostics, ()
    from nginxopt.lint.confirm import confirm

    confirmed = confirm([config], diagnostics, plan.binary)
    return confirmed.diagnostics, confirmed.notes


def _concerns(config: Config, judge: Judge, diagnostics: Sequence[Diagnostic]) -> dict[int, Concern]:
    saving = {number: found for number, found in enumerate(diagnostics) if found.finding.saves is not None}
    if not saving or config.templates is not None:  # how much depends on tags
        return {}
    from nginxopt.profile.savings import concern

    model = Model(config, judge.target)
    return {number: concern(model, found) for number, found in saving.items()}


def _entries(checked: Checked, plan: FleetOptions) -> tuple[BaselineEntry, ...]:
    if not plan.records:
        return ()

    return entries(checked.diagnostics, ".", checked.on_host)


def _patches(config: Config, judge: Judge, plan: FleetOptions) -> dict[str, bytes]:
    drafts = fixes(config, judge, unsafe=plan.unsafe).drafts
    return {path: unified(draft.original, draft.edits, path.lstrip("/")) for path, draft in drafts.items()}
