"""What the user has named on the command line: the files and directories that a command may show and change."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import click

_NO_PATHS = ("request", "rule", "rules", "query", "sql", "scenario", "name")
"""Arguments that name no files."""


def noting(command: click.Command) -> click.Command:
    """Return a command that first notes the paths of its command line, and forgets those of another command.

    It does so once its command line is parsed, so that nothing stands between click and the command.
    """
    if command.callback is None or isinstance(command, click.Group):
        return command

    def make_context(*args: Any, **extra: Any) -> click.Context:
        from nginxopt.config import places, roots
        from nginxopt.system.writing import DONE

        context = command.make_context(*args, **extra)
        roots.forget()
        places.state({})
        DONE.clear()
        roots.note(_named(context))
        context.call_on_close(roots.leave)
        return context

    noting_it = copy.copy(command)
    noting_it.make_context = make_context  # type: ignore[method-assign]
    return noting_it


def _named(context: click.Context) -> Any:
    """Return what the arguments and options name.

    An argument, a prefix, a root and the main file of `-c` count with what is beside or below them; the file of another
    option by itself, but for a baseline, whose text nobody needs to see. Without any argument for paths it is the
    working directory.
    """
    from nginxopt.cli.options import ALSO_GIVEN, FILE
    from nginxopt.config import roots

    named = roots.of(context.meta.get(ALSO_GIVEN, ()))
    for parameter in context.command.params:
        texts = list(_texts(context.params.get(parameter.name or "")))
        if isinstance(parameter, click.Argument) and parameter.name not in _NO_PATHS:
            is_empty = not texts and parameter.nargs == -1 and parameter.name == "paths"
            named |= roots.of(["."] if is_empty else texts)
        elif parameter.name in ("main", "stdin_filename"):
            named |= roots.of(texts)
        elif parameter.name in ("prefix", "machine_root"):
            named |= roots.of(f"{text}/" for text in texts)
        elif parameter.type is FILE and parameter.name != "baseline":
            for text in texts:
                named |= roots.only(text)
    return named


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts of the value of a parameter."""
    if isinstance(value, str):
        if value and "\0" not in value:
            yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _texts(item)
