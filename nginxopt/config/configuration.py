"""Reads a configuration like nginx: the main file, the files it includes, their blocks, and their contexts.

`load` reads a file and the files it includes into a `Config`. Each file is parsed once, even if several includes name
it; `Config.contexts` returns the context of each of them. Long runs of rewrites stay folded: see
`nginxopt.config.tree`.

nginx stops at the first error. `load` reads a file to its end before its includes, so if there are several errors, it
may report another one than nginx.

A `Scope` is a block as nginx reads it, with included files in the place of each `include`. All other code walks a
configuration through scopes.

A context is a tuple of the names of the enclosing blocks: `()` is the main context, `("http", "server")` that of a
server. Those of a fragment are inferred from its directives; one counts as allowed where any release of nginx allows
it, or NGINX Plus does.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import field, replace
from functools import cached_property, reduce
from operator import or_
from pathlib import Path
from typing import TYPE_CHECKING

from nginxopt import budget
from nginxopt.config import places
from nginxopt.config import roots as roots_
from nginxopt.config.filesystem import (
    DISK,
    STDIN,
    Files,
    NotRegular,
    Overlay,
    RecordedFiles,
    bounded,
    is_descriptor,
    is_dump,
    is_pattern,
)
from nginxopt.config.places import Tree, may_read_more
from nginxopt.config.roots import Roots
from nginxopt.config.tree import DEPTH, Block, Bulk, Comment, Directive, parse, reading
from nginxopt.errors import InputError, UsageError
from nginxopt.facts import vendors
from nginxopt.facts.table import PLACES, declarations
from nginxopt.records import record
from nginxopt.text import Source

if TYPE_CHECKING:
    from nginxopt.config.templates import Templates


LEAST = 1_000
"""The number of readings of files that each configuration may have, however many others took: four times those of the
largest configuration."""

MOST_CHAINED = 100
"""The maximum depth of includes. nginx keeps the files of all depths open, and systems limit how many may be open."""


@record()
class File:
    """One file of a configuration."""

    source: Source
    block: Block

    @property
    def path(self) -> str:
        """The name of the file in messages: as the user gave it, or built from the prefix and the `include`."""
        return self.source.path


@record()
class UnreadFile:
    """An included file that could not be read.

    Attributes:
        include: The include that names the file, or matches it with wildcards.
        path: The file.
        why: The reason, as the predicate of a sentence: "is not a regular file".
    """

    include: Directive
    path: str
    why: str


Parse = Callable[[str, bytes], File]
"""A function that parses the text of the file at a path. Raises `InputError` if it cannot be parsed."""


@record(eq=True)
class Content:
    """What a file adds each time it is read.

    Attributes:
        includes: Its includes with the blocks around them.
        nodes: The number of its directives and comments, each folded run being one.
        depth: The number of its blocks in each other.
    """

    includes: tuple[tuple[Directive, tuple[Directive, ...]], ...]
    nodes: int
    depth: int


class Reader:
    """Follows the includes of the file `main`, in the storage `files`, relative to `prefix`.

    A file that cannot be read raises `InputError`; with `missing_ok`, it is added to `unread` instead. A file is parsed
    once, but its includes are followed in each place that includes it. If files include each other twice, that does not
    end, in nginx either. So there are budgets for how often files are read.
    """

    def __init__(
        self, main: File, prefix: str, files: Files, *, missing_ok: bool, sharing: Sharing, roots: Roots
    ) -> None:
        self._prefix = prefix
        self._disk = files
        self._sharing = sharing
        self._missing_ok = missing_ok
        self._roots = roots
        self.files: dict[str, File] = {files.identity(main.path): main}
        self.unread: list[UnreadFile] = []
        self.included: dict[Directive, tuple[File, ...]] = {}
        self.parents: dict[File, list[tuple[Directive, ...]]] = {main: [()]}
        self._bytes = budget.Meter("bytes")
        self._files = budget.Meter("files")
        self._readings = sharing.readings()
        self._nodes = budget.Meter("directives")
        self._bytes.spend(len(main.source.data), path=main.path)

    def follow(self, file: File) -> None:
        """Read the includes of the main file. Raises `budget.ExceededError` at the include that is too much."""
        try:
            self._follow(file, (), ())
        finally:
            self._sharing.took(self._readings)

    def _follow(self, file: File, parents: tuple[Directive, ...], chain: tuple[File, ...]) -> None:
        """Read the includes of `file`, which is included in the blocks `parents` by the last of the files `chain`."""
        chain = (*chain, file)
        for include, within in self._content(file).includes:
            inner = (*parents, *within) if within else parents
            if include not in self.included:
                self.included[include] = tuple(self._open(include))
            for child in self.included[include]:
                _refuse_circle(include, child, chain)
                content = self._content(child)
                _refuse_deep(include, len(inner) + content.depth, chain)
                self._readings.spend(source=include.source, span=include.span)
                self._nodes.spend(content.nodes, source=include.source, span=include.span)
                self.parents.setdefault(child, []).append(inner)
                self._follow(child, inner, chain)

    def _content(self, file: File) -> Content:
        contents = self._sharing.contents
        content = contents.get(file)
        if content is None:
            includes: list[tuple[Directive, tuple[Directive, ...]]] = []
            nodes, depth = _collect(file.block, (), includes)
            content = contents[file] = Content(tuple(includes), nodes, depth)
        return content

    def _open(self, include: Directive) -> Iterator[File]:
        """Yield the files of an include."""
        for path in self._disk.matches(self._prefix, _name(include)):
            identity = self._sharing.identity(path, self._disk)
            is_found = _name(include).startswith("/") and path != _name(include)  # in the tree of a copy
            if is_found and identity == self._sharing.identity(include.source.path, self._disk):
                self.unread.append(UnreadFile(include, path, "cannot be read"))
                continue
            if identity not in self.files:
                data = self._read(include, path)
                if data is None:
                    continue
                self._files.spend(source=include.source, span=include.span)
                self._bytes.spend(len(data), source=include.source, span=include.span)
                self.files[identity] = self._sharing.file(path, data, self._disk, self._roots)
            yield self.files[identity]

    def _read(self, include: Directive, path: str) -> bytes | None:
        """Return the bytes of a file; None if it cannot be read and `missing_ok` is set."""
        try:
            return self._sharing.read(path, self._disk)
        except OSError as error:
            if not self._missing_ok:
                raise _unread(include, path, error) from None
            self.unread.append(UnreadFile(include, path, _why(include, error)))
        return None


def guarded(parse: Parse, path: str, data: bytes, files: Files, roots: Roots) -> File:
    """Parse the text of a file. If it is outside of the roots, neither its text nor an error about it is shown."""
    if is_dump(files) or roots.has(path):
        return parse(path, data)
    try:
        file = parse(path, data)
    except InputError as error:
        error.withhold()
        raise
    file.source.withhold()
    return file


def parsed(path: str, data: bytes) -> File:
    """Parse the text of the file at `path`. Raises `InputError` if it cannot be parsed."""
    source = Source(path, data)
    return File(source, parse(source))


def wrong_includes(file: File) -> Iterator[Directive]:
    """Yield the includes that do not have exactly one path."""
    includes: list[tuple[Directive, tuple[Directive, ...]]] = []
    _collect(file.block, (), includes)
    return (include for include, _ in includes if len(include.args) != 1)


def refuse_wrong_includes(file: File) -> None:
    """Raise `InputError` for the first include that does not have exactly one path."""
    for include in wrong_includes(file):
        _name(include)


def source(path: str, files: Files = DISK, *, is_nginx: bool = False) -> Source:
    """Return the text of a file, or of standard input. Raises `InputError` if it cannot be read."""
    return roots_.source(path, contents(path, files, is_nginx=is_nginx))


def contents(path: str, files: Files, *, is_nginx: bool = False) -> bytes:
    """Return the bytes of a file, or of standard input. Raises `InputError` if it cannot be read.

    With `is_nginx`, the file is a configuration: the error has nginx's words, too.
    """
    try:
        if path != STDIN and not is_descriptor(path):
            return files.read(path)
        return _piped(path, is_nginx=is_nginx)
    except OSError as error:
        nginx = _message(path, error) if is_nginx and not isinstance(error, NotRegular) else None
        raise InputError(f"cannot be read: {_reason(error)}", path=path, nginx=nginx) from None
    except ValueError:
        raise InputError("cannot be read: the path has a null byte", path=path) from None


def _piped(path: str, *, is_nginx: bool) -> bytes:
    """Return the bytes that a command writes to a pipe. Raises `InputError` if there are none: the command failed."""
    with nullcontext(sys.stdin.buffer) if path == STDIN else Path(path).open("rb") as file:
        data = bounded(file, path)
    if not data.strip():
        of_nginx = ": nginx -T prints nothing if the configuration is invalid" if is_nginx else ""
        hint = f"the command that writes to it may have failed{of_nginx}"
        raise InputError("standard input is empty" if path == STDIN else "is empty", path=path, hint=hint)
    return data


def _collect(
    block: Block, parents: tuple[Directive, ...], includes: list[tuple[Directive, tuple[Directive, ...]]]
) -> tuple[int, int]:
    """Add the includes of a block with the blocks around them; return how many nodes it has, and its depth.

    There are no includes in folded rewrites.
    """
    count, depth = len(block.nodes), 0
    for node in block.unfolded():
        if node.block:
            inner, deepest = _collect(node.block, (*parents, node), includes)
            count, depth = count + inner, max(depth, deepest + 1)
        elif node.name == "include":
            includes.append((node, parents))
    return count, depth


def _name(include: Directive) -> str:
    if len(include.args) != 1:
        nginx = include.located('invalid number of arguments in "include" directive')
        raise include.error('"include" takes exactly one path', nginx=nginx)
    return str(include.args[0])


def _unread(include: Directive, path: str, error: OSError) -> InputError:
    message = _message(path, error)
    if isinstance(error, NotRegular):
        nginx = None  # a pipe, which waits for a writer
    elif isinstance(error, IsADirectoryError):
        nginx = message  # nginx does not print the place
    else:
        nginx = include.located(message)
    return include.error(f"{path} cannot be read: {_reason(error)}", at=include.args[0], nginx=nginx)


def _why(include: Directive, error: OSError) -> str:
    """Return why a file of an include was not read, as `UnreadFile.why`."""
    if isinstance(error, NotRegular | IsADirectoryError):
        return "is not a regular file"
    if not isinstance(error, FileNotFoundError):
        return f"cannot be read ({_reason(error)})"
    return "is a link to a missing file" if is_pattern(_name(include)) else "cannot be read"


def _refuse_circle(include: Directive, child: File, chain: tuple[File, ...]) -> None:
    if child not in chain:
        return
    circle = " -> ".join(file.path for file in (*chain[chain.index(child) :], child))
    nginx = _message(child.path, OSError(errno.EMFILE, os.strerror(errno.EMFILE)))
    raise include.error(f"circular include: {circle}", at=include.args[0], nginx=include.located(nginx))


def _refuse_deep(include: Directive, depth: int, chain: tuple[File, ...]) -> None:
    """Raise `InputError` if files or blocks are too deep in each other for what reads them, which is recursive."""
    if len(chain) > MOST_CHAINED:
        raise include.error(f"files include each other more than {MOST_CHAINED} deep", at=include.args[0])
    if depth > DEPTH:
        raise include.error(f"blocks are nested more than {DEPTH} deep", at=include.args[0])


def _message(path: str, error: OSError) -> str:
    """Return nginx's message for a file that it cannot read."""
    call = "pread()" if error.errno == errno.EISDIR else "open()"
    absolute = path if path == STDIN else str(Path(path).absolute())
    return f'{call} "{absolute}" failed ({error.errno}: {_reason(error)})'


