"""The fixes of `nginxopt lint`: checked on nginx, then written or shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nginxopt.cli import options, stdout
from nginxopt.errors import DefectError, InputError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nginxopt.cli.lint_call import LintCall
    from nginxopt.config import Config
    from nginxopt.lint.check import Checked
    from nginxopt.lint.report.model import Note


def check(call: LintCall, configs: Sequence[Config], checked: Checked) -> list[Note]:
    """Check the fixes with `nginx -t`; return its warnings.

    Raises `DefectError` if they break the configuration, and `InputError` if they are to be written to one that nginx
    refuses without them, so that they cannot be checked.
    """
    from nginxopt.lint.report.model import Note
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


def write(call: LintCall, configs: Sequence[Config], checked: Checked) -> list[Note]:
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
