"""Lines that stay together because a suppression speaks of all directives on them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nginxopt.format.pieces import Kind, Piece

_MARK = b"nginxopt:"


def joined(data: bytes, pieces: Sequence[Piece]) -> frozenset[int]:
    """Return the starts of pieces that share a line with the one before and belong to a `# nginxopt:` comment.

    It speaks of its line, or alone on a line, of the next one (`nginxopt.lint.comments`).
    """
    if _MARK not in data:
        return frozenset()
    starts: set[int] = set()
    is_next = False
    for line in _lines(data, pieces):
        last = line[-1]
        marked = last.kind is Kind.COMMENT and _MARK in data[last.start : last.end]
        if len(line) == 1 and last.kind is Kind.COMMENT:
            is_next |= marked
            continue
        if marked or is_next:
            starts.update(piece.start for piece in line[1:])
        is_next = False
    return frozenset(starts)


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
