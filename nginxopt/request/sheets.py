"""The text of a table as people save it: a spreadsheet, UTF-16, the line ends of an old Mac."""

from __future__ import annotations

import io
import json
import sys
import zipfile
import zlib
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from nginxopt import budget, lazy
from nginxopt.errors import InputError, MissingError, RunError
from nginxopt.request.columns import not_read
from nginxopt.request.workbook import REFUSED
from nginxopt.text import Source

SPREADSHEETS = (".xlsx", ".xlsm", ".xls", ".ods")
"""The ends of the names of spreadsheets."""

_ZIP = b"PK\x03\x04"
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_UTF16 = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
_LOOKED_AT = 200
_MOST_CELLS = 16_000_000
"""The maximum number of cells of a sheet. calamine takes 32 bytes for each, and the 20 bytes of an address in a file
suffice to make it allocate them."""
_MOST_SPACES = 1_000_000
_COUNT = lazy.pattern(rb"""(?:uniqueCount|:c)\s*=\s*["']\s*\+?0*([0-9]{1,20})""")
_ROW = lazy.pattern(rb"<(?:[\w.-]+:)?row(?=[\s>])")
_NUMBER = lazy.pattern(rb"""[^<>]*?\sr\s*=\s*["']\s*0*([0-9]{1,20})""")
_CELL = lazy.pattern(
    rb"""<(?:[\w.-]+:)?c(?=[\s>])(?:[^<>]*?\sr\s*=\s*["']([A-Za-z]++)0*([0-9]{1,20}))?+[^<>]*+(?<!/)>(?!</)"""
)


_READER = ("-m", "nginxopt.request.workbook")
_SECONDS = 120.0


def is_spreadsheet(source: Source) -> bool:
    """Return whether a file is a spreadsheet by its content."""
    return source.data.startswith((_ZIP, _OLE))


class TableText(NamedTuple):
    """A table as text, and what was not read of its file, as sentences without a full stop."""

    source: Source
    notes: tuple[str, ...] = ()


def as_text(source: Source) -> TableText:
    """Return a table as text in UTF-8 with one line a row; the lines of a spreadsheet are the rows of a sheet.

    Raises `InputError` if it cannot be read, `MissingError` if it is a spreadsheet and the library that reads these is
    not installed.
    """
    if is_spreadsheet(source):
        text, others = _sheet(source)
        return TableText(_with(source, text), not_read("sheet", others))
    data = source.data
    encoding = _encoding(data)
    if encoding is not None:
        try:
            data = data.decode(encoding).removeprefix("\ufeff").encode()
        except UnicodeError as error:
            message = f"not {encoding.upper()}: {error.args[-1]}"
            raise InputError(message, path=source.path, hint="save the table as UTF-8") from None
    if b"\r" in data and b"\n" not in data:
        data = data.replace(b"\r", b"\n")
    return TableText(source if data is source.data else _with(source, data))


def _with(source: Source, data: bytes) -> Source:
    return Source(source.path, data, outside=source.outside)


def _encoding(data: bytes) -> str | None:
    """Return the encoding of a text in UTF-16, with its mark or without; None for another text."""
    head = data[:_LOOKED_AT]
    if head[:2] in _UTF16:
        return _UTF16[head[:2]]
    if len(head) > 3 and len(data) % 2 == 0:
        even, odd = head[::2].count(0), head[1::2].count(0)
        if even + odd > len(head) // 3 and not (even and odd):
            return "utf-16-le" if odd else "utf-16-be"
    return None


def _sheet(source: Source) -> tuple[bytes, list[str]]:
    """Return a sheet as CSV, and the names of the others that have rows.

    A process of its own reads the file: calamine aborts for some damaged ones.
    """
    if find_spec("python_calamine") is None:
        raise MissingError("python-calamine is not installed", hint="install it with pip install 'nginxopt[tables]'")
    from nginxopt.system import process

    _check_size(source)
    try:
        done = process.run([sys.executable, "-P", *_READER], cwd=Path("/"), seconds=_SECONDS, source=source.data)
    except (OSError, RunError) as error:
        raise InputError(f"the spreadsheet cannot be read: {error}", path=source.path) from None
    if done.status in (0, REFUSED):
        if done.status:
            raise InputError(done.last(), path=source.path)
        budget.check("bytes", len(done.output), path=source.path)
        return done.output, json.loads(done.last())
    said = f"what reads it {process.how_it_ended(done.status)}"
    raise InputError(f"not a spreadsheet that can be read: {said}", path=source.path)


def _check_size(source: Source) -> None:
    """Raise `InputError` for a spreadsheet that unpacks to more than the files of a configuration may have."""
    if not source.data.startswith(_ZIP):
        return
    try:
        with zipfile.ZipFile(io.BytesIO(source.data)) as archive:
            budget.check("bytes", sum(member.file_size for member in archive.infolist()), path=source.path)
            is_huge = any(_is_huge(archive.read(part)) for part in archive.namelist())
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
        raise InputError(f"not a spreadsheet that can be read: {error}", path=source.path) from None
    if is_huge:
        raise InputError(f"a sheet takes the memory of more than {_MOST_CELLS:,} cells", path=source.path)


def _is_huge(xml: bytes) -> bool:
    """Return whether a part of a spreadsheet makes calamine allocate too many cells; it aborts if it lacks the memory.

    It allocates the rectangle around all values, and as many strings and spaces as the file claims to have.
    """
    if any(int(count) > max(len(xml), _MOST_SPACES) for count in _COUNT.findall(xml)):
        return True
    rows = columns = 0
    for number, row in enumerate(_ROW.split(xml)[1:], 1):
        cells = _CELL.findall(row)
        if cells:
            named = [_column(letters[:9]) for letters, _ in cells]
            last = max(int(digits or 0) for _, digits in cells)
            stated = _NUMBER.match(row)
            rows = max(rows, number, last, int(stated[1]) if stated else 0)
            columns = max(columns, len(cells), *named)
    return rows * columns > _MOST_CELLS


def _column(letters: bytes) -> int:
    """Return the number of a column, such as 28 for AB."""
    number = 0
    for letter in letters.upper():
        number = 26 * number + letter - ord("A") + 1
    return number
