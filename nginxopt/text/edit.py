"""Edits: a byte span and its replacement."""

from __future__ import annotations

from bisect import bisect_right, insort
from collections import deque
from collections.abc import Iterable

from nginxopt.records import record
from nginxopt.text.source import Source, Span


@record(eq=True)
class Edit:
    """Puts `text` in place of `span`; an empty span inserts.

    `in_any_order`: what it inserts may stand before or behind what others of the kind insert at the same place, as
    blocks do that have names of their own.
    """

    span: Span
    text: bytes
    in_any_order: bool = False


def apply(data: bytes, edits: Iterable[Edit]) -> bytes:
    """Return `data` with the edits made. Raises `ValueError` if two of them overlap, or one is not within `data`.

    Insertions at one place stay in the given order, before a replacement that begins there.
    """
    pieces = []
    at = 0
    for edit in _in_order(edits, len(data)):
        pieces += [data[at : edit.span.start], edit.text]
        at = edit.span.end
    return b"".join([*pieces, data[at:]])


def _in_order(edits: Iterable[Edit], size: int) -> list[Edit]:
    """Return edits of a text of `size` bytes from left to right. Raises `ValueError` if they conflict."""
    ordered = sorted(edits, key=lambda edit: (edit.span.start, len(edit.span) > 0))
    at = 0
    for edit in ordered:
        if edit.span.start < at:
            raise ValueError(f"edits overlap at byte {edit.span.start}")
        at = edit.span.end
    if at > size:
        raise ValueError(f"an edit ends at byte {at} of {size}")
    return ordered


class EditSet:
    """Edits of one text, sorted, that do not conflict."""

    def __init__(self) -> None:
        self.edits: list[Edit] = []

    def near(self, edit: Edit) -> list[Edit]:
        """Return the edits that overlap the given one, or touch it so that their order matters; also an equal one."""
        near = []
        for number in range(bisect_right(self.edits, edit.span.end, key=_start) - 1, -1, -1):
            if self.edits[number].span.end < edit.span.start:
                break
            near.append(self.edits[number])
        return [other for other in near if other == edit or _meet(edit, other)]

    def add(self, edit: Edit) -> None:
        """Add an edit. Edits with the same start are sorted by their ends, so the ends are sorted too."""
        insort(self.edits, edit, key=lambda other: (other.span.start, other.span.end))


def _start(edit: Edit) -> int:
    return edit.span.start


def _meet(edit: Edit, other: Edit) -> bool:
    """Return whether two edits overlap, or touch at an insertion whose order matters."""
    first, second = edit.span, other.span
    if len(first) and len(second):
        return first.start < second.end and second.start < first.end
    if edit.in_any_order and other.in_any_order and first == second:
        return False
    return first.start <= second.end and second.start <= first.end


# What was put in is kept as a view, so that a long one is split without being copied.
_Piece = Span | memoryview


class Draft:
    """A text that is edited in several rounds: spans of the original, and the insertions between them."""

    def __init__(self, data: bytes) -> None:
        self.original = data
        self._pieces: list[_Piece] = [Span(0, len(data))]

    def change(self, edits: Iterable[Edit]) -> None:
        """Apply edits to the current text, like `apply`. Linear in pieces and edits."""
        ordered = _in_order(edits, sum(map(len, self._pieces)))
        old = deque(self._pieces)
        new: list[_Piece] = []
        at = 0
        for edit in ordered:
            new += _take(old, edit.span.start - at)
            new.append(memoryview(edit.text))
            _take(old, len(edit.span))
            at = edit.span.end
        self._pieces = [piece for piece in (*new, *old) if len(piece)]

    @property
    def text(self) -> bytes:
        """The current text."""
        original = memoryview(self.original)
        return b"".join(
            original[piece.start : piece.end] if isinstance(piece, Span) else piece for piece in self._pieces
        )

    def origin(self, offset: int) -> int:
        """Return where a byte of the current text is in the original; of an inserted byte, where it was inserted."""
        origin = 0
        for piece in self._pieces:
            if offset < len(piece):
                return piece.start + offset if isinstance(piece, Span) else origin
            offset -= len(piece)
            origin = piece.end if isinstance(piece, Span) else origin
        return origin

    @property
    def edits(self) -> tuple[Edit, ...]:
        """The edits that turn the original into the current text in one step."""
        edits: list[Edit] = []
        at = 0
        put: list[memoryview] = []
        for piece in (*self._pieces, Span(len(self.original), len(self.original))):
            if isinstance(piece, memoryview):
                put.append(piece)
                continue
            if put or piece.start > at:
                edits.append(Edit(Span(at, piece.start), b"".join(put)))
            at, put = piece.end, []
        return tuple(edits)


def _take(pieces: deque[_Piece], count: int) -> list[_Piece]:
    """Remove the pieces of the next `count` bytes from the left end."""
    taken: list[_Piece] = []
    while count:
        piece = pieces.popleft()
        if len(piece) > count:
            piece, rest = _split(piece, count)
            pieces.appendleft(rest)
        taken.append(piece)
        count -= len(piece)
    return taken


def _split(piece: _Piece, at: int) -> tuple[_Piece, _Piece]:
    if isinstance(piece, Span):
        return Span(piece.start, piece.start + at), Span(piece.start + at, piece.end)
    return piece[:at], piece[at:]


@record(eq=True)
class Change:
    """An edit of a source."""

    source: Source
    edit: Edit


class ChangeSet:
    """Changes of any sources that do not conflict."""

    def __init__(self) -> None:
        self._edits: dict[Source, EditSet] = {}

    def take(self, changes: Iterable[Change]) -> bool:
        """Add all of the changes or none; return whether they are compatible with those added before.

        Changes that were added before are not added again.
        """
        new = [change for change in dict.fromkeys(changes) if change.edit not in self._near(change)]
        if any(self._near(change) for change in new):
            return False
        for change in new:
            self._edits.setdefault(change.source, EditSet()).add(change.edit)
        return True

    @property
    def edits(self) -> dict[Source, list[Edit]]:
        """The edits by source."""
        return {source: apart.edits for source, apart in self._edits.items()}

    def _near(self, change: Change) -> list[Edit]:
        return self._edits[change.source].near(change.edit) if change.source in self._edits else []
