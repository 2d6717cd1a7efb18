"""`nginxopt explain`."""

from __future__ import annotations

import click

from nginxopt.cli import stdout
from nginxopt.errors import UsageError

_EXAMPLES = """\b
Examples:
  nginxopt explain upstream-keepalive-missing
  nginxopt explain idle-connections           a premise of fixes, and how to test it
  nginxopt rules                              list all rules

\b
Exit status: 0 success, 2 unknown rule or premise.
"""


@click.command("explain", epilog=_EXAMPLES)
@click.argument("rule", metavar="RULE|PREMISE")
def command(rule: str) -> None:
    """Explain a rule or a premise.

    The page of a rule has what it finds, why that matters, what its fix changes, and when to ignore it. The page of a
    premise has what it means, and how to test it.
    """
    from nginxopt.lint.catalogue import catalogue
    from nginxopt.lint.premises import PREMISES
    from nginxopt.lint.report import pages
    from nginxopt.text import suggestion

    rules = catalogue()
    if rule not in rules and rule not in PREMISES:
        hint = suggestion(rule, [*rules, *PREMISES]) or "`nginxopt rules` lists the rules"
        raise UsageError(f'unknown rule or premise "{rule}"', hint=hint)
    page = pages.page(rules[rule]) if rule in rules else pages.premise_page(PREMISES[rule], rules.values())
    stdout.write([pages.styled(page, color=stdout.colored()).encode()])
