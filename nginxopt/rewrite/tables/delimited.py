"""Tables as spreadsheets export them: `from,to[,status]`, RFC 4180, with `,`, `;`, tab or `|` between the fields."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from nginxopt.errors import InputError
from nginxopt.rewrite.tables.paths import From, read_from, read_target
from nginxopt.rewrite.tables.table import REDIRECTS, Arguments, CannotAnswer, Rejected, Row, Table
from nginxopt.text import Source, Span
from nginxopt.text.plural import count

DELIMITERS = b",;\t|"
DEFAULT_STATUS = 301
WITHOUT_TARGET = (403, 404, 410, 451)
"""The codes that a row may have instead of a target."""

_BOM = b"\xef\xbb\xbf"
_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_BLANKS = b" \t"
_NAMES = {
    "from": ("from", "source", "old", "old url", "old path", "source url", "source path", "redirect from", "url from"),
    "to": ("to", "target", "destination", "new", "new url", "new path", "target url", "redirect to", "url to"),
    "status": ("status", "code", "status code", "http code", "http status", "redirect type", "type"),
}
_COLUMNS = {name.encode(): column for column, names in _NAMES.items() for name in names}
_PLACEHOLDER = re.compile(rb"/:[A-Za-z]")
_IN_QUOTES = re.compile(rb'"(?:[^"]|"")*"')
_NO_DELIMITERS = bytes.maketrans(DELIMITERS, b"_" * len(DELIMITERS))
_FIRST_QUOTED = re.compile(rb'[ \t]*"')


class Field(NamedTuple):
    """The value of a field without quotes and blanks around it, and its place."""

    value: bytes
    start: int
    end: int

    @property
    def span(self) -> Span:
        """The place of the value, with its quotes."""
        return Span(self.start, self.end)


Record = list[Field]


def read(source: Source) -> Table:
    """Return the table of a CSV file. `InputError` if it is invalid."""
    delimiter = _delimiter(source)
    columns: dict[str, int] | None = None
    rows: list[Row] = []
    rejected: list[Rejected] = []
    for record in records(source, delimiter):
        if columns is None:
            columns, is_header = _columns(source, record)
            if is_header:
                continue
        _read_record(record, columns, rows, rejected)
    premises = ("client-scheme",) if any(row.site for row in rows) else ()
    return Table(source, "csv", tuple(rows), tuple(rejected), in_order=False, premises=premises)


def is_header(line: bytes, delimiter: bytes) -> bool:
    """Return whether a line names the columns of a table."""
    names = [_COLUMNS.get(_name(cell)) for cell in line.split(delimiter)]
    return "from" in names and "to" in names


def records(source: Source, delimiter: bytes) -> Iterator[Record]:
    """Yield the records that are not empty. `InputError` for a quote that is not closed."""
    data = source.data
    at = len(_BOM) if data.startswith(_BOM) else 0
    while at < len(data):
        end = data.find(b"\n", at)
        end = len(data) if end < 0 else end
        if data.find(b'"', at, end) < 0:
            record, following = _plain(data, at, end, delimiter), end + 1
        else:
            record, following = _quoted(source, at, delimiter)
        if len(record) > 1 or record[0].value:
            yield record
        at = following


def _plain(data: bytes, at: int, end: int, delimiter: bytes) -> Record:
    """Return the record of a line without quotes."""
    line = data[at:end].removesuffix(b"\r")
    record = []
    for cell in line.split(delimiter):
        value = cell.strip(_BLANKS)
        start = at + cell.find(value)
        record.append(Field(value, start, start + len(value)))
        at += len(cell) + 1
    return record


def _quoted(source: Source, at: int, delimiter: bytes) -> tuple[Record, int]:
    """Return a record with quotes, and where the next one begins."""
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
            record.append(Field(data[start:stop].replace(b'""', b'"'), start - 1, stop + 1))
        if match[0] != delimiter:
            return record, match.end() or len(data)
        at = match.end()


def _closing(source: Source, start: int) -> int:
    """Return the offset of the quote that ends a field."""
    at = start
    while (at := source.data.find(b'"', at)) >= 0:
        if source.data[at + 1 : at + 2] != b'"':
            return at
        at += 2
    raise InputError("this quote is not closed", source=source, span=Span(start - 1, start))


_FIRST_ROW = "from,to or from,to,status, separated by a comma, semicolon, tab or |"


def _delimiter(source: Source) -> bytes:
    """Return the delimiter of the fields of the first line."""
    data = source.data
    if data.startswith(_UTF16):
        raise InputError("this is UTF-16", path=source.path, hint="save the table as UTF-8")
    start = len(_BOM) if data.startswith(_BOM) else 0
    line = next((line for line in data[start:].splitlines() if line.strip(_BLANKS + b'",;|')), b"")
    if not line:
        raise InputError("the table is empty", path=source.path, expected=_FIRST_ROW)
    span = Span(at := data.find(line), at + len(line))
    line = _IN_QUOTES.sub(lambda match: match[0].translate(_NO_DELIMITERS), line)
    delimiters = [bytes([byte]) for byte in DELIMITERS if bytes([byte]) in line]
    fitting = [each for each in delimiters if is_header(line, each)] or [
        each for each in delimiters if _is_row(line, each)
    ]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise InputError("two characters may separate the fields", source=source, span=span, hint="use commas")
    raise InputError(
        "this is not a row of a table of redirects",
        source=source,
        span=span,
        expected=_FIRST_ROW,
    )


def _is_row(line: bytes, delimiter: bytes) -> bool:
    """Return whether a line looks like a row: 2 or 3 fields, the first of which is a path or an address."""
    cells = [cell.strip(b' \t"') for cell in line.split(delimiter)]
    return len(cells) in (2, 3) and is_address(cells[0]) and (is_address(cells[1]) or not cells[1])


def is_address(text: bytes) -> bool:
    """Return whether a text looks like a path or an http address."""
    return text.startswith((b"/", b"http://", b"https://"))


def _columns(source: Source, record: Record) -> tuple[dict[str, int], bool]:
    """Return the number of each column, and whether a record is the header that names them."""
    names = [_COLUMNS.get(_name(field.value)) for field in record]
    if "from" not in names or "to" not in names:
        return {"from": 0, "to": 1, "status": 2}, False
    for field, name in zip(record, names, strict=True):
        if name is None or names.count(name) > 1:
            what = "unknown" if name is None else "second"
            message = f"{what} column; a table has from, to and status"
            raise InputError(message, source=source, span=field.span, hint="remove the column")
    return {name: number for number, name in enumerate(names) if name}, True


def _name(cell: bytes) -> bytes:
    return cell.strip(b' \t\r"').lower().replace(b"_", b" ").replace(b"-", b" ")


def _read_record(record: Record, columns: dict[str, int], rows: list[Row], rejected: list[Rejected]) -> None:
    """Add the row of a record, or the reason why there is none."""
    whole = Span(record[0].start, record[-1].end)
    if not 2 <= len(record) <= 3:
        rejected.append(
            Rejected(whole, "fields", count(len(record), "field"), "a row has from, to, and at most a status")
        )
        return
    nothing = Field(b"", whole.end, whole.end)
    origin, target, code = (
        record[columns[name]] if columns.get(name, 3) < len(record) else nothing for name in ("from", "to", "status")
    )
    field = origin
    try:
        asked = _read_from(origin.value)
        field = code
        status = _status(code.value)
        field = target
        location = _target(target.value, status)
    except CannotAnswer as verdict:
        rejected.append(verdict.at(field.span if field.value else whole))
        return
    arguments: Arguments = "insert" if location and asked.query is None else "drop"
    rows.append(Row(whole.start, whole.end, asked.site, (asked.path,), asked.query, None, status, location, arguments))


def _read_from(text: bytes) -> From:
    """Return the requests of a row. Wildcards of other formats are refused, as they are not literal text."""
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
