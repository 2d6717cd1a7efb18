"""`nginxopt format`."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import click

from nginxopt.budget import limited
from nginxopt.cli import options, stdout
from nginxopt.config.filesystem import STDIN, bounded
from nginxopt.config.includes import source
from nginxopt.config.inputs import select
from nginxopt.config.templating import TemplateError
from nginxopt.errors import InputError, UsageError, status_of
from nginxopt.faults import FAULTS, internal, is_bug
from nginxopt.format import IndentStyle, edits
from nginxopt.settings import file as settings_
from nginxopt.text import Source, apply
from nginxopt.text.diff import unified
from nginxopt.text.display import count, printable

if TYPE_CHECKING:
    from collections.abc import Iterator

    from nginxopt.config.inputs import SelectedFiles
    from nginxopt.text import Edit, Source

_EXAMPLES = """\b
Examples:
  nginxopt format nginx.conf                 format a file in place
  nginxopt format nginx/                     format all configurations in a directory
  nginxopt format nginx/ --check             exit with status 1 if any file would change
  nginxopt format nginx/ --diff              show the changes; write nothing
  nginxopt format - < nginx.conf             print the formatted text

\b
Exit status: 0 success, 1 changes (--check, --diff), or a file outside of PATH was left,
2 usage error, 3 unreadable input, 70 the result does not read
as the input does (nothing is written).
"""


_SHOWN = 3
"""How many skipped files are named."""


@dataclass(slots=True)
class _Formatted:
    """The files that were read, those that change with their edits, the errors of others, files that are not nginx's,
    templates that were found, and files outside of the named paths that would change.
    """

    read: dict[str, bytes] = field(default_factory=dict)
    changed: list[tuple[Source, tuple[Edit, ...]]] = field(default_factory=list)
    errors: list[InputError] = field(default_factory=list)
    foreign: list[str] = field(default_factory=list)
    templates: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)


@click.command("format", epilog=_EXAMPLES, short_help="Format configurations: indentation, breaks, blank lines.")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--check", is_flag=True, help=options.CHECK)
@click.option("--diff", is_flag=True, help="Show the changes; write nothing. Exit with status 1 on changes.")
@click.option("--indent-width", type=click.IntRange(1, 16), metavar="N", help="Spaces per level.  [default: 4]")
@click.option("--indent-style", type=click.Choice(["space", "tab"]), help="Indent with spaces or tabs.")
@options.ALSO
@options.STDIN_FILENAME
@options.BY_CONTENT
@options.CONFIG
@options.ISOLATED
@options.QUIET
def command(
    paths: tuple[str, ...],
    check: bool,
    diff: bool,
    indent_width: int | None,
    indent_style: str | None,
    stdin_filename: str | None,
    by_content: bool,
    config: str | None,
    isolated: bool,
    quiet: bool,
) -> int:
    """Format configurations: indentation, line breaks and blank lines, and nothing else.

    PATH is a file, a directory, a glob pattern, or - for standard input. Includes are not followed. Without PATH,
    format the paths in the settings, or the working directory.
    """
    if "-" in paths and len(paths) > 1:
        raise UsageError("standard input cannot be combined with other paths")
    options.refuse_stdin_filename(stdin_filename, paths)
    settings = settings_.load(None, config=config, isolated=isolated)
    options.put_in_force(settings.budget)
    style = _style(settings.format, indent_width, indent_style)
    selected = select(paths or settings.paths or (".",), settings.excludes, by_content=by_content)
    files = _format_all(selected, style, stdin_filename)
    writes = not (check or diff)
    if diff:
        _print_diff(files)
    elif writes:
        _write(files, is_piped="-" in paths)
    if not (writes and "-" in paths):
        _summarize(files, writes=writes, quiet=quiet)
    for error in files.errors:
        click.echo(error.render(), err=True)
    if files.errors:
        return status_of(files.errors)
    return int(bool(files.left) or (not writes and bool(files.changed)))


def _style(style: IndentStyle, width: int | None, indent_style: str | None) -> IndentStyle:
    """Return the style of the settings, where the options do not replace it."""
    return IndentStyle(width or style.width, style.tabs if indent_style is None else indent_style == "tab")


def _format_all(selected: SelectedFiles, style: IndentStyle, stdin_name: str | None) -> _Formatted:
    """Format the selected files. Templates are skipped unless they are named."""
    files = _Formatted(errors=selected.errors, foreign=selected.foreign)
    for name in selected.files:
        try:
            source = _source(name, stdin_name)
            changes = limited(partial(edits, source, style), path=name)
        except InputError as error:
            if isinstance(error, TemplateError) and name in selected.found:
                files.templates.append(name)
            else:
                files.errors.append(error)
            continue
        except FAULTS as error:
            if not is_bug(error):
                raise
            files.errors.append(internal(error, "formatting", path=name))
            continue
        files.read[name] = source.data
        if changes and source.outside:
            files.left.append(name)
        elif changes:
            files.changed.append((source, changes))
    return files


def _source(name: str, stdin_name: str | None) -> Source:
    if name == STDIN:
        return Source(stdin_name or STDIN, bounded(sys.stdin.buffer, stdin_name or STDIN))
    return source(name)


def _print_diff(files: _Formatted) -> None:
    stdout.write(unified(source.data, changes, source.path) for source, changes in files.changed)


def _write(files: _Formatted, *, is_piped: bool) -> None:
    """Write the changed files, all or none; print the text if it was read from standard input."""
    from nginxopt.system.files import sweep, write_all

    texts = {source.path: apply(source.data, changes) for source, changes in files.changed}
    if is_piped:
        stdout.write(texts.values() or files.read.values())
        return
    sweep(os.path.dirname(os.path.realpath(path)) for path in files.read)  # noqa: PTH120
    for file in write_all(texts, read={path: files.read[path] for path in texts}) if texts else ():
        if file.in_place:
            stdout.say(f"{file.path} was written in place because {file.in_place}; its old text is in {file.copy}")


def _summarize(files: _Formatted, *, writes: bool, quiet: bool) -> None:
    """Print the files that were left out, the changed files, and the number of all; `quiet` only what was changed."""

    for line in () if quiet else _skipped(files.foreign):
        stdout.say(line)
    if files.templates and not quiet:
        stdout.say(f"skipped {count(len(files.templates), 'template')}, such as {printable(files.templates[0])}")
    for changed, _ in files.changed if writes or not quiet else ():
        stdout.say(f"{'reformatted' if writes else 'would reformat'} {printable(changed.path)}")
    for name in map(printable, files.left):
        stdout.say(f"would reformat {name}, outside of the named paths: left; --also DIR changes it")
    if quiet:
        return
    if files.read or not files.errors:
        click.echo(", ".join(_counts(files, writes=writes)), err=True)


def _skipped(foreign: list[str]) -> Iterator[str]:
    """Yield lines about files that are not nginx's: each one, or if they are many how many they are."""

    if len(foreign) > _SHOWN:
        what = "that do not look like nginx configurations"
        yield f"skipped {count(len(foreign), 'file')} {what}, such as {printable(foreign[0])}; name one to format it"
        return
    for name in map(printable, foreign):
        yield f"skipped {name}: it does not look like an nginx configuration; name it to format it"


def _counts(files: _Formatted, *, writes: bool) -> Iterator[str]:
    changed = len(files.changed)
    same = len(files.read) - changed - len(files.left)
    if changed:
        yield f"{count(changed, 'file')} {'' if writes else 'would be '}reformatted"
    if files.left:
        yield f"{count(len(files.left), 'file')} left outside"
    if same or not (changed or files.left):
        yield f"{count(same, 'file')} {'' if writes else 'would be '}left unchanged"
