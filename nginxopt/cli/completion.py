"""Completion in shells: click completes commands, options and choices; this module adds names of files and rules."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem, get_completion_class

from nginxopt import lazy
from nginxopt.cli.options import FILE, TextType
from nginxopt.settings.vocabulary import PREMISES

VARIABLE = "_NGINXOPT_COMPLETE"
"""The variable in which a shell asks for completion (click's name for it)."""

SHELLS = ("bash", "zsh", "fish")

_OF_FILES = lazy.pattern(r"\b(?:FILE|DIR|FOLDER|PATH|CONFIG|OLD|NEW|TABLE)\b|\.conf$|\.json$")
"""Matches the placeholders of arguments that name files; options for files are of type `PathName`."""


class _Rules(TextType):
    """A parameter that is completed with ids of rules, and names of premises."""

    name = "rule"

    def shell_complete(self, ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:  # noqa: ARG002 - click's
        from nginxopt.lint.catalogue import catalogue

        titles = {
            **{rule.id: rule.title for rule in catalogue().values()},
            **{premise.name: premise.sentence for premise in PREMISES.values()},
        }
        return [CompletionItem(name, help=title) for name, title in titles.items() if name.startswith(incomplete)]


def completed(command: click.Command, ctx: click.Context) -> click.Command:
    """Return a command; if a shell completes its words, with parameters that name files or rules as such."""
    if not ctx.resilient_parsing:
        return command
    for parameter in command.params:
        placeholder = parameter.metavar or ""
        if parameter.type is click.STRING and _OF_FILES.search(placeholder):
            parameter.type = FILE
        elif placeholder.startswith("RULE"):
            parameter.type = _Rules()
    return command


def script(shell: str, group: click.Command) -> str:
    """Return the script that a shell sources for the completion of `nginxopt`."""
    kind = get_completion_class(shell)
    assert kind is not None
    complete = kind(group, {}, "nginxopt", VARIABLE)
    text: str = complete.source_template % complete.source_vars()
    return text.strip() + "\n"
