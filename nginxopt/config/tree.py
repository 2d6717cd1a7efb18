"""Parses a file into a tree of directives, from the statements of the native lexer.

A run of at least `FOLD` consecutive `rewrite` statements becomes one `Bulk` node, and no objects are created for its
rules until they are needed: a file of a million rules is read in about a second. `Block.directives`, `Block.walk` and
iteration over a `Bulk` create its directives one by one, by reading its span again; `Block.nodes` contains the `Bulk`
itself.

A tree takes some 700 bytes for a directive with one word. So a file is refused once it has more directives than the
budget `directives` allows, before they take memory.

Deliberate differences from nginx: a NUL byte is refused even in a comment, blocks nest at most `DEPTH` deep, and
`*_by_lua_block` is read as OpenResty reads it.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from nginxopt import budget
from nginxopt.config.tokens import Comment, Statement, Token, statements
from nginxopt.errors import InputError
from nginxopt.records import record
from nginxopt.text import Source, Span

FOLD = 64
"""The number of consecutive rewrites from which a run is folded into a `Bulk`."""

DEPTH = 200
"""The maximum depth of blocks: what reads them is recursive, like the parser of nginx."""

_MARK = "\ufeff"


@record()
class Directive:
    """One directive. It ends with its `;` or, if it has a block, with the block's `}`.

    `args` of an `if` exclude the parentheses of the condition. `comments` are the comments between its words.
    """

    name: Token
    args: tuple[Token, ...]
    start: int
    end: int
    line: int
    source: Source
    block: Block | None = None
    comments: tuple[Comment, ...] = ()

    @property
    def span(self) -> Span:
        """The bytes of the directive, with its block."""
        return Span(self.start, self.end)

    @property
    def origin(self) -> tuple[Source, int]:
        """The file and the offset in it. Equal for all copies of a directive whose file is included several times."""
        return self.source.original or self.source, self.start

    def error(self, message: str, *, at: Token | None = None, nginx: str | None = None) -> InputError:
        """Return an error at this directive, or at one of its words (`at`); `nginx` is nginx's own message."""
        word = at if at is not None else self.name
        return InputError(message, source=self.source, span=word.span, nginx=nginx)

    def located(self, message: str) -> str:
        """Return a message of nginx about this directive with the place that nginx adds: the last line it has read."""
        end = self.block.span.start if self.block else self.end - 1
        return f"{message} in {self.source.path}:{self.source.position(end).line}"


@record()
class Bulk:
    """A run of `count` rewrites with only blanks and comments between them.

    Iteration creates its directives, in order, without keeping them.
    """

    name: str
    span: Span
    line: int
    count: int
    source: Source

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[Directive]:
        return (node for node in self.nodes() if isinstance(node, Directive))

    def nodes(self, start: int | None = None, line: int | None = None) -> Iterator[Directive | Comment]:
        """Yield the directives and the comments between them, in order. `start` and its `line`, a place between two
        directives, leave out those before it.
        """
        at = (self.span.start, self.line) if start is None or line is None else (start, line)
        part = statements(self.source, start=at[0], end=self.span.end, line=at[1])
        return (
            _directive(self.source, statement) if statement.kind == ";" else statement.comments[0] for statement in part
        )


def directive_at(source: Source, span: Span) -> Directive:
    """Return the directive at `span`: for example one of a `Bulk`, without creating the others."""
    line = source.position(span.start).line
    part = statements(source, start=span.start, end=span.end, line=line)
    return _directive(source, next(statement for statement in part if statement.kind == ";"))


Node = Directive | Bulk | Comment


@record()
class Block:
    """A block or a whole file. The `span` of a block includes its `{` and `}`."""

    nodes: tuple[Node, ...]
    span: Span
    source: Source

    def directives(self) -> Iterator[Directive]:
        """Yield the directives directly in the block, including those of each `Bulk`."""
        for node in self.nodes:
            if isinstance(node, Directive):
                yield node
            elif isinstance(node, Bulk):
                yield from node

    def unfolded(self) -> Iterator[Directive]:
        """Yield the directives directly in the block, without those of a `Bulk`."""
        return (node for node in self.nodes if isinstance(node, Directive))

    def walk(self) -> Iterator[Directive]:
        """Yield every directive in the block and its inner blocks, in text order."""
        for directive in self.directives():
            yield directive
            if directive.block:
                yield from directive.block.walk()


def reading(block: Block, source: Source) -> Block:
    """Return a copy of a block whose nodes have the source `source`, with the same text."""
    return replace(block, nodes=tuple([_reading(node, source) for node in block.nodes]), source=source)


