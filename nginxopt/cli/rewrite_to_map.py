"""`nginxopt rewrite-to-map`."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import click

from nginxopt.cli import options, stdout
from nginxopt.errors import DefectError, NginxoptError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nginxopt.config import Config, File
    from nginxopt.config.surroundings import Alone, Surroundings
    from nginxopt.rewrite import Emission, Options, Plan, Proof
    from nginxopt.rewrite.nginx import Differential
    from nginxopt.version import Version

Mode = Literal["print", "folder", "write", "diff", "check", "plan", "bench"]

_EXAMPLES = """\b
Examples:
  nginxopt rewrite-to-map rules.conf                  print the maps and the remaining rules
  nginxopt rewrite-to-map rules.conf -o compiled      write compiled/http.conf and compiled/server.conf
  nginxopt rewrite-to-map /etc/nginx/nginx.conf --diff
  nginxopt rewrite-to-map /etc/nginx/nginx.conf --write --nginx
  nginxopt rewrite-to-map rules.conf --check -q       exit with status 1 if any rule would move
  nginxopt rewrite-to-map rules.conf --plan-only -v   list the rules that stay, with the reasons

\b
Exit status: 0 success, 1 changes (--check, --diff), 2 usage error, 3 unreadable input, 4 nginx is missing,
70 the proof does not hold (nothing is written).
"""


@dataclass(frozen=True, slots=True)
class _Call:
    """The options of the command for one file, except those of the compilation."""

    file: str
    mode: Mode
    folder: str | None
    report: str | None
    nginx: str | None
    quiet: bool
    verbose: bool
    at_least: int
    bench: bool
    main: str | None
    prefix: str | None
    context: str | None


@click.command("rewrite-to-map", epilog=_EXAMPLES)
@click.argument("files", metavar="FILE...", nargs=-1)
@click.option("-o", "--output-dir", "folder", metavar="DIR", help="Write the result to DIR.")
@click.option(
    "--write", "mode", flag_value="write", help="Change the files in place; keep a copy of the old text beside each."
)
@click.option(
    "--diff", "mode", flag_value="diff", help="Show the changes; write nothing. Exit with status 1 on changes."
)
@click.option("--check", "mode", flag_value="check", help="Exit with status 1 if any rule would move; write nothing.")
@click.option("--plan-only", "mode", flag_value="plan", help="Show which rules would move, without a proof.")
@click.option("--report", metavar="FILE", help="Write a JSON report to FILE (- for standard output).")
@options.check_with_nginx("Also run both configurations on 127.0.0.1 and compare their responses.")
@click.option("--bench", is_flag=True, help="Benchmark the rules and the maps, like nginxopt bench rewrites FILE.")
@options.CONTEXT
@options.PREFIX
@options.MAIN
@options.TARGET_VERSION
@click.option("--name", metavar="PREFIX", help="Prefix of variable names, instead of nxo_ and a hash.")
@click.option(
    "--max-strings",
    type=click.IntRange(min=1),
    default=64,
    show_default=True,
    metavar="N",
    help="Move only rules that match at most N strings.",
)
@click.option(
    "--at-least",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="With --check, --diff or --write, skip files in which fewer than N rules would move.",
)
@click.option("--ignore-case", is_flag=True, help="Declare a difference: letters match in any case.")
@click.option("--literal-dots", is_flag=True, help="Declare a difference: an unescaped . in a literal is a dot.")
@click.option("--literal-ends", is_flag=True, help="Declare a difference: a literal without $ matches nothing longer.")
@click.option(
    "--drop-newline-twins",
    is_flag=True,
    help="Declare a difference: $ does not match before a final newline.",
)
@options.QUIET
@click.option("-v", "--verbose", is_flag=True, help="List every rule that stays or never fires.")
def command(
    files: tuple[str, ...],
    folder: str | None,
    mode: Mode | None,
    report: str | None,
    nginx: str | None,
    context: str | None,
    prefix: str | None,
    main: str | None,
    quiet: bool,
    verbose: bool,
    at_least: int,
    bench: bool,
    **compilation: Any,
) -> int:
    """Turn rewrites into maps, and prove that no response changes.

    FILE is a file of rules that a server or location includes, a main configuration (its includes are followed), or -
    for standard input. Rules that a map cannot replace stay as they are, each with a reason.

    --write, --diff, --check and --plan-only take several files and compile each by itself. They search for the
    nginx.conf that includes FILE (or use -c), include the maps there once, and check the configuration as a whole.
    """
    files, nginx = options.without_its_path(files, nginx)
    if not files:
        raise click.UsageError("FILE is missing: pass a file of rules, an nginx.conf, or - for standard input.")
    checked_mode = _mode(mode, folder, files, report, bench=bench)
    compile_options = _compile_options(**compilation)
    calls = [
        _Call(file, checked_mode, folder, report, nginx, quiet, verbose, at_least, bench, main, prefix, context)
        for file in files
    ]
    return _run_all(calls, compile_options)


def _run_all(calls: Sequence[_Call], compile_options: Options) -> int:
    """Compile the files in order, each after the previous one is written; if one fails, name those written."""
    statuses = []
    try:
        for call in calls:
            statuses.append(_run(call, compile_options))
    except NginxoptError:
        done = ", ".join(call.file for call in calls[: len(statuses)])
        if done and calls[0].mode == "write":
            click.echo(f"{done}: written before this error", err=True)
        raise
    return max(statuses)


def _mode(mode: Mode | None, folder: str | None, files: tuple[str, ...], report: str | None, *, bench: bool) -> Mode:
    if mode is not None and folder is not None:
        raise UsageError(f"-o and --{mode if mode != 'plan' else 'plan-only'} cannot be used together")
    if mode == "write" and "-" in files:
        raise UsageError("--write needs a file, not standard input")
    if len(files) > 1 and (mode is None or report is not None):
        option = "--report" if mode else "-o" if folder else "printing the result"
        raise UsageError(
            f"{option} supports only one FILE", hint="--write, --diff, --check and --plan-only support several"
        )
    if bench and (mode == "write" or "-" in files):
        raise UsageError("--bench needs a file that stays unchanged, not --write or standard input")
    return mode or ("folder" if folder is not None else "bench" if bench else "print")


def _compile_options(
    *,
    target_version: Version | None,
    name: str | None,
    max_strings: int,
    **readings: bool,
) -> Options:
    from nginxopt.rewrite import Options, Readings

    return Options(Readings(**readings), name, max_strings, target_version)


def _run(call: _Call, compile_options: Options) -> int:
    """Run the pipeline for one file: load, plan, emit, prove, compare on nginx, write."""
    from nginxopt.rewrite import emit, plan, prove

    config, subject, around = _load(call)
    compiled = plan(config, compile_options, subject)
    if call.mode == "plan":
        _tell(call, compiled, None)
        _report(call, compiled, None, None)
        return 0
    if call.mode in ("check", "diff", "write") and compiled.moved < call.at_least:
        _report(call, compiled, None, None)
        if not call.quiet:
            moved = f"only {compiled.moved:,} of {compiled.rules:,} rules would move"
            click.echo(f"{call.file}: skipped, as {moved} (--at-least {call.at_least:,})", err=True)
        return 0
    emission = emit(compiled)
    proof = prove(emission)
    if not proof.holds:
        _report(call, compiled, proof, None)
        raise DefectError(f"the proof does not hold: {proof.refutation}{_counterexample(proof)}; nothing was written")
    notes = _reread(call, emission, around)
    differentials = None if call.nginx is None else _ask_nginx(call, emission)
    _report(call, compiled, proof, differentials)
    _refuse_mismatches(differentials)
    notes += _output(call, emission)
    _tell(call, compiled, proof, differentials, notes)
    would_change = call.mode in ("check", "diff") and bool(emission.changes)
    measured = _bench(call.file) if call.bench else 0
    return measured or int(would_change)


_IN_PLACE = ("write", "diff", "check", "plan")
"""The modes that work on files in place."""


def _load(call: _Call) -> tuple[Config, File | None, Surroundings | Alone | None]:
    """Return the configuration, the file to compile if it is not the main one, and its surroundings.

    The modes that work on files in place search for the main configuration, unless FILE is one.
    """
    from nginxopt.config import load, surroundings

    around: Surroundings | Alone | None = None
    if call.main is not None or call.mode in _IN_PLACE:
        around = None if _is_main(call) else surroundings.find(call.file, prefix=call.prefix, main=call.main)
    if isinstance(around, surroundings.Surroundings):
        _refuse_context(call, around)
        return around.config, around.file, around
    config = load(call.file, prefix=call.prefix, context=call.context, missing_ok=True)
    if config.missing and config.http and call.mode == "write":
        load(call.file, prefix=call.prefix, context=call.context)  # refuses a missing file in nginx's words
    return config, None, around


def _is_main(call: _Call) -> bool:
    """Return whether a file is a main configuration, or standard input, which cannot be part of one."""
    from nginxopt.config import load

    return call.file == "-" or load(call.file, includes=False).http is not None


def _refuse_context(call: _Call, around: Surroundings) -> None:
    """Raise `UsageError` if the configuration includes the file in another context than --context."""
    from nginxopt.config.context import parse_context

    places = set(around.config.contexts(around.file))
    if call.context is not None and places != {parse_context(call.context)}:
        where = ", ".join(sorted(",".join(place) or "main" for place in places))
        raise UsageError(
            f"{around.config.main.path} includes {call.file} in {where}, not in {call.context}",
            hint="remove --context",
        )


def _reread(call: _Call, emission: Emission, around: Surroundings | Alone | None) -> list[str]:
    """Read the result again as nginx does; return the notes for the user."""
    from nginxopt.config import surroundings
    from nginxopt.rewrite import rereading
    from nginxopt.system import nginx

    if not emission.changes:
        return []
    if emission.maps_path is None:
        because = f" ({around.because})" if isinstance(around, surroundings.Alone) else ""
        unchecked = "not checked, as the nginx.conf is unknown: names, hash table sizes and includes"
        return [f"  {unchecked}{because}"] if call.mode == "write" else []
    changed = rereading.read(emission)
    installed = around.installed if isinstance(around, surroundings.Surroundings) else None
    notes = [f"  {note}" for note in rereading.unchecked(emission, installed)]
    if call.nginx is None or call.mode not in _IN_PLACE or installed is not None:
        return notes
    if emission.plan.config.missing:
        return [*notes, "  not tried with nginx -t, which refuses a configuration with missing files"]
    if not notes:
        notes += [f"  {note}" for note in rereading.tried(emission, changed, nginx.find(call.nginx or None))]
    return notes


def _bench(file: str) -> int:
    """Benchmark the rules of a file against the maps, like `nginxopt bench rewrites`."""
    from nginxopt.cli.bench import command as bench

    status: int = bench.main(["rewrites", file], prog_name="nginxopt bench", standalone_mode=False)
    return status


def _counterexample(proof: Proof) -> str:
    from nginxopt.rewrite.uris import percent_encode

    if proof.counterexample is None:
        return ""
    return f" (for the URI {percent_encode(proof.counterexample).decode()})"


def _ask_nginx(call: _Call, emission: Emission) -> list[Differential]:
    from nginxopt.rewrite.questions import ask
    from nginxopt.system import nginx

    binary = nginx.find(call.nginx or None)
    if call.quiet or not sys.stderr.isatty():
        return ask(emission, binary)
    with click.progressbar(length=1, label=f"asking {binary}", file=sys.stderr) as bar:

        def progress(done: int, total: int) -> None:
            bar.length = total
            bar.update(done - bar.pos)

        return ask(emission, binary, progress=progress)


def _refuse_mismatches(differentials: list[Differential] | None) -> None:
    mismatches = [mismatch for differential in differentials or [] for mismatch in differential.mismatches]
    if mismatches:
        listed = "\n".join(f"  {mismatch}" for mismatch in mismatches[:10])
        raise DefectError(f"nginx responds differently; nothing was written\n{listed}")


def _report(call: _Call, compiled: Plan, proof: Proof | None, differentials: list[Differential] | None) -> None:
    if call.report is None:
        return
    from nginxopt.rewrite.report import report
    from nginxopt.system.files import write_all

    text = json.dumps(report(compiled, proof, differentials), indent=2, ensure_ascii=False) + "\n"
    data = text.encode("utf-8", "backslashreplace")
    if call.report == "-":
        stdout.write([data])
    else:
        write_all({call.report: data})


def _output(call: _Call, emission: Emission) -> list[str]:
    """Print or write the result; return the notes for the user."""
    from nginxopt.rewrite import output

    if call.mode == "print" and call.report != "-":
        stdout.write(output.printed(emission))
    if call.mode == "diff":
        stdout.write(output.diffs(emission))
    if call.mode == "folder" and call.folder is not None:
        return output.into_folder(emission, call.folder)
    if call.mode == "write":
        return output.in_place(emission)
    return []


def _tell(
    call: _Call,
    compiled: Plan,
    proof: Proof | None,
    differentials: list[Differential] | None = None,
    notes: list[str] | None = None,
) -> None:
    """Print the summary to standard error, or to standard output if the plan is the result."""
    from nginxopt.rewrite import summary
    from nginxopt.rewrite.planning import moved_by_literals

    if call.quiet:
        return
    err = call.mode != "plan" or call.report == "-"
    color = False if os.environ.get("NO_COLOR") else None
    more = moved_by_literals(compiled)
    lines = summary.lines(compiled, proof, moved_by_literals=more, verbose=call.verbose)
    for number, line in enumerate(lines):
        click.secho(line, err=err, color=color, bold=number == 0 or None)
    if differentials:
        _tell_differentials(differentials, err=err)
    for note in notes or []:
        click.echo(note, err=err)


def _tell_differentials(differentials: list[Differential], *, err: bool) -> None:
    requests = sum(differential.requests for differential in differentials)
    seconds = sum(differential.seconds for differential in differentials)
    skipped = sum(differential.skipped for differential in differentials)
    skipped_text = f", {skipped:,} skipped" if skipped else ""
    click.echo(f"  nginx       {requests:>9,}  requests, no difference ({seconds:.1f} s{skipped_text})", err=err)
    for warning in sorted({warning for differential in differentials for warning in differential.warnings}):
        click.echo(f"  nginx warning: {warning}", err=err)
