"""Where a cursor is in a text: in which blocks, and behind which words of a statement. What follows does not count."""

from __future__ import annotations

from dataclasses import dataclass

from nginxopt.config import Source, statements
from nginxopt.errors import InputError

_ENDS = (b";", b'";', b"';")
"""What ends a statement in the making: nothing, or a quote, is open."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """A place in a text.

    Attributes:
        blocks: The names of the blocks around it, the outermost first.
        server: The offset at which the innermost server begins, None outside of one.
        words: The words of the statement before the one at the cursor.
        word: The part of that word before the cursor, without its quote.
        start: The offset of that part.
    """

    blocks: tuple[str, ...]
    server: int | None
    words: tuple[str, ...]
    word: str
    start: int


def cursor(data: bytes, offset: int) -> Cursor | None:
    """Return the place at an offset; None in comments, escapes, behind a quoted word, or if it is not readable."""
    end = 0
    opened: list[tuple[str, int]] = []
    try:
        for statement in statements(Source("", data[:offset])):
            if statement.kind == "{":
                opened.append((str(statement.words[0]), statement.start))
            elif statement.kind == "}":
                opened.pop()
            elif statement.kind == "#" and statement.end == offset:
                return None
            end = statement.end
    except InputError:
        pass
    words = _words(data[end:offset])
    if words is None:
        return None
    server = next((start for name, start in reversed(opened) if name == "server"), None)
    *before, word = words
    length = len(word.encode(errors="surrogateescape"))
    return Cursor(tuple(name for name, _ in opened), server, tuple(before), word, offset - length)


def _words(rest: bytes) -> list[str] | None:
    """Return the words of a statement in the making, the last one up to the end; None if they cannot be read."""
    if not rest.strip():
        return [""]
    if (len(rest) - len(rest.rstrip(b"\\"))) % 2:
        return None  # the quote of an end would be escaped
    for end in _ENDS:
        try:
            (*comments, statement) = statements(Source("", rest + end))
        except InputError:
            continue
        if statement.kind != ";" or not all(comment.kind == "#" for comment in comments):
            return None
        words = [str(word) for word in statement.words]
        if end == b";" and rest[-1:].isspace():
            return [*words, ""]
        return None if end == b";" and statement.words[-1].quoted else words
    return None
