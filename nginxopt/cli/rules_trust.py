"""`nginxopt rules trust`."""

from __future__ import annotations

import os

import click

from nginxopt.cli import options
from nginxopt.errors import UsageError
from nginxopt.system import trusted
from nginxopt.text.display import line

_EXAMPLES = """\b
Examples:
  nginxopt rules trust                  run the rules that the settings of this directory name
  nginxopt rules trust --list           list the directories that you trust
  nginxopt rules trust --remove shop    run the rules of shop no more

\b
Exit status: 0 success, 1 with --remove: the directory was not trusted, 2 usage error, 3 the list cannot be read or
written.
"""


@click.command("trust", epilog=_EXAMPLES)
@click.argument("folder", type=options.DIRECTORY, required=False, metavar="[DIR]")
@click.option("--remove", is_flag=True, help="Trust DIR no more.")
@click.option("--list", "lists", is_flag=True, help="List the directories that you trust.")
def command(folder: str | None, remove: bool, lists: bool) -> int:
    """Run the rules that settings in DIR name, from now on, as --rules does once.

    DIR is the working directory by default; the directories below it are trusted as well. Rules are Python modules:
    whoever can change the files of a trusted directory can run programs as you.
    """
    if lists and (remove or folder is not None):
        raise UsageError("--list cannot be used with DIR or --remove")
    if lists:
        for path in trusted.folders():
            click.echo(line(str(path)))
        return 0
    if remove:
        return int(not trusted.remove(folder or "."))
    if not os.path.isdir(folder or "."):
        raise UsageError(f"{folder} is not a directory")
    click.echo(line(f"rules of {trusted.add(folder or '.')} run from now on"))
    return 0
