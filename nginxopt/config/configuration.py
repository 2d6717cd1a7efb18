"""A configuration as nginx reads it: its files with their includes, its blocks, and their contexts.

`load` reads a file and the files it includes (see `nginxopt.config.includes`) into a `Config`. Long runs of rewrites
stay folded: see `nginxopt.config.tree`.

A `Scope` is a block as nginx reads it, with included files in the place of each `include`. All other code walks a
configuration through scopes.

A context is a tuple of the names of the enclosing blocks: `()` is the main context, `("http", "server")` that of a
server. `Config.contexts` returns those in which a file is read. Those of a fragment are inferred from its directives;
one counts as allowed where any release of nginx allows it, or NGINX Plus does.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property, lru_cache, reduce
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING

from nginxopt import budget
from nginxopt.config import places
from nginxopt.config import roots as roots_
from nginxopt.config.filesystem import DISK, STDIN, Files, Overlay, RecordedFiles
from nginxopt.config.includes import File, Parse, Reader, Sharing, UnreadFile, contents, parsed
from nginxopt.config.places import may_read_more
from nginxopt.config.roots import Roots
from nginxopt.config.tree import Block, Bulk, Comment, Directive, reading
from nginxopt.errors import UsageError
from nginxopt.facts import vendors
from nginxopt.facts.lexicon import BLOCKS
from nginxopt.facts.table import PLACES, declarations
from nginxopt.records import record
from nginxopt.text import Source

if TYPE_CHECKING:
    from nginxopt.config.templates import Templates


Context = tuple[str, ...]

_LOCATION = ("http", "server", "location")


def _full(context: Context) -> Context:
    """Return the context with the server around a location, which crossplane's `("http", "location")` leaves out."""
    return _LOCATION + context[2:] if context[:2] == ("http", "location") else context


_MASKS: dict[Context, int] = {
    _full(() if place == "main" else tuple(place.split("/"))): bit for place, bit in PLACES.items()
}

_BLOCKS = {context[-1] for context in _MASKS if context}
"""The names of the blocks that are contexts."""

_SHORT: dict[str, Context] = {
    "main": (),
    "events": ("events",),
    "http": ("http",),
    "server": ("http", "server"),
    "location": _LOCATION,
    "upstream": ("http", "upstream"),
}


def known_contexts() -> tuple[Context, ...]:
    """Return all contexts that nginx knows, outer ones first."""
    return tuple(sorted(_MASKS, key=lambda context: (len(context), context)))


def parse_context(context: str | Sequence[str]) -> Context:
    """Return the context that a user names: `server`, `http,server`, `("http", "server")`.

    A single name stands for the usual place of that block in http. Raises `UsageError` for an unknown context.
    """
    names = tuple(name.strip() for name in context.split(",")) if isinstance(context, str) else tuple(context)
    full = _full(_SHORT.get(names[0], names) if len(names) == 1 else names)
    if _flat(full) not in _MASKS:
        raise UsageError(
            f"unknown context {','.join(names)!r}",
            hint=f"use one of {', '.join(_SHORT)}, or block names such as http,server,if",
        )
    return full


@lru_cache(maxsize=1 << 10)
def _flat(context: Context) -> Context:
    """Return the context with nested locations reduced to one: all of them allow the same directives."""
    names = [name for name, before in zip(context, (None, *context), strict=False) if name != before]
    return tuple(names)


def possible_contexts(block: Block) -> tuple[Context, ...]:
    """Return the contexts in which every known directive of `block` is allowed, outer ones first.

    If several fit, only those remain in which the fewest directives of inner blocks are misplaced. Empty if no
    directive is known, as in a file of map rows, or if no context allows all of them. Exception: a file with an `http`
    or `events` block is a main configuration, whatever else is in it. `include` and the rows of blocks such as `map`
    are ignored.
    """
    used: set[_Use] = set()
    _add_uses(block, (), used)
    masks = [(inner, mask) for inner, name, is_block in used if (mask := _mask(name, is_block)) is not None]
    outer = [mask for inner, mask in masks if not inner]
    if not outer:
        return ()
    candidates = [context for context in known_contexts() if all(mask & _MASKS[context] for mask in outer)]
    if not candidates and not {("http", True), ("events", True)}.isdisjoint(use[1:] for use in used if not use[0]):
        return ((),)  # a main configuration, whatever else is in it
    faults = {context: sum(_contradicts(context + inner, mask) for inner, mask in masks) for context in candidates}
    return tuple(context for context in candidates if faults[context] == min(faults.values()))


