"""Source texts, byte spans in them with their lines and columns, and edits that replace spans.

Sources keep bytes, as nginx reads bytes. Text is decoded as UTF-8 with `surrogateescape`, so that any byte survives
decoding and encoding.
"""

from __future__ import annotations

import re
import unicodedata
from array import array
from bisect import bisect_right, insort
from collections import deque
from collections.abc import Iterable
from dataclasses import field
from functools import cached_property

from nginxopt.records import record

_WIDTH = 100
"""The maximum width of a snippet in columns."""

_MOST_DIGITS = 18
"""How many digits a number has at most: each fits 64 bits."""


def decode(data: bytes) -> str:
    """Return `data` as text; `encode` gives the same bytes back."""
    return data.decode("utf-8", "surrogateescape")


def encode(text: str) -> bytes:
    """Return the bytes that `decode` decoded to `text`."""
    return text.encode("utf-8", "surrogateescape")


def decimal(text: str) -> int | None:
    """Return the value of ASCII digits; None for any other text, and for more digits than a number has.

    `int` also takes digits of other scripts, and raises for too many.
    """
    return int(text) if text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS else None


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


@record(eq=True)
class Edit:
    """Replaces `span` by `text`; an empty span is an insertion.

    `in_any_order`: an insertion that may come before or after other such insertions at the same place: for example a
    block with a unique name.
    """

    span: Span
    text: bytes
    in_any_order: bool = False


def apply(data: bytes, edits: Iterable[Edit]) -> bytes:
    """Return `data` with the edits applied.

    Insertions at the same place keep their order, and come before a replacement that begins there. Raises `ValueError`
    if two edits overlap, or one ends outside `data`.
    """
    pieces = []
    at = 0
    for edit in _in_order(edits, len(data)):
        pieces += [data[at : edit.span.start], edit.text]
        at = edit.span.end
    return b"".join([*pieces, data[at:]])


def _in_order(edits: Iterable[Edit], size: int) -> list[Edit]:
    """Return the edits of a text of `size` bytes, sorted by place. Raises `ValueError` if they conflict."""
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
    """The edits of one text, sorted by place. The caller makes sure that they do not conflict (see `near`)."""

    def __init__(self) -> None:
        self.edits: list[Edit] = []

    def near(self, edit: Edit) -> list[Edit]:
        """Return the edits that conflict with `edit` (they overlap, or their order matters), or are equal to it."""
        near = []
        for number in range(bisect_right(self.edits, edit.span.end, key=_start) - 1, -1, -1):
            if self.edits[number].span.end < edit.span.start:
                break
            near.append(self.edits[number])
        return [other for other in near if other == edit or _meet(edit, other)]

    def add(self, edit: Edit) -> None:
        """Add an edit that conflicts with no other. As edits with the same start are sorted by end, so are all ends."""
        insort(self.edits, edit, key=lambda other: (other.span.start, other.span.end))


def _start(edit: Edit) -> int:
    return edit.span.start


def _meet(edit: Edit, other: Edit) -> bool:
    """Return whether two edits overlap, or are adjacent and one is an insertion, so that their order matters."""
    first, second = edit.span, other.span
    if len(first) and len(second):
        return first.start < second.end and second.start < first.end
    if edit.in_any_order and other.in_any_order and first == second:
        return False
    return first.start <= second.end and second.start <= first.end


# Inserted text is a view, which can be split without copying the text.
_Piece = Span | memoryview


class Draft:
    """A text that is edited in several rounds, stored as spans of the original and insertions between them."""

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
        """Return the offset in the original of a byte of the current text; for inserted text, that of the insertion."""
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
    """Remove and return the pieces of the first `count` bytes."""
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
    """An edit and the source that it changes."""

    source: Source
    edit: Edit


class ChangeSet:
    """A set of changes, of any number of sources, that do not conflict."""

    def __init__(self) -> None:
        self._edits: dict[Source, EditSet] = {}
        self._taken: dict[int, Iterable[Change]] = {}  # by identity: thousands of findings may have one fix

    def take(self, changes: Iterable[Change]) -> bool:
        """Add the changes, unless one of them conflicts with the set; return whether the set contains them now.

        Changes that are already in the set are not added again.
        """
        if id(changes) in self._taken:
            return True
        new = [change for change in dict.fromkeys(changes) if change.edit not in self._near(change)]
        if any(self._near(change) for change in new):
            return False
        for change in new:
            self._edits.setdefault(change.source, EditSet()).add(change.edit)
        if isinstance(changes, tuple):
            self._taken[id(changes)] = changes
        return True

    @property
    def edits(self) -> dict[Source, list[Edit]]:
        """The edits by source."""
        return {source: apart.edits for source, apart in self._edits.items()}

    def _near(self, change: Change) -> list[Edit]:
        return self._edits[change.source].near(change.edit) if change.source in self._edits else []
