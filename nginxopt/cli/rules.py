"""`nginxopt rules`."""

from __future__ import annotations

import json
from collections.abc import Iterable

import click

from nginxopt.cli import options, stdout

_EXAMPLES = """\b
Examples:
  nginxopt rules                                      id, severity, fix, versions and title of each
  nginxopt rules --format json | jq -r '.[] | select(.fixes | index("safe")).id'
  nginxopt explain upstream-keepalive-missing         the page of one rule

\b
Exit status: 0 success.
"""


@click.command("rules", epilog=_EXAMPLES)
@options.format_of(["table", "json", "markdown"], "table")
def command(format_: str) -> None:
    """List the rules by category."""
    stdout.write(piece.encode() for piece in _pieces(format_))


def _pieces(format_: str) -> Iterable[str]:
    from nginxopt.lint.catalogue import catalogue
    from nginxopt.lint.report import pages

    rules = catalogue().values()
    if format_ == "json":
        return [json.dumps(pages.data(rules), indent=2) + "\n"]
    return pages.markdown(rules) if format_ == "markdown" else pages.table(rules, color=stdout.colored())
