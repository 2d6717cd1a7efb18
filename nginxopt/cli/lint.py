"""`nginxopt lint`."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nginxopt.cli import options, stdout
from nginxopt.errors import DefectError, InputError, UsageError
from nginxopt.lint.report import COUNTED, FORMATS
from nginxopt.text.plural import be, count

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from nginxopt.config import Config
    from nginxopt.config.inputs import Inputs
    from nginxopt.lint import Diagnostic, Premise
    from nginxopt.lint.check import Checked, Judge
    from nginxopt.lint.report.model import Note, Report
    from nginxopt.lint.settings import Settings
    from nginxopt.lint.target import Target
    from nginxopt.system.host import Host
    from nginxopt.version import Version

_EXAMPLES = """\b
Examples:
  nginxopt lint /etc/nginx/nginx.conf            what makes this nginx slow
  nginxopt lint nginx.conf --fix                 make the safe fixes
  nginxopt lint nginx.conf --fix --assume http11-backends,idle-connections
                                                 ... and those that are safe if the upstream servers are as said
  nginxopt lint nginx.conf --fix --nginx         ... and ask nginx -t before anything is written
  nginxopt lint nginx.conf --diff                show what --fix would do
  nginxopt lint sites/ --format sarif --output nginxopt.sarif
  nginx -T | nginxopt lint -                     the configuration as nginx has it

