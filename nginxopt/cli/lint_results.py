"""What `nginxopt lint` does with what it found: tries and writes fixes, hides known findings, writes the report."""

from __future__ import annotations

import sys
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nginxopt.cli import options, stdout
from nginxopt.errors import DefectError, InputError, UsageError, status_of
from nginxopt.lint import Severity, baseline
from nginxopt.lint.baseline import refuse_other
from nginxopt.lint.diagnostic import Grade
from nginxopt.lint.report import COUNTED, render
from nginxopt.lint.report.model import LintReport, Note, grouped
from nginxopt.lint.withheld import shown
from nginxopt.records import record
from nginxopt.system.files import change, refuse_unwritable, write_all
from nginxopt.text.diff import unified
from nginxopt.text.display import be, count, hide, inert_document

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nginxopt.cli.lint_base import Base
    from nginxopt.config import Config
    from nginxopt.config.inputs import Inputs
    from nginxopt.lint import Diagnostic
    from nginxopt.lint.check import Checked, Judge
    from nginxopt.settings.file import Settings
    from nginxopt.settings.target import TargetVersion


@record(eq=True)
class LintCall:
    """The options of a call, except those about its input and its rules."""

    piped: bool
    stdin_filename: str | None
    fix: bool
    unsafe: bool
    diff: bool
    nginx: str | None
    fail_on: str | None
    format: str
    output: str | None
    reports: tuple[tuple[str, str], ...]
    link: str | None
    quiet: bool
    statistics: bool
    diff_base: str | None
    baseline: str | None
    write_baseline: str | None
    profile: str | None

    @property
    def applies_fixes(self) -> bool:
        """Whether fixes are applied, or shown as a diff."""
        return self.fix or self.diff


def refuse_contradictions(call: LintCall, paths: Sequence[str]) -> None:
    """Raise `UsageError` if options contradict each other."""
    if call.fix and call.diff:
        raise UsageError("--fix and --diff cannot be used together")
    if call.unsafe and not call.applies_fixes:
        raise UsageError("--unsafe-fixes needs --fix or --diff")
    if call.write_baseline and (call.applies_fixes or call.baseline):
        raise UsageError("--write-baseline cannot be used with --fix, --diff or --baseline")
    if call.write_baseline and (call.output or call.reports):
        option = "--output" if call.output else "--report"
        raise UsageError(f"--write-baseline cannot be used with {option}: it writes no report")
    if call.diff_base and (call.applies_fixes or call.write_baseline or call.piped):
        raise UsageError("--diff-base cannot be used with --fix, --diff, --write-baseline or standard input")
    if call.statistics and call.format not in COUNTED:
        raise UsageError(f"--statistics does not support --format {call.format}", hint="use --format text or json")
    if call.piped and len(paths) > 1:
        raise UsageError("standard input cannot be combined with other paths")
    options.refuse_stdin_filename(call.stdin_filename, paths)
    if (call.diff or (call.fix and call.piped)) and call.format != "text" and not call.output:
        raise UsageError(
            f"--format {call.format} needs --output here", hint="the changes are printed to standard output"
        )


def refuse_overwritten_inputs(
    call: LintCall, inputs: Inputs, around: Config | None, settings: str | None, baseline: str | None
) -> None:
    """Raise `UsageError` if a report would overwrite a file that is read, the settings, or the baseline that is
    compared; `InputError` if a baseline would overwrite a file that is none, or the report of fixes cannot be written.
    """
    configs = inputs.configs if around is None else (*inputs.configs, around)
    unreadable = (error.path for error in inputs.errors)
    read = [*(file.path for config in configs for file in config.files), *unreadable, settings]
    options.refuse_overwriting("--output", call.output, [*read, baseline])
    for _, path in call.reports:
        options.refuse_overwriting("--report", path, [*read, baseline, call.output])
    if call.output is not None and call.fix:
        refuse_unwritable(call.output)
    options.refuse_overwriting("--write-baseline", call.write_baseline, read)
    if call.write_baseline is not None:
        refuse_other(call.write_baseline)