_Use = tuple[Context, str, bool]
"""A directive somewhere in a file: the blocks around it, its name, and whether it has a block."""


def _add_uses(block: Block, inner: Context, used: set[_Use]) -> None:
    """Add every distinct use of a directive in a block and its inner blocks to `used`."""
    for node in block.nodes:
        if isinstance(node, Directive):
            name = str(node.name)
            if node.block is None:
                used.add((inner, name, False))
                continue
            used.add((inner, name, True))
            if name in _BLOCKS:
                _add_uses(node.block, _flat((*inner, name)), used)
        elif isinstance(node, Bulk):
            used.add((inner, node.name, False))
    used.discard((inner, "include", False))


def _contradicts(context: Context, mask: int) -> bool:
    """Return whether a context forbids a directive with the places `mask`; False for a block that is not a context."""
    return not mask & _MASKS.get(_flat(context), mask)


def _mask(name: str, is_block: bool) -> int | None:
    """Return the places of a directive as a mask; None for an unknown one."""
    rows = declarations(name) or [
        row for vendor in (vendors.OLDER, vendors.PLUS) for row in vendors.declarations(vendor, name) if row.places
    ]
    if not rows:
        return None
    return reduce(or_, (row.places for row in rows if row.has_block == is_block), 0)


IncludedBlocks = Callable[[Directive], Iterable[Block]]
"""A function that returns the top-level blocks of the files that an `include` names, in nginx's order."""


@record(frozen=False)
class Scope:
    """The content of a block or of the main file, including its includes.

    Attributes:
        block: The block in which the scope begins.
        parents: The directives of the enclosing blocks, outermost first, across files; the last one opens the scope.
            Empty for the outermost scope.
        context: The names of `parents`.
        nodes: The nodes directly in the scope, in the order in which nginx reads them, without comments. An `include`
            is followed by the nodes of its files.
        scopes: The scopes directly in this one, one for each directive of `nodes` with a block, in the same order.
    """

    block: Block
    parents: tuple[Directive, ...] = ()
    context: Context = ()
    nodes: list[Directive | Bulk] = field(default_factory=list)
    scopes: list[Scope] = field(default_factory=list)

    @property
    def opener(self) -> Directive | None:
        """The directive whose block this is; None for the outermost scope."""
        return self.parents[-1] if self.parents else None

    @property
    def directives(self) -> Iterator[Directive]:
        """The directives directly in the scope, without folded runs."""
        return (node for node in self.nodes if isinstance(node, Directive))

    def tree(self) -> Iterator[Scope]:
        """Yield this scope and all inner scopes, in the order in which nginx reads them."""
        waiting = [self]
        while waiting:
            scope = waiting.pop()
            yield scope
            waiting += reversed(scope.scopes)

    def walk(self) -> Iterator[tuple[Directive, Scope]]:
        """Yield every directive of this scope and its inner scopes, with its scope, in the order in which nginx reads
        them. Skips folded runs.
        """
        open_scopes = [(self, iter(self.nodes), iter(self.scopes))]
        while open_scopes:
            scope, nodes, scopes = open_scopes[-1]
            for node in nodes:
                if isinstance(node, Bulk):
                    continue
                yield node, scope
                if node.block is not None:
                    inner = next(scopes)
                    open_scopes.append((inner, iter(inner.nodes), iter(inner.scopes)))
                    break
            else:
                open_scopes.pop()


def read_scope(block: Block, included: IncludedBlocks) -> Scope:
    """Return the outermost scope, that of the main file. Linear in the size of the text outside folded runs."""
    scope = Scope(block)
    _read(scope, block, included)
    return scope


