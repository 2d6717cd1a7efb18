"""The columns of a table of redirects: `from`, `to` and `status`, under the names that people give them."""

from __future__ import annotations

from nginxopt import lazy
from nginxopt.errors import InputError
from nginxopt.text import Source, Span
from nginxopt.text.delimited import BOM, Record

DELIMITERS = b",;\t|"

_UTF16 = (b"\xff\xfe", b"\xfe\xff")
_BLANKS = b" \t"
_NAMES = {
    "from": ("from", "source", "old", "old url", "old path", "source url", "source path", "redirect from", "url from"),
    "to": ("to", "target", "destination", "new", "new url", "new path", "target url", "redirect to", "url to"),
    "status": ("status", "code", "status code", "http code", "http status", "redirect type", "type"),
}
_COLUMNS = {name.encode(): column for column, names in _NAMES.items() for name in names}
_IN_QUOTES = lazy.pattern(rb'"(?:[^"]|"")*"')
_NO_DELIMITERS = bytes.maketrans(DELIMITERS, b"_" * len(DELIMITERS))


def is_header(line: bytes, delimiter: bytes) -> bool:
    """Return whether a line names the columns of a table."""
    names = [_COLUMNS.get(_name(cell)) for cell in line.split(delimiter)]
    return "from" in names and "to" in names


_FIRST_ROW = "from,to or from,to,status, separated by a comma, semicolon, tab or |"


def delimiter_of(source: Source) -> bytes:
    """Return the delimiter of the fields of the first line."""
    data = source.data
    if data.startswith(_UTF16):
        raise InputError("this is UTF-16", path=source.path, hint="save the table as UTF-8")
    if b"\r" in data.strip() and b"\n" not in data:
        raise InputError("only carriage returns end the lines", path=source.path, hint="end them as Unix or Windows do")
    start = len(BOM) if data.startswith(BOM) else 0
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
    return text[:8].lower().startswith((b"/", b"http://", b"https://"))


def columns_of(source: Source, record: Record) -> tuple[dict[str, int], bool]:
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
