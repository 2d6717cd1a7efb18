"""Writes the man pages (docs/man/) and the completion scripts (docs/completions/) from the command line itself."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import click

from nginxopt import __version__
from nginxopt.cli import nginxopt
from nginxopt.cli.completion import SHELLS, script

DOCS = Path(__file__).parent
_SCRIPTS = {"bash": "nginxopt", "zsh": "_nginxopt", "fish": "nginxopt.fish"}
_LITERAL = "\b\n"
_HEADED = re.compile(r"(Examples|Exit status): *")


def generated() -> dict[Path, str]:
    """Return every man page and completion script with its text."""
    pages = {DOCS / "man" / f"{name.replace(' ', '-')}.1": page(name, context) for name, context in _commands()}
    return pages | {DOCS / "completions" / _SCRIPTS[shell]: script(shell, nginxopt) for shell in SHELLS}


def _commands() -> Iterator[tuple[str, click.Context]]:
    """Yield all commands with the words that call them, and their contexts."""
    waiting = [click.Context(nginxopt, info_name="nginxopt", **nginxopt.context_settings)]
    while waiting:
        context = waiting.pop(0)
        yield context.command_path, context
        if isinstance(context.command, click.Group):
            for name in context.command.list_commands(context):
                command = context.command.get_command(context, name)
                assert command is not None
                waiting.append(click.Context(command, info_name=name, parent=context))


def page(name: str, context: click.Context) -> str:
    """Return the man page of a command (man 7 man)."""
    command = context.command
    summary, _, rest = (command.help or "").partition("\n\n")
    title = name.replace(" ", "-")
    summary = _text(" ".join(summary.split()).rstrip("."))
    lines = [
        '.\\" Written by `make docs` from nginxopt ' + title,
        f'.TH "{title.upper()}" 1 "" "nginxopt {__version__}" "nginxopt"',
        ".SH NAME",
        f"{_text(title)} \\- {summary[:1].lower()}{summary[1:]}",
        ".SH SYNOPSIS",
        f".B {_text(name)}",
        _text(" ".join(command.collect_usage_pieces(context))),
        ".SH DESCRIPTION",
        *_paragraphs(rest or command.help or ""),
        *_list("COMMANDS", _subcommands(command, context)),
        *_list("OPTIONS", _options(command, context)),
        *_epilog(command.epilog or ""),
        *_see_also(context),
    ]
    return "\n".join(lines) + "\n"


def _subcommands(command: click.Command, context: click.Context) -> Iterator[tuple[str, str]]:
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            subcommand = command.get_command(context, name)
            assert subcommand is not None
            yield name, subcommand.get_short_help_str(200)


def _options(command: click.Command, context: click.Context) -> Iterator[tuple[str, str]]:
    parameters = (parameter for parameter in command.get_params(context) if isinstance(parameter, click.Option))
    records = (parameter.get_help_record(context) for parameter in parameters)
    return (record for record in records if record is not None)


def _list(heading: str, items: Iterator[tuple[str, str]]) -> Iterator[str]:
    """Yield a section with a tagged paragraph for each item."""
    for number, (tag, text) in enumerate(items):
        if not number:
            yield f".SH {heading}"
        yield from (".TP", f".B {_text(tag)}", _text(" ".join(text.split())))


def _paragraphs(text: str) -> Iterator[str]:
    """Yield paragraphs; one that begins with a backspace has its own lines, as click has it."""
    for number, paragraph in enumerate(text.strip("\n").split("\n\n")):
        if number:
            yield ".PP"
        if paragraph.startswith(_LITERAL):
            lines = paragraph.removeprefix(_LITERAL).split("\n")
            yield from (".nf", *map(_text, lines), ".fi")
        else:
            yield _text(" ".join(paragraph.split()))


def _epilog(epilog: str) -> Iterator[str]:
    """Yield a section for each part of an epilog: examples, exit status."""
    for part in epilog.strip("\n").split("\n\n"):
        head = _HEADED.match(part.removeprefix(_LITERAL).strip())
        if head is None:
            continue
        body = part.removeprefix(_LITERAL).strip()[head.end() :].strip("\n")
        yield f".SH {head[1].upper()}"
        yield from (
            (".nf", *map(_text, body.split("\n")), ".fi") if head[1] == "Examples" else [_text(" ".join(body.split()))]
        )


def _see_also(context: click.Context) -> Iterator[str]:
    """Yield links to the command above and to those below."""
    names = [] if context.parent is None else [context.parent.command_path]
    if isinstance(context.command, click.Group):
        names += [f"{context.command_path} {name}" for name in context.command.list_commands(context)]
    if names:
        yield ".SH SEE ALSO"
        yield ",\n".join(f".BR {_text(name.replace(' ', '-'))} (1)" for name in names)


def _text(text: str) -> str:
    r"""Return a line of roff: `\` and `-` as they are, and no request at its beginning."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{text}" if text.startswith((".", "'")) else text
