"""`nginxopt rules`, and its commands for rules of one's own."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

import click

from nginxopt.cli import ModuleGroup, options, stdout
from nginxopt.lint.catalogue import load_rules
from nginxopt.lint.report import pages

if TYPE_CHECKING:
    from nginxopt.lint.catalogue import Catalogue

_EXAMPLES = """\b
Examples:
  nginxopt rules                                      id, severity, fix, versions and title of each
  nginxopt rules --format json | jq -r '.[] | select(.fixes | index("safe")).id'
  nginxopt explain upstream-keepalive-missing         the page of one rule
  nginxopt rules new acme-no-autoindex                write a rule of your own
  nginxopt rules test                                 run the examples of your rules
  nginxopt rules trust                                let lint run the rules of this directory

\b
Exit status: 0 success, 7 a rule of your own cannot be loaded.
"""

_COMMANDS = {
    "new": "nginxopt.cli.rules_new",
    "test": "nginxopt.cli.rules_test",
    "trust": "nginxopt.cli.rules_trust",
}


@click.command("rules", cls=ModuleGroup, modules=_COMMANDS, epilog=_EXAMPLES, invoke_without_command=True)
@options.format_of(["table", "json", "markdown"], "table")
@options.CONFIG
@options.ISOLATED
@options.RULES
@click.pass_context
def command(context: click.Context, format_: str, config: str | None, isolated: bool, with_rules: bool) -> int:
    """List the rules by category, with those of your own."""
    if context.invoked_subcommand is not None:
        return 0

    catalogue = load_rules(config=config, isolated=isolated, run=with_rules)
    stdout.write((piece.encode() for piece in _pieces(catalogue, format_)), colors=True)
    return report(catalogue)


def report(catalogue: Catalogue) -> int:
    """Print the rules that cannot be loaded; return the exit status."""
    for error in catalogue.errors.values():
        click.echo(error.render(), err=True)
    if catalogue.note is not None:
        stdout.say(catalogue.note)
    return max((error.exit_code for error in catalogue.errors.values()), default=0)


def _pieces(catalogue: Catalogue, format_: str) -> Iterable[str]:
    rules = catalogue.rules.values()
    if format_ == "json":
        return [json.dumps(pages.data(rules), indent=2) + "\n"]
    return pages.markdown(rules) if format_ == "markdown" else pages.table(rules, color=stdout.colored())