\b
Exit status: 0 nothing found that counts (--fail-on), 1 something found, or would change (--diff), 2 wrong usage,
3 a file cannot be read, 4 something is missing.
"""

_SEVERITIES = ("error", "warning", "info")


def _names(_context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name.strip() for value in values for name in value.split(",") if name.strip())


@dataclass(frozen=True, slots=True)
class _Call:
    """What was asked for, beside what is to be read and by which rules it is judged."""

    piped: bool
    fix: bool
    unsafe: bool
    diff: bool
    nginx: str | None
    fail_on: str | None
    format: str
    output: str | None
    quiet: bool
    statistics: bool
    baseline: str | None
    write_baseline: str | None

    @property
    def mends(self) -> bool:
        """Whether fixes are made, be it only to show them."""
        return self.fix or self.diff


@click.command("lint", epilog=_EXAMPLES)
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--fix", is_flag=True, help="Make the safe fixes: no response changes, nor what an upstream is asked.")
@click.option(
    "--assume",
    multiple=True,
    callback=_names,
    metavar="PREMISES",
    help="Conditions that hold here: fixes that need no others are safe. nginxopt explain PREMISE has each.",
)
@click.option("--unsafe-fixes", "unsafe", is_flag=True, help="With --fix or --diff: the other fixes as well.")
@click.option("--diff", is_flag=True, help="Show what the fixes would change, and write nothing.")
@options.check_with_nginx("Check fixes with nginx -t; write nothing if they break the configuration.")
@click.option("--host", "with_host", is_flag=True, help="Check the limits of this machine as well; Linux only.")
@click.option("--select", multiple=True, callback=_names, metavar="NAMES", help="Ask these rules or categories only.")
@click.option("--ignore", multiple=True, callback=_names, metavar="NAMES", help="Do not ask these rules or categories.")
@options.TARGET_VERSION
@click.option("--fail-on", type=click.Choice(_SEVERITIES), help="From which severity on the status is 1.  [warning]")
@options.format_of(list(FORMATS), "text")
@options.OUTPUT
@click.option("--statistics", is_flag=True, help="Count findings by rule (text and json).")
@click.option("--baseline", metavar="FILE", help="Do not tell the findings in this file.")
@click.option("--write-baseline", metavar="FILE", help="Write all findings into a baseline.")
@options.CONTEXT
@options.PREFIX
@click.option("--stdin-filename", metavar="NAME", help="What to call standard input.")
@click.option("--config", metavar="FILE", help="The settings, instead of those that are found upwards.")
@click.option("--isolated", is_flag=True, help="Read no settings.")
@options.QUIET
def command(
    paths: tuple[str, ...],
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    assume: tuple[str, ...],
    target_version: Version | None,
    context: str | None,
    prefix: str | None,
    stdin_filename: str | None,
    config: str | None,
    isolated: bool,
    with_host: bool,
    format_: str,
    **asked: Any,
) -> int:
    """Tell what makes an nginx configuration slow, where, why, and how to mend it.

    PATH is a whole nginx.conf (its includes are followed), a fragment, a folder, a pattern, or - for standard input,
    which may be what nginx -T prints. Without any, the paths of the settings are checked, or the working directory.
    """
    from nginxopt.lint import settings as settings_
    from nginxopt.lint.catalogue import catalogue
    from nginxopt.lint.target import choose

    paths, asked["nginx"] = options.without_its_path(paths, asked["nginx"])
    settings = settings_.load(catalogue(), config=config, isolated=isolated)
    call = _Call(piped="-" in paths, format=format_, **asked)
    _refuse_contradictions(call, paths)
    target = choose(target_version, next(iter(settings.target_version), None), call.nginx)
    inputs = _read(paths, settings, prefix, context, stdin_filename)
    _refuse_overwriting(call, inputs)
    host = _host(inputs.configs) if with_host else None
    judge = _judge(settings, select, ignore, target, host)
    judge = replace(judge, assumed=_assumed(assume, settings), is_complete=not inputs.errors)
    return _run(call, settings, target, judge, inputs)


def _refuse_contradictions(call: _Call, paths: Sequence[str]) -> None:
    if call.fix and call.diff:
        raise UsageError("--fix and --diff exclude each other")
    if call.unsafe and not call.mends:
        raise UsageError("--unsafe-fixes goes with --fix or --diff")
    if call.write_baseline and (call.mends or call.baseline):
        raise UsageError("--write-baseline goes with none of --fix, --diff and --baseline")
    if call.statistics and call.format not in COUNTED:
        raise UsageError(f"there are no statistics as {call.format}", hint="--format text or json")
    if call.piped and len(paths) > 1:
        raise UsageError("standard input goes with no other path")
    if (call.diff or (call.fix and call.piped)) and call.format != "text" and not call.output:
        raise UsageError(f"the report as {call.format} needs --output: the change goes to standard output")


def _refuse_overwriting(call: _Call, inputs: Inputs) -> None:
    """`UsageError` if a report is to be written over a file that is checked."""
    from nginxopt.config.filesystem import DISK

    checked = {DISK.identity(file.path) for config in inputs.configs for file in config.files}
    for option, path in (("--output", call.output), ("--write-baseline", call.write_baseline)):
        if path is not None and DISK.identity(path) in checked:
            raise UsageError(f"{option} names {path}, which is one of the files that are checked")


def _judge(
    settings: Settings, select: Sequence[str], ignore: Sequence[str], target: Target, host: Host | None
) -> Judge:
    from nginxopt.lint.catalogue import catalogue
    from nginxopt.lint.check import Judge
    from nginxopt.lint.selection import selection

    rules = selection(catalogue().values(), settings, select=select, ignore=ignore)
    return Judge(rules, target.version, settings, host)


def _assumed(names: Iterable[str], settings: Settings) -> frozenset[Premise]:
    from nginxopt.lint import premises

    return settings.assume | premises.named(names)


def _host(configs: Iterable[Config]) -> Host:
    """Return the limits of this machine, and of the nginx that runs with one of the configurations, if one does."""
    from nginxopt.system.host import pid_files, read_host

    return read_host(pids=[path for config in configs for path in pid_files(config)])


def _read(
    paths: Sequence[str], settings: Settings, prefix: str | None, context: str | None, stdin_name: str | None
) -> Inputs:
    from nginxopt.config import inputs
    from nginxopt.config.filesystem import STDIN

    how = inputs.How(prefix or settings.prefix, lambda path: context or settings.context_of(path), stdin_name or STDIN)
    return inputs.read(paths or settings.paths or (".",), how, excludes=settings.excludes)


def _run(call: _Call, settings: Settings, target: Target, judge: Judge, inputs: Inputs) -> int:
    """Judge, mend, ask nginx, write, report: the whole command."""
    from nginxopt.lint.check import check, mend

    checked = mend(inputs.configs, judge, unsafe=call.unsafe) if call.mends else check(inputs.configs, judge)
    errors = (*inputs.errors, *checked.errors)
    notes = _ask_nginx(call, inputs.configs, checked) if call.nginx is not None and checked.drafts else []
    if call.write_baseline:
        return _write_baseline(call.write_baseline, checked, errors)
    if call.mends:
        notes += _put(call, inputs.configs, checked)
    diagnostics = _beside_baseline(call.baseline or settings.baseline, judge, checked, notes)
    notes += _missing(checked.configs)
    _tell(call, _report(call, judge, target, checked, diagnostics, errors, notes))
    if errors:
        return InputError.exit_code
    would_change = call.diff and bool(checked.drafts)
    from nginxopt.lint import Severity

    least = Severity(call.fail_on) if call.fail_on else settings.fail_on
    return int(would_change or any(one.severity >= least for one in diagnostics))


def _ask_nginx(call: _Call, configs: Sequence[Config], checked: Checked) -> list[Note]:
    """Have `nginx -t` judge what the fixes make; return what it warns of. `DefectError` if it got worse."""
    from nginxopt.lint.report.model import Note
    from nginxopt.system import nginx, trial

    binary = nginx.find(call.nginx or None)
    notes = []
    for config, again in zip(configs, checked.configs, strict=True):
        changed = [file.path for file in again.files if file.path in checked.drafts]
        if not changed:
            continue
        if call.piped or again.http is None:
            raise UsageError(f"--nginx needs a whole configuration, and {config.main.path} is a part of one")
        before, after = trial.test(config, binary), trial.test_changed(again, changed, binary)
        if after.is_worse_than(before):
            raise DefectError(f"nginx -t refuses {config.main.path} after the fixes; nothing was written\n{after}")
        notes += [Note(f"nginx -t warns of something new: {warning}") for warning in after.new_warnings(before)]
        if not after.ok:
            notes.append(Note(f"nginx -t refuses {config.main.path}, before the fixes and after: {after.reasons[0]}"))
    return notes


def _put(call: _Call, configs: Sequence[Config], checked: Checked) -> list[Note]:
    """Write the changed files, or print what would change, or, of standard input, what it becomes; return notes."""
    from nginxopt.lint.report.model import Note
    from nginxopt.system.inplace import change
    from nginxopt.text.diff import unified

    drafts = checked.drafts
    if call.diff:
        stdout.write(unified(draft.original, draft.edits, path) for path, draft in drafts.items())
        return []
    if call.piped:
        _refuse_more_than_piped(checked)
        stdout.write(config.main.source.data for config in checked.configs)
        return []
    written = change(configs, {path: draft.text for path, draft in drafts.items()})
    return [
        Note(f"{one.path} was written in place because {one.in_place}; its old text is in {one.copy}")
        for one in written
        if one.in_place
    ]


def _refuse_more_than_piped(checked: Checked) -> None:
    mains = {config.main.path for config in checked.configs}
    others = sorted(path for path in checked.drafts if path not in mains)
    if others:
        raise UsageError(f"the fixes change {', '.join(others)} as well", hint="name the file instead of piping it")


def _write_baseline(path: str, checked: Checked, errors: Sequence[InputError]) -> int:
    """Write what is found into a baseline; a file that could not be read is an error all the same."""
    from nginxopt.lint import baseline

    for error in errors:
        click.echo(error.render(), err=True)
    if errors:
        return InputError.exit_code
    baseline.write(path, checked.diagnostics)
    click.echo(f"{path}: {count(len(checked.diagnostics), 'finding')}", err=True)
    return 0


def _beside_baseline(path: str | None, judge: Judge, checked: Checked, notes: list[Note]) -> tuple[Diagnostic, ...]:
    """Return the findings that no baseline has; what is to be said of it is added to `notes`."""
    if path is None:
        return checked.diagnostics
    from nginxopt.lint import baseline
    from nginxopt.lint.report.model import Note

    rules = {rule.id for rule, _ in judge.rules}
    compared = baseline.compare(baseline.load(path), checked.diagnostics, files=checked.files, rules=rules)
    if compared.hidden:
        hidden = f"{count(compared.hidden, 'finding')} {be(compared.hidden)}"
        notes.append(Note(f"{hidden} in {path} and not told"))
    if compared.note:
        notes.append(Note(compared.note))
    return compared.diagnostics


def _missing(configs: Iterable[Config]) -> list[Note]:
    """Return what is to be said of includes that lead nowhere."""
    from nginxopt.lint.report.model import Note

    return [
        Note(f"{include.args[0]} cannot be read: what it may set is not judged", include.source, include.args[0].span)
        for config in configs
        for include in config.missing
    ]


def _report(
    call: _Call,
    judge: Judge,
    target: Target,
    checked: Checked,
    diagnostics: tuple[Diagnostic, ...],
    errors: Sequence[InputError],
    notes: Sequence[Note],
) -> Report:
    from nginxopt.lint.report.model import Report

    return Report(
        diagnostics=diagnostics,
        files=checked.files,
        target=target,
        base=str(Path.cwd()),
        rules=tuple(rule for rule, _ in judge.rules),
        errors=tuple(errors),
        notes=tuple(notes),
        fixed=sum(checked.made.values()) if call.mends else None,
        shown=call.diff,
    )


def _tell(call: _Call, report: Report) -> None:
    """Put the report where it was asked for: on standard output, unless a changed text stands there."""
    from nginxopt.lint.report import render

    aside = call.diff or (call.fix and call.piped)
    color = not call.output and stdout.colored(err=aside)
    pieces = [
        piece.encode()
        for piece in render(report, call.format, statistics=call.statistics, color=color, quiet=call.quiet)
    ]
    if call.output:
        from nginxopt.system.files import write_all

        so_far = "the files are fixed" if call.fix and report.fixed else "nothing was written"
        write_all({call.output: b"".join(pieces)}, so_far=so_far)
    elif aside:
        sys.stderr.buffer.write(b"".join(pieces))
    else:
        stdout.write(pieces)
