"""`nginxopt rewrite-to-map`."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, Literal

import click

from nginxopt import lazy
from nginxopt.cli import options, redirect_table, rewriting, stdout
from nginxopt.config.filesystem import DISK
from nginxopt.config.includes import source
from nginxopt.errors import NginxoptError, UsageError
from nginxopt.faults import collecting, isolated
from nginxopt.records import record
from nginxopt.rewrite import Options, Readings
from nginxopt.rewrite.tables.detection import kind_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nginxopt.rewrite.tables.table import TableKind
    from nginxopt.text import Source
    from nginxopt.version import Version

Mode = Literal["print", "folder", "write", "diff", "check", "plan", "bench"]


@record(eq=True)
class Call:
    """The options of the command for one file, except those of the compilation."""

    file: str
    mode: Mode
    folder: str | None
    report: str | None
    html: str | None
    nginx: str | None
    verify: bool
    explain: str | None
    quiet: bool
    verbose: bool
    at_least: int
    bench: bool
    main: str | None
    prefix: str | None
    context: str | None


@record(eq=True)
class TableOptions:
    """How to read tables: their kind, if it is stated, whether rows may be skipped, and a proxy states the scheme."""

    kind: TableKind | None
    skips_rows: bool
    by_proxy: bool = False


_HTTP = lazy.pattern(rb"(?m)^[ \t]*http[ \t\r\n]*\{")
_EXAMPLES = """\b
Examples:
  nginxopt rewrite-to-map rules.conf                  print the maps and the remaining rules
  nginxopt rewrite-to-map rules.conf -o compiled      write compiled/http.conf and compiled/server.conf
  nginxopt rewrite-to-map /etc/nginx/nginx.conf --diff
  nginxopt rewrite-to-map /etc/nginx/nginx.conf --write --nginx
  nginxopt rewrite-to-map rows.map --context 'map $uri $new'
  nginxopt rewrite-to-map rules.conf --check -q       exit with status 1 if any rule would move
  nginxopt rewrite-to-map redirects.csv -o compiled   write maps that answer a table of redirects
  nginxopt rewrite-to-map rules.conf --plan-only -v   list the rules that stay, with the reasons

