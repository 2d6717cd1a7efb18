"""Tables of expectations: which answer each request is to get.

CSV has the columns `from`, `to` and `status`, found as in `nginxopt.request.columns`; a line of JSON lines is an object
with these keys and perhaps `method`, `headers`, and `sends` (headers of the response). `from` is a URL, or a path of
the site that the table is for. `to` is the `Location`, or for `proxy` what the request is passed on to. `status` is a
code or a kind of outcome; without one, any redirect to `to` is expected.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from nginxopt import lazy
from nginxopt._native import plain_rows
from nginxopt.errors import InputError
from nginxopt.records import record
from nginxopt.request.client import Request, Url, UrlError, read_request
from nginxopt.request.columns import (
    DELIMITERS,
    Cells,
    Columns,
    cells_of,
    columns_of,
    gone,
    is_header,
    is_too_wide,
    status_of,
)
from nginxopt.request.json_targets import is_target as is_target_of_vegeta
from nginxopt.request.redirects import REDIRECTS
from nginxopt.request.sheets import as_text, is_spreadsheet
from nginxopt.text import Source, Span, decode
from nginxopt.text.delimited import BOM, Record, record_at
from nginxopt.text.display import count
from nginxopt.text.json import loads

KINDS = ("static", "proxy", "fastcgi", "uwsgi", "scgi", "grpc", "memcached", "handler", "closed")
"""What a status may be besides a code: an outcome whose code nginx does not decide alone."""

_PASSED = ("proxy", "grpc")
"""The kinds that may have a target."""

_ADDRESS = lazy.pattern(r"(?:/|[A-Za-z][A-Za-z0-9+.-]*:)[^\x00-\x20\x7f]*")
_KEYS = ("from", "to", "status", "method", "headers", "sends")


@record(eq=True)
class ExpectedRow:
    """What a request is to get.

    Attributes:
        line: Its line in the table, from 1.
        to: The `Location`, or what it is passed on to; empty if there is none to compare.
        status: A code, or one of `KINDS`; None for any redirect.
        sends: Headers of the response, in the case in which they are written; an empty value if it has no such header.
    """

    line: int
    request: Request
    to: str
    status: int | str | None
    sends: tuple[tuple[str, str], ...] = ()


def is_target(text: str) -> bool:
    """Return whether a text may be the target of a row: a path or an address."""
    return _ADDRESS.fullmatch(text) is not None


@record(eq=True)
class ExpectedTable:
    """The rows of a table.

    Attributes:
        broken: What is wrong with each invalid row, with its place.
        notes: What was taken as given about the columns, sentences without a full stop.
    """

    rows: tuple[ExpectedRow, ...]
    broken: tuple[InputError, ...] = ()
    notes: tuple[str, ...] = ()


def read_table(source: Source, base: Url | None, *, follow: bool = False) -> ExpectedTable:
    """Return a table. Raises `InputError` if the text is not a table, or all its rows are broken.

    If redirects are followed, `to` may go with any status, as it is where the last redirect leads.
    """
    source, notes = as_text(source)
    table = _Table(source, base, follow, [], [*notes])
    data = source.data.removeprefix(BOM).lstrip()
    rows = list(_json_rows(table) if data.startswith(b"{") else _csv_rows(table))
    if not rows and table.broken:
        raise table.broken[0]
    if not rows:
        raise InputError("the table has no rows", path=source.path, expected="from,to,status")
    broken = sorted(table.broken, key=lambda error: (error.span or Span(0, 0)).start)
    return ExpectedTable(tuple(rows), tuple(broken), tuple(table.notes))


@record(eq=True)
class _Table:
    source: Source
    base: Url | None
    follow: bool
    broken: list[InputError]
    notes: list[str]


def is_table(source: Source) -> bool:
    """Return whether a text is a table rather than a list of requests: a spreadsheet, JSON lines, CSV with a header."""
    if is_spreadsheet(source):
        return True
    data = as_text(source).source.data.removeprefix(BOM).lstrip()
    first = data.partition(b"\n")[0]
    if is_target_of_vegeta(first):
        return False
    return data.startswith(b"{") or any(is_header(first, bytes([byte])) for byte in DELIMITERS)


def _csv_rows(table: _Table) -> Iterator[ExpectedRow]:
    source = table.source
    columns = columns_of(source)
    table.notes.extend(columns.notes)
    sites, off = _Sites(table.base, follow=table.follow), 0

    def broken(error: InputError, line: Span) -> None:
        is_there = error.span is not None and error.span.start <= line.end
        table.broken.append(error if is_there else InputError(error.message, source=source, span=line))

    def other(start: int) -> tuple[ExpectedRow | None, int]:
        """Return the row at an offset, read field by field, and the offset of the next row; None for an empty row."""
        nonlocal off
        record, following = record_at(source, start, columns.delimiter, broken)
        if not any(field.value for field in record):
            return None, following
        cells = cells_of(record, columns)
        if not cells.is_in_force:
            off += 1
            return None, following
        try:
            return _csv_row(table, record, cells, columns), following
        except InputError as error:
            table.broken.append(error)
            return None, following

    at, line = columns.start, 1 + source.data.count(b"\n", 0, columns.start)
    while at < len(source.data):
        plain, start, line = _plain_rows(source, columns, (at, line))
        for row in plain:
            made = sites.row(row) or other(row[0])[0]
            if made is not None:
                yield made
        at = start
        if at < len(source.data):
            made, at = other(at)
            line += source.data.count(b"\n", start, at)
            if made is not None:
                yield made
    if off:
        table.notes.append(f"not in force by their status: {count(off, 'row')}")


_PlainRow = tuple[int, int, str, bytes, str, str]


def _plain_rows(source: Source, columns: Columns, at: tuple[int, int]) -> tuple[list[_PlainRow], int, int]:
    """Return the plain rows from an offset on, whose line is given, and the offset and line behind them."""
    of = columns.of
    special = [of[name] for name in ("pattern", "off") if name in of]
    numbers = (of["from"], of["to"], of.get("status"))
    return plain_rows(source.data, at, columns.delimiter[0], numbers, special, columns.width)


class _Sites:
    """Makes rows from those of the native core. Most have one of a few sites, so each site is read once."""

    def __init__(self, base: Url | None, *, follow: bool) -> None:
        self._base = base
        self._requests: dict[str, Request | None] = {}
        self._statuses = {str(code): code for code in range(100, 600)} | {kind: kind for kind in KINDS} | {"": None}
        self._with_target = {None, *_PASSED, *(range(100, 600) if follow else REDIRECTS)}

    def row(self, plain: _PlainRow) -> ExpectedRow | None:
        """Return a row; None for an invalid one."""
        _, line, site, target, to, word = plain
        status = self._statuses.get(word, "")
        if status == "" or (not to and status is None):
            return None
        if to and status not in self._with_target:
            return None
        if site not in self._requests:
            self._requests[site] = self._request(site)
        like = self._requests[site]
        if like is None:
            return None
        url = like.url
        url = Url(url.scheme, url.host, url.port, target, url.user)
        return ExpectedRow(line, Request(url, like.headers, like.method), to, status)

    def _request(self, site: str) -> Request | None:
        """Return a request to a site; an empty one stands for that of the table. None if it does not begin a URL."""
        try:
            return read_request(f"{site}/", self._base)
        except UrlError:
            return None


def _csv_row(table: _Table, record: Record, cells: Cells, columns: Columns) -> ExpectedRow:
    whole = Span(record[0].start, record[-1].end)
    if is_too_wide(record, columns):
        expected = "from,to,status" if columns.width <= 3 else f"{columns.width} fields"
        raise InputError(f"{count(len(record), 'field')}", source=table.source, span=whole, expected=expected)
    if cells.is_pattern:
        raise InputError("a pattern is not a request", source=table.source, span=cells.pattern.span)
    fields = {"from": cells.origin, "to": cells.target, "status": cells.status}
    places = {name: field.span for name, field in fields.items()}
    values = {name: decode(field.value) for name, field in fields.items()}
    without = gone(values["to"])
    if without is not None and values["status"] in ("", str(without)):
        values |= {"to": "", "status": str(without)}
    return _Cells(table, whole, places).row(values)


def _json_rows(table: _Table) -> Iterator[ExpectedRow]:
    source = table.source
    start = len(BOM) if source.data.startswith(BOM) else 0
    for line in source.data[start:].split(b"\n"):
        if line.strip():
            try:
                yield _json_row(table, line, start)
            except InputError as error:
                table.broken.append(error)
        start += len(line) + 1


def _json_row(table: _Table, line: bytes, start: int) -> ExpectedRow:
    source = table.source
    whole = Span(start, start + len(line.rstrip()))
    try:
        value = loads(line)
    except json.JSONDecodeError as error:
        at = start + len(decode(line)[: error.pos].encode("utf-8", "surrogateescape"))
        raise InputError(f"invalid JSON: {error.msg}", source=source, span=Span(at, max(at, whole.end))) from None
    except UnicodeDecodeError as error:
        at = start + error.start
        raise InputError("invalid JSON: not UTF-8", source=source, span=Span(at, at + 1)) from None
    if not isinstance(value, dict) or not isinstance(value.get("from"), str):
        raise InputError("not an object with a string from", source=source, span=whole)
    if unknown := [key for key in value if key not in _KEYS]:
        message = f'unknown key "{unknown[0]}"; a row has {", ".join(_KEYS)}'
        raise InputError(message, source=source, span=_place(line, start, whole, unknown[0]))
    method, headers, sends = value.get("method", "GET"), value.get("headers", {}), value.get("sends", {})
    are_headers = _are_headers(headers) and _are_headers(sends)
    if not isinstance(method, str) or not are_headers or not isinstance(value.get("to") or "", str):
        raise InputError("to and method are strings, headers and sends objects of strings", source=source, span=whole)
    values = {name: str(value.get(name) or "") for name in ("from", "to", "status")}
    places = {name: _place(line, start, whole, text) for name, text in values.items()}
    lines = [f"{name}: {text}" if text else f"{name};" for name, text in headers.items()]
    values["from"] = f"{method} {values['from']}" if "method" in value else values["from"]
    return replace(_Cells(table, whole, places).row(values, lines), sends=tuple(sends.items()))


def _are_headers(value: object) -> bool:
    """Return whether a value of JSON is an object with strings, as headers are written."""
    return isinstance(value, dict) and all(isinstance(text, str) for text in value.values())


def _place(line: bytes, start: int, whole: Span, text: str) -> Span:
    """Return the place of a text in a line; the whole line if it is written otherwise there."""
    written = text.encode("utf-8", "surrogateescape")
    at = line.find(b'"' + written + b'"')
    return Span(start + at + 1, start + at + 1 + len(written)) if at >= 0 else whole


@record(eq=True)
class _Cells:
    """The places of a row and of its values, for errors."""

    table: _Table
    whole: Span
    places: Mapping[str, Span]

    def row(self, values: Mapping[str, str], headers: Sequence[str] = ()) -> ExpectedRow:
        """Return the row with some values. Raises `InputError` with the place of a wrong one."""
        request = self._request(values["from"], headers)
        status = self._status(values["status"])
        to = values["to"].replace(" ", "%20")
        if to and not is_target(to):
            raise self._error("to", "neither a path nor an address")
        if to and isinstance(status, str) and status not in _PASSED:
            raise self._error("to", f"the kind {status} has no target")
        if to and isinstance(status, int) and status not in REDIRECTS and not self.table.follow:
            hint = "with --follow it is where redirects lead in the end"
            raise self._error("to", f"a response with status {status} has no target", hint=hint)
        if status is None and not to:
            raise self._error("to", "the row expects nothing", expected="to, a status, or both")
        line = self.table.source.position(self.whole.start).line
        return ExpectedRow(line, request, to, status)

    def _request(self, text: str, headers: Sequence[str]) -> Request:
        if not text:
            raise self._error("from", "from is empty")
        try:
            return read_request(text, self.table.base, headers=headers, spaces=True)
        except UrlError as error:
            span = self._place("from")
            at = span.start + len(text[: error.column - 1].encode("utf-8", "surrogateescape"))
            at = at if at < span.end else span.start
            hint = None if self.table.base or not text.startswith("/") else "name the site of the paths with --base URL"
            place = Span(at, max(at, span.end))
            raise InputError(error.message, source=self.table.source, span=place, hint=hint) from None

    def _status(self, text: str) -> int | str | None:
        if not text or text in KINDS:
            return text or None
        status = status_of(text)
        if status is not None:
            return status
        raise self._error("status", f"the status is neither a code nor one of {', '.join(KINDS)}")

    def _error(self, name: str, message: str, *, hint: str | None = None, expected: str | None = None) -> InputError:
        span = self._place(name)
        return InputError(message, source=self.table.source, span=span, hint=hint, expected=expected)

    def _place(self, name: str) -> Span:
        """Return the place of a value; that of the row if the value is empty."""
        return self.places[name] if len(self.places[name]) else self.whole
