"""Parses a file into a tree of directives, from the statements (`Statement`) of words (`Token`) of the native lexer.

`rust/src/lexer.rs` implements the syntax of nginx (`ngx_conf_read_token`).

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
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple, Self

from nginxopt import budget, lazy
from nginxopt._native import Events, LexError
from nginxopt.errors import InputError
from nginxopt.records import record
from nginxopt.text import Source, Span

_text = str.__new__
"""Without `super()`, which takes an eighth of the time of making a token, of which a file has many."""


class Token(str):
    """A word: a string with the value that nginx uses, and its position.

    `start` and `end` are the byte offsets of the word as written, with its quotes; `quoted`: whether it has quotes.
    """

    __slots__ = ("_form", "start")

    start: int
    _form: int  # twice the length, and 1 if it has quotes: a small number, of which Python has one object

    def __new__(cls, value: str, start: int, end: int, quoted: bool = False) -> Self:  # noqa: D102 - as the class
        token = _text(cls, value)
        token.start = start
        token._form = (end - start) * 2 + quoted
        return token

    def __getnewargs__(self) -> tuple[str, int, int, bool]:  # type: ignore[override] # a string has one
        """Return what another process makes it of."""
        return str.__str__(self), self.start, self.end, self.quoted

    @property
    def end(self) -> int:
        """The offset after the token as written."""
        return self.start + (self._form >> 1)

    @property
    def quoted(self) -> bool:
        """Whether it has quotes."""
        return bool(self._form & 1)

    @property
    def span(self) -> Span:
        """The bytes of the token as written, quotes included."""
        return Span(self.start, self.end)


@record()
class Comment:
    """A comment, from its `#` up to the line end."""

    text: str
    span: Span
    line: int
    source: Source


class Statement(NamedTuple):
    """A statement, comment, or end of a block.

    Attributes:
        kind: `;` for `words ;`, `{` for `words {`, `}` for the end of a block, `#` for a comment outside statements,
            `*` for a folded run of rewrites.
        start: The offset of its first byte.
        end: The offset after its last byte, which is the `;`, `{` or `}`.
        line: The line of `start`.
        rewrites: The number of rewrites in a folded run.
        words: The words; empty for other kinds than `;` and `{`.
        comments: The comments between the words, or the comment itself.
    """

    kind: str
    start: int
    end: int
    line: int
    rewrites: int
    words: tuple[Token, ...]
    comments: tuple[Comment, ...]


def statements(
    source: Source, *, fold: int = 0, start: int = 0, end: int | None = None, line: int = 1
) -> Iterator[Statement]:
    """Yield the statements of `source`, or of its part from `start` (in `line`) to `end`.

    Runs of at least `fold` rewrites are folded into one statement (0: none). Raises `InputError` at the first syntax
    error, where nginx stops.
    """
    comments: list[Comment] = []
    try:
        for batch in Events(source.data, fold=fold, start=start, end=end, line=line):
            for kind, first, last, number, count, words in batch:
                if kind == "#":
                    comments.append(Comment(words[0][0], Span(first, last), number, source))
                    continue
                within: tuple[Comment, ...] = ()
                if comments:
                    yield from (_alone(comment) for comment in comments if comment.span.start < first)
                    within = tuple(comment for comment in comments if comment.span.start > first)
                    comments.clear()
                tokens = tuple([Token(text, at, to, quoted) for text, at, to, _, quoted in words])
                yield Statement(kind, first, last, number, count, tokens, within)
    except LexError as error:
        raise _input_error(source, *error.args) from None
    yield from map(_alone, comments)


def words_of(source: Source, start: int, end: int) -> Iterator[list[str]]:
    """Yield the words of the directives without a block in a part of `source` that was read before. They have no
    positions, which takes a third of the time of `statements`."""
    for batch in Events(source.data, start=start, end=end):
        yield from ([text for text, *_ in words] for kind, *_, words in batch if kind == ";")


def _alone(comment: Comment) -> Statement:
    return Statement("#", comment.span.start, comment.span.end, comment.line, 0, (), (comment,))


class _Refusal(NamedTuple):
    """The message for a kind of `LexError`, shown at `offset` (the refused byte) or `opened` (the unfinished part)."""

    message: str
    expected: str
    where: str


_REFUSALS = {
    "no-directive": _Refusal("missing directive before this", "a directive name", "offset"),
    "close-in-statement": _Refusal(
        "the block ends inside a statement", '";" at the end of the statement in line {line}', "offset"
    ),
    "unmatched-close": _Refusal("this closes no block in this file", "a directive or the end", "offset"),
    "after-quote": _Refusal(
        "unexpected character after a closing quote", 'a space, ";", "{" or ")" after the quote', "offset"
    ),
    "end-in-statement": _Refusal(
        "the file ends inside this statement", '";" or "{" at the end of the statement', "opened"
    ),
    "unclosed-quote": _Refusal("the file ends inside this quoted string", "a closing quote", "opened"),
    "unclosed-block": _Refusal("this block is not closed", '"}" at the end of the block', "opened"),
    "too-long": _Refusal(
        "this word or comment is too long", "at most 4096 bytes, the size of nginx's buffer", "offset"
    ),
    "too-long-quote": _Refusal(
        "this quoted string is too long", "a closing quote within 4096 bytes, the size of nginx's buffer", "offset"
    ),
}


_QUANTIFIER = lazy.pattern(
    rb"""^[ \t]*(?:rewrite|location|if)[ \t][^;\n"'#]*?[^\s${;"']({(?:\d+(?:,\d*)?|,\d+)})""", re.MULTILINE
)
"""Matches an unquoted `{2,3}` in a pattern: `{` ends an unquoted word (ngx_conf_read_token)."""

