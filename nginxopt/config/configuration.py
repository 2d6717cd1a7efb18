"""Reads a configuration like nginx: the main file, the files it includes, and their contexts.

`load` reads a file and what it includes into a `Config`. A file is parsed once, wherever and however often it
is included; `Config.contexts` gives every place it stands in. Long runs of rewrites stay folded: see
`nginxopt.config.tree`.

nginx stops at the first error; here, a file is read to its end before its includes, so of several errors another may
be reported.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from nginxopt.config.context import Context, parse_context, possible
from nginxopt.config.filesystem import DISK, STDIN, Files, Overlay
from nginxopt.config.reader import File, Parse, Reader, Unread, contents, parsed
from nginxopt.config.scope import Scope, read_scope
from nginxopt.config.tree import Block, Directive, reading
from nginxopt.text import Source

if TYPE_CHECKING:
    from nginxopt.config.templates import Templates


@dataclass(frozen=True, eq=False)
class Config:
    """A configuration or fragment with all its includes.

    `files` are in the order in which nginx first reads them; relative includes start from `prefix`.
    `candidates` are the contexts `main` may stand in: one if stated or clear, several if its directives fit
    several, none if they do not show it. `unread` are the files that could not be read, if that was allowed.
    `origin` is where the files were read from. `templates` reads it again if some of the files are templates; then the
    blocks are those of their first reading.
    """

    main: File
    files: tuple[File, ...]
    candidates: tuple[Context, ...]
    prefix: str
    unread: tuple[Unread, ...]
    origin: Files
    _included: dict[tuple[Source, int], tuple[File, ...]] = field(repr=False)
    _missing: frozenset[tuple[Source, int]] = field(repr=False)
    _parents: dict[File, tuple[tuple[Directive, ...], ...]] = field(repr=False)
    templates: Templates | None = None

    @cached_property
    def missing(self) -> tuple[Directive, ...]:
        """The includes that name or match a file that could not be read, in nginx's order."""
        return tuple(dict.fromkeys(unread.include for unread in self.unread))

    @cached_property
    def scope(self) -> Scope:
        """The main file with all it includes. A file that is read several times has the same directives in
        each place.
        """
        return read_scope(self.main.block, lambda include: (file.block for file in self.included(include)))

    @cached_property
    def readings(self) -> Scope:
        """As `scope`, but a file that is read several times has directives of its own for each reading, whose
        `Source.original` is the source of the file.
        """
        if all(self.times(file) == 1 for file in self.files):
            return self.scope
        return read_scope(self.main.block, lambda include: map(self._reading, self.included(include)))

    def walk(self) -> Iterator[tuple[Directive, Scope]]:
        """Yield every directive with its scope, in nginx's order of reading; see `Scope.walk`."""
        return iter(self._walked)

    @cached_property
    def _walked(self) -> tuple[tuple[Directive, Scope], ...]:
        """What `walk` yields, as many rules ask for it."""
        return tuple(self.scope.walk())

    @cached_property
    def includes(self) -> tuple[Directive, ...]:
        """The includes, each once, in nginx's order."""
        includes = (item for item, _ in self.walk() if item.name == "include" and item.block is None)
        return tuple(dict.fromkeys(includes))

    @property
    def http(self) -> Directive | None:
        """The `http` block of a main configuration, in any of its files; None for a fragment."""
        return next((scope.opener for scope in self.scope.scopes if scope.context == ("http",)), None)

    def file(self, path: str | os.PathLike[str]) -> File:
        """Return the file at `path`, by whatever name. Raises `KeyError` if it is not part of the configuration."""
        identity = self.origin.identity(os.fspath(path))
        for file in self.files:
            if self.origin.identity(file.path) == identity:
                return file
        raise KeyError(os.fspath(path))

    def included(self, include: Directive) -> tuple[File, ...]:
        """Return the files of an `include`, in nginx's order."""
        return self._included.get(include.origin, ())

    def is_missing(self, include: Directive) -> bool:
        """Return whether an `include` names a file that could not be read."""
        return include.origin in self._missing

    def contexts(self, file: File | str | os.PathLike[str]) -> tuple[Context, ...]:
        """Return the context of each place the file stands in: for each candidate of `main`, in the order of
        reading.
        """
        file = file if isinstance(file, File) else self.file(file)
        inner = [tuple(str(parent.name) for parent in parents) for parents in self._parents[file]]
        return tuple(outer + names for outer in self.candidates for names in inner)

    def times(self, file: File) -> int:
        """Return how often nginx reads the file: once for each include, each time the including file is read."""
        return len(self._parents[file])

    def _reading(self, file: File) -> Block:
        return reading(file.block, file.source.reading()) if self.times(file) > 1 else file.block


def load(
    path: str | os.PathLike[str],
    *,
    prefix: str | os.PathLike[str] | None = None,
    context: str | Sequence[str] | None = None,
    includes: bool = True,
    missing_ok: bool = False,
    files: Files = DISK,
    parse: Parse = parsed,
) -> Config:
    """Read the configuration at `path` (`-`: standard input) and, if `includes`, the files it includes.

    `prefix` is what relative includes are relative to: by default the directory of `path`, as nginx's
    `conf_prefix` is that of its main file. `context` states where a fragment stands (`server`,
    `http,server`); without it, it is inferred. `missing_ok` reads on where an included file cannot be read
    (see `Config.unread`); one that does not parse is an error all the same. `files` is where files are read
    from, and `parse` parses them. Raises `InputError` for a file that cannot be read or parsed, `UsageError` for an
    unknown context.
    """
    name = os.fspath(path)
    return load_text(
        contents(name, files),
        name,
        prefix=prefix,
        context=context,
        includes=includes,
        missing_ok=missing_ok,
        files=files,
        parse=parse,
    )


def load_text(
    data: bytes,
    name: str = STDIN,
    *,
    prefix: str | os.PathLike[str] | None = None,
    context: str | Sequence[str] | None = None,
    includes: bool = True,
    missing_ok: bool = False,
    files: Files = DISK,
    parse: Parse = parsed,
) -> Config:
    """Read a configuration from memory: as `load`, `name` being its path."""
    stated = None if context is None else parse_context(context)
    main = parse(name, data)
    base = os.fspath(prefix) if prefix is not None else str(Path(name).parent)
    reader = Reader(main, base, files, missing_ok=missing_ok, parse=parse)
    if includes:
        reader.follow(main)
    candidates = possible(main.block) if stated is None else (stated,)
    files_of = {include.origin: children for include, children in reader.included.items()}
    missing = frozenset(unread.include.origin for unread in reader.unread)
    parents = {file: tuple(places) for file, places in reader.parents.items()}
    read = tuple(reader.files.values())
    return Config(main, read, candidates, base, tuple(reader.unread), files, files_of, missing, parents)


def reread(config: Config, texts: Mapping[str, bytes]) -> Config:
    """Read a configuration again with other texts in place of some of its files; nothing is written.

    The context of its main file stays, and a missing include is not an error. Raises `InputError` if a text does not
    parse.
    """
    if config.templates is not None:
        return _reread_templates(config, config.templates, texts)
    files = Overlay({config.main.path: config.main.source.data, **texts}, config.origin)
    main = files.read(config.main.path)
    again = load_text(main, config.main.path, prefix=config.prefix, missing_ok=True, files=files)
    return replace(again, candidates=config.candidates)


def _reread_templates(config: Config, templates: Templates, texts: Mapping[str, bytes]) -> Config:
    files = Overlay({config.main.path: config.main.source.data, **texts}, config.origin)
    return templates.with_texts(files, files.read(config.main.path)).config()
