"""One call of `rewrite-to-map`: load, plan, emit, prove, compare on nginx, write."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from nginxopt.cli import faulty, options, overwriting, results, stdout
from nginxopt.errors import DefectError
from nginxopt.faults import collecting

if TYPE_CHECKING:
    from nginxopt.cli.call import Call
    from nginxopt.config.surroundings import Alone, Surroundings
    from nginxopt.rewrite import Emission, Options, Proof
    from nginxopt.rewrite.comparison import Differential


def run(call: Call, compile_options: Options, named: set[str] | None = None) -> int:
    """Run the pipeline for one file: load, plan, emit, prove, compare on nginx, write.

    `named` are the files with lists that --check has named for the files before it, which it does not name again.
    """
    from nginxopt.config.tree import collector_paused

    with collector_paused(), collecting() as faults:
        status = _run(call, compile_options, set() if named is None else named)
    return faulty.told(faults, status)


def _run(call: Call, compile_options: Options, named: set[str]) -> int:
    from nginxopt.budget import limited
    from nginxopt.cli.loading import load
    from nginxopt.rewrite import plan
    from nginxopt.rewrite.proving import proved

    config, subject, around, head = limited(lambda: load(call), path=call.file)
    overwriting.refuse("--report", call.report, [call.file, *(file.path for file in config.files)])
    in_place = call.mode in ("write", "diff")
    in_force = replace(compile_options, around=head, in_place=in_place)
    planned = limited(lambda: plan(config, in_force, subject), path=call.file)
    if call.mode == "plan":
        results.tell(call, planned, None)
        results.report(call, planned, None, None)
        return 0
    if call.mode in ("check", "diff", "write") and planned.moving < call.at_least:
        results.report(call, planned, None, None)
        if not call.quiet:
            moved = f"only {planned.moving:,} of {planned.rules.total + planned.maps.total:,} rules would move"
            stdout.say(f"{call.file}: skipped, as {moved} (--at-least {call.at_least:,})")
        return 0
    emission, proof = limited(lambda: proved(planned), path=call.file)
    planned = emission.plan
    results.refuse_outside(emission)
    if not proof.holds:
        results.report(call, planned, proof, None)
        raise DefectError(f"the proof does not hold: {proof.refutation}{_counterexample(proof)}; nothing was written")
    notes = _reread(call, emission, around) + _verify(call, emission) + _explain(call, emission)
    results.refuse_shared(call, emission)
    differentials = None if call.nginx is None else _ask_nginx(call, emission)
    results.report(call, planned, proof, differentials)
    _refuse_mismatches(differentials)
    notes += results.output(call, emission)
    changed = {str(Path(change.file.path).absolute()) for change in emission.changes} if call.mode == "check" else set()
    if changed and changed <= named:
        if not call.quiet:
            stdout.say(f"{call.file}: part of a configuration above, which names its lists")
    else:
        results.tell(call, planned, proof, differentials, notes)
    named |= changed
    if call.mode == "check" and planned.broken:
        raise DefectError(f"the plan does not come true: {'; '.join(planned.broken)}", hint="please report this")
    would_change = call.mode in ("check", "diff") and bool(emission.changes)
    measured = _bench(call.file) if call.bench else 0
    return measured or int(would_change)


def _reread(call: Call, emission: Emission, around: Surroundings | Alone | None) -> list[str]:
    """Read the result again as nginx does; return the notes for the user."""
    from nginxopt.config import surroundings

    if not emission.changes:
        return []
    if emission.maps_path is None:
        because = f" ({around.because})" if isinstance(around, surroundings.Alone) else ""
        unchecked = "not checked, as the nginx.conf is unknown: names, hash table sizes and includes"
        return [f"  {unchecked}{because}"] if call.mode == "write" else []
    from nginxopt.cli.loading import IN_PLACE
    from nginxopt.rewrite import output

    installed = around.installed if isinstance(around, surroundings.Surroundings) else None
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
    from nginxopt.request.outcomes import shown
    from nginxopt.rewrite.verification import NotVerifiedError, verification
    from nginxopt.settings.target import choose
    from nginxopt.text.display import count

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
    return [f"  verify      equivalent, by a second proof ({servers} compared)"]


def _explain(call: Call, emission: Emission) -> list[str]:
    """Return the way of the request of --explain, before and after."""
    if call.explain is None:
        return []
    from nginxopt.rewrite import ways

    return list(ways.lines(emission, call.explain))


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


def _ask_nginx(call: Call, emission: Emission) -> list[Differential]:
    from nginxopt.rewrite.questions import ask, ask_whole

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
