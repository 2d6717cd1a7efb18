"""The one kind of edit: a byte span and the bytes that take its place."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass

from nginxopt.source import Span


@dataclass(frozen=True, slots=True)
class Edit:
    """Puts `text` in place of `span`; an empty span inserts."""

    span: Span
    text: bytes


def apply(data: bytes, edits: Iterable[Edit]) -> bytes:
    """Return `data` with the edits made; `ValueError` if two of them overlap.

    What is inserted at one place stays in the order given, before what replaces text from there on.
    """
    pieces = []
    at = 0
    for edit in sorted(edits, key=lambda edit: (edit.span.start, len(edit.span) > 0)):
        if edit.span.start < at:
            raise ValueError(f"edits overlap at byte {edit.span.start}")
        pieces += [data[at : edit.span.start], edit.text]
        at = edit.span.end
    return b"".join([*pieces, data[at:]])


class Draft:
    """A text that is changed in several rounds: spans of the original, and what was put between them."""

    def __init__(self, data: bytes) -> None:
        self.original = data
        self._pieces: list[Span | bytes] = [Span(0, len(data))]

    def change(self, edits: Iterable[Edit]) -> None:
        """Make edits of the text as it is now; `ValueError` if two of them overlap. Linear in pieces and edits."""
        old = deque(self._pieces)
        new: list[Span | bytes] = []
        at = 0
        for edit in sorted(edits, key=lambda edit: (edit.span.start, len(edit.span) > 0)):
            if edit.span.start < at:
                raise ValueError(f"edits overlap at byte {edit.span.start}")
            new += _take(old, edit.span.start - at)
            new.append(edit.text)
            _take(old, len(edit.span))
            at = edit.span.end
        self._pieces = [piece for piece in (*new, *old) if len(piece)]

    @property
    def text(self) -> bytes:
        """The text as it is now."""
        return b"".join(
            self.original[piece.start : piece.end] if isinstance(piece, Span) else piece for piece in self._pieces
        )

    @property
    def edits(self) -> tuple[Edit, ...]:
        """The edits that make the text of now out of the original in one step."""
        edits: list[Edit] = []
        at, put = 0, b""
        for piece in (*self._pieces, Span(len(self.original), len(self.original))):
            if isinstance(piece, bytes):
                put += piece
                continue
            if put or piece.start > at:
                edits.append(Edit(Span(at, piece.start), put))
            at, put = piece.end, b""
        return tuple(edits)


def _take(pieces: deque[Span | bytes], count: int) -> list[Span | bytes]:
    """Take the pieces of the next `count` bytes off the left end."""
    taken: list[Span | bytes] = []
    while count:
        piece = pieces.popleft()
        if len(piece) > count:
            rest: Span | bytes
            if isinstance(piece, Span):
                piece, rest = Span(piece.start, piece.start + count), Span(piece.start + count, piece.end)
            else:
                piece, rest = piece[:count], piece[count:]
            pieces.appendleft(rest)
        taken.append(piece)
        count -= len(piece)
    return taken
