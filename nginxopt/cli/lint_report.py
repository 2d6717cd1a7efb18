"""The report of `nginxopt lint`: findings that a baseline does not record, notes, and the file or stream it goes to."""

from __future__ import annotations

import sys
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nginxopt.cli import options, stdout
from nginxopt.errors import InputError, status_of
from nginxopt.text.display import be, count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nginxopt.cli.lint_base import Base
    from nginxopt.cli.lint_call import LintCall
    from nginxopt.config import Config
    from nginxopt.lint import Diagnostic, Severity
    from nginxopt.lint.check import Checked, Judge
    from nginxopt.lint.report.model import LintReport, Note
    from nginxopt.settings.file import Settings
    from nginxopt.settings.target import TargetVersion


def write_baseline(path: str, checked: Checked, errors: Sequence[InputError]) -> int:
    """Record the findings in a baseline; unreadable files are errors here too."""
    from nginxopt.lint import baseline
    from nginxopt.lint.report.model import grouped

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
    from nginxopt.lint import baseline
    from nginxopt.lint.report.model import Note

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
    from nginxopt.lint.report.model import Note, grouped

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
    """Return the findings whose witnesses the nginx of `--nginx` does not refute; add what it says to `notes`."""
    if nginx is None or not any(diagnostic.finding.witness for diagnostic in diagnostics):
        return diagnostics
    from nginxopt.lint.confirm import confirm

    asked = confirm(configs, diagnostics, options.binary(nginx))
    notes += asked.notes
    return asked.diagnostics


def weighted(
    profile: str | None, judge: Judge, checked: Checked, diagnostics: tuple[Diagnostic, ...]
) -> tuple[Diagnostic, ...]:
    """Return the findings with what they save a day under a saved profile."""
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
    from nginxopt.lint.report.model import LintReport, grouped
    from nginxopt.lint.withheld import shown
    from nginxopt.text.withheld import hide

    spoken = {diagnostic.rule for diagnostic in diagnostics}
    titles = {rule.id: rule.title for rule, _ in judge.rules if rule.id in spoken}
    return LintReport(
        diagnostics=grouped(shown(diagnostic, titles) for diagnostic in diagnostics),
        files=checked.files,
        target=target,
        base=str(Path.cwd()),
        rules=tuple(rule for rule, _ in judge.rules),
        errors=tuple(map(_shown, errors)),
        notes=tuple(replace(note, message=hide(note.message)) for note in notes),
        fixed=sum(checked.made.values()) if call.applies_fixes else None,
        shown=call.diff,
        changed=tuple(checked.drafts),
        left=left(call, checked),
        fail_on=least(call, judge.settings),
        link=call.link,
    )


def least(call: LintCall, settings: Settings) -> Severity:
    """Return the lowest severity that makes the exit status 1."""
    from nginxopt.lint import Severity

    return Severity(call.fail_on) if call.fail_on else settings.fail_on


def left(call: LintCall, checked: Checked) -> tuple[str, ...]:
    """Return the files outside of the named paths that a call would change."""
    from nginxopt.lint.diagnostic import Grade

    if not call.applies_fixes:
        return ()
    return tuple(sorted({path for path, grade in checked.left if call.unsafe or grade is Grade.SAFE}))


def _shown(error: InputError) -> InputError:
    """Return an error without words that only files outside of the named paths have."""
    from nginxopt.text.withheld import hide

    told = copy(error)
    told.message, told.below = hide(error.message), tuple(map(hide, error.below))
    texts = (error.expected, error.nginx, error.hint)
    told.expected, told.nginx, told.hint = (None if text is None else hide(text) for text in texts)
    return told


def write(call: LintCall, report: LintReport) -> None:
    """Write the report: to --output, or standard output, or standard error if standard output has the changes.

    Further formats go to the files of --report.
    """
    from nginxopt.lint.report import render

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
        from nginxopt.system.files import write_all

        so_far = "the files are already fixed" if call.fix and report.fixed else "nothing was written"
        write_all(files, so_far=so_far)
    if aside and not call.output:
        sys.stderr.buffer.write(b"".join(pieces))
    elif not call.output:
        stdout.write(pieces)
    if call.format not in ("text", "json") or call.statistics:
        for path in report.changed:
            stdout.say(f"{'would change' if call.diff else 'changed'} {path}")
        for path in report.left:
            stdout.say(f"would change {path}, outside of the named paths: left; --also DIR changes it")
