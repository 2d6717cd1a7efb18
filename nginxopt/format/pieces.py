"""What the formatter does not change: words, comments, `;` and braces, in the order of the text.

Everything between two pieces is white space: blanks, tabs, CR and LF (`ngx_conf_read_token`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from typing import NamedTuple

from nginxopt.config import Comment, Source, Token, statements

BLANKS = b" \t\r\n"


class PieceKind(Enum):
    """The kinds of pieces. `LUA` is the body of a `*_by_lua_block`, braces included."""

    WORD = "word"
    COMMENT = "comment"
    LUA = "Lua"
    END = ";"
    OPEN = "{"
    CLOSE = "}"


class Piece(NamedTuple):
    """The bytes from `start` to `end`. Blanks at the end of a comment do not belong to it."""

    kind: PieceKind
    start: int
    end: int


def pieces(source: Source) -> Iterator[Piece]:
    """Yield the pieces of a text. Raises `InputError` at the first place where nginx would refuse to read on."""
    data = source.data
    for statement in statements(source):
        if statement.kind == "}":
            yield Piece(PieceKind.CLOSE, statement.start, statement.end)
            continue
        yield from (_piece(data, item) for item in _in_order(statement.words, statement.comments))
        if statement.kind != "#" and not (statement.words and _is_lua(data, statement.words[-1])):
            yield Piece(PieceKind(statement.kind), statement.end - 1, statement.end)


def _in_order(words: Iterable[Token], comments: Iterable[Comment]) -> Iterable[Token | Comment]:
    if not comments:  # as with nearly all statements
        return words
    return sorted([*words, *comments], key=lambda item: item.span.start)


def _piece(data: bytes, item: Token | Comment) -> Piece:
    if isinstance(item, Token):
        return Piece(PieceKind.LUA if _is_lua(data, item) else PieceKind.WORD, item.start, item.end)
    start, end = item.span.start, item.span.end
    return Piece(PieceKind.COMMENT, start, start + len(data[start:end].rstrip(BLANKS)))


def _is_lua(data: bytes, word: Token) -> bool:
    """Return whether a word is the body of a Lua block: no other word begins with a brace."""
    return data[word.start] == ord("{")
