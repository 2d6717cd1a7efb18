"""`nginxopt explain`."""

from __future__ import annotations

import click

from nginxopt.cli import options, stdout
from nginxopt.errors import UsageError
from nginxopt.lint.catalogue import load_rules
from nginxopt.lint.report import pages
from nginxopt.settings.vocabulary import PREMISES
from nginxopt.text import suggestion

_EXAMPLES = """\b
Examples:
  nginxopt explain upstream-keepalive-missing
  nginxopt explain idle-connections           a premise of fixes, and how to test it
  nginxopt rules                              list all rules

\b
Exit status: 0 success, 2 unknown rule or premise, 7 the rule cannot be loaded.
"""

_SHORTEST_PART, _MOST_NAMES = 3, 8


@click.command("explain", epilog=_EXAMPLES)
@click.argument("rule", metavar="RULE|PREMISE")
@options.CONFIG
@options.ISOLATED
@options.RULES
def command(rule: str, config: str | None, isolated: bool, with_rules: bool) -> None:
    """Explain a rule or a premise.

    The page of a rule says what it finds, why that matters, what its fix changes, and when to ignore it. The page of a
    premise says what it means, and how to test it.
    """
    catalogue = load_rules(config=config, isolated=isolated, run=with_rules)
    rules = catalogue.rules
    if rule in catalogue.errors:
        raise catalogue.errors[rule]
    if rule in catalogue.left:
        raise UsageError(f"the page of {rule} is in a program, {catalogue.left[rule]}", hint="--rules runs it")
    if rule not in rules and rule not in PREMISES:
        raise UsageError(f'unknown rule or premise "{rule}"', hint=_meant(rule, sorted({*rules, *PREMISES})))
    page = pages.page(rules[rule]) if rule in rules else pages.premise_page(PREMISES[rule], rules.values())
    stdout.write([pages.styled(page, color=stdout.colored()).encode()], colors=True)


def _meant(word: str, names: list[str]) -> str:
    """Return similar names: the closest, or those that contain the word, which may be a directive."""
    part = word.lower().replace("_", "-")
    having = [part] if part in names else [name for name in names if len(part) >= _SHORTEST_PART and part in name]
    if having[1:]:
        return f"names with this word: {', '.join(having[:_MOST_NAMES])}{', ...' if having[_MOST_NAMES:] else ''}"
    return suggestion(word, having or names) or "`nginxopt rules` lists the rules"
