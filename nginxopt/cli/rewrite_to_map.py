"""`nginxopt rewrite-to-map`."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import click

from nginxopt.cli import stdout
from nginxopt.errors import DefectError, NginxoptError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nginxopt.config import Config, File
    from nginxopt.config.surroundings import Alone, Surroundings
    from nginxopt.rewrite import Emission, Options, Plan, Proof
    from nginxopt.rewrite.nginx import Differential

Mode = Literal["print", "folder", "write", "diff", "check", "plan", "bench"]

_EXAMPLES = """\b
Examples:
  nginxopt rewrite-to-map rules.conf                  print the maps and what remains of the rules
  nginxopt rewrite-to-map rules.conf -o compiled      write compiled/http.conf and compiled/server.conf
  nginxopt rewrite-to-map /etc/nginx/nginx.conf --diff
  nginxopt rewrite-to-map /etc/nginx/nginx.conf --write --nginx
  nginxopt rewrite-to-map rules.conf --check -q       exit 1 if there is something to collapse
  nginxopt rewrite-to-map rules.conf --plan-only -v   which rules stay, and why

\b
Exit status: 0 done, 1 would change (--check, --diff), 2 wrong usage, 3 unreadable input, 4 nginx is missing,
70 the proof does not hold (nothing is written).
"""


@dataclass(frozen=True, slots=True)
class _Call:
    """What was asked for, beside the options of the compilation."""

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
@click.option("-o", "--output-dir", "folder", metavar="DIR", help="Write the result into a folder.")
@click.option(
    "--write", "mode", flag_value="write", help="Change the files in place; the old text is kept beside each."
)
@click.option("--diff", "mode", flag_value="diff", help="Show what would change; exit 1 if something would.")
@click.option("--check", "mode", flag_value="check", help="Exit 1 if there is something to collapse; write nothing.")
@click.option("--plan-only", "mode", flag_value="plan", help="Only tell which rules would move; nothing is proved.")
@click.option("--report", metavar="FILE", help="Write a report as JSON (-: to standard output).")
@click.option(
    "--nginx",
    is_flag=False,
    flag_value="",
    metavar="[PATH]",
    help="Ask a real nginx as well: run both configurations on 127.0.0.1 and compare their responses.",
)
@click.option("--bench", is_flag=True, help="Measure the rules and the maps: nginxopt bench rewrites FILE.")
@click.option("--context", metavar="CONTEXT", help="Where a fragment is included: server or location.")
@click.option("-p", "--prefix", metavar="DIR", help="What relative includes start from, as nginx's -p.")
@click.option("-c", "--main", metavar="FILE", help="The main configuration that includes each FILE, as nginx's -c.")
@click.option("--target-version", metavar="VERSION", help="The nginx that is to run the result, such as 1.22.1.")
@click.option("--name", metavar="PREFIX", help="How the names of the variables start, instead of nxo_ and a hash.")
@click.option(
    "--max-strings",
    type=click.IntRange(min=1),
    default=64,
    show_default=True,
    metavar="N",
    help="How many strings a rule may match to be moved.",
)
@click.option(
    "--at-least",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="With --check, --diff and --write: leave a file as it is if fewer of its rules would move.",
)
@click.option("--ignore-case", is_flag=True, help="Declare a difference: letters match in any case.")
@click.option("--literal-dots", is_flag=True, help="Declare a difference: an unescaped . in a literal is a dot.")
@click.option("--literal-ends", is_flag=True, help="Declare a difference: a literal without $ ends there.")
@click.option(
    "--drop-newline-twins",
    is_flag=True,
    help="Declare a difference: $ does not match before a final newline.",
)
@click.option("-q", "--quiet", is_flag=True, help="No summary.")
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
    **options: Any,
) -> int:
    """Turn rewrites into maps that nginx looks up, and prove that no response changes.

    FILE is a file of rules as included in a server or a location, a whole nginx.conf (its includes are followed),
    or - for standard input. Rules that a map cannot answer stay as they are, each with a reason. --write, --diff,
    --check and --plan-only take several files, each compiled for itself.

    --write, --diff, --check and --plan-only look for the nginx.conf that includes FILE (or -c names it): the maps are
    included there, once, and the result is checked as nginx reads it, as part of the whole configuration.
    """
    if not files and nginx:
        files, nginx = (nginx,), ""  # `--nginx FILE` without a path of its own
    if not files:
        raise click.UsageError("FILE is missing: a file of rules, a whole nginx.conf, or - for standard input.")
    what = _mode(mode, folder, files, report, bench=bench)
    compile_options = _options(**options)
    calls = [
        _Call(file, what, folder, report, nginx, quiet, verbose, at_least, bench, main, prefix, context)
        for file in files
    ]
    return _run_all(calls, compile_options)


def _run_all(calls: Sequence[_Call], options: Options) -> int:
    """Run the calls one after the other, each on what the one before has written; say so if a later one fails."""
    statuses = []
    try:
        for call in calls:
            statuses.append(_run(call, options))
    except NginxoptError:
        done = ", ".join(call.file for call in calls[: len(statuses)])
        if done and calls[0].mode == "write":
            click.echo(f"{done}: done before what follows", err=True)
        raise
    return max(statuses)


def _mode(mode: Mode | None, folder: str | None, files: tuple[str, ...], report: str | None, *, bench: bool) -> Mode:
    if mode is not None and folder is not None:
        raise UsageError(f"-o and --{mode if mode != 'plan' else 'plan-only'} exclude each other")
    if mode == "write" and "-" in files:
        raise UsageError("--write needs a file: standard input cannot be changed")
    if len(files) > 1 and (mode is None or report is not None):
        raise UsageError(
            f"{'--report takes' if mode else '-o takes' if folder else 'printed is'} one FILE only",
            hint="--write, --diff, --check and --plan-only take several",
        )
    if bench and (mode == "write" or "-" in files):
        raise UsageError("--bench needs the rules in a file, as they are before they are compiled")
    return mode or ("folder" if folder is not None else "bench" if bench else "print")


def _options(
    *,
    target_version: str | None,
    name: str | None,
    max_strings: int,
    **readings: bool,
) -> Options:
    from nginxopt.rewrite import Options, Readings
    from nginxopt.version import Version

    target = None if target_version is None else Version.parse(target_version)
    return Options(Readings(**readings), name, max_strings, target)


def _run(call: _Call, options: Options) -> int:
    """Load, plan, emit, prove, ask, write: the whole command."""
    from nginxopt.rewrite import emit, plan, prove

    config, subject, around = _load(call)
    compiled = plan(config, options, subject)
    if call.mode == "plan":
        _tell(call, compiled, None)
        _report(call, compiled, None, None)
        return 0
    if call.mode in ("check", "diff", "write") and compiled.moved < call.at_least:
        _report(call, compiled, None, None)
        if not call.quiet:
            moved = f"{compiled.moved} of {compiled.rules} rules would move"
            click.echo(f"{call.file}: {moved}, fewer than {call.at_least}: left as it is", err=True)
        return 0
    emission = emit(compiled)
    proof = prove(compiled, emission)
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
"""The modes that speak of the files where they are."""


def _load(call: _Call) -> tuple[Config, File | None, Surroundings | Alone | None]:
    """Return the configuration, the file in it that is meant if that is not its main one, and what was found around it.

    The main configuration is looked for where the files stay where they are, unless FILE is one.
    """
    from nginxopt.config import load, surroundings

    around: Surroundings | Alone | None = None
    if call.main is not None or call.mode in _IN_PLACE:
        around = None if _is_main(call) else surroundings.find(call.file, prefix=call.prefix, main=call.main)
    if isinstance(around, surroundings.Surroundings):
        _refuse_context(call, around)
        return around.config, around.file, around
    return load(call.file, prefix=call.prefix, context=call.context), None, around


def _is_main(call: _Call) -> bool:
    """Return whether a file is a main configuration by itself, or none that could be part of one."""
    from nginxopt.config import load

    return call.file == "-" or load(call.file, includes=False).http is not None


def _refuse_context(call: _Call, around: Surroundings) -> None:
    """`UsageError` if the configuration includes a file elsewhere than the call says."""
    from nginxopt.config.context import stated

    places = set(around.config.contexts(around.file))
    if call.context is not None and places != {stated(call.context)}:
        where = ", ".join(sorted(",".join(place) or "main" for place in places))
        raise UsageError(
            f"{around.config.main.path} includes {call.file} in {where}, not in {call.context}",
            hint="leave --context out: it is known",
        )


def _reread(call: _Call, emission: Emission, around: Surroundings | Alone | None) -> list[str]:
    """Try the result as nginx will read it; return what the user is to be told of that."""
    from nginxopt.config import surroundings
    from nginxopt.rewrite import rereading
    from nginxopt.system import nginx

    if not emission.changes:
        return []
    if emission.maps_path is None:
        because = f" ({around.because})" if isinstance(around, surroundings.Alone) else ""
        unchecked = "not checked: names, sizes of hash tables and includes, as the nginx.conf is not known"
        return [f"  {unchecked}{because}"] if call.mode == "write" else []
    changed = rereading.read(emission)
    installed = around.installed if isinstance(around, surroundings.Surroundings) else None
    notes = [f"  {note}" for note in rereading.unchecked(emission, installed)]
    if call.nginx is not None and call.mode in _IN_PLACE and not notes:
        notes += [f"  {note}" for note in rereading.tried(emission, changed, nginx.find(call.nginx or None))]
    return notes


def _bench(file: str) -> int:
    """Measure the rules of a file, and the maps, as `nginxopt bench rewrites` does."""
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
    with click.progressbar(length=1, label=f"asking nginx {binary.version}", file=sys.stderr) as bar:

        def progress(done: int, total: int) -> None:
            bar.length = total
            bar.update(done - bar.pos)

        return ask(emission, binary, progress=progress)


def _refuse_mismatches(differentials: list[Differential] | None) -> None:
    mismatches = [mismatch for found in differentials or [] for mismatch in found.mismatches]
    if mismatches:
        listed = "\n".join(f"  {mismatch}" for mismatch in mismatches[:10])
        raise DefectError(f"a real nginx answers differently; nothing was written\n{listed}")


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
    """Put the result where it was asked for; return what the user is to be told of it."""
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
    """Print the summary: what was found on standard error, or the plan, if it is all there is, as the result."""
    from nginxopt.rewrite import summary

    if call.quiet:
        return
    err = call.mode != "plan" or call.report == "-"
    color = False if os.environ.get("NO_COLOR") else None
    for number, line in enumerate(summary.lines(compiled, proof, verbose=call.verbose)):
        click.secho(line, err=err, color=color, bold=number == 0 or None)
    if differentials:
        _tell_differentials(differentials, err=err)
    for note in notes or []:
        click.echo(note, err=err)


def _tell_differentials(differentials: list[Differential], *, err: bool) -> None:
    requests = sum(found.requests for found in differentials)
    seconds = sum(found.seconds for found in differentials)
    skipped = sum(found.skipped for found in differentials)
    left_out = f", {skipped:,} left out" if skipped else ""
    click.echo(f"  nginx       {requests:>9,}  requests, no difference ({seconds:.1f} s{left_out})", err=err)
    for warning in sorted({warning for found in differentials for warning in found.warnings}):
        click.echo(f"  nginx warns: {warning}", err=err)
