"""The options of a call of `nginxopt lint`, and the combinations that it refuses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nginxopt.cli import options, overwriting
from nginxopt.errors import UsageError
from nginxopt.lint.report import COUNTED
from nginxopt.records import record

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nginxopt.config import Config
    from nginxopt.config.inputs import Inputs


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


def refuse_overwriting(
    call: LintCall, inputs: Inputs, around: Config | None, settings: str | None, baseline: str | None
) -> None:
    """Raise `UsageError` if a report would overwrite a file that is read, the settings, or the baseline that is
    compared; `InputError` if a baseline would overwrite a file that is none, or the report of fixes cannot be written.
    """
    from nginxopt.lint.baseline import refuse_other
    from nginxopt.system.files import refuse_unwritable

    configs = inputs.configs if around is None else (*inputs.configs, around)
    unreadable = (error.path for error in inputs.errors)
    read = [*(file.path for config in configs for file in config.files), *unreadable, settings]
    overwriting.refuse("--output", call.output, [*read, baseline])
    for _, path in call.reports:
        overwriting.refuse("--report", path, [*read, baseline, call.output])
    if call.output is not None and call.fix:
        refuse_unwritable(call.output)
    overwriting.refuse("--write-baseline", call.write_baseline, read)
    refuse_other(call.write_baseline)