\b
Exit status: 0 success, 1 changes (--check, --diff) or rows of a table are left out, 2 usage error, 3 unreadable input,
4 nginx or a package is missing, 70 the proof does not hold (nothing is written), or with --check, what was planned
cannot be proved.
"""


@click.command("rewrite-to-map", epilog=_EXAMPLES, short_help="Turn rewrites, maps and redirect tables into lookups.")
@click.argument("files", metavar="FILE...", nargs=-1)
@click.option("-o", "--output-dir", "folder", type=options.DIRECTORY, metavar="DIR", help="Write the result to DIR.")
@click.option("--write", is_flag=True, help="Change the files in place; keep a copy of the old text beside each.")
@click.option("--diff", is_flag=True, help="Show the changes; write nothing. Exit with status 1 on changes.")
@click.option("--check", is_flag=True, help=options.CHECK)
@click.option("--plan-only", is_flag=True, help="Show which rules would move, without a proof.")
@click.option(
    "--report", type=options.FILE, metavar="FILE", help="Write a JSON report to FILE (- for standard output)."
)
@options.HTML
@options.check_with_nginx(
    "Also run both configurations on 127.0.0.1 and compare their responses.", options.MODULES, options.ALLOW_CODE
)
@click.option("--verify", is_flag=True, help="Also compare the result with nginxopt verify: a second proof.")
@click.option(
    "--explain", metavar="URL", help="Also show the way of a request through the rules, and through what replaces them."
)
@click.option("--bench", is_flag=True, help="Benchmark the rules and the maps, like nginxopt bench rewrites FILE.")
@options.CONTEXT
@options.PREFIX
@options.ALSO
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
@click.option(
    "--from",
    "kind",
    type=click.Choice(["csv", "netlify", "cloudflare", "apache"]),
    help="Kind of the table of redirects in FILE, instead of detecting it from its name and content.",
)
@click.option("--skip-rows", is_flag=True, help="Accept that rows of a table are left out: exit with status 0.")
@click.option(
    "--forwarded-proto",
    is_flag=True,
    help="Take X-Forwarded-Proto for the scheme of https:// rows of a table: nginx is behind a proxy that ends TLS.",
)
@options.QUIET
@click.option("-v", "--verbose", is_flag=True, help="List every rule that stays or never fires.")
def command(
    files: tuple[str, ...],
    folder: str | None,
    write: bool,
    diff: bool,
    check: bool,
    plan_only: bool,
    report: str | None,
    html: str | None,
    nginx: str | None,
    verify: bool,
    explain: str | None,
    context: str | None,
    prefix: str | None,
    main: str | None,
    quiet: bool,
    verbose: bool,
    at_least: int,
    bench: bool,
    kind: TableKind | None,
    skip_rows: bool,
    forwarded_proto: bool,
    **compilation: Any,
) -> int:
    """Turn rewrites, maps with regular expressions and tables of redirects into lookups, and prove the responses.

    FILE is a file of rules that a server or location includes, a file of maps, a main configuration (its includes are
    followed), or - for standard input. What a lookup cannot replace stays as it is, with a reason.

    A file of rows that a map includes needs --context map, which searches for the nginx.conf that includes FILE, or the
    head of the map, such as --context 'map $uri $new'.

    FILE may also be a table of redirects: CSV or a spreadsheet (from,to[,status]), a _redirects list of Netlify or
    Cloudflare, or Apache's Redirect and RedirectMatch. The maps then answer each row as the table says. A row that
    nginx cannot answer exactly is left out, with its line and exit status 1, which --skip-rows accepts.

    --write, --diff, --check and --plan-only take several files and compile each by itself. They search for the
    nginx.conf that includes FILE (or use -c), include the maps there once, and check the configuration as a whole.
    """
    files, nginx = options.without_its_path(files, nginx)
    if not files:
        raise click.UsageError("FILE is missing: pass a file of rules, an nginx.conf, or - for standard input.")
    chosen = _chosen(folder is not None, write, diff, check, plan_only)
    checked_mode = _mode(chosen, files, report, html, bench=bench)
    if plan_only and (nginx is not None or verify or explain is not None or html is not None or bench):
        given = {"--nginx": nginx, "--verify": verify or None, "--explain": explain, "--html": html}
        option = next((name for name, value in given.items() if value is not None), "--bench")
        raise UsageError(f"--plan-only and {option} cannot be used together: a plan is not tried")
    if at_least and not (write or diff or check):
        raise UsageError("--at-least needs --check, --diff or --write")
    compile_options = _compile_options(**compilation)
    calls = [
        Call(
            file=file,
            mode=checked_mode,
            folder=folder,
            report=report,
            html=html,
            nginx=nginx,
            verify=verify,
            explain=explain,
            quiet=quiet,
            verbose=verbose,
            at_least=at_least,
            bench=bench,
            main=main,
            prefix=prefix,
            context=context,
        )
        for file in files
    ]
    return _run_all(calls, compile_options, TableOptions(kind, skip_rows, forwarded_proto))


def _run_all(calls: Sequence[Call], compile_options: Options, reading: TableOptions) -> int:
    """Compile the files in order, each after the previous one is written; if one fails, name those written."""
    statuses: list[int] = []
    ended: list[str] = []
    named: set[str] = set()
    if calls[0].mode == "check":  # a main configuration names the lists of the files that it includes
        calls = sorted(calls, key=lambda call: not _is_main(call.file))
    try:
        for call in calls:
            with collecting() as faults, _isolated(call, is_alone=len(calls) == 1):
                statuses.append(_run(call, compile_options, reading, named))
                ended.append(call.file)
            statuses.append(stdout.report_bugs(faults, 0))
    except NginxoptError:
        done = ", ".join(ended)
        if done and calls[0].mode == "write":
            stdout.say(f"{done}: written before this error")
        raise
    return max(statuses)


def _is_main(path: str) -> bool:
    """Return whether a file looks like a main configuration: it has an http block."""
    try:
        return _HTTP.search(DISK.read(path)) is not None
    except (OSError, ValueError, NginxoptError):
        return False


def _isolated(call: Call, *, is_alone: bool) -> AbstractContextManager[None]:
    """Return what keeps a bug that one of several files shows from the others."""
    return nullcontext() if is_alone else isolated("the file", path=call.file)


def _run(call: Call, compile_options: Options, reading: TableOptions, named: set[str]) -> int:
    """Run the pipeline of tables for a table, and that of rules for any other file."""
    table = _table(call, reading)
    if table is None:
        if reading.skips_rows or reading.by_proxy:
            option = "--skip-rows" if reading.skips_rows else "--forwarded-proto"
            raise UsageError(f"{option} is for tables of redirects, and {call.file} is not one")

        return rewriting.run(call, compile_options, named)

    if call.html is not None:
        raise UsageError(f"--html is for rules and maps, and {call.file} is a table of redirects")
    return redirect_table.run(call, *table, compile_options, reading)


def _table(call: Call, reading: TableOptions) -> tuple[Source, TableKind] | None:
    """Return the text and the kind of a table; None if the file is something else.

    A file that can be read only once, such as standard input, is a table only if its kind is stated.
    """
    if reading.kind is None and not os.path.isfile(call.file):
        return None
    text = source(call.file)
    kind = reading.kind or kind_of(text)
    return None if kind is None else (text, kind)


_MODES: dict[str, Mode] = {
    "-o": "folder",
    "--write": "write",
    "--diff": "diff",
    "--check": "check",
    "--plan-only": "plan",
}


def _chosen(*given: bool) -> Mode | None:
    """Return the mode that one of the options of `_MODES` chooses, in their order; `UsageError` if several do."""
    chosen = [option for option, is_given in zip(_MODES, given, strict=True) if is_given]
    if len(chosen) > 1:
        raise UsageError(f"{chosen[0]} and {chosen[1]} cannot be used together")
    return _MODES[chosen[0]] if chosen else None


def _mode(mode: Mode | None, files: tuple[str, ...], report: str | None, html: str | None, *, bench: bool) -> Mode:
    if mode == "write" and "-" in files:
        raise UsageError("--write needs a file, not standard input")
    if len(files) > 1 and (mode in (None, "folder") or report is not None or html is not None):
        of_one = "--report" if report is not None else "--html"
        option = "-o" if mode == "folder" else of_one if mode else "printing the result"
        raise UsageError(
            f"{option} supports only one FILE", hint="--write, --diff, --check and --plan-only support several"
        )
    if mode == "diff" and report == "-":
        raise UsageError("--diff and --report - cannot be used together", hint="write the report to a file")
    if bench and (mode == "write" or "-" in files):
        raise UsageError("--bench needs a file that stays unchanged, not --write or standard input")
    return mode or ("bench" if bench else "print")


def _compile_options(
    *,
    target_version: Version | None,
    name: str | None,
    max_strings: int,
    **readings: bool,
) -> Options:
    return Options(Readings(**readings), name, max_strings, target_version, groups=True)
