"""A configuration as nginx reads it: the main file, the files it includes, and where each of them stands.

`load` reads a file and what it includes into a `Config`. A file is parsed once, wherever and however often it
is included; `Config.contexts` gives every place it stands in. Long runs of rewrites stay folded: see
`nginxopt.tree`.

nginx stops at the first error as it reads on; here a file is read to its end before its includes are, so that
of several errors another one may be told.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nginxopt import context as contexts
from nginxopt.context import Context
from nginxopt.errors import InputError
from nginxopt.includes import matches
from nginxopt.source import Source
from nginxopt.tokens import Comment, Token
from nginxopt.tree import Block, Bulk, Directive, Node, parse

__all__ = [
    "Block",
    "Bulk",
    "Comment",
    "Config",
    "Context",
    "Directive",
    "File",
    "Node",
    "Place",
    "Token",
    "load",
    "load_text",
]

STDIN = "-"


@dataclass(frozen=True, slots=True, eq=False)
class File:
    """One file of a configuration."""

    source: Source
    block: Block

    @property
    def path(self) -> str:
        """The name of the file in messages: as it was given, or the prefix and the path in the `include`."""
        return self.source.path


@dataclass(frozen=True, slots=True)
class Place:
    """Where a file stands: its context, and the directives around it, outermost first, across files.

    `include` is the directive that includes it, None for the main file.
    """

    context: Context
    parents: tuple[Directive, ...] = ()
    include: Directive | None = None

    @property
    def parent(self) -> Directive | None:
        """The directive whose block the file stands in, None at the top level."""
        return self.parents[-1] if self.parents else None


@dataclass(frozen=True, slots=True, eq=False)
class Config:
    """A configuration or a fragment of one, with all it includes.

    `files` are in the order in which nginx first reads them; relative includes start from `prefix`.
    `candidates` are the contexts `main` may stand in: one if stated or clear, several if its directives fit
    several, none if they tell nothing.
    """

    main: File
    files: tuple[File, ...]
    candidates: tuple[Context, ...]
    prefix: str
    _included: dict[Directive, tuple[File, ...]] = field(repr=False)
    _places: dict[File, tuple[tuple[tuple[Directive, ...], Directive | None], ...]] = field(repr=False)

    def file(self, path: str | os.PathLike[str]) -> File:
        """Return the file at `path`, by whatever name; `KeyError` if it is not part of the configuration."""
        for file in self.files:
            if file.path == os.fspath(path) or _identity(file.path) == _identity(os.fspath(path)):
                return file
        raise KeyError(os.fspath(path))

    def included(self, include: Directive) -> tuple[File, ...]:
        """Return the files of an `include`, in nginx's order."""
        return self._included.get(include, ())

    def contexts(self, file: File | str | os.PathLike[str]) -> tuple[Place, ...]:
        """Return every place the file stands in: for each candidate of `main`, in the order of reading."""
        file = file if isinstance(file, File) else self.file(file)
        return tuple(
            Place(outer + tuple(str(parent.name) for parent in parents), parents, include)
            for outer in self.candidates
            for parents, include in self._places[file]
        )

    def walk(self) -> Iterator[tuple[Directive, tuple[Directive, ...]]]:
        """Yield every directive as nginx reads them, includes in place, with the directives around it."""
        return self._walk(Block.directives, self.main.block, ())

    def outline(self) -> Iterator[tuple[Directive, tuple[Directive, ...]]]:
        """As `walk`, without the rewrites of folded runs: they are not made, so that this costs next to nothing."""
        return self._walk(Block.unfolded, self.main.block, ())

    def _walk(
        self, directives: Callable[[Block], Iterator[Directive]], block: Block, parents: tuple[Directive, ...]
    ) -> Iterator[tuple[Directive, tuple[Directive, ...]]]:
        for directive in directives(block):
            yield directive, parents
            if directive.block:
                yield from self._walk(directives, directive.block, (*parents, directive))
            for file in self.included(directive):
                yield from self._walk(directives, file.block, parents)


def load(
    path: str | os.PathLike[str],
    *,
    prefix: str | os.PathLike[str] | None = None,
    context: str | Sequence[str] | None = None,
    includes: bool = True,
) -> Config:
    """Read the configuration at `path` (`-`: standard input) and, if `includes`, what it includes.

    `prefix` is what relative includes are relative to: by default the directory of `path`, as nginx's
    `conf_prefix` is that of its main file. `context` states where a fragment stands (`server`,
    `http,server`); without it, it is inferred. `InputError` for a file that cannot be read or parsed,
    `UsageError` for an unknown context.
    """
    name = os.fspath(path)
    if name == STDIN:
        return load_text(sys.stdin.buffer.read(), STDIN, prefix=prefix, context=context, includes=includes)
    data = _read(name)
    return load_text(data, name, prefix=prefix, context=context, includes=includes)


