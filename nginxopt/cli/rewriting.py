"""One call of `rewrite-to-map` for a file of rules: load, plan, emit, prove, compare on nginx, print or write."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from nginxopt.budget import limited
from nginxopt.cli import options, stdout
from nginxopt.config import Config, File, main_file
from nginxopt.config import load as load_file
from nginxopt.config.configuration import parse_context
from nginxopt.config.filesystem import Disk
from nginxopt.config.includes import source
from nginxopt.config.main_file import Alone, FoundMain
from nginxopt.config.templating import refuse_literal_names
from nginxopt.config.tree import collector_paused
from nginxopt.errors import DefectError, UsageError
from nginxopt.faults import collecting
from nginxopt.rewrite import output, plan
from nginxopt.rewrite.compilation import moved_by_literals
from nginxopt.rewrite.kinds.maps import reading
from nginxopt.rewrite.proving import proved
from nginxopt.settings import file as settings
from nginxopt.settings.target import choose
from nginxopt.system import files
from nginxopt.text.display import count, hide, hide_in_json, line, percent_encode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from nginxopt.cli.rewrite_to_map import Call
    from nginxopt.rewrite import Emission, Options, Plan, Proof
    from nginxopt.rewrite.comparison import Differential

IN_PLACE = ("write", "diff", "check", "plan")
"""The modes that work on files in place."""


def run(call: Call, compile_options: Options, named: set[str] | None = None) -> int:
    """Run the pipeline for one file: load, plan, emit, prove, compare on nginx, write.

    `named` are the files with lists that --check has named for the files before it, which it does not name again.
    """

    with collector_paused(), collecting() as faults:
        status = _run(call, compile_options, set() if named is None else named)
    return stdout.report_bugs(faults, status)


def _run(call: Call, compile_options: Options, named: set[str]) -> int:
    config, subject, around, head = limited(lambda: load(call), path=call.file)
    named_values = [file.block for file in config.files if b"${" in file.source.data]
    if named_values:  # the pattern of a template matches what is written in its place
        refuse_literal_names(named_values, only="rewrite")
    for option, path in (("--report", call.report), ("--html", call.html)):
        options.refuse_overwriting(option, path, [call.file, *(file.path for file in config.files)])
    in_place = call.mode in ("write", "diff")
    in_force = replace(compile_options, around=head, in_place=in_place)
    planned = limited(lambda: plan(config, in_force, subject), path=call.file)
    if call.mode == "plan":
        print_plan(call, planned, None)
        report_plan(call, planned, None, None)
        return 0
    if call.mode in ("check", "diff", "write") and planned.moving < call.at_least:
        report_plan(call, planned, None, None)
        if not call.quiet:
            moved = f"only {planned.moving:,} of {planned.rules.total + planned.maps.total:,} rules would move"
            stdout.say(f"{call.file}: skipped, as {moved} (--at-least {call.at_least:,})")
        return 0
    emission, proof = limited(lambda: proved(planned), path=call.file)
    planned = emission.plan
    output.refuse_outside(emission)
    if not proof.holds:
        report_plan(call, planned, proof, None)
        raise DefectError(f"the proof does not hold: {proof.refutation}{_counterexample(proof)}; nothing was written")
    notes = _reread(call, emission, around) + _verify(call, emission) + _explain(call, emission)
    refuse_shared(call, emission)
    differentials = None if call.nginx is None else _ask_nginx(call, emission)
    report_plan(call, planned, proof, differentials)
    _refuse_mismatches(differentials)
    _draw(call, emission, proof)
    notes += write_result(call, emission)
    changed = {str(Path(change.file.path).absolute()) for change in emission.changes} if call.mode == "check" else set()
    if changed and changed <= named:
        if not call.quiet:
            stdout.say(f"{call.file}: part of a configuration above, which names its lists")
    else:
        print_plan(call, planned, proof, differentials, notes)
    named |= changed
    if call.mode == "check" and planned.broken:
        raise DefectError(f"the plan does not come true: {'; '.join(planned.broken)}", hint="please report this")
    would_change = call.mode in ("check", "diff") and bool(emission.changes)
    measured = _bench(call.file) if call.bench else 0
    return measured or int(would_change)


def _reread(call: Call, emission: Emission, around: FoundMain | Alone | None) -> list[str]:
    """Read the result again as nginx does; return the notes for the user."""
    if not emission.changes:
        return []
    if emission.maps_path is None:
        because = f" ({around.because})" if isinstance(around, Alone) else ""
        unchecked = "not checked, as the nginx.conf is unknown: names, hash table sizes and includes"
        return [f"  {unchecked}{because}"] if call.mode == "write" else []

    installed = around.installed if isinstance(around, FoundMain) else None
    is_tried = call.nginx is not None and call.mode in IN_PLACE and installed is None
    changed = output.read_back(emission, rows=is_tried)
    notes = [f"  {note}" for note in output.unchecked(emission, installed)]
    if not is_tried:
        return notes
    if emission.plan.config.missing:
        return [*notes, "  not tried with nginx -t, which refuses a configuration with missing files"]
    if not notes:
        notes += [f"  {note}" for note in output.tried(emission, changed, options.binary(call.nginx))]
    return notes


def _verify(call: Call, emission: Emission) -> list[str]:
    """Ask `verify` about the result; return the notes for the user. Raises `DefectError` if a response changes."""
    if not (call.verify and emission.changes):
        return []
    from nginxopt.request.model import shown
    from nginxopt.rewrite.verification import NotVerifiedError, verification
    from nginxopt.verify.premises import OUTSIDE_SAME

    try:
        result = verification(emission, choose(emission.plan.options.target, None).version)
    except NotVerifiedError as reason:
        return [f"  verify      unknown: {reason}"]
    if result.witness is not None:
        request = result.witness.request
        sent = f"{shown(request['method'])} {shown(request['target'])}"
        raise DefectError(f"verify finds a request with another response: {sent}; nothing was written")
    if result.doubts:
        return [f"  verify      unknown: {doubt.reason}" for doubt in result.doubts[:3]]
    servers = count(result.servers, "pair of servers", "pairs of servers")
    given = [f"  given       {each}" for each in result.given if not each.endswith(f"({OUTSIDE_SAME})")]
    return [f"  verify      equivalent, by a second proof ({servers} compared)", *given]


def _explain(call: Call, emission: Emission) -> list[str]:
    """Return the way of the request of --explain, before and after."""
    if call.explain is None:
        return []
    from nginxopt.rewrite import verification

    return list(verification.ways(emission, call.explain))


def _bench(file: str) -> int:
    """Benchmark the rules of a file against the maps, like `nginxopt bench rewrites`."""
    from nginxopt.cli.bench import command as bench

    status: int = bench.main(["rewrites", file], prog_name="nginxopt bench", standalone_mode=False)
    return status


def _counterexample(proof: Proof) -> str:
    if proof.counterexample is None:
        return ""
    return f" (for the URI {percent_encode(proof.counterexample).decode()})"


def _ask_nginx(call: Call, emission: Emission) -> list[Differential]:
    from nginxopt.rewrite.differential import ask, ask_whole

    binary = options.binary(call.nginx)
    if call.quiet or not sys.stderr.isatty():
        return ask(emission, binary) + ask_whole(emission, binary)
    with stdout.progress(1, f"asking {binary}") as bar:

        def progress(done: int, total: int) -> None:
            bar.length = total
            bar.update(done - bar.pos)

        return ask(emission, binary, progress=progress) + ask_whole(emission, binary, progress=progress)


def _refuse_mismatches(differentials: list[Differential] | None) -> None:
    mismatches = [mismatch for differential in differentials or [] for mismatch in differential.mismatches]
    if mismatches:
        listed = [f"  {mismatch}" for mismatch in mismatches[:10]]
        raise DefectError("nginx responds differently; nothing was written", below=listed)


class Loaded(NamedTuple):
    """A configuration to compile.

    Attributes:
        file: The file to compile if it is not the main one.
        around: What is around the file, or why that is not known; None if that was not asked for.
        head: The head of the map that was put around a file of rows.
    """

    config: Config
    file: File | None = None
    around: FoundMain | Alone | None = None
    head: str | None = None


def load(call: Call) -> Loaded:
    """Return the configuration that a call compiles.

    The modes that work in place search for the main configuration of a fragment.
    """
    files = Disk(settings.includes())
    head = reading.map_head(call.context)
    around: FoundMain | Alone | None = None
    if call.main is not None or call.mode in IN_PLACE or (reading.is_rows_context(call.context) and head is None):
        around = None if _is_main(call) else main_file.find(call.file, prefix=call.prefix, main=call.main, files=files)
    if isinstance(around, FoundMain):
        _refuse_context(call, around)
        return Loaded(around.config, around.file, around)
    if reading.is_rows_context(call.context):
        return _rows(call, head, around)
    config = load_file(call.file, prefix=call.prefix, context=call.context, missing_ok=True, files=files)
    if config.missing and config.http and call.mode == "write":
        load_file(call.file, prefix=call.prefix, context=call.context, files=files)  # refuses it in nginx's words
    return Loaded(config, around=around)


def _rows(call: Call, head: str | None, around: Alone | None) -> Loaded:
    """Return a file of rows with a map around it. Raises `UsageError` without its head, and for --write and --diff."""
    if head is None or call.mode in ("write", "diff"):
        raise reading.unknown_map(call.file, None if around is None else around.because)
    return Loaded(reading.in_map(source(call.file), head, prefix=call.prefix), around=around, head=head)


def _is_main(call: Call) -> bool:
    """Return whether a file is a main configuration, or standard input, which cannot be part of one."""
    return call.file == "-" or load_file(call.file, includes=False).http is not None


def _refuse_context(call: Call, around: FoundMain) -> None:
    """Raise `UsageError` if the configuration includes the file in another context than --context."""
    places = set(around.config.contexts(around.file))
    if call.context is None or (
        reading.is_rows_context(call.context) and all(place[-1:] == (reading.ROWS_CONTEXT,) for place in places)
    ):
        return
    if reading.is_rows_context(call.context) or places != {parse_context(call.context)}:
        where = ", ".join(sorted(",".join(place) or "main" for place in places))
        raise UsageError(
            f"{around.config.main.path} includes {call.file} in {where}, not in {call.context}",
            hint="remove --context",
        )


def refuse_shared(call: Call, emission: Emission) -> None:
    """Raise `UsageError` if the report or the page has the path of another file that is to be written."""
    for option, path in (("--report", call.report), ("--html", call.html)):
        if call.mode == "folder" and call.folder is not None:
            options.refuse_shared(option, path, "-o", output.in_folder(emission, call.folder))
        if call.mode == "write":
            options.refuse_shared(option, path, "--write", output.new(emission))
    options.refuse_shared("--report", call.report, "--html", [] if call.html is None else [call.html])


def report_plan(call: Call, planned: Plan, proof: Proof | None, differentials: list[Differential] | None) -> None:
    """Write the JSON report, if a call requests one."""
    if call.report is not None:
        write_report(call.report, call.folder, output.report(planned, proof, differentials))


def write_report(path: str, folder: str | None, content: Mapping[str, Any]) -> None:
    """Write a JSON report to a file or, for `-`, to standard output.

    It is written before the result, as it also describes one that is refused. If it belongs in the folder of -o, this
    therefore creates the folder. Raises `InputError` if that fails.
    """

    text = hide_in_json(json.dumps(content, indent=2, ensure_ascii=False) + "\n")
    data = text.encode("utf-8", "backslashreplace")
    if path == "-":
        stdout.write([data])
        return

    _write_beside(path, folder, data)


def _write_beside(path: str, folder: str | None, data: bytes) -> None:
    """Write a file, which may belong in a folder that is not there yet."""
    file, root = Path(os.path.realpath(path)), None if folder is None else Path(os.path.realpath(folder))
    if root is not None and file.is_relative_to(root):
        files.folder(str(root), [str(file.relative_to(root))])
    files.write_all({path: data})


def _draw(call: Call, emission: Emission, proof: Proof) -> None:
    """Write the page, if a call requests one."""
    if call.html is not None:
        from nginxopt.rewrite import html

        _write_beside(call.html, call.folder, hide(html.render(emission, proof)).encode(errors="backslashreplace"))


def write_result(call: Call, emission: Emission) -> list[str]:
    """Print or write the result; return the notes for the user."""
    if call.mode == "print" and call.report != "-":
        stdout.write(output.printed(emission))
    if call.mode == "diff":
        stdout.write(output.diffs(emission))
    if call.mode == "folder" and call.folder is not None:
        return output.into_folder(emission, call.folder)
    if call.mode == "write":
        return output.in_place(emission)
    return []


def print_plan(
    call: Call,
    planned: Plan,
    proof: Proof | None,
    differentials: list[Differential] | None = None,
    notes: list[str] | None = None,
) -> None:
    """Print the summary to standard error, or to standard output if the plan is the result."""
    if call.quiet:
        return

    more = moved_by_literals(planned)
    lines = output.summary(planned, proof, moved_by_literals=more, verbose=call.verbose)
    print_summary(call, lines, [*_differential_lines(differentials or []), *(notes or [])])


def print_summary(call: Call, summary: Iterable[str], more: Iterable[str]) -> None:
    """Print a summary, its first line in bold, and more lines; to standard output only if the plan is the result."""

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
