"""Reads delimited text such as CSV (RFC 4180), with the position of each field."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from nginxopt import lazy
from nginxopt.errors import InputError
from nginxopt.text.source import Source, Span

BOM = b"\xef\xbb\xbf"
_BLANKS = b" \t"
_FIRST_QUOTED = lazy.pattern(rb'[ \t]*"')


class Field(NamedTuple):
    """A field: its value, without quotes and blanks around it, also in quotes, and its byte offsets in the source."""

    value: bytes
    start: int
    end: int

    @property
    def span(self) -> Span:
        """The place of the value, with its quotes."""
        return Span(self.start, self.end)


Record = list[Field]


def is_comment(line: bytes) -> bool:
    """Return whether a line is a comment: it begins with `#`, which no address does."""
    return line.lstrip(_BLANKS).startswith(b"#")


def records(
    source: Source, delimiter: bytes, start: int = 0, *, broken: Callable[[InputError, Span], object] | None = None
) -> Iterator[Record]:
    """Yield the records of a source from an offset on, without empty ones and comments.

    A quote that is not closed, and text behind one that is, raise `InputError`; or `broken` is called with the error
    and the place of the line, and the next line begins a record.
    """
    at = start or (len(BOM) if source.data.startswith(BOM) else 0)
    while at < len(source.data):
        record, at = record_at(source, at, delimiter, broken)
        if any(field.value for field in record):
            yield record


def record_at(
    source: Source, at: int, delimiter: bytes, broken: Callable[[InputError, Span], object] | None
) -> tuple[Record, int]:
    """Return the record at an offset, empty for a comment or a broken one, and the offset of the next."""
    data = source.data
    end = data.find(b"\n", at)
    end = len(data) if end < 0 else end
    if is_comment(data[at:end]):
        return [], end + 1
    if data.find(b'"', at, end) < 0:
        return _plain(data, at, end, delimiter), end + 1
    try:
        return _quoted(source, at, delimiter)
    except InputError as error:
        if broken is None:
            raise
        broken(error, Span(at, at + len(data[at:end].removesuffix(b"\r"))))
        return [], end + 1


def _plain(data: bytes, at: int, end: int, delimiter: bytes) -> Record:
    """Return the record of the line from `at` to `end`, which has no quotes."""
    line = data[at:end].removesuffix(b"\r")
    record = []
    for cell in line.split(delimiter):
        value = cell.strip(_BLANKS)
        start = at + cell.find(value)
        record.append(Field(value, start, start + len(value)))
        at += len(cell) + 1
    return record


def _quoted(source: Source, at: int, delimiter: bytes) -> tuple[Record, int]:
    """Return the record at an offset, some of whose fields are in quotes, and the offset of the next record."""
    data, record = source.data, []
    ends = re.compile(b"[" + re.escape(delimiter) + rb"\n]|\Z")
    while True:
        opening = _FIRST_QUOTED.match(data, at)
        if opening is None:
            match = ends.search(data, at)
            assert match is not None
            record += _plain(data, at, match.start(), delimiter)
        else:
            start = opening.end()
            stop = _closing(source, start)
            match = ends.search(data, stop + 1)
            assert match is not None
            if data[stop + 1 : match.start()].strip(b" \t\r"):
                raise InputError("text after a closing quote", source=source, span=Span(stop + 1, match.start()))
            value = data[start:stop].replace(b'""', b'"').strip(_BLANKS)
            record.append(Field(value, start - 1, stop + 1))
        if match[0] != delimiter:
            return record, match.end() or len(data)
        at = match.end()


def _closing(source: Source, start: int) -> int:
    """Return the offset of the quote that closes a field."""
    at = start
    while (at := source.data.find(b'"', at)) >= 0:
        if source.data[at + 1 : at + 2] != b'"':
            return at
        at += 2
    hint = 'close it; write a quote in a field as ""'
    raise InputError("this quote is not closed", source=source, span=Span(start - 1, start), hint=hint)
