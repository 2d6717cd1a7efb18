"""`nginxopt fleet report`."""

from __future__ import annotations

from importlib import import_module
from itertools import chain
from typing import TYPE_CHECKING

import click

from nginxopt.cli import options, stdout
from nginxopt.errors import UsageError
from nginxopt.fleet.report.groups import grouped_by
from nginxopt.fleet.report.since import since
from nginxopt.fleet.report.traffic import paths_of, traffic
from nginxopt.system import cluster
from nginxopt.system.files import write_all
from nginxopt.system.interrupts import interruptible
from nginxopt.text.display import inert_document

if TYPE_CHECKING:
    from collections.abc import Iterator

    from duckdb import DuckDBPyConnection

    from nginxopt.fleet.report.facts import FleetReport
    from nginxopt.fleet.report.since import Since

_EXAMPLES = """\b
Examples:
  nginxopt fleet report                              the findings of fleet.duckdb by rule and group, and drift
  nginxopt fleet report --format html --output fleet.html
  nginxopt fleet report --group-from '{group}-*' prod.duckdb
  nginxopt fleet report --since monday.duckdb        ... and what is new
  nginxopt fleet report --profile 'profiles/{host}.profile'
                                                     ... and what findings cost a day under the hosts' own traffic

\b
Exit status: 0 success, 2 usage error, 3 unreadable result or a run that did not end, 4 the packages of
nginxopt[fleet] are missing.
"""


@click.command("report", epilog=_EXAMPLES)
@click.argument("result", default="fleet.duckdb", metavar="[RESULT]")
@options.format_of(["text", "json", "sarif", "html"], "text")
@options.OUTPUT
@click.option("--group-from", metavar="PATTERN", help="Group in the name of each host, such as {group}-*, or a regex.")
@click.option("--since", type=options.FILE, metavar="RESULT", help="Also report what is new since an earlier result.")
@click.option(
    "--profile",
    metavar="PATTERN",
    help="Weigh findings by the traffic of each host, in profiles that nginxopt profile --save wrote, such as "
    "profiles/{host}.profile. Several profiles of a host add up.",
)
@click.option("--top", type=click.IntRange(min=1), default=20, show_default=True, help="Number of worst hosts.")
@interruptible()
def command(
    result: str,
    format_: str,
    output: str | None,
    group_from: str | None,
    since: str | None,
    profile: str | None,
    top: int,
) -> None:
    """Report what nginxopt fleet lint found: findings by rule and group, savings, drift, and the worst hosts.

    Hosts of a group should be alike. Without --group-from, hosts whose names differ in numbers only are a group.
    """
    cluster.require("duckdb")
    from nginxopt.fleet import reading

    if profile is not None and format_ == "sarif":
        raise UsageError("--profile is for reports as text, JSON or HTML")
    profiles = {} if profile is None else paths_of(profile)
    options.refuse_overwriting("--output", output, [result, since, *chain.from_iterable(profiles.values())])
    group_of = grouped_by(group_from)
    with reading.opened(result) as database:
        if format_ == "sarif":
            from nginxopt.fleet.report import sarif

            pieces = list(sarif.render(database))
        else:
            from nginxopt.fleet.report.facts import facts

            report = facts(
                database,
                group_of,
                most=top,
                since=None if since is None else _since(database, since),
                traffic=traffic(database, profiles) if profiles else None,
            )
            pieces = list(_rendered(report, format_))
    encoded = [piece.encode() for piece in pieces]
    if output is None:
        stdout.write([inert_document("".join(pieces), format_).encode()])
    else:
        write_all({output: b"".join(encoded)})


def _since(database: DuckDBPyConnection, path: str) -> Since:
    """Return what is new since an earlier result."""
    from nginxopt.fleet import reading

    with reading.opened(path) as before:
        return since(database, before, path)


def _rendered(report: FleetReport, format_: str) -> Iterator[str]:
    rendered: Iterator[str] = import_module(f"nginxopt.fleet.report.{format_}").render(report)
    return rendered
