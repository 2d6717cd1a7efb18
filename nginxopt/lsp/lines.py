"""Converts offsets to positions of the protocol: lines from 0, and columns in code units of the negotiated encoding."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate

from lsprotocol.types import Position, PositionEncodingKind, Range

from nginxopt.text import Span, decode


class Lines:
    """The lines of a text in UTF-8, which end in LF, CRLF or CR (Language Server Protocol, `EOL`).

    `hidden` is the length in bytes of a byte order mark, which the editor does not show.
    """

    def __init__(self, data: bytes, encoding: str = PositionEncodingKind.Utf16, *, hidden: int = 0) -> None:
        self._data = data
        self._encoding = str(getattr(encoding, "value", encoding))
        lines = data.splitlines(keepends=True)
        if not lines or lines[-1].endswith((b"\n", b"\r")):
            lines.append(b"")
        starts = list(accumulate(map(len, lines[:-1]), initial=0))
        self._ends = [start + len(line.rstrip(b"\r\n")) for start, line in zip(starts, lines, strict=True)]
        self._starts = [hidden, *starts[1:]]

    def position(self, offset: int) -> Position:
        """Return the position of the byte at `offset`. Offsets inside a line end count as the end of the line."""
        number = max(bisect_right(self._starts, offset) - 1, 0)
        start, end = self._starts[number], self._ends[number]
        return Position(number, self._units(self._data[start : min(max(offset, start), end)]))

    def range(self, span: Span) -> Range:
        """Return the range of a span."""
        return Range(self.position(span.start), self.position(span.end))

    def offset(self, position: Position) -> int:
        """Return the offset of a position. Positions after the end of a line or of the text count as that end."""
        if position.line >= len(self._starts):
            return len(self._data)
        start, end = self._starts[position.line], self._ends[position.line]
        line = self._data[start:end]
        if line.isascii() or self._encoding == "utf-8":
            return min(start + position.character, end)
        at = units = 0
        for character in decode(line):
            if units >= position.character:
                break
            units += self._width(character)
            at += len(character.encode(errors="surrogateescape"))
        return start + at

    def _units(self, line: bytes) -> int:
        if line.isascii() or self._encoding == "utf-8":
            return len(line)
        return sum(map(self._width, decode(line)))

    def _width(self, character: str) -> int:
        """Return the number of code units of a character; a byte that is not UTF-8 counts as one."""
        return 2 if self._encoding == "utf-16" and ord(character) > 0xFFFF else 1
