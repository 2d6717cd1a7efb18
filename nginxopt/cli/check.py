"""`nginxopt check`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import click

from nginxopt.budget import limited
from nginxopt.cli import options, pause_collector, resume_collector, stdout
from nginxopt.config import inputs
from nginxopt.config.filesystem import STDIN
from nginxopt.errors import InputError, status_of
from nginxopt.semantics import levels
from nginxopt.semantics.inherit import packaged_names
from nginxopt.semantics.refusals import before, cause, first, refusals
from nginxopt.settings import file as settings
from nginxopt.settings.target import ASSUMED
from nginxopt.text import Span
from nginxopt.text.display import be, count, line

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from nginxopt.config import Config
    from nginxopt.config.inputs import Inputs
    from nginxopt.lint.hosted import HostRefusal, OutOfReach
    from nginxopt.semantics.refusals import Refusal
    from nginxopt.system.host import Host
    from nginxopt.text import Source
    from nginxopt.version import Version

_EXAMPLES = """\b
Examples:
  nginxopt check /etc/nginx/nginx.conf                  what nginx -t refuses, without nginx
  nginxopt check nginx.conf --target-version 1.24       ... for another release
  nginxopt check conf.d/*.conf --context http           fragments, as far as they go
  nginxopt check - < nginx.conf
  nginxopt check rootfs/etc/nginx/nginx.conf --root rootfs
                                                        ... and the files and certificates of a container
  validate: nginxopt check %s                           in a task of Ansible

\b
Exit status: 0 nothing is refused, 1 nginx refuses something, 2 usage error, 3 a file cannot be read,
4 this system cannot be checked (--host).
"""


@click.command("check", epilog=_EXAMPLES, short_help="Find all that nginx -t refuses, without nginx.")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@options.TARGET_VERSION
@options.CONTEXT
@options.PREFIX
@options.STDIN_FILENAME
@options.HOST
@options.ROOT
@options.QUIET
def command(
    paths: tuple[str, ...],
    target_version: Version | None,
    context: str | None,
    prefix: str | None,
    stdin_filename: str | None,
    with_host: bool,
    machine_root: str | None,
    quiet: bool,
) -> int:
    """Find all that nginx refuses for the text alone, as an offline nginx -t that does not stop at the first fault.

    PATH is a main configuration (its includes are followed), a fragment, a directory, a glob pattern, or - for standard
    input. Files, names and certificates are looked at with --host or --root, the modules of a build are not. Of the
    settings, only [include] is read.
    """
    options.refuse_stdin_filename(stdin_filename, paths)
    options.refuse_two_machines(with_host, machine_root)
    files = options.files_of(machine_root, settings.includes())
    how = inputs.InputOptions(prefix, lambda _: context, stdin_filename or STDIN, files=files)
    pause_collector()
    read = inputs.read(paths, how)
    resume_collector(read.configs)
    errors = list(read.errors)
    target = target_version or ASSUMED
    found = [line for error in read.errors for line in _of_error(error, target)]
    errors = [error for error in errors if not _is_refusal(error)]
    found += [_of(refusal) for refusal in _found(read.configs, target, errors)]
    notes = [note for config in read.configs for note in _notes(config)]
    if (host := options.host_of(read.configs, with_host, machine_root)) is not None:
        for config in read.configs:
            refused, unread = _on_host(config, target, host)
            found += map(_of, refused)
            notes += [_note(each) for each in unread]
    if not quiet:
        stdout.write_lines([f"{line}\n" for line in found])
        for note in dict.fromkeys([*notes, *_skipped(read)]):
            click.echo(note, err=True)
    for error in errors:
        click.echo(error.render(), err=True)
    if found and target_version is None and not quiet:
        click.echo(f"note: checked for nginx {target}; --target-version names another", err=True)
    return status_of(errors) if errors else int(bool(found))


def _is_refusal(error: InputError) -> bool:
    """Return whether an error is one that nginx finds in the text: of its syntax, not of a file that is not there."""
    return error.nginx is not None and error.source is not None and not error.nginx.startswith("open()")


def _of_error(error: InputError, target: Version) -> Iterator[str]:
    """Yield what nginx refuses of a file without a tree: what is before the syntax error, and that."""
    if not _is_refusal(error):
        return
    assert error.nginx is not None
    assert error.source is not None
    yield from map(_of, before(error, target))
    if cause(error, target) is not error:
        return
    message, _, _ = error.nginx.rpartition(f" in {error.source.path}:")
    span = error.span or Span(0, 0)
    yield _line(error.source, span, message or error.nginx)


def _found(configs: Iterable[Config], target: Version, errors: list[InputError]) -> Iterator[Refusal]:
    """Yield what is refused; add to `errors` what takes too much time or memory."""

    for config in configs:
        try:
            yield from limited(partial(_refusals, config, target), path=config.main.path)
        except InputError as error:
            errors.append(error)


def _refusals(config: Config, target: Version) -> list[Refusal]:
    return first(refusals(levels(config, target), target))


def _on_host(config: Config, target: Version, host: Host) -> tuple[Iterable[HostRefusal], Iterable[OutOfReach]]:
    """Return what nginx refuses on a machine, and what could not be inspected there."""
    from nginxopt.lint import Model
    from nginxopt.lint.hosted import refusals, unread

    model = Model(config, target, host)
    return refusals(model), unread(model)


def _notes(config: Config) -> Iterator[str]:
    """Yield a line for each include that may define names, which are not judged then; `mime.types` defines none."""
    for include in config.elsewhere:
        if "types" in packaged_names(include):
            continue
        what = "was not read" if config.is_missing(include) else "may read other files where it is installed"
        message = f"note: {include.args[0]} {what}, so names may be defined there"
        yield _line(include.source, include.args[0].span, message)


def _skipped(read: Inputs) -> Iterator[str]:
    """Yield a line for the files of other programs, and one for each template, which cannot be judged."""

    if read.foreign:
        many = f"{count(len(read.foreign), 'file')} that {be(len(read.foreign))} not nginx's"
        yield line(f"note: skipped {many}, such as {read.foreign[0]}; name a file to check it")
    for error in read.templates:
        yield line(f"note: {error.render().splitlines()[0]}")


def _note(unread: OutOfReach) -> str:
    message = f"note: {unread.what}, so it is not checked" + (f" ({unread.help})" if unread.help else "")
    return _line(unread.directive.source, unread.word.span, message)


def _of(refusal: Refusal | HostRefusal) -> str:
    return _line(refusal.directive.source, refusal.word.span, refusal.message)


def _line(source: Source, span: Span, message: str) -> str:
    """Return `file:line:column: message`."""

    place = source.position(span.start)
    return line(f"{source.path}:{place.line}:{place.column}: {message}")