def try_fixes(call: LintCall, configs: Sequence[Config], checked: Checked) -> list[Note]:
    """Check the fixes with `nginx -t`; return its warnings.

    Raises `DefectError` if they break the configuration, and `InputError` if they are to be written to one that nginx
    refuses without them, so that they cannot be checked.
    """
    from nginxopt.system.nginx import trial

    binary = options.binary(call.nginx)
    notes = []
    for config, again in zip(configs, checked.configs, strict=True):
        changed = [file.path for file in again.files if file.path in checked.drafts]
        if not changed:
            continue
        if again.templates is not None:
            raise UsageError(f"--nginx needs a whole configuration, but {config.main.path} is a template")
        if call.piped or again.http is None:
            raise UsageError(f"--nginx needs a whole configuration, but {config.main.path} is a fragment")
        before = trial.test(config, binary)
        if not (before.ok or call.diff):
            raise InputError(
                f"nginx -t refuses it, so the fixes cannot be checked; nothing was written\n{before.reasons[0]}",
                path=config.main.path,
                hint="correct this first, or fix without --nginx",
            )
        after = trial.test_changed(again, changed, binary)
        if after.is_worse_than(before):
            what = f"nginx -t refuses {config.main.path} after the fixes; nothing was written"
            raise DefectError(what, below=str(after).splitlines())
        notes += [Note(f"new warning of nginx -t: {warning}") for warning in after.new_warnings(before)]
        if not after.ok:
            notes.append(Note(f"nginx -t refuses {config.main.path} both before and after: {after.reasons[0]}"))
    return notes


def write_fixes(
    call: LintCall, configs: Sequence[Config], checked: Checked, failed: dict[Config, InputError]
) -> list[Note]:
    """Write the changed files, or print the diff or the new standard input; return notes.

    The files of a configuration are written all or none. If there are several, one whose files cannot be written is
    added to `failed`, and the others are written.
    """
    drafts = checked.drafts
    if call.diff:
        stdout.write(unified(draft.original, draft.edits, path) for path, draft in drafts.items())
        return []
    if call.piped:
        _refuse_more_than_piped(checked)
        stdout.write(config.main.source.data for config in checked.configs)
        return []
    notes: list[Note] = []
    several = sum(not drafts.keys().isdisjoint(file.path for file in config.files) for config in configs) > 1
    for group in [[config] for config in configs] if several else [configs]:
        texts = {file.path: drafts[file.path].text for each in group for file in each.files if file.path in drafts}
        try:
            written = change(group, texts, so_far=_LEFT if several else "nothing was written")
        except InputError as error:
            if not several:
                raise
            failed[group[0]] = error
            continue
        notes += [
            Note(f"{file.path} was written in place because {file.in_place}; its old text is in {file.copy}")
            for file in written
            if file.in_place
        ]
    return notes


_LEFT = "its configuration was left as it is"


def _refuse_more_than_piped(checked: Checked) -> None:
    mains = {config.main.path for config in checked.configs}
    others = sorted(path for path in checked.drafts if path not in mains)
    if others:
        raise UsageError(f"the fixes also change {', '.join(others)}", hint="pass a path instead of standard input")


def write_baseline(path: str, checked: Checked, errors: Sequence[InputError]) -> int:
    """Record the findings in a baseline; unreadable files are errors here too."""
    for error in errors:
        click.echo(error.render(), err=True)
    if errors:
        return status_of(errors)
    baseline.write(path, checked.diagnostics, checked.on_host)
    stdout.say(f"{path}: {count(len(grouped(checked.diagnostics)), 'finding')}")
    return 0


def beside_baseline(path: str | None, judge: Judge, checked: Checked, notes: list[Note]) -> tuple[Diagnostic, ...]:
    """Return the findings that the baseline does not record; add its messages to `notes`."""
    if judge.known is None:
        return checked.diagnostics

    rules = {rule.id for rule, _ in judge.rules}
    compared = baseline.compare(
        judge.known,
        checked.diagnostics,
        files=checked.files,
        rules=rules,
        declined=checked.declined,
        on_host=checked.on_host,
    )
    if compared.hidden:
        notes.append(Note(f"{path} hides {count(compared.hidden, 'finding')}"))
    if compared.note:
        notes.append(Note(compared.note))
    return compared.diagnostics


def beside_base(base: Base | None, diagnostics: tuple[Diagnostic, ...], notes: list[Note]) -> tuple[Diagnostic, ...]:
    """Return the findings that a revision does not have; add its messages to `notes`."""
    if base is None:
        return diagnostics

    left = base.new_among(diagnostics)
    if len(left) < len(diagnostics):
        new = set(map(id, left))
        hidden = len(grouped(found for found in diagnostics if id(found) not in new))
        notes.append(Note(f"{count(hidden, 'finding')} {be(hidden)} in {base.name} already"))
    if base.unread:
        unread = count(base.unread, "file")
        notes.append(Note(f"{unread} of {base.name} cannot be read: all their findings count as new"))
    return left