def load_text(
    data: bytes,
    name: str = STDIN,
    *,
    prefix: str | os.PathLike[str] | None = None,
    context: str | Sequence[str] | None = None,
    includes: bool = True,
) -> Config:
    """Read a configuration from memory: as `load`, `name` being its path."""
    stated = contexts.stated(context) if context is not None else None
    main = _file(name, data)
    base = os.fspath(prefix) if prefix is not None else str(Path(name).parent)
    reader = _Reader(base, main)
    if includes:
        reader.follow(main, (), ())
    candidates = contexts.possible(main.block) if stated is None else (stated,)
    places = {file: tuple(found) for file, found in reader.places.items()}
    return Config(main, tuple(reader.files.values()), candidates, base, reader.included, places)


class _Reader:
    """Reads a main file's includes, each file once."""

    def __init__(self, prefix: str, main: File) -> None:
        self.prefix = prefix
        self.files: dict[str, File] = {_identity(main.path): main}
        self.included: dict[Directive, tuple[File, ...]] = {}
        self.places: dict[File, list[tuple[tuple[Directive, ...], Directive | None]]] = {main: [((), None)]}

    def follow(self, file: File, parents: tuple[Directive, ...], chain: tuple[File, ...]) -> None:
        """Read what `file` includes, which stands in `parents` and was included by the files of `chain`."""
        chain = (*chain, file)
        for include, inner in _includes(file.block, parents):
            if include not in self.included:
                self.included[include] = tuple(self._open(include, path) for path in self._paths(include))
            for child in self.included[include]:
                _refuse_circle(include, child, chain)
                self.places.setdefault(child, []).append((inner, include))
                self.follow(child, inner, chain)

    def _paths(self, include: Directive) -> list[str]:
        if len(include.args) != 1:
            nginx = include.told('invalid number of arguments in "include" directive')
            raise include.error('"include" takes one path', nginx=nginx)
        return matches(self.prefix, str(include.args[0]))

    def _open(self, include: Directive, path: str) -> File:
        identity = _identity(path)
        if identity not in self.files:
            self.files[identity] = _file(path, _read(path, include))
        return self.files[identity]


def _includes(block: Block, parents: tuple[Directive, ...]) -> Iterator[tuple[Directive, tuple[Directive, ...]]]:
    """Yield the includes of a file with what is around them; folded rewrites have none."""
    for node in block.nodes:
        if not isinstance(node, Directive):
            continue
        if node.block:
            yield from _includes(node.block, (*parents, node))
        elif node.name == "include":
            yield node, parents


def _refuse_circle(include: Directive, child: File, chain: tuple[File, ...]) -> None:
    if child not in chain:
        return
    circle = " -> ".join(file.path for file in (*chain[chain.index(child) :], child))
    nginx = f'open() "{_absolute(child.path)}" failed ({errno.EMFILE}: {os.strerror(errno.EMFILE)})'
    raise include.error(f"circular include: {circle}", at=include.args[0], nginx=include.told(nginx))


def _file(path: str, data: bytes) -> File:
    source = Source(path, data)
    return File(source, parse(source))


def _read(path: str, include: Directive | None = None) -> bytes:
    """Return the bytes of a file; `InputError` at the include, if there is one, if it cannot be read."""
    try:
        return Path(path).read_bytes()
    except OSError as error:
        reason = error.strerror or str(error)
        is_directory = error.errno == errno.EISDIR
        call = "pread()" if is_directory else "open()"
        nginx = f'{call} "{_absolute(path)}" failed ({error.errno}: {reason})'
        if include is None:
            raise InputError(f"cannot be read: {reason}", path=path, nginx=nginx) from None
        said = nginx if is_directory else include.told(nginx)  # reading a directory, nginx names no place
        message = f"{path} cannot be read: {reason}"
        raise include.error(message, at=include.args[0], nginx=said) from None
    except ValueError as error:  # a NUL in the path
        raise InputError(f"cannot be read: {error}", path=path) from None


def _identity(path: str) -> str:
    """What two names of one file have in common."""
    return path if path == STDIN else os.path.realpath(path)


def _absolute(path: str) -> str:
    return path if path == STDIN else str(Path(path).absolute())
