"""Finds the blocks and the words before a cursor, from the text before it, which need not be a complete statement."""

from __future__ import annotations

from nginxopt.config import Source, statements
from nginxopt.errors import InputError
from nginxopt.records import record

_ENDS = (b";", b'";', b"';")
"""Texts that complete an unfinished statement: without an open quote, or with one."""


@record(eq=True)
class Cursor:
    """The position of a cursor in a text.

    Attributes:
        blocks: The names of the blocks around it, the outermost first.
        server: The offset at which the innermost server begins; None outside of a server.
        words: The words of the statement before the word at the cursor.
        word: The part of the word at the cursor that is before the cursor, without its quote.
        start: The offset of that part.
    """

    blocks: tuple[str, ...]
    server: int | None
    words: tuple[str, ...]
    word: str
    start: int


def cursor(data: bytes, offset: int) -> Cursor | None:
    """Return the cursor at an offset; None in comments and escapes, after a quoted word, or in unreadable text."""
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
    """Return the words of an unfinished statement, the last of which may be incomplete; None if they are unreadable."""
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
