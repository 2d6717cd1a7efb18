"""The output of `rewrite-to-map`: its report, its result, its summary."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nginxopt.cli import overwriting, stdout

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from nginxopt.cli.call import Call
    from nginxopt.rewrite import Emission, Plan, Proof
    from nginxopt.rewrite.comparison import Differential


def refuse_shared(call: Call, emission: Emission) -> None:
    """Raise `UsageError` if the report has the path of another file that is to be written."""
    if call.report is None:
        return
    from nginxopt.rewrite import output as outputs

    if call.mode == "folder" and call.folder is not None:
        overwriting.refuse_shared("--report", call.report, "-o", outputs.in_folder(emission, call.folder))
    if call.mode == "write":
        overwriting.refuse_shared("--report", call.report, "--write", outputs.new(emission))


def refuse_outside(emission: Emission) -> None:
    """Raise `InputError` if a file outside of the named paths changes: the result would show its text, too."""
    from nginxopt.system.inplace import outside

    paths = sorted({changed.file.path for changed in emission.changes if changed.file.source.outside})
    if paths:
        raise outside(*paths)


def report(call: Call, planned: Plan, proof: Proof | None, differentials: list[Differential] | None) -> None:
    """Write the JSON report, if a call requests one."""
    if call.report is not None:
        from nginxopt.rewrite import report as reports

        write_report(call.report, call.folder, reports.report(planned, proof, differentials))


def write_report(path: str, folder: str | None, content: Mapping[str, Any]) -> None:
    """Write a JSON report to a file or, for `-`, to standard output.

    It is written before the result, as it also describes one that is refused. If it belongs in the folder of -o, this
    therefore creates the folder. Raises `InputError` if that fails.
    """
    import json

    from nginxopt.text.withheld import hide_in_json

    text = hide_in_json(json.dumps(content, indent=2, ensure_ascii=False) + "\n")
    data = text.encode("utf-8", "backslashreplace")
    if path == "-":
        stdout.write([data])
        return
    from nginxopt.system import files

    file, root = Path(os.path.realpath(path)), None if folder is None else Path(os.path.realpath(folder))
    if root is not None and file.is_relative_to(root):
        files.folder(str(root), [str(file.relative_to(root))])
    files.write_all({path: data})


def output(call: Call, emission: Emission) -> list[str]:
    """Print or write the result; return the notes for the user."""
    from nginxopt.rewrite import output as outputs

    if call.mode == "print" and call.report != "-":
        stdout.write(outputs.printed(emission))
    if call.mode == "diff":
        stdout.write(outputs.diffs(emission))
    if call.mode == "folder" and call.folder is not None:
        return outputs.into_folder(emission, call.folder)
    if call.mode == "write":
        return outputs.in_place(emission)
    return []


def tell(
    call: Call,
    planned: Plan,
    proof: Proof | None,
    differentials: list[Differential] | None = None,
    notes: list[str] | None = None,
) -> None:
    """Print the summary to standard error, or to standard output if the plan is the result."""
    if call.quiet:
        return
    from nginxopt.rewrite import summary
    from nginxopt.rewrite.compilation import moved_by_literals

    more = moved_by_literals(planned)
    lines = summary.lines(planned, proof, moved_by_literals=more, verbose=call.verbose)
    print_summary(call, lines, [*_differential_lines(differentials or []), *(notes or [])])


def print_summary(call: Call, summary: Iterable[str], more: Iterable[str]) -> None:
    """Print a summary, its first line in bold, and more lines; to standard output only if the plan is the result."""
    from nginxopt.text.display import line
    from nginxopt.text.withheld import hide

    err = call.mode != "plan" or call.report == "-"
    color = False if os.environ.get("NO_COLOR") else None
    for number, text in enumerate(summary):
        click.secho(line(hide(text)), err=err, color=color, bold=number == 0 or None)
    for text in more:
        click.echo(line(hide(text)), err=err)


def differential_line(requests: int, skipped: int, seconds: float) -> str:
    """Return the line on requests to a real nginx, which found no difference, or nothing to ask."""
    if not requests:
        return f"  nginx       {requests:>9,}  requests: nothing was compared"
    left_out = f", {skipped:,} skipped" if skipped else ""
    return f"  nginx       {requests:>9,}  requests, no difference ({seconds:.1f} s{left_out})"


def _differential_lines(differentials: Sequence[Differential]) -> Iterator[str]:
    if not differentials:
        return
    requests = sum(differential.requests for differential in differentials)
    seconds = sum(differential.seconds for differential in differentials)
    skipped = sum(differential.skipped for differential in differentials)
    yield differential_line(requests, skipped, seconds)
    for why in (differential.omitted for differential in differentials if differential.omitted):
        yield f"  nginx       not compared as a whole: {why}"
    for warning in sorted({warning for differential in differentials for warning in differential.warnings}):
        yield f"  nginx warning: {warning}"
