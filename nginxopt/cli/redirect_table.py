"""A call of `rewrite-to-map` for a table of redirects: read, check, emit, prove, ask nginx, write."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from nginxopt.budget import limited
from nginxopt.cli import options, rewriting, stdout
from nginxopt.errors import DefectError, UsageError
from nginxopt.rewrite.kinds.kind import BOUND
from nginxopt.rewrite.mapfile import sizes_text
from nginxopt.rewrite.output import raised
from nginxopt.system import files

if TYPE_CHECKING:
    from nginxopt.cli.rewrite_to_map import Call, TableOptions
    from nginxopt.rewrite import Options
    from nginxopt.rewrite.mapfile import Sizes
    from nginxopt.rewrite.tables import CheckedTable, TableEmission, TableProof
    from nginxopt.rewrite.tables.questions import TableDifferential
    from nginxopt.rewrite.tables.table import TableKind
    from nginxopt.text import Source


def run(call: Call, source: Source, kind: TableKind, compile_options: Options, reading: TableOptions) -> int:
    """Run the pipeline for one table."""
    from nginxopt.rewrite.tables import RejectedError, check, read
    from nginxopt.rewrite.tables.premises import behind_proxy

    _refuse_options(call, compile_options)
    options.refuse_overwriting("--report", call.report, [call.file])
    as_asked = behind_proxy if reading.by_proxy else lambda table: table
    checked = limited(lambda: check(as_asked(read(source, kind))), path=call.file)
    left_out = [] if reading.skips_rows else checked.faulty
    if left_out and not checked.rows:
        raise RejectedError(checked.table.source, checked.rejected)
    _compile(call, checked, compile_options)
    if left_out:
        click.echo(RejectedError(checked.table.source, left_out, wrote=True).render(), err=True)
    return int(bool(left_out))


def _compile(call: Call, checked: CheckedTable, compile_options: Options) -> None:
    """Write the text of a table, once it is proved, or only its summary."""
    from nginxopt.rewrite.tables import emit, oldest, prove

    if call.mode == "plan":
        _tell(call, checked, None, None)
        _report(call, checked, None, None)
        return
    if compile_options.target is not None and compile_options.target < oldest(checked):
        raise UsageError(
            f"nginx {compile_options.target} has no redirects with status 308", hint="use nginx 1.13.0 or later"
        )
    emission = limited(lambda: emit(checked, compile_options.name), path=call.file)
    if call.folder is not None:
        outputs = [str(Path(call.folder, name)) for name in _texts(emission)]
        options.refuse_shared("--report", call.report, "-o", outputs)
    proof = limited(lambda: prove(emission), path=call.file)
    if not proof.holds:
        _report(call, checked, proof, None)
        raise DefectError(f"the proof does not hold: {proof.refutation}; nothing was written")
    differential = None if call.nginx is None else _ask_nginx(call, emission)
    _report(call, checked, proof, differential)
    if differential is not None and differential.mismatches:
        listed = [f"  {mismatch}" for mismatch in differential.mismatches]
        raise DefectError("nginx responds differently; nothing was written", below=listed)
    notes = _output(call, emission)
    _tell(call, checked, proof, differential, notes)


def _refuse_options(call: Call, compile_options: Options) -> None:
    """Raise `UsageError` for options that do not apply to a table."""
    for name in compile_options.readings.sentences():
        if getattr(compile_options.readings, name):
            raise UsageError(f"{compile_options.readings.flag(name)} is for rewrites, not for tables of redirects")
    if compile_options.bound != BOUND:
        raise UsageError("--max-strings is for rewrites, not for tables of redirects")
    if call.mode in ("write", "diff", "check") or call.bench:
        option = "--bench" if call.bench else f"--{call.mode}"
        raise UsageError(f"{option} does not support tables of redirects", hint="use -o DIR")
    if call.explain is not None:
        raise UsageError(
            "--explain does not support tables of redirects: `nginxopt trace` shows the way through the result",
            hint="remove --explain",
        )
    if call.verify:
        raise UsageError(
            "--verify does not support tables of redirects, which replace no rules", hint="remove --verify"
        )
    if call.context not in (None, "server", "http,server"):
        raise UsageError(
            "a table of redirects is answered in a server, not in another context", hint="remove --context"
        )
    if call.main is not None or call.prefix is not None:
        raise UsageError("a table of redirects is part of no configuration", hint="remove -c and -p")


def _ask_nginx(call: Call, emission: TableEmission) -> TableDifferential:
    from nginxopt.rewrite.tables.questions import ask

    return ask(emission, options.binary(call.nginx))


def _report(
    call: Call, checked: CheckedTable, proof: TableProof | None, differential: TableDifferential | None
) -> None:
    if call.report is not None:
        from nginxopt.rewrite.tables.summary import report

        rewriting.write_report(call.report, call.folder, report(checked, proof, differential))


def _output(call: Call, emission: TableEmission) -> list[str]:
    """Print or write the result; return the notes for the user."""
    texts = _texts(emission)
    if call.mode == "folder" and call.folder is not None:
        return _into_folder(call.folder, texts, emission.sizes, call.file)
    if call.mode == "print" and call.report != "-":
        stdout.write(_headed(texts))
    return []


def _texts(emission: TableEmission) -> dict[str, bytes]:
    """Return the files of the result, by name."""
    texts = {"http.conf": emission.maps, "server.conf": emission.server}
    return {"hash.conf": emission.hash_conf, **texts} if emission.hash_conf else texts


_WHERE = {
    "hash.conf": "include it once in the http block, before any map",
    "http.conf": "include it in the http block",
    "server.conf": "include it first in a server",
}


def _headed(texts: dict[str, bytes]) -> list[bytes]:
    return [b"# ======== %s: %s ========\n%s" % (name.encode(), _WHERE[name].encode(), texts[name]) for name in texts]


def _into_folder(folder: str, texts: dict[str, bytes], wanted: Sizes, file: str) -> list[str]:
    root = Path(folder)
    for name in texts:
        options.refuse_overwriting("-o", str(root / name), [file])
    if wanted:
        texts["hash.conf"] = sizes_text(raised(wanted, root / "hash.conf"))
    files.folder(folder, list(texts))
    files.write_all({str(root / name): text for name, text in texts.items()})
    notes = [f"  wrote {', '.join(str(root / name) for name in texts)}"]
    if "hash.conf" in texts:
        notes.append("  include hash.conf once in the http block, before any map; raise sizes that are already set")
    return notes


def _tell(
    call: Call,
    checked: CheckedTable,
    proof: TableProof | None,
    differential: TableDifferential | None,
    notes: list[str] | None = None,
) -> None:
    """Print the summary to standard error, or to standard output if it is the result."""
    from nginxopt.rewrite.tables import summary

    if call.quiet:
        return
    asked = [differential] if differential is not None else []
    more = [rewriting.differential_line(of.requests, of.skipped, of.seconds) for of in asked]
    rewriting.print_summary(call, summary.lines(checked, proof, verbose=call.verbose), [*more, *(notes or [])])
