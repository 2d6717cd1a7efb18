"""Lines that stay as they are because a suppression applies to all directives on them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nginxopt.format.pieces import Piece, PieceKind

_MARK = b"nginxopt:"


def kept(data: bytes, pieces: Sequence[Piece]) -> frozenset[int]:
    """Return the starts of pieces that stay on their line, or at the beginning of it, for a `# nginxopt:` comment.

    The comment applies to its line, or, alone on a line, to the next one (`nginxopt.lint.suppress`). So nothing may
    leave that line, and no `{`, `;` or `}` may move to the line before, to whose directives the comment would then
    apply as well.
    """
    if _MARK not in data:
        return frozenset()
    starts: set[int] = set()
    is_next = was_next = False
    for line in _lines(data, pieces):
        last = line[-1]
        is_marked = last.kind is PieceKind.COMMENT and _MARK in data[last.start : last.end]
        if len(line) == 1 and last.kind is PieceKind.COMMENT:
            is_next |= is_marked
            continue
        if is_marked or is_next:
            starts.update(piece.start for piece in line[1:])
        if is_marked and (was_next or not _ends_head(line)):
            starts.add(line[0].start)
        is_next, was_next = False, is_next
    return frozenset(starts)


def _ends_head(line: Sequence[Piece]) -> bool:
    """Return whether a line has only a comment after the `{` or `;` of a directive, so that it applies to that."""
    return len(line) == 2 and line[0].kind is not PieceKind.CLOSE


def _lines(data: bytes, pieces: Sequence[Piece]) -> Iterator[list[Piece]]:
    """Yield the pieces that have no line end between them."""
    line: list[Piece] = []
    for piece in pieces:
        if line and b"\n" in data[line[-1].end : piece.start]:
            yield line
            line = []
        line.append(piece)
    if line:
        yield line
