"""Reads the configurations named on the command line, with their includes."""

# ruff: noqa: PTH110 - for a path that cannot be checked, os.path returns False and Path raises

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from os.path import exists
from pathlib import Path

from nginxopt.budget import limited
from nginxopt.config import includes, paths, places, roots
from nginxopt.config.configuration import Config, load_text
from nginxopt.config.dump import Dump, is_dump
from nginxopt.config.filesystem import DISK, STDIN, Files
from nginxopt.config.reader import Parse, parsed, source
from nginxopt.config.sharing import Sharing
from nginxopt.config.templating import TemplateError, refuse_tags, refused
from nginxopt.config.tree import Directive
from nginxopt.errors import InputError
from nginxopt.faults import FAULTS, internal, is_bug
from nginxopt.records import record
from nginxopt.text import Span

_MAIN = "nginx.conf"


@record(eq=True)
class Inputs:
    """The configurations, and an error for each file that could not be read; both in the order of the names.

    A named file that another one includes is part of that configuration and not a separate one. Included files that do
    not exist are in `Config.unread`. `foreign` are the files of folders that are other programs', and `templates` has
    an error for each template of a folder that could not be read: it may be right once it is rendered.
    """

    configs: tuple[Config, ...]
    errors: tuple[InputError, ...]
    foreign: tuple[str, ...] = ()
    templates: tuple[InputError, ...] = ()


@record(eq=True)
class InputOptions:
    """Options for reading files.

    Attributes:
        prefix: The folder from which relative includes start, as in `nginxopt.config.load`.
        context: Returns the context of the file at a path; None to infer it.
        stdin_name: The name of standard input in messages.
        templates: Whether to read templates, in all their readings, instead of refusing them.
        by_content: Whether files that are named are skipped, too, if they are those of other programs.
        files: The storage of the files.
    """

    prefix: str | None = None
    context: Callable[[str], str | Sequence[str] | None] = lambda _: None
    stdin_name: str = STDIN
    templates: bool = False
    by_content: bool = False
    files: Files = DISK


def read(
    names: Sequence[str], options: InputOptions | None = None, *, excludes: paths.Excludes = paths.nothing
) -> Inputs:
    """Read the configurations of `names`, which may be anything that `nginxopt.config.paths.named` accepts.

    Relative includes start from `InputOptions.prefix`. Without it they start from the folder of the file, or from one
    above it if more of them exist there: see `_above`. A file with the output of `nginx -T` is read as the
    configuration in it. Raises `UsageError` for an unknown context.
    """
    options = options or InputOptions()
    selected = paths.select(names, excludes, by_content=options.by_content)
    reading = _Reading(options)
    for path in sorted(selected.files, key=_outer_first) if len(selected.files) > 1 else selected.files:
        reading.read(path)
    configs = tuple(config for path in selected.files for config in reading.roots(path))
    identity = options.files.identity
    read = {identity(file.path) for config in configs if not is_dump(config.origin) for file in config.files}
    told = [(path, error) for path in selected.files for error in reading.errors.get(path, ())]
    templates = [error for path, error in told if path in selected.found and isinstance(error, TemplateError)]
    errors = [error for path, error in told if not (path in selected.found and isinstance(error, TemplateError))]
    return Inputs(
        configs,
        tuple(_once([*selected.errors, *errors])),
        tuple(path for path in selected.foreign if identity(path) not in read),
        tuple(_once(templates)),
    )


def _outer_first(path: str) -> tuple[bool, bool, int]:
    """Return a sort key that puts main files first, and those that probably include others, so that these are not read
    separately.
    """
    return not _is_main(path), Path(path).name != _MAIN, len(Path(path).parts)


def _is_main(path: str) -> bool:
    from nginxopt.config import recognition  # which one file does not need

    try:
        return path != STDIN and recognition.is_main(DISK.read(path))
    except (OSError, ValueError, InputError):
        return False


