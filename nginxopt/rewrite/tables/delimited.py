"""Reads CSV tables of redirects, as `nginxopt.request.columns` finds their columns: `from`, `to` and `status`."""

from __future__ import annotations

from nginxopt import lazy
from nginxopt.errors import InputError
from nginxopt.request.columns import (
    WITHOUT_TARGET,
    Columns,
    cells_of,
    columns_of,
    gone,
    is_too_wide,
    status_of,
)
from nginxopt.request.sheets import as_text
from nginxopt.rewrite.tables.paths import From, read_from, read_target
from nginxopt.rewrite.tables.table import (
    REDIRECTS,
    Arguments,
    CannotAnswer,
    Rejected,
    Row,
    Table,
    TableRows,
    unanswered,
)
from nginxopt.text import Source, Span, decode
from nginxopt.text.delimited import Record, records
from nginxopt.text.display import count

DEFAULT_STATUS = 301

_PLACEHOLDER = lazy.pattern(rb"/:[A-Za-z]")


def read(source: Source) -> Table:
    """Return the table of a CSV file or a spreadsheet. Raises `InputError` if the file is not a table."""
    source, unread = as_text(source)
    columns = columns_of(source)
    table = TableRows()

    def broken(error: InputError, line: Span) -> None:
        table.reject(Rejected(line, "quote", error.message, error.hint), None)

    off = 0
    for record in records(source, columns.delimiter, columns.start, broken=broken):
        if cells_of(record, columns).is_in_force:
            _read_record(source, record, columns, table)
        else:
            off += 1
    notes = (*unread, *columns.notes, *([f"not in force by their status: {count(off, 'row')}"] if off else []))
    premises = ("client-scheme",) if any(row.site for row in table.answerable) else ()
    rows, rejected = tuple(table.rows), tuple(table.rejected)
    return Table(source, "csv", rows, rejected, in_order=False, premises=premises, notes=notes)


def _read_record(source: Source, record: Record, columns: Columns, table: TableRows) -> None:
    """Add the row of a record to the table, or the reason why the record is rejected."""
    whole = Span(record[0].start, record[-1].end)
    cells = cells_of(record, columns)
    field = cells.origin._replace(value=b"")
    try:
        _check(source, record, columns)
        if cells.is_pattern:
            raise CannotAnswer(
                "pattern", f"a {decode(cells.pattern.value)} is not a path", "a CSV table has paths only"
            )
        field = cells.origin
        asked = _read_from(field.value)
        field = cells.status
        status, has_target = _status(decode(field.value), decode(cells.target.value))
        field = cells.target
        location = _target(field.value if has_target else b"", status)
    except CannotAnswer as verdict:
        table.reject(verdict.at(field.span if field.value else whole), _requests(cells.origin.value, whole))
        return
    arguments: Arguments = "insert" if location and asked.query is None else "drop"
    table.rows.append(
        Row(whole.start, whole.end, asked.site, (asked.path,), asked.query, None, status, location, arguments)
    )


def _check(source: Source, record: Record, columns: Columns) -> None:
    """Refuse a record whose fields are not those of a row."""
    try:
        source.data[record[0].start : record[-1].end].decode()
    except UnicodeDecodeError:  # in another encoding, it is another character
        raise CannotAnswer("encoding", "not UTF-8", "save the table as UTF-8") from None
    if len(record) < 2 or is_too_wide(record, columns):
        hint = "a row has from, to, and at most a status" if columns.width <= 3 else f"a row has {columns.width} fields"
        raise CannotAnswer("fields", count(len(record), "field"), hint)


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


def _status(text: str, target: str) -> tuple[int, bool]:
    """Return the status of a row, and whether the text of its target is one: `410` there is a status."""
    without = gone(target)
    if not text:
        return (DEFAULT_STATUS, True) if without is None else (without, False)
    status = status_of(text)
    if status in WITHOUT_TARGET:
        return status, without != status
    if status in REDIRECTS:
        return status, True
    codes = ", ".join(map(str, (*REDIRECTS, *WITHOUT_TARGET)))
    raise CannotAnswer("status", f"the status is not one of {codes}")


def _target(text: bytes, status: int) -> bytes:
    if status in WITHOUT_TARGET:
        if text:
            raise CannotAnswer("status", f"a response with status {status} has no target", "leave the target empty")
        return b""
    return read_target(text)
