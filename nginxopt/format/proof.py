"""Proves that formatting changed white space only: the lexer reads the same pieces before and after."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

from nginxopt.errors import DefectError, InputError
from nginxopt.format.pieces import BLANKS, Piece, pieces
from nginxopt.text import Source


def prove(before: Source, read: Sequence[Piece], after: bytes) -> None:
    """Raise `DefectError` unless `after` has exactly the pieces `read` of `before`, and otherwise only white space."""
    again = Source(before.path, after)
    at = end = 0
    others = pieces(again)
    try:
        for mine, its in zip_longest(read, others):
            if mine is None or its is None:
                raise _defect(before, "the formatted text ends elsewhere")
            if mine.kind is not its.kind or before.data[mine.start : mine.end] != after[its.start : its.end]:
                raise _defect(before, f"the formatted text differs at line {before.position(mine.start).line}")
            if before.data[at : mine.start].strip(BLANKS) or after[end : its.start].strip(BLANKS):
                raise _defect(before, "formatting would change more than white space")
            at, end = mine.end, its.end
    except InputError as error:
        raise _defect(before, "the formatted text cannot be read", error.render().splitlines()) from None
    if before.data[at:].strip(BLANKS) or after[end:].strip(BLANKS):
        raise _defect(before, "formatting would change more than white space")


def _defect(source: Source, message: str, below: Sequence[str] = ()) -> DefectError:
    return DefectError(f"{source.path}: {message}; nothing was written", below=below)
