"""Reads CSV tables of redirects (`from,to[,status]`, RFC 4180), with `,`, `;`, tab or `|` as the delimiter."""

from __future__ import annotations

from nginxopt import lazy
from nginxopt.request.columns import columns_of, delimiter_of
from nginxopt.rewrite.tables.paths import From, read_from, read_target
from nginxopt.rewrite.tables.table import (
    REDIRECTS,
    Arguments,
    CannotAnswer,
    Row,
    Table,
    TableRows,
    require_utf8,
    unanswered,
)
from nginxopt.text import Source, Span
from nginxopt.text.delimited import Field, Record, records
from nginxopt.text.plural import count

DEFAULT_STATUS = 301
WITHOUT_TARGET = (403, 404, 410, 451)
"""The status codes of rows without a target."""

_PLACEHOLDER = lazy.pattern(rb"/:[A-Za-z]")


def read(source: Source) -> Table:
    """Return the table of a CSV file. Raises `InputError` if it is invalid."""
    delimiter = delimiter_of(source)
    require_utf8(source)
    columns: dict[str, int] | None = None
    table = TableRows()
    for record in records(source, delimiter):
        if columns is None:
            columns, is_header = columns_of(source, record)
            if is_header:
                continue
        _read_record(record, columns, table)
    premises = ("client-scheme",) if any(row.site for row in table.answerable) else ()
    return Table(source, "csv", tuple(table.rows), tuple(table.rejected), in_order=False, premises=premises)


def _read_record(record: Record, columns: dict[str, int], table: TableRows) -> None:
    """Add the row of a record to the table, or the reason why the record is rejected."""
    whole = Span(record[0].start, record[-1].end)
    nothing = Field(b"", whole.end, whole.end)
    origin, target, code = (
        record[at] if (at := columns.get(name, 3)) < len(record) else nothing for name in ("from", "to", "status")
    )
    field = nothing
    try:
        if not 2 <= len(record) <= 3:
            raise CannotAnswer("fields", count(len(record), "field"), "a row has from, to, and at most a status")
        field = origin
        asked = _read_from(origin.value)
        field = code
        status = _status(code.value)
        field = target
        location = _target(target.value, status)
    except CannotAnswer as verdict:
        table.reject(verdict.at(field.span if field.value else whole), _requests(origin.value, whole))
        return
    arguments: Arguments = "insert" if location and asked.query is None else "drop"
    table.rows.append(
        Row(whole.start, whole.end, asked.site, (asked.path,), asked.query, None, status, location, arguments)
    )


def _requests(text: bytes, span: Span) -> Row | None:
    """Return a rejected row with the requests that it is for; None if these cannot be parsed."""
    try:
        site, path, query = _read_from(text)
    except CannotAnswer:
        return None
    return unanswered(span, site=site, paths=(path,), query=query)


def _read_from(text: bytes) -> From:
    """Parse the requests of a row. Wildcards of other formats are refused: here they would be literal text."""
    if b"*" in text:
        hint = "write %2A for the character; a _redirects list has wildcards"
        raise CannotAnswer("wildcard", "* is not a wildcard in a CSV table", hint)
    if _PLACEHOLDER.search(text, text.find(b"://") + 3 if b"://" in text else 0):
        hint = "write %3A for the colon; a _redirects list has placeholders"
        raise CannotAnswer("placeholder", "a CSV table has no placeholders", hint)
    return read_from(text)


def _status(text: bytes) -> int:
    if not text:
        return DEFAULT_STATUS
    if text.isdigit() and len(text) == 3 and int(text) in (*REDIRECTS, *WITHOUT_TARGET):
        return int(text)
    codes = ", ".join(map(str, (*REDIRECTS, *WITHOUT_TARGET)))
    raise CannotAnswer("status", f"the status is not one of {codes}")


def _target(text: bytes, status: int) -> bytes:
    if status in WITHOUT_TARGET:
        if text:
            raise CannotAnswer("status", f"a response with status {status} has no target", "leave the target empty")
        return b""
    return read_target(text)