def _reading(node: Node, source: Source) -> Node:
    if isinstance(node, Directive):
        inner = reading(node.block, source) if node.block else None
        return Directive(node.name, node.args, node.start, node.end, node.line, source, inner, node.comments)
    return replace(node, source=source)


def parse(source: Source) -> Block:
    """Return the tree of one file, in which includes are plain directives.

    Raises `InputError` at a syntax error, for a binary file, and for a byte order mark that makes the first directive
    unknown to nginx.
    """
    _refuse_binary(source)
    _refuse_byte_order_mark(source)
    with collector_paused():
        return Block(_nodes(source), Span(0, len(source.data)), source)


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pause the garbage collector: parsing creates no garbage, and searching for it would take more than half of the
    time for a large file.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _nodes(source: Source) -> tuple[Node, ...]:
    """Return the nodes of a file, those of blocks in their directives."""
    nodes: list[Node] = []
    opened: list[tuple[Statement, list[Node]]] = []
    count = budget.Meter("directives")
    for statement in statements(source, fold=FOLD):
        count.left -= 1
        if count.left < 0:
            raise count.exceeded(source=source, span=_first(statement))
        if statement.kind == ";":
            nodes.append(_directive(source, statement))
        elif statement.kind == "#":
            nodes.append(statement.comments[0])
        elif statement.kind == "*":
            span = Span(statement.start, statement.end)
            nodes.append(Bulk("rewrite", span, statement.line, statement.rewrites, source))
        elif statement.kind == "{":
            opened.append((statement, nodes))
            nodes = []
            if len(opened) > DEPTH:
                message = f"blocks are nested more than {DEPTH} deep"
                raise InputError(message, source=source, span=_first(statement))
        else:
            head, outer = opened.pop()
            block = Block(tuple(nodes), Span(head.end - 1, statement.end), source)
            outer.append(_directive(source, head, block))
            nodes = outer
    return tuple(nodes)


def _first(statement: Statement) -> Span:
    """Return the first byte of a statement."""
    return Span(statement.start, statement.start + 1)


def _directive(source: Source, statement: Statement, block: Block | None = None) -> Directive:
    name, *args = statement.words
    if name == "if":
        args = _without_parentheses(args)
    start = name.start  # the same object as that of the word, where a file has a million of them
    end = block.span.end if block else statement.end
    return Directive(name, tuple(args), start, end, statement.line, source, block, statement.comments)


def _without_parentheses(args: list[Token]) -> list[Token]:
    """Return the words of a condition as `ngx_http_rewrite_if_condition` sees them.

    nginx removes one `(` from the first word and one `)` from the last, and drops a word that becomes empty.
    """
    if not (args and args[0].startswith("(") and args[-1].endswith(")")):
        return args
    args = [_part(args[0], 1, len(args[0])), *args[1:]]
    args[-1] = _part(args[-1], 0, len(args[-1]) - 1)
    first = int(not args[0])
    return args[first : len(args) - int(not args[-1])]


def _part(token: Token, first: int, last: int) -> Token:
    """Return the part of a token from `first` to `last`; the characters removed are ASCII.

    A quoted token keeps its span, which covers the word as written.
    """
    if token.quoted:
        return Token(token[first:last], token.start, token.end, True)
    return Token(token[first:last], token.start + first, token.end - (len(token) - last))


def _refuse_binary(source: Source) -> None:
    offset = source.data.find(b"\0")
    if offset >= 0:
        raise InputError(
            "binary file: it contains a NUL byte",
            source=source,
            span=Span(offset, offset + 1),
            expected="text in UTF-8 or another encoding without NUL bytes",
        )


def _refuse_byte_order_mark(source: Source) -> None:
    """Raise `InputError` for a byte order mark before a directive.

    nginx takes it for a part of the first word, which is harmless in a map, but makes a directive unknown.
    """
    if not source.data.startswith(_MARK.encode()):
        return
    from crossplane.analyzer import DIRECTIVES  # takes as long to import as to read a thousand lines

    first = next(statements(source))  # there is one, or an error: the mark begins a word
    name = first.words[0]
    if name[1:] in DIRECTIVES or name[1:].startswith("#"):
        line = source.position(first.end - 1).line
        raise InputError(
            "the file begins with a byte order mark, which nginx reads as part of the first word",
            source=source,
            span=Span(0, 3),
            expected="a directive or a comment",
            nginx=f'unknown directive "{name}" in {source.path}:{line}',
            hint="save the file as UTF-8 without a byte order mark",
        )
