"""Proves that formatting changed white space only: the lexer reads the same pieces before and after."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nginxopt.errors import DefectError, InputError
from nginxopt.format.pieces import BLANKS, Piece, pieces
from nginxopt.text import Source


def prove(before: Source, read: Sequence[Piece], after: bytes) -> None:
    """Raise `DefectError` unless `after` has the pieces `read` of `before`, byte by byte, and else white space only."""
    again = Source(before.path, after)
    try:
        other = list(pieces(again))
    except InputError as error:
        raise _defect(before, "the formatted text cannot be read", error.render().splitlines()) from None
    for mine, its in zip(read, other, strict=False):
        if mine.kind is not its.kind or before.data[mine.start : mine.end] != after[its.start : its.end]:
            raise _defect(before, f"the formatted text differs at line {before.position(mine.start).line}")
    if len(read) != len(other):
        raise _defect(before, "the formatted text ends elsewhere")
    if any(gap.strip(BLANKS) for gap in (*_gaps(before.data, read), *_gaps(after, other))):
        raise _defect(before, "formatting would change more than white space")


def _gaps(data: bytes, read: Sequence[Piece]) -> Iterator[bytes]:
    """Yield what is between the pieces of a text."""
    at = 0
    for piece in read:
        yield data[at : piece.start]
        at = piece.end
    yield data[at:]


def _defect(source: Source, message: str, below: Sequence[str] = ()) -> DefectError:
    return DefectError(f"{source.path}: {message}; nothing was written", below=below)
