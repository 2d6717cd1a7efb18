"""`nginxopt explain`."""

from __future__ import annotations

import click

from nginxopt.cli import stdout
from nginxopt.errors import UsageError

_EXAMPLES = """\b
Examples:
  nginxopt explain upstream-keepalive-missing
  nginxopt rules                              which rules there are

\b
Exit status: 0 done, 2 there is no such rule.
"""


@click.command("explain", epilog=_EXAMPLES)
@click.argument("rule")
def command(rule: str) -> None:
    """Tell what a rule finds, why it matters, what its fix does, and when to ignore it."""
    from nginxopt.catalogue import catalogue
    from nginxopt.report import pages
    from nginxopt.suggest import suggestion

    rules = catalogue()
    if rule not in rules:
        raise UsageError(f"no rule is called {rule!r}", hint=suggestion(rule, rules) or "`nginxopt rules` lists them")
    stdout.write([pages.styled(pages.page(rules[rule]), color=stdout.colored()).encode()])
