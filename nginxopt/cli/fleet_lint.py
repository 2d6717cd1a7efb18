"""`nginxopt fleet lint`."""

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from nginxopt import budget
from nginxopt.cli import options, stdout
from nginxopt.config.filesystem import DISK
from nginxopt.errors import DefectError, InputError, UsageError
from nginxopt.lint import Severity
from nginxopt.system.files import refuse_elsewhere, refuse_unwritable
from nginxopt.system.interrupts import interruptible, orderly
from nginxopt.text.display import count

if TYPE_CHECKING:
    from nginxopt.fleet.plan import FleetOptions, NamedText
    from nginxopt.fleet.result import FleetSummary, PartialResult, UnreadHost
    from nginxopt.fleet.sources import Fleet
    from nginxopt.lint.baseline import BaselineEntry
    from nginxopt.settings.file import Settings
    from nginxopt.version import Version

_EXAMPLES = """\b
Examples:
  nginxopt fleet lint dumps/                     check the output of nginx -T of each host, one file per host
  nginxopt fleet lint backups.tar.gz --host-from '{host}/etc/nginx/nginx.conf'
  nginxopt fleet lint s3://configs/prod --output prod.duckdb
  nginxopt fleet lint dumps/ --trace redirects.csv --base https://www.example.com
                                                 ... and test each host with the table of redirects
  nginxopt fleet lint trees/ --diff              ... and keep the changes of safe fixes for nginxopt fleet diff
  nginxopt fleet lint dumps/ --write-baseline known.json; nginxopt fleet lint dumps/ --baseline known.json
                                                 accept what is known, and report what is new
  nginxopt fleet lint dumps/ --scheduler tcp://10.0.0.1:8786
  nginxopt fleet lint dumps/ --resume            continue where a run was interrupted

\b
Exit status: 0 no findings at the --fail-on severity or above, 1 findings, changes (--diff), or a row of the
table that failed, 2 usage error, 3 a host cannot be read or parsed, 4 nginx or the packages of nginxopt[fleet]
are missing, 5 the cluster is lost; the result then has what was done, and --resume continues.
"""


_MOST_TOLD = 5  # hosts that cannot be read


