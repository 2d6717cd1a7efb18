"""`nginxopt fleet diff`."""

from __future__ import annotations

import click

from nginxopt.cli import options, stdout
from nginxopt.system.interrupts import interruptible

_EXAMPLES = """\b
Examples:
  nginxopt fleet lint trees/ --diff; nginxopt fleet diff         the changes of safe fixes, by host
  nginxopt fleet diff web1 | patch -d trees/web1 -p2             apply those of one host to its tree
  nginxopt fleet diff web1 | ssh web1 sudo patch -d / -p0 --dry-run

\b
Exit status: 0 success, 2 usage error, such as a result of a run without --diff, 3 unreadable result, 4 the packages
of nginxopt[fleet] are missing.
"""


@click.command("diff", epilog=_EXAMPLES)
@click.argument("hosts", nargs=-1, metavar="[HOST]...")
@options.RESULT
@click.option("-o", "--output", type=options.FILE, metavar="FILE", help="Write the patch to FILE.")
@interruptible()
def command(result: str, hosts: tuple[str, ...], output: str | None) -> None:
    """Print the changes that the fixes of nginxopt fleet lint --diff would make, as a patch.

    The changes that several hosts share are printed once, after a line with their names. Without HOST, print those of
    all hosts.
    """
    from nginxopt.system import cluster

    cluster.require("duckdb")
    from nginxopt.fleet import reading
    from nginxopt.fleet.report.patches import render

    options.refuse_overwriting("--output", output, [result])
    with reading.opened(result) as database:
        pieces = list(render(database, hosts))
    if output is None:
        stdout.write(pieces)
    else:
        from nginxopt.system.files import write_all

        write_all({output: b"".join(pieces)})