class _Reading:
    """Reads files one after the other, and collects the errors of each path in `errors`."""

    def __init__(self, options: InputOptions) -> None:
        self._options = options
        self._sharing = Sharing()
        self._configs: dict[str, Config] = {}
        self._included: set[str] = set()
        self.errors: dict[str, list[InputError]] = {}
        self._identity = self._options.files.identity

    def roots(self, path: str) -> Iterator[Config]:
        """Yield the configuration at `path`, unless it could not be read or another one includes it."""
        if path in self._configs and self._identity(path) not in self._included:
            yield self._configs[path]

    def read(self, path: str) -> None:
        """Read the file at `path`, unless an earlier configuration includes it."""
        if self._identity(path) in self._included:
            return
        try:
            config = limited(lambda: self._config(path), path=path)
        except InputError as error:
            self.errors.setdefault(path, []).append(refused(error))
            return
        except FAULTS as error:
            if not is_bug(error):
                raise
            self.errors.setdefault(path, []).append(internal(error, "the file", path=path))
            return
        self._configs[path] = config
        if not is_dump(config.origin):
            self._included |= {self._identity(file.path) for file in config.files[1:]}

    def _config(self, path: str) -> Config:
        """Return the configuration at `path`, including templates if the options allow them."""
        name = self._options.stdin_name if path == STDIN else path
        data = source(path, self._options.files).data
        dump = Dump.of(name, data)
        try:
            config = (
                alone(data, name, self._options, files=self._options.files, sharing=self._sharing)
                if dump is None
                else self._load_dump(path, name, dump)
            )
            for file in config.files:
                refuse_tags(file.block, names=self._options.templates and dump is None)
        except InputError as error:
            is_read = self._options.templates and isinstance(refused(error), TemplateError)
            if dump is not None or not is_read:
                raise
            return self._load_templates(name, data)
        return config

    def _load_templates(self, name: str, data: bytes) -> Config:
        """Return a configuration of which some files are templates."""
        from nginxopt.config.templates import Templates

        files = places.of_main(self._options.files, name, self._options.prefix)
        return Templates(lambda files, text: alone(text, name, self._options, files=files), files, name, data).config()

    def _load_dump(self, path: str, name: str, dump: Dump) -> Config:
        """Return the configuration in the output of `nginx -T`."""
        main = dump.read(dump.main)
        config = load_text(main, dump.main, context=self._options.context(name), missing_ok=True, files=dump)
        self.errors.setdefault(path, []).extend(dump.left_over({file.path for file in config.files}))
        return config


def alone(
    data: bytes,
    name: str,
    options: InputOptions,
    *,
    files: Files = DISK,
    parse: Parse = parsed,
    inside: roots.Roots | None = None,
    sharing: Sharing | None = None,
) -> Config:
    """Read a text as the configuration at `name`, with all includes that exist; see `read`.

    `inside` is what the user has named; by default what the command line names. `sharing` is what it has in common with
    others; `parse` is then not used.
    """
    load = partial(
        load_text,
        data,
        name,
        context=options.context(name),
        missing_ok=True,
        files=files,
        sharing=Sharing(parse) if sharing is None else sharing,
        roots=roots.around(name) if inside is None else inside,
    )
    config = load(prefix=options.prefix)
    names = [str(include.args[0]) for include in config.includes if _is_open(config, include)]
    above = _above(name, names) if names and options.prefix is None else None
    if above is None:
        return config
    other = load(prefix=above)
    return other if len(other.files) > len(config.files) else config


def _above(name: str, names: Sequence[str]) -> str | None:
    """Return the folder above that of a file from which its relative includes may start; None for its own folder.

    This is the nearest one with an `nginx.conf`, or else the nearest one in the tree that has one of `names`.
    """
    folder = Path(name).absolute().parent
    if exists(folder / _MAIN):
        return None
    nearest = next((str(parent) for parent in folder.parents if exists(parent / _MAIN)), None)
    if nearest is None:
        above = places.above(str(folder))[1:]
        nearest = next((parent for parent in above if any(_is_there(parent, path) for path in names)), None)
    if nearest is None:
        return None
    return nearest if Path(name).is_absolute() else os.path.relpath(nearest)


def _is_there(folder: str, name: str) -> bool:
    return any(exists(path) for path in includes.matches(folder, name))


def _is_open(config: Config, include: Directive) -> bool:
    """Return whether an include has a relative path that does not exist."""
    return not include.args[0].startswith("/") and not config.included(include)


def _once(errors: Sequence[InputError]) -> list[InputError]:
    """Return the errors without duplicates, which occur if several configurations include a broken file."""
    first: dict[tuple[str, Span | None, str], InputError] = {}
    for error in errors:
        first.setdefault((DISK.identity(error.path or ""), error.span, error.message), error)
    return list(first.values())