@click.command("lint", epilog=_EXAMPLES)
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@click.option("--host-from", metavar="PATTERN", help="Path of each host, such as {host}/nginx.conf, or a regex.")
@click.option(
    "-o",
    "--output",
    type=options.FILE,
    metavar="FILE",
    default="fleet.duckdb",
    show_default=True,
    help="Write the result to FILE; to Parquet files if it ends with a slash.",
)
@click.option("--resume", is_flag=True, help="Continue an interrupted run.")
@click.option(
    "--workers",
    type=click.IntRange(min=1),
    metavar="N",
    help="Processes on this machine.  [default: one per processor]",
)
@options.SCHEDULER
@click.option(
    "--trace",
    "table",
    type=options.FILE,
    metavar="TABLE",
    help="Test each host with a table, as nginxopt test does.",
)
@click.option("--base", metavar="URL", help="Site of paths and of log lines without a host.")
@click.option("--follow", "follows", is_flag=True, help="Follow redirects; compare where they end.")
@click.option(
    "--installed",
    type=options.DIRECTORY,
    metavar="DIR",
    help="Directory of the main file on each host.  [default: as its path or its includes show, else /etc/nginx]",
)
@options.SELECT
@options.IGNORE
@click.option(
    "--assume",
    multiple=True,
    callback=options.names,
    metavar="NAMES",
    help="Comma-separated premises: treat fixes that need only these as safe. stock: check fragments as part of the "
    "nginx.conf that comes with nginx.",
)
@options.check_with_nginx("Run nginx on each worker: send it the witness requests of findings.")
@click.option("--diff", is_flag=True, help="Keep the changes of safe fixes for nginxopt fleet diff.")
@click.option("--unsafe-fixes", "unsafe", is_flag=True, help="Include unsafe fixes.")
@click.option("--baseline", type=options.FILE, metavar="FILE", help="Hide the findings recorded in FILE.")
@click.option("--write-baseline", type=options.FILE, metavar="FILE", help="Record all findings in FILE.")
@options.TARGET_VERSION
@options.FAIL_ON
@options.CONTEXT
@options.CONFIG
@options.ISOLATED
@options.RULES
@options.QUIET
@interruptible()
def command(
    sources: tuple[str, ...],
    host_from: str | None,
    output: str,
    resume: bool,
    workers: int | None,
    scheduler: str | None,
    table: str | None,
    base: str | None,
    follows: bool,
    installed: str | None,
    nginx: str | None,
    diff: bool,
    unsafe: bool,
    baseline: str | None,
    write_baseline: str | None,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    assume: tuple[str, ...],
    target_version: Version | None,
    fail_on: str | None,
    context: str | None,
    config: str | None,
    isolated: bool,
    with_rules: bool,
    quiet: bool,
) -> int:
    """Check the configurations of many hosts.

    SOURCE is a directory, whose children are hosts, a glob pattern, a tar or zip file, or a URL that fsspec opens, such
    as s3://bucket/folder. A host is a directory with an nginx.conf, or a file such as the output of nginx -T. The
    result is a database for nginxopt fleet report and nginxopt fleet query.
    """
    from nginxopt.system import cluster

    cluster.require()
    from nginxopt.fleet.plan import FleetOptions
    from nginxopt.fleet.sources import find
    from nginxopt.lint.baseline import refuse_other
    from nginxopt.settings.target import choose

    if workers is not None and scheduler is not None:
        raise UsageError("--workers is for processes of this machine, --scheduler for a cluster")
    if table is None and (base is not None or follows):
        raise UsageError("--base and --follow need --trace")
    if unsafe and not diff:
        raise UsageError("--unsafe-fixes needs --diff")
    if write_baseline and baseline:
        raise UsageError("--write-baseline cannot be used with --baseline")
    sources, nginx = options.without_its_path(sources, nginx)
    settings, text, left = _settings(config, isolated, with_rules)
    options.put_in_force(settings.budget)
    if left is not None and not quiet:
        stdout.say(left)
    named = (table, None if text is None else text.path, baseline or settings.baseline, write_baseline)
    own = [path for path in named if path is not None]
    sources = _hosts_of(sources, own, quiet)
    read = [*named[:2], *sources]
    options.refuse_overwriting("--output", output, [*read, baseline or settings.baseline])
    refuse_elsewhere(output)
    options.refuse_overwriting("--write-baseline", write_baseline, read)
    if write_baseline is not None:
        options.refuse_shared("--output", output, "--write-baseline", [write_baseline])
        refuse_unwritable(write_baseline)
        refuse_other(write_baseline)
    target = choose(target_version, next(iter(settings.target_version), None), None if scheduler else nginx)
    plan = FleetOptions(
        settings=text,
        run=with_rules or left is None,
        select=select,
        ignore=ignore,
        assume=assume,
        target=target.version,
        guesses=target.is_guess,
        context=context,
        installed=None if installed is None else installed.rstrip("/") or "/",
        table=None if table is None else _table(table, base, follows),
        base=base,
        follows=follows,
        baseline=_baseline(baseline or (None if write_baseline else settings.baseline)),
        records=write_baseline is not None,
        nginx=nginx,
        diff=diff,
        unsafe=unsafe,
        limits=tuple(sorted(budget.limits().items())),
    )
    fleet = find(sources, host_from, own)
    part = _part(plan, Path(output), resume, {"sources": json.dumps(sources), "host_from": json.dumps(host_from)})
    started = time.monotonic()
    try:
        with (
            orderly(),
            cluster.connected(workers=workers, scheduler=scheduler) as client,
            _progress(fleet, quiet) as progress,
        ):
            from nginxopt.fleet.running import FleetRun

            FleetRun(client, plan, fleet, part, progress)()
    except BaseException:
        _keep(part, len(fleet))
        raise
    least = Severity(fail_on) if fail_on else settings.fail_on
    return _end(part, Path(output), output.endswith("/"), least, write_baseline, None if quiet else started)


def _hosts_of(sources: tuple[str, ...], own: Collection[str], quiet: bool) -> tuple[str, ...]:
    """Return the sources without files of runs, which the `*` of a shell names, too; all if nothing is left."""
    from nginxopt.fleet.result import is_result
    from nginxopt.fleet.sources import is_of_run

    others = tuple(source for source in sources if not is_of_run(source, own))
    if not others or quiet:
        return others or sources
    for source in sources:
        if source not in others:
            what = "a result" if is_result(Path(source)) else "an input"
            stdout.say(f"{source} is {what} of nginxopt fleet lint, not a host")
    return others


def _settings(config: str | None, isolated: bool, run: bool) -> tuple[Settings, NamedText | None, str | None]:
    """Return the settings, their text for the workers, and a note on rules of theirs that are not run."""
    from nginxopt.fleet.plan import NamedText
    from nginxopt.lint.catalogue import AskedRules, load_from
    from nginxopt.settings import file as settings_

    source = settings_.find(config=config, isolated=isolated)
    settings, catalogue = load_from(source, AskedRules(run, config is not None))
    text = None if source is None else NamedText(str(Path(source.path).absolute()), source.data)
    return settings, text, catalogue.note


