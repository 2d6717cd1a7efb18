"""Finds the maps of http with regular expressions, with their rows in all files, and parses texts of `map` blocks.

A file that contains only rows is read with an assumed map around it, so that it can be compiled.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from nginxopt import _native, lazy
from nginxopt.config import Block, Config, Directive, File, Scope, load_text, may_read_more, statements
from nginxopt.config.tree import parse
from nginxopt.errors import InputError, UsageError
from nginxopt.records import record
from nginxopt.text import Source, encode

MADE_BY = b"made by nginxopt rewrite-to-map"
"""Identifies files of maps that this command wrote, by a comment in their first lines. They are not compiled again."""
_GUARD = lazy.pattern(r"~\*?\^\(\?!.*\)", re.DOTALL)
"""The pattern of a guard: the first row of a map, which matches most subjects that no other row matches."""

_VARIABLE = lazy.pattern(r"\$(?:\{(\w+)\}|(\w+))")
_GROUP = lazy.pattern(r"\(\?P?[<'](\w+)[>']")


def variables(text: str) -> set[str]:
    """Return the names of the variables in a value, in lower case, as nginx ignores case."""
    return {(braced or bare).lower() for braced, bare in _VARIABLE.findall(text)} if "$" in text else set()


def groups(pattern: str) -> set[str]:
    """Return the names of the groups of a pattern, each of which is a variable, in lower case
    (`ngx_http_regex_compile`).
    """
    return {name.lower() for name in _GROUP.findall(pattern)} if "(?" in pattern else set()


@dataclass(frozen=True, eq=False)
class RegexMap:
    """A map with regular expressions.

    Attributes:
        directive: The `map`.
        file: The file with the `map`.
        rows: Its statements in the order in which nginx reads them, with those of included files in place of includes.
        config: The configuration.
    """

    directive: Directive
    file: File
    rows: tuple[Directive, ...]
    config: Config = field(repr=False)

    @property
    def source(self) -> str:
        """The value that the map looks up."""
        return str(self.directive.args[0])

    @property
    def variable(self) -> str:
        """The variable it defines, with its `$`."""
        return str(self.directive.args[1])

    @cached_property
    def patterns(self) -> tuple[Directive, ...]:
        """The rows that are regular expressions."""
        return tuple(row for row in self.rows if row.name.startswith("~"))

    @cached_property
    def unread(self) -> tuple[Directive, ...]:
        """The includes that could not be read, or may read other files where the configuration is installed."""
        return tuple(include for include in self.includes if may_read_more(self.config, include))

    @cached_property
    def held(self) -> tuple[Directive, ...]:
        """The regular expressions before the last include that was not read. They stay, as its rows are tried after
        them.
        """
        if not self.unread:
            return ()
        return tuple(row for row in self.rows[: self.rows.index(self.unread[-1])] if row.name.startswith("~"))

    @cached_property
    def movable(self) -> tuple[Directive, ...]:
        """The regular expressions behind the last include that was not read."""
        return self.patterns[len(self.held) :]

    @property
    def exact(self) -> tuple[Directive, ...]:
        """The rows with plain keys."""
        others = ("default", "include")
        return tuple(row for row in self.rows if len(row.args) == 1 and row.name not in others and row.name[0:1] != "~")

    @property
    def default(self) -> Directive | None:
        """The row of the default."""
        return next((row for row in self.rows if row.name == "default"), None)

    @property
    def includes(self) -> tuple[Directive, ...]:
        """The includes in the map, including those in included files."""
        return tuple(row for row in self.rows if row.name == "include")

    @property
    def files(self) -> tuple[File, ...]:
        """The files with a part of the map, the one with the `map` first."""
        sources = {row.source for row in self.rows} - {self.file.source}
        included = [file for include in self.includes for file in self.config.included(include)]
        own = [file for file in self.config.files if file.source in sources or file in included]
        return (self.file, *(file for file in own if file is not self.file))

    @property
    def is_guarded(self) -> bool:
        """Whether an earlier compilation put a guard before its regular expressions."""
        return bool(self.movable) and _GUARD.fullmatch(self.movable[0].name) is not None

    def text(self) -> bytes:
        """Return the text of the block with its includes inlined, as if rows that were not read, and the regular
        expressions before them, were not there.
        """
        return self._with(self.movable) if self.unread else inlined(self.config, self.directive)

    def beginning(self, patterns: int) -> bytes:
        """Return the text as if the block had only the first of these regular expressions, and all other rows."""
        return self._with(self.movable[:patterns])

    def _with(self, patterns: Iterable[Directive]) -> bytes:
        """Return the text of the block with these regular expressions and all rows without one."""
        assert self.directive.block is not None
        left_out = set(self.patterns) - set(patterns)
        rows = [row for row in self.rows if row.name != "include" and row not in left_out]
        head = self.directive.source.data[self.directive.span.start : self.directive.block.span.start]
        return head + b"{\n%s\n}" % b"\n".join(row.source.data[row.span.start : row.span.end] for row in rows)


def read(config: Config, subject: Iterable[File]) -> Iterator[RegexMap]:
    """Yield the maps of http with a part in the files `subject`, except maps that this command wrote."""
    sources = {file.source for file in subject}
    files = {file.source: file for file in config.files}
    for scope in http_maps(config):
        directive = scope.opener
        if directive is None or len(directive.args) != 2 or is_ours(directive.source):
            continue
        regex_map = RegexMap(directive, files[directive.source], tuple(scope.directives), config)
        if regex_map.patterns and not sources.isdisjoint(row.source for row in (directive, *regex_map.patterns)):
            yield regex_map


def http_maps(config: Config) -> Iterator[Scope]:
    """Yield the scopes of the maps of http."""
    outer = [config.scope] if ("http",) in config.candidates else []
    outer += [scope for scope in config.scope.scopes if scope.context == ("http",)]
    for scope in outer:
        yield from (inner for inner in scope.scopes if inner.context[-1] == "map")


def is_ours(source: Source) -> bool:
    """Return whether a file contains maps that this command wrote, as the comments in its first lines say."""
    head = source.data[:4096]
    return MADE_BY in head and all(line.startswith(b"#") for line in head[: head.find(MADE_BY)].splitlines() if line)


def inlined(config: Config, directive: Directive) -> bytes:
    """Return the text of a block with its includes inlined."""
    assert directive.block is not None
    start, end = directive.block.span.start, directive.span.end
    data = directive.source.data
    return data[directive.span.start : start] + _inlined(config, directive.block, start, end)


def _inlined(config: Config, block: Block, start: int, end: int) -> bytes:
    pieces, data = [], block.source.data
    for include in (node for node in block.unfolded() if node.name == "include" and config.included(node)):
        pieces.append(data[start : include.span.start])
        for file in config.included(include):
            pieces += [_inlined(config, file.block, 0, len(file.source.data)), b"\n"]
        start = include.span.end
    return b"".join([*pieces, data[start:end]])


def words(directive: Directive) -> list[bytes]:
    """Return the words of a directive, without quotes and escapes."""
    return [encode(word) for word in (directive.name, *directive.args)]


_NAME = lazy.pattern(rb"\$\{?(\w+)")


@record(eq=True)
class MapBlock:
    """A `map`: the name of its variable without `$`, its text, and the keys in its hash table."""

    variable: bytes
    text: bytes
    keys: list[bytes]

    @property
    def names(self) -> set[bytes]:
        """All words in its text that may be names of variables, in lower case."""
        return {name.lower() for name in _NAME.findall(self.text)}


def parsed(text: bytes) -> list[MapBlock]:
    """Return the blocks of a text. Raises `ValueError` if it contains anything else. Linear in the size of the text."""
    return [MapBlock(name, text[start:end], keys) for name, start, end, keys in _native.map_blocks(text)]


def around(text: bytes) -> bytes:
    """Return the comments between the blocks of a text. Raises `ValueError` like `parsed`."""
    pieces, at = [], 0
    for start, end in _native.map_spans(text):
        pieces.append(text[at:start])
        at = end
    return b"".join([*pieces, text[at:]])


def reachable(text: bytes, blocks: Iterable[MapBlock]) -> Iterator[MapBlock]:
    """Yield those `blocks` whose variables a text evaluates directly or through other blocks, in the given order."""
    blocks = list(blocks)
    by_name = {block.variable.lower(): block for block in blocks}
    reached: set[bytes] = set()
    names = {name.lower() for name in _NAME.findall(text)}
    while names := (names & by_name.keys()) - reached:
        reached |= names
        names = {name for each in names for name in by_name[each].names}
    return (block for block in blocks if block.variable.lower() in reached)


# Files of rows

ROWS_CONTEXT = "map"
"""The name of the context of a file of rows."""


def is_rows_context(context: str | None) -> bool:
    """Return whether the value of `--context` states that a file is included in a map."""
    return context is not None and context.split()[:1] == [ROWS_CONTEXT]


def map_head(context: str | None) -> str | None:
    """Return the head of the map in the value of `--context`, such as `map $uri $new`; None if the value is `map`.

    Raises `UsageError` for an invalid head.
    """
    if context is None or not is_rows_context(context) or context.strip() == ROWS_CONTEXT:
        return None
    try:
        heads = list(statements(Source("--context", encode(f"{context};"))))
    except InputError:
        heads = []
    if len(heads) != 1 or len(heads[0].words) != 3 or not heads[0].words[2].startswith("$"):
        raise UsageError(f"not the head of a map: {context!r}", hint="--context takes map, or map SOURCE $VARIABLE")
    return " ".join(context.split())


def unknown_map(path: str, because: str | None = None) -> UsageError:
    """Return the error for a file of rows whose map is not known."""
    return UsageError(
        f"the map that includes {path} is unknown{f' ({because})' if because else ''}",
        hint="name it with --context 'map $uri $new', or the nginx.conf that includes it with -c",
    )


def in_map(rows: Source, around: str, *, prefix: str | None) -> Config:
    """Return a configuration with one map around the rows of a file. The rows keep their line numbers.

    Raises `InputError` if the rows cannot be parsed.
    """
    data = rows.data
    text = encode(f"{around} {{ ") + data + (b"" if data.endswith(b"\n") else b"\n") + b"}\n"
    base = prefix if prefix is not None else str(Path(rows.path).parent)
    try:
        config = load_text(text, rows.path, prefix=base, context="http", missing_ok=True)
    except InputError:
        parse(rows)  # raises the error with its place in the file
        raise
    if len(config.main.block.nodes) > 1 or data.startswith(codecs.BOM_UTF8):
        parse(rows)
    return config
