"""Reads files as nginx does, and follows their includes.

`source` is the text of a file, or of standard input. A `Reader` begins with the main file of a configuration and reads
what it includes. Each file is parsed once, even if several includes name it. A `Sharing` is what the configurations of
one command have in common, so that a file of all of them is read once.

nginx stops at the first error. A `Reader` reads a file to its end before its includes, so if there are several errors,
it may report another one than nginx.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from pathlib import Path

from nginxopt import budget
from nginxopt.config import roots as roots_
from nginxopt.config.filesystem import DISK, STDIN, Files, NotRegular, bounded, is_descriptor, is_dump, is_pattern
from nginxopt.config.places import Tree
from nginxopt.config.roots import Roots
from nginxopt.config.tree import DEPTH, Block, Directive, parse
from nginxopt.errors import InputError
from nginxopt.records import record
from nginxopt.text import Source

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

    @classmethod
    def of(cls, file: File) -> Content:
        """Return the content of a file."""
        includes: list[tuple[Directive, tuple[Directive, ...]]] = []
        nodes, depth = _collect(file.block, (), includes)
        return cls(tuple(includes), nodes, depth)


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
        for include, within in self._sharing.content(file).includes:
            inner = (*parents, *within) if within else parents
            if include not in self.included:
                self.included[include] = tuple(self._open(include))
            for child in self.included[include]:
                _refuse_circle(include, child, chain)
                content = self._sharing.content(child)
                _refuse_deep(include, len(inner) + content.depth, chain)
                self._readings.spend(source=include.source, span=include.span)
                self._nodes.spend(content.nodes, source=include.source, span=include.span)
                self.parents.setdefault(child, []).append(inner)
                self._follow(child, inner, chain)

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
    return (include for include, _ in Content.of(file).includes if len(include.args) != 1)


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
    there is one `File` for each `Roots`.
    """

    # Of files and paths, only those of trees are kept: a dump has its own, and other storages are texts in place of
    # files, of which each configuration has its own.

    def __init__(self, parse: Parse = parsed) -> None:
        self._parse = parse
        self._files: dict[tuple[str, Roots], tuple[bytes, File | InputError]] = {}
        self._contents: dict[File, Content] = {}
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

    def content(self, file: File) -> Content:
        """Return what a file adds to each configuration that reads it."""
        content = self._contents.get(file)
        if content is None:
            content = self._contents[file] = Content.of(file)
        return content

    def readings(self) -> budget.Meter:
        """Return the meter of `inclusions` for another configuration; `took` says what it has spent."""
        most = budget.limit("inclusions")
        if self._left >= most:
            return budget.Meter("inclusions")
        return budget.Meter("inclusions", min(most, max(LEAST, self._left)), ", as others have taken the rest")

    def took(self, readings: budget.Meter) -> None:
        """Take what a configuration has spent from what the next ones may."""
        self._left -= min(readings.limit, readings.limit - readings.left)
