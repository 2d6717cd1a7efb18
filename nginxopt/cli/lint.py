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
from nginxopt.text.plural import count

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
  nginxopt lint /etc/nginx/nginx.conf            find what makes this nginx slow
  nginxopt lint nginx.conf --fix                 apply the safe fixes
  nginxopt lint nginx.conf --fix --assume http11-backends,idle-connections
                                                 ... and those that are safe under these premises
  nginxopt lint nginx.conf --fix --nginx         ... and check them with nginx -t first
  nginxopt lint nginx.conf --diff                show the changes of --fix
  nginxopt lint sites/ --format sarif --output nginxopt.sarif
  nginx -T | nginxopt lint -                     check the configuration that nginx prints

\b
Exit status: 0 no findings at the --fail-on severity or above, 1 findings, or changes (--diff), 2 usage error,
3 unreadable input, 4 nginx is missing, 70 nginx -t refuses the fixes (nothing is written).
"""

_SEVERITIES = ("error", "warning", "info")


def _names(_context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name.strip() for value in values for name in value.split(",") if name.strip())


@dataclass(frozen=True, slots=True)
class _Call:
    """The options of a call, except those about its input and its rules."""

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
    def applies_fixes(self) -> bool:
        """Whether fixes are applied, or shown as a diff."""
        return self.fix or self.diff


@click.command("lint", epilog=_EXAMPLES)
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--fix", is_flag=True, help="Apply safe fixes: every decoded response stays as it is.")
@click.option(
    "--assume",
    multiple=True,
    callback=_names,
    metavar="PREMISES",
    help="Treat fixes that need only these premises as safe (comma-separated). See nginxopt explain PREMISE.",
)
@click.option("--unsafe-fixes", "unsafe", is_flag=True, help="Include unsafe fixes in --fix and --diff.")
@click.option("--diff", is_flag=True, help="Show the changes of --fix; write nothing.")
@options.check_with_nginx("Check fixes with nginx -t; write nothing if they break the configuration.")
@click.option("--host", "with_host", is_flag=True, help="Also check the limits of this machine (Linux only).")
@click.option("--select", multiple=True, callback=_names, metavar="NAMES", help="Run only these rules or categories.")
@click.option("--ignore", multiple=True, callback=_names, metavar="NAMES", help="Skip these rules or categories.")
@options.TARGET_VERSION
@click.option(
    "--fail-on",
    type=click.Choice(_SEVERITIES),
    help="Lowest severity that makes the exit status 1.  [default: warning]",
)
@options.format_of(list(FORMATS), "text")
@options.OUTPUT
@click.option("--statistics", is_flag=True, help="Count findings by rule (text and json).")
@click.option("--baseline", metavar="FILE", help="Hide the findings recorded in FILE.")
@click.option("--write-baseline", metavar="FILE", help="Record all findings in FILE.")
@options.CONTEXT
@options.PREFIX
@click.option("--stdin-filename", metavar="NAME", help="File name to report for standard input.")
@click.option("--config", metavar="FILE", help="Read settings from FILE instead of searching for them.")
@click.option("--isolated", is_flag=True, help="Ignore all settings files.")
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
    **values: Any,
) -> int:
    """Find what makes an nginx configuration slow, and fix it.

    PATH is a main configuration (its includes are followed), a fragment, a directory, a glob pattern, or - for standard
    input, such as the output of nginx -T. Without PATH, check the paths in the settings, or the working directory.
    """
    from nginxopt.lint import settings as settings_
    from nginxopt.lint.catalogue import catalogue
    from nginxopt.lint.target import choose

    paths, values["nginx"] = options.without_its_path(paths, values["nginx"])
    settings = settings_.load(catalogue(), config=config, isolated=isolated)
    call = _Call(piped="-" in paths, format=format_, **values)
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
        raise UsageError("--fix and --diff cannot be used together")
    if call.unsafe and not call.applies_fixes:
        raise UsageError("--unsafe-fixes needs --fix or --diff")
    if call.write_baseline and (call.applies_fixes or call.baseline):
        raise UsageError("--write-baseline cannot be used with --fix, --diff or --baseline")
    if call.statistics and call.format not in COUNTED:
        raise UsageError(f"--statistics does not support --format {call.format}", hint="use --format text or json")
    if call.piped and len(paths) > 1:
        raise UsageError("standard input cannot be combined with other paths")
    if (call.diff or (call.fix and call.piped)) and call.format != "text" and not call.output:
        raise UsageError(
            f"--format {call.format} needs --output here", hint="the changes are printed to standard output"
        )


def _refuse_overwriting(call: _Call, inputs: Inputs) -> None:
    """Raise `UsageError` if a report would overwrite a checked file."""
    from nginxopt.config.filesystem import DISK

    checked = {DISK.identity(file.path) for config in inputs.configs for file in config.files}
    for option, path in (("--output", call.output), ("--write-baseline", call.write_baseline)):
        if path is not None and DISK.identity(path) in checked:
            raise UsageError(f"{option} {path} would overwrite a checked file")


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

    how = inputs.InputOptions(
        prefix or settings.prefix, lambda path: context or settings.context_of(path), stdin_name or STDIN
    )
    return inputs.read(paths or settings.paths or (".",), how, excludes=settings.excludes)


def _run(call: _Call, settings: Settings, target: Target, judge: Judge, inputs: Inputs) -> int:
    """Check, fix, try the result on nginx, write, report: the whole command."""
    from nginxopt.lint.check import check, check_and_fix

    checked = (
        check_and_fix(inputs.configs, judge, unsafe=call.unsafe) if call.applies_fixes else check(inputs.configs, judge)
    )
    errors = (*inputs.errors, *checked.errors)
    notes = _ask_nginx(call, inputs.configs, checked) if call.nginx is not None and checked.drafts else []
    if call.write_baseline:
        return _write_baseline(call.write_baseline, checked, errors)
    if call.applies_fixes:
        notes += _put(call, inputs.configs, checked)
    diagnostics = _beside_baseline(call.baseline or settings.baseline, judge, checked, notes)
    notes += _missing(checked.configs)
    _tell(call, _report(call, judge, target, checked, diagnostics, errors, notes))
    if errors:
        return InputError.exit_code
    would_change = call.diff and bool(checked.drafts)
    from nginxopt.lint import Severity

    least = Severity(call.fail_on) if call.fail_on else settings.fail_on
    return int(would_change or any(diagnostic.severity >= least for diagnostic in diagnostics))


def _ask_nginx(call: _Call, configs: Sequence[Config], checked: Checked) -> list[Note]:
    """Check the fixes with `nginx -t`; return its warnings. Raises `DefectError` if they break the configuration."""
    from nginxopt.lint.report.model import Note
    from nginxopt.system import nginx
    from nginxopt.system.nginx import trial

    binary = nginx.find(call.nginx or None)
    notes = []
    for config, again in zip(configs, checked.configs, strict=True):
        changed = [file.path for file in again.files if file.path in checked.drafts]
        if not changed:
            continue
        if call.piped or again.http is None:
            raise UsageError(f"--nginx needs a whole configuration, but {config.main.path} is a fragment")
        before, after = trial.test(config, binary), trial.test_changed(again, changed, binary)
        if after.is_worse_than(before):
            raise DefectError(f"nginx -t refuses {config.main.path} after the fixes; nothing was written\n{after}")
        notes += [Note(f"new warning of nginx -t: {warning}") for warning in after.new_warnings(before)]
        if not after.ok:
            notes.append(Note(f"nginx -t refuses {config.main.path} both before and after: {after.reasons[0]}"))
    return notes


def _put(call: _Call, configs: Sequence[Config], checked: Checked) -> list[Note]:
    """Write the changed files, or print the diff or the new standard input; return notes."""
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
        Note(f"{file.path} was written in place because {file.in_place}; its old text is in {file.copy}")
        for file in written
        if file.in_place
    ]


def _refuse_more_than_piped(checked: Checked) -> None:
    mains = {config.main.path for config in checked.configs}
    others = sorted(path for path in checked.drafts if path not in mains)
    if others:
        raise UsageError(f"the fixes also change {', '.join(others)}", hint="pass a path instead of standard input")


def _write_baseline(path: str, checked: Checked, errors: Sequence[InputError]) -> int:
    """Record the findings in a baseline; unreadable files are errors here too."""
    from nginxopt.lint import baseline

    for error in errors:
        click.echo(error.render(), err=True)
    if errors:
        return InputError.exit_code
    baseline.write(path, checked.diagnostics)
    click.echo(f"{path}: {count(len(checked.diagnostics), 'finding')}", err=True)
    return 0


def _beside_baseline(path: str | None, judge: Judge, checked: Checked, notes: list[Note]) -> tuple[Diagnostic, ...]:
    """Return the findings that the baseline does not record; add its messages to `notes`."""
    if path is None:
        return checked.diagnostics
    from nginxopt.lint import baseline
    from nginxopt.lint.report.model import Note

    rules = {rule.id for rule, _ in judge.rules}
    compared = baseline.compare(baseline.load(path), checked.diagnostics, files=checked.files, rules=rules)
    if compared.hidden:
        notes.append(Note(f"{path} hides {count(compared.hidden, 'finding')}"))
    if compared.note:
        notes.append(Note(compared.note))
    return compared.diagnostics


def _missing(configs: Iterable[Config]) -> list[Note]:
    """Return a note for each include that leads nowhere."""
    from nginxopt.lint.report.model import Note

    notes = []
    for config in configs:
        for include in config.missing:
            reason = "is not a regular file" if include in config.irregular else "cannot be read"
            path = include.args[0]
            notes.append(Note(f"{path} {reason} and is not checked", include.source, path.span))
    return notes


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
        fixed=sum(checked.made.values()) if call.applies_fixes else None,
        shown=call.diff,
    )


def _tell(call: _Call, report: Report) -> None:
    """Write the report: to --output, or standard output, or standard error if standard output has the changes."""
    from nginxopt.lint.report import render

    aside = call.diff or (call.fix and call.piped)
    color = not call.output and stdout.colored(err=aside)
    pieces = [
        piece.encode()
        for piece in render(report, call.format, statistics=call.statistics, color=color, quiet=call.quiet)
    ]
    if call.output:
        from nginxopt.system.files import write_all

        so_far = "the files are already fixed" if call.fix and report.fixed else "nothing was written"
        write_all({call.output: b"".join(pieces)}, so_far=so_far)
    elif aside:
        sys.stderr.buffer.write(b"".join(pieces))
    else:
        stdout.write(pieces)