def _read(scope: Scope, block: Block, included: IncludedBlocks) -> None:
    """Add the content of a block or file, including its includes, to a scope."""
    for node in block.nodes:
        if isinstance(node, Comment):
            continue
        scope.nodes.append(node)
        if isinstance(node, Bulk):
            continue
        if node.block is not None:
            inner = Scope(node.block, (*scope.parents, node), (*scope.context, str(node.name)))
            scope.scopes.append(inner)
            _read(inner, node.block, included)
        elif node.name == "include":
            for file in included(node):
                _read(scope, file, included)


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
        roots: What is inside of the paths that the user named. Files elsewhere have an `outside` source.
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
    def by_name(self) -> Mapping[str, Sequence[tuple[Directive, Scope]]]:
        """The directives by name, each with its scope, in nginx's order of reading, without the rows of tables."""
        index: dict[str, list[tuple[Directive, Scope]]] = {}
        for place in self.walk():
            directive, scope = place
            if BLOCKS.issuperset(scope.context):
                index.setdefault(str(directive.name), []).append(place)
        return index

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
        contents(name, files, is_nginx=True),
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
    named = (str(include.args[0]) for include, _ in sharing.content(main).includes if include.args)
    files = sharing.storage(places.of_main(files, name, None if prefix is None else base, named))
    reader = Reader(main, base, files, missing_ok=missing_ok, sharing=sharing, roots=inside)
    if includes:
        with budget.counting("matches"):
            reader.follow(main)
    candidates = possible_contexts(main.block) if stated is None else (stated,)
    files_of = {include.origin: children for include, children in reader.included.items()}
    missing = frozenset(unread.include.origin for unread in reader.unread)
    parents = {file: tuple(places) for file, places in reader.parents.items()}
    read = tuple(reader.files.values())
    roots_.remember(read)
    return Config(main, read, candidates, base, tuple(reader.unread), files, inside, files_of, missing, parents)


def reread(config: Config, texts: Mapping[str, bytes]) -> Config:
    """Read a configuration again with other texts in place of some of its files; nothing is written.

    The context of its main file stays, and a missing include is not an error. Files whose text stays are not parsed
    again. Raises `InputError` if a text does not parse.
    """
    if config.templates is not None and not texts:
        return config  # all its readings were read
    if config.templates is not None:
        return _reread_templates(config, config.templates, texts)
    files = Overlay({config.main.path: config.main.source.data, **texts}, config.origin)
    main = files.read(config.main.path)
    known = {file.path: file for file in config.files}

    def parse(path: str, data: bytes) -> File:
        file = known.get(path)
        return file if file is not None and file.source.data == data else parsed(path, data)

    name, at = config.main.path, config.prefix
    again = load_text(main, name, prefix=at, missing_ok=True, files=files, parse=parse, roots=config.roots)
    return replace(again, candidates=config.candidates)


def _reread_templates(config: Config, templates: Templates, texts: Mapping[str, bytes]) -> Config:
    files = Overlay({config.main.path: config.main.source.data, **texts}, config.origin)
    return templates.with_texts(files, files.read(config.main.path)).config()


@record(eq=True)
class RecordedConfig:
    """A configuration by its files, from which another process can read it again."""

    main: str
    prefix: str
    candidates: tuple[Context, ...]
    roots: Roots
    files: RecordedFiles

    @classmethod
    def of(cls, config: Config) -> RecordedConfig:
        """Return what reads `config` again."""
        texts = {file.path: file.source.data for file in config.files}
        included: dict[str, tuple[str, ...]] = {}
        for include in config.includes:
            if include.args and not config.is_missing(include):
                included[str(include.args[0])] = tuple(file.path for file in config.included(include))
        return cls(config.main.path, config.prefix, config.candidates, config.roots, RecordedFiles(texts, included))

    def config(self) -> Config:
        """Read the configuration."""
        again = load_text(
            self.files.read(self.main),
            self.main,
            prefix=self.prefix,
            missing_ok=True,
            files=self.files,
            roots=self.roots,
        )
        return replace(again, candidates=self.candidates)
