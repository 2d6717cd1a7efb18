"""Formats a text: from its pieces to edits of the white space between them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain

from nginxopt import budget
from nginxopt.config.templating import refuse_template, refused
from nginxopt.errors import InputError
from nginxopt.format.kept import kept
from nginxopt.format.layout import Layout
from nginxopt.format.pieces import Piece, pieces
from nginxopt.format.proof import prove
from nginxopt.format.style import IndentStyle
from nginxopt.text import Edit, Source, Span, apply

_BOM = b"\xef\xbb\xbf"
_DEFAULT = IndentStyle()
_SMALL = 1 << 20  # bytes that a result may always have


def formatted(data: bytes, style: IndentStyle = _DEFAULT, *, path: str = "-") -> bytes:
    """Return a configuration, or a fragment of one, formatted; `path` is its name in messages.

    Formatting the result again changes nothing. Linear in the size of the text. Raises `InputError` for a text that
    nginx would not read, and for a template.
    """
    return apply(data, edits(Source(path, data), style))


def edits(source: Source, style: IndentStyle = _DEFAULT) -> tuple[Edit, ...]:
    """Return the edits of white space that format a text, in order, as `formatted` does; none if nothing changes."""
    read = _read(source)
    changes = tuple(_bounded(source, _changes(source.data, read, style)))
    prove(source, read, apply(source.data, changes))
    return changes


def _bounded(source: Source, changes: Iterator[Edit]) -> Iterator[Edit]:
    """Yield edits. Raises `budget.ExceededError` once the result has many times the size of the text.

    A block in a block needs two bytes, and its lines any indentation.
    """
    growth = budget.limit("growth")
    most = max(growth * len(source.data), _SMALL)
    size = len(source.data)
    for edit in changes:
        size += len(edit.text) - len(edit.span)
        if size > most:
            raise budget.ExceededError("growth", growth, source=source, span=edit.span)
        yield edit


def _read(source: Source) -> list[Piece]:
    """Return the pieces of a text. Raises `InputError` if it cannot be read, or is a template."""
    try:
        read = list(pieces(source))
        refuse_template(source)
    except InputError as error:
        raise refused(error) from None
    if _is_hidden(source.data, read):
        raise InputError(
            "nginx reads the byte order mark as a word, and what follows as its arguments",
            source=source,
            span=Span(read[0].start, read[0].start + len(_BOM)),
            hint="delete the byte order mark",
        )
    return read


def _is_hidden(data: bytes, read: Sequence[Piece]) -> bool:
    """Return whether a byte order mark is a word of its own, or turns a comment into a word."""
    first = data[read[0].start : read[0].end] if read else b""
    return first == _BOM or first.startswith(_BOM + b"#")


def _changes(data: bytes, read: Sequence[Piece], style: IndentStyle) -> Iterator[Edit]:
    layout = Layout(style, _newline(data, read))
    staying = kept(data, read)
    at = 0
    for piece in read:
        gap = data[at : piece.start]
        text = layout.gap(piece, gap.count(b"\n"), stays=piece.start in staying)
        if text != gap:
            yield Edit(Span(at, piece.start), text)
        at = piece.end
    if data[at:] != layout.end():
        yield Edit(Span(at, len(data)), layout.end())


def _newline(data: bytes, read: Sequence[Piece]) -> bytes:
    """Return the line end of a text: that of its first line, not counting those in words."""
    at = 0
    for start, end in chain(((piece.start, piece.end) for piece in read), [(len(data), len(data))]):
        line_end = data.find(b"\n", at, start)
        if line_end >= 0:
            return b"\r\n" if data[at:line_end].endswith(b"\r") else b"\n"
        at = end
    return b"\n"