def confirmed(
    nginx: str | None, configs: Sequence[Config], diagnostics: tuple[Diagnostic, ...], notes: list[Note]
) -> tuple[Diagnostic, ...]:
    """Return the findings whose witnesses the nginx of `--nginx` does not refute; add its messages to `notes`."""
    if nginx is None or not any(diagnostic.finding.witness for diagnostic in diagnostics):
        return diagnostics
    from nginxopt.lint.confirm import confirm

    asked = confirm(configs, diagnostics, options.binary(nginx))
    notes += asked.notes
    return asked.diagnostics


def weighted(
    profile: str | None, judge: Judge, checked: Checked, diagnostics: tuple[Diagnostic, ...]
) -> tuple[Diagnostic, ...]:
    """Return the findings with what fixing them saves in a day of the traffic of a saved profile."""
    if profile is None:
        return diagnostics
    from nginxopt.profile import savings, sums

    return savings.weighted(sums.load(profile), checked.configs, judge.target, diagnostics)


def report(
    call: LintCall,
    judge: Judge,
    target: TargetVersion,
    checked: Checked,
    diagnostics: tuple[Diagnostic, ...],
    errors: Sequence[InputError],
    notes: Sequence[Note],
) -> LintReport:
    """Return the report of a call."""
    return LintReport(
        diagnostics=reported(judge, diagnostics),
        files=checked.files,
        target=target,
        base=str(Path.cwd()),
        rules=tuple(rule for rule, _ in judge.rules),
        errors=tuple(map(_shown, errors)),
        notes=tuple(replace(note, message=hide(note.message)) for note in notes),
        fixed=checked.fixed if call.applies_fixes else None,
        shown=call.diff,
        changed=tuple(checked.drafts),
        left=left(call, checked),
        fail_on=least(call, judge.settings),
        link=call.link,
    )


def reported(judge: Judge, diagnostics: Sequence[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Return what reports show of findings: one for each cause."""
    spoken = {diagnostic.rule for diagnostic in diagnostics}
    titles = {rule.id: rule.title for rule, _ in judge.rules if rule.id in spoken}
    return grouped(shown(diagnostic, titles) for diagnostic in diagnostics)


def least(call: LintCall, settings: Settings) -> Severity:
    """Return the lowest severity that makes the exit status 1."""
    return Severity(call.fail_on) if call.fail_on else settings.fail_on


def left(call: LintCall, checked: Checked) -> tuple[str, ...]:
    """Return the files outside of the named paths that a call would change."""
    if not call.applies_fixes:
        return ()
    return tuple(sorted({path for path, grade in checked.left if call.unsafe or grade is Grade.SAFE}))


def _shown(error: InputError) -> InputError:
    """Return an error without words that only files outside of the named paths have."""

    told = copy(error)
    told.message, told.below = hide(error.message), tuple(map(hide, error.below))
    texts = (error.expected, error.nginx, error.hint)
    told.expected, told.nginx, told.hint = (None if text is None else hide(text) for text in texts)
    return told


def write_report(call: LintCall, report: LintReport) -> None:
    """Write the report: to --output, or standard output, or standard error if standard output has the changes.

    Further formats go to the files of --report.
    """

    aside = call.diff or (call.fix and call.piped)
    color = not call.output and stdout.colored(err=aside)
    pieces = [
        piece.encode()
        for piece in render(report, call.format, statistics=call.statistics, color=color, quiet=call.quiet)
    ]
    files = {
        path: b"".join(piece.encode() for piece in render(report, name, quiet=call.quiet))
        for name, path in call.reports
    }
    if call.output:
        files[call.output] = b"".join(pieces)
    if files:
        so_far = "the files are already fixed" if call.fix and report.fixed else "nothing was written"
        write_all(files, so_far=so_far)
    if not call.output:
        shown = inert_document(b"".join(pieces).decode(), call.format)
        if aside:
            sys.stderr.buffer.write(shown.encode())
        else:
            stdout.write([shown.encode()], colors=call.format == "text")
    if call.format not in ("text", "json") or call.statistics:
        for path in report.changed:
            stdout.say(f"{'would change' if call.diff else 'changed'} {path}")
        for path in report.left:
            stdout.say(f"would change {path}, outside of the named paths: left; --also DIR changes it")
