"""Source texts, byte spans in them, and the lines and columns of these spans.

Sources keep bytes, as nginx reads bytes. Text is decoded as UTF-8 with `surrogateescape`, so that any byte survives
decoding and encoding.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from bisect import bisect_right
from dataclasses import field
from functools import cached_property

from nginxopt.records import record

_WIDTH = 100
"""The maximum width of a snippet in columns."""


def decode(data: bytes) -> str:
    """Return `data` as text; `encode` gives the same bytes back."""
    return data.decode("utf-8", "surrogateescape")


def encode(text: str) -> bytes:
    """Return the bytes that `decode` decoded to `text`."""
    return text.encode("utf-8", "surrogateescape")


@record(eq=True, order=True)
class Span:
    """The bytes from `start` to `end`, exclusive. Raises `ValueError` unless 0 <= start <= end."""

    start: int
    end: int

    def __post_init__(self) -> None:
        if not 0 <= self.start <= self.end:
            raise ValueError(f"not a span: {self.start}..{self.end}")

    def __len__(self) -> int:
        return self.end - self.start

    def __bool__(self) -> bool:
        return True  # an empty span is a place too


@record(eq=True)
class Position:
    """Line and column, both from 1. A column counts characters of the line, not bytes."""

    line: int
    column: int


@record(slots=False)
class Source:
    """A text and its name in messages. Sources are compared by identity.

    If nginx reads a file in several places that must be told apart, each of these readings has its own source, whose
    `original` is the source of the file.

    A file that only a configuration names is `outside` of what the user named: no message quotes its text, and no
    command changes it (see `nginxopt.config.roots`).
    """

    path: str
    data: bytes = field(repr=False)
    original: Source | None = field(default=None, repr=False)
    outside: bool = field(default=False, repr=False)

    def withhold(self) -> None:
        """Mark a file that the user did not name, before anything is said about it: see `outside`."""
        object.__setattr__(self, "outside", True)

    def reading(self) -> Source:
        """Return a new source for one of several readings of the file."""
        return Source(self.path, self.data, self.original or self, self.outside)

    @cached_property
    def _line_starts(self) -> array[int]:
        return array("Q", [0, *(match.end() for match in re.finditer(b"\n", self.data))])

    def text(self, span: Span) -> str:
        """Return the text of `span`."""
        return decode(self.data[span.start : span.end])

    def line(self, number: int) -> str:
        """Return line `number`, from 1, without its line end (LF or CRLF)."""
        return decode(self._line(number))

    def position(self, offset: int) -> Position:
        """Return the position of the byte at `offset`, which may be the end of the text.

        Logarithmic in the number of lines; the first call finds all lines.
        """
        if not 0 <= offset <= len(self.data):
            raise ValueError(f"{self.path} has no offset {offset}")
        number = bisect_right(self._line_starts, offset)
        before = self.data[self._line_starts[number - 1] : offset]
        return Position(number, len(decode(before)) + 1)

    def snippet(self, span: Span) -> str:
        """Return the first line of `span`, and a second line with carets under the span.

        Tabs are kept, so that the carets align in any terminal. Unprintable characters become U+FFFD, and only the part
        of a long line around the carets is shown.
        """
        position = self.position(span.start)
        line = self.line(position.line)
        start = min(position.column - 1, len(line))
        marked = decode(self.data[span.start : min(span.end, self._line_end(position.line))])
        line, start, length = _cut(line, start, max(1, len(marked)))
        line = "".join(map(_printable, line))
        indent = "".join("\t" if char == "\t" else " " * _columns(char) for char in line[:start])
        carets = max(1, _columns(line[start : start + length]))
        return f"{line}\n{indent}{'^' * carets}"

    def _line_end(self, number: int) -> int:
        """Return the offset of the end of line `number`, without its LF or CRLF."""
        starts = self._line_starts
        if number == len(starts):
            return len(self.data)
        end = starts[number] - 1
        return end - self.data.endswith(b"\r", starts[number - 1], end)

    def _line(self, number: int) -> bytes:
        return self.data[self._line_starts[number - 1] : self._line_end(number)]


def _printable(char: str) -> str:
    return char if char == "\t" or char.isprintable() else "\ufffd"


def _columns(text: str) -> int:
    """Return the width of a text in terminal columns (Unicode Standard Annex 11)."""
    return len(text) if text.isascii() else sum(map(_width, text))


def _width(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _cut(line: str, start: int, length: int) -> tuple[str, int, int]:
    """Cut `line` to `_WIDTH` characters around the marked ones; return it with their new place and number."""
    if len(line) <= _WIDTH:
        return line, start, min(length, max(1, len(line) - start))
    first = max(0, min(start - _WIDTH // 3, len(line) - _WIDTH))
    last = first + _WIDTH
    head = "…" if first else ""
    tail = "…" if last < len(line) else ""
    return f"{head}{line[first:last]}{tail}", len(head) + start - first, min(length, max(1, last - start))
