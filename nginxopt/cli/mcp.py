"""`nginxopt mcp`."""

from __future__ import annotations

from importlib.util import find_spec

import click

from nginxopt.cli import options
from nginxopt.errors import MissingError

_EXAMPLES = """\b
Examples:
  nginxopt mcp                            read configurations below the working directory
  nginxopt mcp /etc/nginx conf            ... and below these directories only

\b
Exit status: 0 the assistant ended it, 2 usage error, 4 the packages of nginxopt[mcp] are missing.
"""


@click.command("mcp", epilog=_EXAMPLES, short_help="Serve an assistant with tools.")
@click.argument("roots", metavar="[DIR...]", nargs=-1, type=options.DIRECTORY)
def command(roots: tuple[str, ...]) -> None:
    """Serve an assistant with tools (Model Context Protocol), on standard input and output.

    The tools lint, check, explain, trace, verify and compile read configurations below DIR, by default the working
    directory, and write nothing.
    """
    if find_spec("mcp") is None:
        raise MissingError("mcp is not installed", hint="install it with pip install 'nginxopt[mcp]'")
    from nginxopt.mcp.commands import AllowedFolders
    from nginxopt.mcp.server import server

    server(AllowedFolders.of(roots or (".",))).run("stdio")
