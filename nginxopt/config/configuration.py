"""Reads a configuration like nginx: the main file, the files it includes, and their contexts.

`load` reads a file and the files it includes into a `Config`. Each file is parsed once, even if several includes name
it; `Config.contexts` returns the context of each of them. Long runs of rewrites stay folded: see
`nginxopt.config.tree`.

nginx stops at the first error. `load` reads a file to its end before its includes, so if there are several errors, it
may report another one than nginx.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from nginxopt import budget
from nginxopt.config import places
from nginxopt.config import roots as roots_
from nginxopt.config.context import Context, parse_context, possible
from nginxopt.config.elsewhere import may_read_more
from nginxopt.config.filesystem import DISK, STDIN, Files, Overlay
from nginxopt.config.reader import File, Parse, Reader, UnreadFile, contents, parsed
from nginxopt.config.roots import Roots
from nginxopt.config.scope import Scope, read_scope
from nginxopt.config.sharing import Sharing
from nginxopt.config.tree import Block, Directive, reading
from nginxopt.records import record
from nginxopt.text import Source

if TYPE_CHECKING:
    from nginxopt.config.templates import Templates


@record(slots=False)
class Config:
    """A configuration or fragment with all its includes.

    Attributes:
        main: The main file.
        files: All files, in the order in which nginx first reads them.
        candidates: The contexts in which `main` may be included: one if it is stated or clear, several if its
            directives are allowed in several, none if its directives are not known.
        prefix: The folder from which relative includes start.
        unread: The included files that could not be read (only with `missing_ok`).
        origin: The storage from which the files were read.
        roots: What was inside of the paths that the user named: files elsewhere have an `outside` source.
        templates: The other readings of the configuration, if some of its files are templates. Blocks are those of the
            first reading."""

    main: File
    files: tuple[File, ...]
    candidates: tuple[Context, ...]
    prefix: str
    unread: tuple[UnreadFile, ...]
    origin: Files
    roots: Roots
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
        """The main file with everything it includes. A file that is included several times has the same `Directive`
        objects in each place.
        """
        return read_scope(self.main.block, lambda include: (file.block for file in self.included(include)))

    @cached_property
    def readings(self) -> Scope:
        """Like `scope`, but a file that is included several times has separate `Directive` objects in each place, whose
        source has the source of the file as its `Source.original`.
        """
        if all(self.times(file) == 1 for file in self.files):
            return self.scope
        return read_scope(self.main.block, lambda include: map(self._reading, self.included(include)))

    def walk(self) -> Iterator[tuple[Directive, Scope]]:
        """Yield every directive with its scope, in nginx's order of reading; see `Scope.walk`."""
        return iter(self._walked)

    @cached_property
    def _walked(self) -> tuple[tuple[Directive, Scope], ...]:
        """The result of `walk`, cached because many rules use it."""
        return tuple(self.scope.walk())

    @cached_property
    def includes(self) -> tuple[Directive, ...]:
        """The includes, each once, in nginx's order."""
        includes = (item for item, _ in self.walk() if item.name == "include" and item.block is None)
        return tuple(dict.fromkeys(includes))

    @cached_property
    def elsewhere(self) -> tuple[Directive, ...]:
        """The includes that could not be read, or may read other files where the configuration is installed."""
        return tuple(include for include in self.includes if may_read_more(self, include))

    @property
    def http(self) -> Directive | None:
        """The `http` block of a main configuration, in any of its files; None for a fragment."""
        return next((scope.opener for scope in self.scope.scopes if scope.context == ("http",)), None)

    def file(self, path: str | os.PathLike[str]) -> File:
        """Return the file at `path`, or at a link to it. Raises `KeyError` if it is not part of the configuration."""
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

    def as_elsewhere(self, is_empty: Callable[[Directive], bool]) -> Config:
        """Return the configuration as it may be where it is installed: wildcards that match nothing here, and may match
        files there, count as includes that could not be read, and includes whose files are empty as read. The same if
        that changes nothing.
        """
        without = [include for include in self.elsewhere if self.is_missing(include) or not self.included(include)]
        missing = frozenset(include.origin for include in without if not is_empty(include))
        return self if missing == self._missing else replace(self, _missing=missing)

    def contexts(self, file: File | str | os.PathLike[str]) -> tuple[Context, ...]:
        """Return the contexts in which a file is included: for each of `candidates`, those of all its includes in the
        order in which nginx reads them.
        """
        file = file if isinstance(file, File) else self.file(file)
        inner = [tuple(str(parent.name) for parent in parents) for parents in self._parents[file]]
        return tuple(outer + names for outer in self.candidates for names in inner)

    def times(self, file: File) -> int:
        """Return how many times nginx reads the file: as often as it reads an include of the file."""
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
    roots: Roots | None = None,
) -> Config:
    """Read the configuration at `path` (`-`: standard input) and, if `includes`, the files it includes.

    Args:
        path: The main file, or a fragment.
        prefix: The folder from which relative includes start; by default the folder of `path`, like nginx's
            `conf_prefix`.
        context: Where a fragment is included (`server`, `http,server`); by default inferred from its directives.
        includes: Whether to read included files.
        missing_ok: Whether to continue if an included file cannot be read (see `Config.unread`). A file that does not
            parse is an error in any case.
        files: The storage from which files are read.
        parse: The function that parses them.
        roots: What is inside of the paths that the user named; by default see `nginxopt.config.roots.around`.

    Raises:
        InputError: If a file cannot be read or parsed, or there is more of them than a budget allows.
        UsageError: If the context is unknown.
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
        roots=roots_.around(name, prefix) if roots is None else roots,
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
    roots: Roots | None = None,
    sharing: Sharing | None = None,
) -> Config:
    """Read a configuration whose main file has the text `data` and the path `name`. For other arguments see `load`.

    `sharing` is what it has in common with others; `parse` is then not used.
    """
    inside = roots_.beside(name, prefix) if roots is None else roots
    stated = None if context is None else parse_context(context)
    sharing = Sharing(parse) if sharing is None else sharing
    main = sharing.file(name, data, files, inside)
    base = os.fspath(prefix) if prefix is not None else str(Path(name).parent)
    files = sharing.storage(places.of_main(files, name, None if prefix is None else base, _includes(main.block)))
    reader = Reader(main, base, files, missing_ok=missing_ok, sharing=sharing, roots=inside)
    if includes:
        with budget.counting("matches"):
            reader.follow(main)
    candidates = possible(main.block) if stated is None else (stated,)
    files_of = {include.origin: children for include, children in reader.included.items()}
    missing = frozenset(unread.include.origin for unread in reader.unread)
    parents = {file: tuple(places) for file, places in reader.parents.items()}
    read = tuple(reader.files.values())
    roots_.remember(read)
    return Config(main, read, candidates, base, tuple(reader.unread), files, inside, files_of, missing, parents)


def _includes(block: Block) -> Iterator[str]:
    """Yield what the includes of a file name, without unfolding runs of rewrites, which have none."""
    for item in block.unfolded():
        if item.block is not None:
            yield from _includes(item.block)
        elif item.name == "include" and item.args:
            yield str(item.args[0])


def reread(config: Config, texts: Mapping[str, bytes]) -> Config:
    """Read a configuration again with other texts in place of some of its files; nothing is written.

    The context of its main file stays, and a missing include is not an error. Raises `InputError` if a text does not
    parse.
    """
    if config.templates is not None:
        return _reread_templates(config, config.templates, texts)
    files = Overlay({config.main.path: config.main.source.data, **texts}, config.origin)
    main = files.read(config.main.path)
    again = load_text(main, config.main.path, prefix=config.prefix, missing_ok=True, files=files, roots=config.roots)
    return replace(again, candidates=config.candidates)


def _reread_templates(config: Config, templates: Templates, texts: Mapping[str, bytes]) -> Config:
    files = Overlay({config.main.path: config.main.source.data, **texts}, config.origin)
    return templates.with_texts(files, files.read(config.main.path)).config()