def _reason(error: OSError) -> str:
    return error.strerror or str(error)


class Sharing:
    """What the configurations that one command reads have in common: their files, and the budget for their readings.

    A folder may have a thousand files of which each includes the others, and each that no other includes is a
    configuration of its own. A file is read and parsed once for all of them. The readings of files that include each
    other are bounded for all together: one configuration may take all of the budget `inclusions`, those after it only
    `LEAST` each. So what a folder costs grows with the number of its files, whatever they include.

    `parse` is called once for each path and text. What may be shown of a file depends on what the user has named, so
    there is one `File` for each `Roots`. `contents` is what each adds to the configurations that read it.
    """

    # Of files and paths, only those of trees are kept: a dump has its own, and other storages are texts in place of
    # files, of which each configuration has its own.

    def __init__(self, parse: Parse = parsed) -> None:
        self._parse = parse
        self._files: dict[tuple[str, Roots], tuple[bytes, File | InputError]] = {}
        self.contents: dict[File, Content] = {}
        self._trees: dict[tuple[object, ...], Tree] = {}
        self._texts: dict[tuple[Tree, str], bytes] = {}
        self._identities: dict[str, str] = {}
        self._left = budget.limit("inclusions")

    def storage(self, files: Files) -> Files:
        """Return the first storage that reads the same as this one, so that they share what was read."""
        return self._trees.setdefault(files.reading, files) if isinstance(files, Tree) else files

    def read(self, path: str, files: Files) -> bytes:
        """Return the bytes of a file. Raises `OSError` if it cannot be read."""
        if not isinstance(files, Tree):
            return files.read(path)
        data = self._texts.get((files, path))
        if data is None:
            data = self._texts[files, path] = files.read(path)
        return data

    def identity(self, path: str, files: Files) -> str:
        """Return the identity of a file."""
        if not isinstance(files, Tree):
            return files.identity(path)
        identity = self._identities.get(path)
        if identity is None:
            identity = self._identities[path] = files.identity(path)
        return identity

    def file(self, path: str, data: bytes, files: Files, roots: Roots) -> File:
        """Return the file at a path with the text `data`. Raises `InputError` if it cannot be parsed."""
        if is_dump(files):
            return guarded(self._parse, path, data, files, roots)
        known = self._files.get((path, roots))
        if known is None or known[0] != data:
            known = self._files[path, roots] = data, self._parsed(path, data, files, roots)
        if isinstance(known[1], InputError):
            raise known[1].with_traceback(None)
        return known[1]

    def _parsed(self, path: str, data: bytes, files: Files, roots: Roots) -> File | InputError:
        try:
            return guarded(self._parse, path, data, files, roots)
        except InputError as error:
            return error

    def readings(self) -> budget.Meter:
        """Return the meter of `inclusions` for another configuration; `took` says what it has spent."""
        most = budget.limit("inclusions")
        if self._left >= most:
            return budget.Meter("inclusions")
        return budget.Meter("inclusions", min(most, max(LEAST, self._left)), ", as others have taken the rest")

    def took(self, readings: budget.Meter) -> None:
        """Take what a configuration has spent from what the next ones may."""
        self._left -= min(readings.limit, readings.limit - readings.left)


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
        open_scopes = [(self, self.directives, iter(self.scopes))]
        while open_scopes:
            scope, directives, scopes = open_scopes[-1]
            for directive in directives:
                yield directive, scope
                if directive.block is not None:
                    inner = next(scopes)
                    open_scopes.append((inner, inner.directives, iter(inner.scopes)))
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
    files = sharing.storage(places.of_main(files, name, None if prefix is None else base, _includes(main.block)))
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


def _includes(block: Block) -> Iterator[str]:
    """Yield what the includes of a file name, without unfolding runs of rewrites, which have none."""
    for item in block.unfolded():
        if item.block is not None:
            yield from _includes(item.block)
        elif item.name == "include" and item.args:
            yield str(item.args[0])


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