_QUOTE = 'quote words that contain "{", such as regular expressions'


def _input_error(source: Source, kind: str, message: str, offset: int, line: int, opened: int | None) -> InputError:
    brace = _QUANTIFIER.search(source.data, 0, offset)
    if brace is not None:  # nginx refuses the text after it, with a message that depends on the directive
        return InputError(
            "this { ends the pattern and opens a block",
            source=source,
            span=Span(brace.start(1), brace.end(1)),
            hint=_QUOTE,
        )
    refusal = _REFUSALS[kind]
    begin = offset if opened is None else opened
    start = begin if refusal.where == "opened" else offset
    return InputError(
        refusal.message,
        source=source,
        span=Span(start, min(start + 1, len(source.data))),
        expected=refusal.expected.replace("{line}", str(source.position(begin).line)),
        nginx=f"{message} in {source.path}:{line}",
        hint=_hint(source.data[:start][-1:], source.data[start : start + 1]),
    )


def _hint(before: bytes, byte: bytes) -> str | None:
    """Return a hint for a `{` that does not open a block."""
    if byte != b"{" or not before or before in b" \t\r\n;}":
        return None
    if before == b"{":
        return "this looks like a template: use the rendered file"
    return _QUOTE


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

    def error(
        self, message: str, *, at: Token | None = None, nginx: str | None = None, hint: str | None = None
    ) -> InputError:
        """Return an error at this directive, or at one of its words (`at`); `nginx` is nginx's own message."""
        word = at if at is not None else self.name
        return InputError(message, source=self.source, span=word.span, nginx=nginx, hint=hint)

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
    name, args = statement.words[0], statement.words[1:]
    if name == "if":
        args = _without_parentheses(args)
    start = name.start  # the same object as that of the word, where a file has a million of them
    end = block.span.end if block else statement.end
    return Directive(name, args, start, end, statement.line, source, block, statement.comments)


def _without_parentheses(args: tuple[Token, ...]) -> tuple[Token, ...]:
    """Return the words of a condition as `ngx_http_rewrite_if_condition` sees them.

    nginx removes one `(` from the first word and one `)` from the last, and drops a word that becomes empty.
    """
    if not (args and args[0].startswith("(") and args[-1].endswith(")")):
        return args
    words = [_part(args[0], 1, len(args[0])), *args[1:]]
    words[-1] = _part(words[-1], 0, len(words[-1]) - 1)
    return tuple(words[not words[0] : len(words) - (not words[-1])])


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