def _table(path: str, base: str | None, follows: bool) -> NamedText:
    """Return the table, whose rows are valid. Without --base, paths belong to the site of each host."""
    from nginxopt.cli.site import base_url
    from nginxopt.config.includes import contents
    from nginxopt.fleet.plan import NamedText
    from nginxopt.request.table import read_table

    text = NamedText(path, contents(path, DISK))
    table = read_table(text.source, base_url(base or "http://localhost"), follow=follows)
    if table.broken:
        raise table.broken[0]
    return text


def _baseline(path: str | None) -> NamedText | None:
    """Return the text of the baseline. Raises `InputError` if it is damaged."""
    if path is None:
        return None
    from nginxopt.fleet.plan import NamedText
    from nginxopt.lint import baseline

    text = NamedText(path, baseline.contents(path))
    baseline.read(text.source)
    return text


def _part(plan: FleetOptions, output: Path, resume: bool, sources: Mapping[str, str]) -> PartialResult:
    """Return the file that is written until the result is complete."""
    from nginxopt.fleet import result
    from nginxopt.fleet.plan import versions

    result.refuse_other(output)
    path = output.with_name(output.name + result.PART)
    options = {**plan.options(), **sources}
    if resume:
        return result.resumed(path, options, versions())
    return result.begin(path, options, versions(), [selected.rule for selected in plan.judge.rules])


@contextlib.contextmanager
def _progress(fleet: Fleet, quiet: bool) -> Iterator[Callable[[int], None]]:
    """Yield what shows how many more hosts are done: a bar with a rate and the time left, on a terminal."""
    if quiet or not sys.stderr.isatty():
        yield lambda _: None
        return
    started = time.monotonic()
    with stdout.progress(len(fleet), "checking hosts", show_pos=True) as bar:

        def progress(more: int) -> None:
            bar.label = f"checking hosts, {(bar.pos + more) / max(time.monotonic() - started, 0.001):,.0f}/s"
            bar.update(more)

        yield progress


def _keep(part: PartialResult, hosts: int) -> None:
    """Say what an interrupted run leaves behind."""

    done = len(part.done())
    part.close()
    stdout.say(f"{part.path} has {done:,} of {count(hosts, 'host')}; --resume goes on")


def _end(
    part: PartialResult, output: Path, parquet: bool, least: Severity, write_baseline: str | None, started: float | None
) -> int:
    """Give the result its name, write the baseline, print what there is, and return the exit status."""
    from nginxopt.fleet import result

    found = part.summary()
    entries, unread = part.entries(), part.first_errors(_MOST_TOLD)
    result.finish(part, output, parquet=parquet)
    if started is not None:
        _tell(found, unread, output, time.monotonic() - started)
    if found.with_errors:
        if write_baseline is not None:
            stdout.say(f"{write_baseline} was not written: not all findings are known")
        return DefectError.exit_code if found.with_bugs else InputError.exit_code
    if write_baseline is not None:
        return _record(write_baseline, entries)
    has_findings = any(Severity(severity) >= least for severity in found.findings)
    return int(found.failed > 0 or found.patched > 0 or has_findings)


def _record(path: str, entries: Sequence[BaselineEntry]) -> int:
    """Write the baseline of a fleet without errors."""
    from nginxopt.lint.baseline import write_entries

    write_entries(path, entries)
    stdout.say(f"{path}: {count(len(entries), 'finding')}")
    return 0


def _tell(found: FleetSummary, unread: Sequence[UnreadHost], output: Path, seconds: float) -> None:
    rate = f"{found.hosts / seconds:,.0f} a second" if seconds else ""
    click.echo(
        f"{count(found.hosts, 'host')} with {count(found.configurations, 'different configuration')}"
        f" in {seconds:,.1f} s ({rate})",
        err=True,
    )
    errors, warnings, infos = (found.findings.get(severity, 0) for severity in options.SEVERITIES)
    click.echo(
        f"findings on all hosts: {count(errors, 'error')}, {count(warnings, 'warning')}, {infos:,} info", err=True
    )
    if found.hidden:
        stdout.say(f"the baseline hides {count(found.hidden, 'finding')} on all hosts")
    if found.patched:
        stdout.say(f"fixes for {count(found.patched, 'host')}: nginxopt fleet diff --result {output}")
    if found.with_errors:
        stdout.say(f"{count(found.with_errors, 'host')} cannot be read or parsed")
        for host in unread:
            stdout.say(f"  {host}")
        if found.with_errors > len(unread):
            stdout.say(f"  and {count(found.with_errors - len(unread), 'other')}")
    if found.failed:
        stdout.say(f"{count(found.failed, 'host')} failed the table")
    stdout.say(f"{output}: nginxopt fleet report {output}")
