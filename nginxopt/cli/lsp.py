"""`nginxopt lsp`."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

import click

from nginxopt.cli import options
from nginxopt.errors import MissingError

if TYPE_CHECKING:
    from nginxopt.version import Version

_EXAMPLES = """\b
Examples:
  nginxopt lsp                            what an editor starts; see docs/guide/editors.md for its settings
  nginxopt lsp --target-version 1.22.1    check for this nginx, unless the settings name another

\b
Exit status: 0 the editor ended it, 2 usage error, 4 the packages of nginxopt[lsp] are missing.
"""


@click.command("lsp", epilog=_EXAMPLES, short_help="Serve an editor as a language server.")
@options.TARGET_VERSION
@options.CONFIG
@options.ISOLATED
@options.RULES
def command(target_version: Version | None, config: str | None, isolated: bool, with_rules: bool) -> None:
    """Serve an editor as a language server, on standard input and output.

    Checks files while they are edited, fixes findings, explains and completes directives, and finds definitions.
    """
    missing = [package for package in ("lsprotocol", "pygls") if find_spec(package) is None]
    if missing:
        raise MissingError(f"{missing[0]} is not installed", hint="install it with pip install 'nginxopt[lsp]'")
    from nginxopt.lsp import server
    from nginxopt.lsp.preferences import Preferences

    server.start(Preferences(config, isolated, target_version, with_rules))
