"""Decides what stands between two pieces: nothing, a blank, or a line end with the indentation of the next line."""

from __future__ import annotations

from nginxopt.format.pieces import Piece, PieceKind
from nginxopt.format.style import IndentStyle

_FULL_BUFFER = 4095
"""The length of a word from which on nginx may fail to read a blank after it: its buffer of 4,096 bytes is full then.
"""

_BEGIN_LINES = (PieceKind.WORD, PieceKind.COMMENT)


class Layout:
    """Lays out the pieces of a text from left to right."""

    def __init__(self, style: IndentStyle, newline: bytes) -> None:
        self._unit = style.unit
        self._newline = newline
        self._before: Piece | None = None
        self._depth = 0
        self._in_statement = False

    def gap(self, piece: Piece, newlines: int, *, stays: bool = False) -> bytes:
        """Return the white space before the next piece; `newlines` is the number of LF that it had.

        A piece that `stays` begins a line only if it did before.
        """
        if piece.kind is PieceKind.CLOSE:
            self._depth -= 1
        text = self._gap(piece, newlines, stays)
        if piece.kind is PieceKind.OPEN:
            self._depth += 1
        if piece.kind is not PieceKind.COMMENT:
            self._in_statement = piece.kind is PieceKind.WORD
        self._before = piece
        return text

    def end(self) -> bytes:
        """Return what follows the last piece: a line end, unless nginx would not read a comment with it."""
        last = self._before
        is_full = last is None or (last.kind is PieceKind.COMMENT and last.end - last.start > _FULL_BUFFER)
        return b"" if is_full else self._newline

    def _gap(self, piece: Piece, newlines: int, stays: bool) -> bytes:
        before = self._before
        if before is None:
            return b""
        if before.kind is PieceKind.COMMENT or (stays and newlines):
            return self._line(piece, newlines)
        if piece.kind is PieceKind.END or (piece.kind is PieceKind.CLOSE and before.kind is PieceKind.OPEN):
            return b""
        touches = before.end == piece.start
        if piece.kind in (PieceKind.OPEN, PieceKind.LUA):
            return b"" if touches and before.end - before.start >= _FULL_BUFFER else b" "
        if newlines or not (stays or self._in_statement or piece.kind is PieceKind.COMMENT):
            return self._line(piece, newlines)
        return b"" if touches and piece.kind is PieceKind.WORD and self._in_statement else b" "  # `"a")` are two words

    def _line(self, piece: Piece, newlines: int) -> bytes:
        """Return a line end, an empty line if there was one, and the indentation."""
        begins = piece.kind in _BEGIN_LINES
        after_open = self._before is not None and self._before.kind is PieceKind.OPEN
        empty = self._newline if newlines > 1 and begins and not after_open else b""
        return self._newline + empty + self._unit * (self._depth + (begins and self._in_statement))
