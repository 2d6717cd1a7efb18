"""`nginxopt rules test`."""

from __future__ import annotations

import traceback
from typing import TYPE_CHECKING

import click

from nginxopt.cli import options
from nginxopt.errors import RuleError
from nginxopt.text.display import count

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from nginxopt.lint.catalogue import Catalogue
    from nginxopt.lint.declare import Rule

_EXAMPLES = """\b
Examples:
  nginxopt rules test                 test the rules of the folders in the settings, and of installed packages
  nginxopt rules test nginx-rules     test the rules of a folder

\b
Exit status: 0 success, 1 a rule does not do what its page says, 2 usage error, 3 unreadable input, 7 a rule cannot be
loaded.
"""


@click.command("test", epilog=_EXAMPLES)
@click.argument("folders", type=options.DIRECTORY, nargs=-1, metavar="[FOLDER]...")
@options.CONFIG
@options.ISOLATED
@options.QUIET
def command(folders: tuple[str, ...], config: str | None, isolated: bool, quiet: bool) -> int:
    """Test rules of your own with the examples of their pages.

    A rule must report its bad examples and nothing in good and silent ones. Its fix must turn the first bad example
    into the first good one, byte for byte, and leave nothing to fix. The page must have every section.
    """
    catalogue = _catalogue(folders, config=config, isolated=isolated)
    rules = [rule for rule in catalogue.rules.values() if rule.origin is not None]
    failed = sum([_tell(rule, quiet=quiet) for rule in rules])
    for error in catalogue.errors.values():
        click.echo(_with_traceback(error))
    if not quiet:
        click.echo("".join(_summary(len(rules), failed, len(catalogue.errors))), err=True)
    return RuleError.exit_code if catalogue.errors else int(failed > 0)


def _catalogue(folders: Sequence[str], *, config: str | None, isolated: bool) -> Catalogue:
    from nginxopt.lint.catalogue import load_rules, with_own

    return with_own(folders) if folders else load_rules(config=config, isolated=isolated, run=True)


def _tell(rule: Rule, *, quiet: bool) -> bool:
    """Print the result of a rule; return whether it failed."""
    from nginxopt.lint.conformance import failures
    from nginxopt.lint.examples import examples

    found = list(failures(rule))
    if found:
        click.echo(f"FAIL  {rule.id} ({rule.origin})")
    elif not quiet:
        click.echo(f"ok    {rule.id}: {count(len(examples(rule.page)), 'example')}")
    for failure in found:
        click.echo(f"  {failure.part}: {failure.message}".replace("\n", "\n    "))
    return bool(found)


def _with_traceback(error: RuleError) -> str:
    """Return an error of a rule with the traceback of what it raised."""
    cause = "" if error.__cause__ is None else "".join(traceback.format_exception(error.__cause__))
    return f"FAIL  {error.render()}\n{cause}".rstrip()


def _summary(rules: int, failed: int, unloaded: int) -> Iterator[str]:
    yield count(rules + unloaded, "rule") if rules + unloaded else "no rules of your own: see nginxopt rules new --help"
    if failed:
        yield f", {failed:,} failed"
    if unloaded:
        yield f", {unloaded:,} cannot be loaded"
