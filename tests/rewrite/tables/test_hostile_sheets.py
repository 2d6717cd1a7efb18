"""Spreadsheets of strangers: a kilobyte that asks for gigabytes is an error, as calamine would abort the process."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from nginxopt.errors import InputError
from nginxopt.request import sheets
from nginxopt.request.sheets import as_text
from nginxopt.text import Source
from tests.rows import every_row

_MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_RELATIONS = "http://schemas.openxmlformats.org/package/2006/relationships"
_TABLE = "urn:oasis:names:tc:opendocument:xmlns:"


def _zip(**parts: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return file.getvalue()


def _xlsx(rows: str, *, sheet: str = "worksheets/sheet1.xml", strings: str = "") -> bytes:
    def relation(number: int, kind: str, target: str) -> str:
        return f'<Relationship Id="r{number}" Type="{_OFFICE}/{kind}" Target="{target}"/>'

    book = f'<workbook xmlns="{_MAIN}" xmlns:r="{_OFFICE}"><sheets><sheet name="S" sheetId="1" r:id="r1"/></sheets>'
    shared = {"xl/sharedStrings.xml": f'<sst xmlns="{_MAIN}" {strings}><si><t>/c</t></si></sst>'} if strings else {}
    return _zip(
        **{
            "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>',
            "_rels/.rels": f'<Relationships xmlns="{_RELATIONS}">{relation(1, "officeDocument", "xl/workbook.xml")}'
            "</Relationships>",
            "xl/workbook.xml": f"{book}</workbook>",
            "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{_RELATIONS}">{relation(1, "worksheet", sheet)}'
            "</Relationships>",
            f"xl/{sheet}": f'<worksheet xmlns="{_MAIN}"><sheetData>{_FIRST}{rows}</sheetData></worksheet>',
            **shared,
        }
    )


def _cell(place: str) -> str:
    return f'<c r="{place}" t="str"><v>/x</v></c>'


_FIRST = f'<row r="1">{_cell("A1")}{_cell("B1")}</row>'


def _ods(cells: str) -> bytes:
    spaces = " ".join(f'xmlns:{name}="{_TABLE}{name}:1.0"' for name in ("office", "table", "text"))
    table = f'<table:table table:name="S"><table:table-row>{cells}</table:table-row></table:table>'
    body = f"<office:body><office:spreadsheet>{table}</office:spreadsheet></office:body>"
    return _zip(
        mimetype="application/vnd.oasis.opendocument.spreadsheet",
        **{
            "META-INF/manifest.xml": f'<manifest:manifest xmlns:manifest="{_TABLE}manifest:1.0"/>',
            "content.xml": f"<office:document-content {spaces}>{body}</office:document-content>",
        },
    )


def _ods_cell(text: str) -> str:
    return f'<table:table-cell office:value-type="string"><text:p>{text}</text:p></table:table-cell>'


@every_row(
    "data",
    [
        _xlsx('<row r="2"><c r="B2" s="1"/></row>'),
        _xlsx('<row r="1048576"><c r="XFD1048576" s="1"/></row>'),
        _xlsx('<row r="1048576"><c r="XFD1048576" s="1"></c></row>'),
        _xlsx(f'<row r="100000">{_cell("A100000")}</row>'),
        _xlsx(f'<row r="2">{_cell("XFD2")}</row>'),
        _xlsx("", strings='count="4294967295" uniqueCount="1"'),
        _ods(_ods_cell("/x") + _ods_cell('/<text:s text:c="3"/>x')),
    ],
)
def test_sheets_of_people_are_read(data: bytes) -> None:
    """Empty cells with a style anywhere, a value far below or far right, and spaces are no reason to refuse a sheet."""
    assert as_text(Source("table", data)).source.data.startswith(b"/x,/")


@every_row(
    "data",
    [
        _xlsx(f'<row r="1048576">{_cell("XFD1048576")}</row>'),
        _xlsx(f'<row r="1048576">{_cell("XFD1048576")}</row>', sheet="worksheets/sheet1.txt"),
        _xlsx(f"<row r='4294967295'>{_cell('ZZZZZZ0004294967295')}</row>"),
        _xlsx(f'<row r="2">{_cell("A" * 25 + "2")}</row>'),
        _xlsx(f'<row r="2">{_cell("XFD2")}</row><row r="1048576"><c><v>1</v></c></row>'),
        _xlsx(f"<row>{'<c><v>1</v></c>' * 16_384}</row>" + f'<row r="1048576">{_cell("A1048576")}</row>'),
        _xlsx(f'<x:row xmlns:x="{_MAIN}" r="1048576"><x:c r="XFD1048576"><x:v>1</x:v></x:c></x:row>'),
        _xlsx("", strings='uniqueCount="0004294967295"'),
        _ods(_ods_cell('/<text:s text:c="2000000000"/>x') + _ods_cell("/x")),
    ],
)
def test_a_sheet_of_gigabytes_is_an_error(data: bytes) -> None:
    """A value in the last cell, a number of strings or of spaces: calamine takes memory for what is not there."""
    with pytest.raises(InputError, match="takes the memory of more than"):
        as_text(Source("table", data))


def test_addresses_without_an_end_take_no_longer_than_their_bytes() -> None:
    """What looks like the beginning of cells, millions of times, is read once."""
    for rows in ("<c " * 1_000_000, "<row " * 1_000_000, "<row r='2'><c " + ' r="A1"' * 1_000_000):
        with pytest.raises(InputError, match="a spreadsheet that can be read"):
            as_text(Source("table", _xlsx(rows)))


@pytest.mark.parametrize(
    ("does", "said"),
    [
        ("os.abort()", "was ended by SIGABRT"),
        ("bytes(8 * 1024**3)", "too large"),
        ("raise BaseException('panicked')", "ended with status 1"),
        ("raise ValueError('\\x1b[2J a\\nb')", "can be read: \x1b[2J a b"),
    ],
)
def test_what_reads_a_spreadsheet_may_end_as_it_likes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, does: str, said: str
) -> None:
    """Whatever calamine does with a damaged file, this process goes on with an error of that file."""
    (tmp_path / "python_calamine.py").write_text(f"""
import os
class CalamineError(Exception): pass
class CalamineWorkbook:
    def from_filelike(file):
        {does}
""")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with pytest.raises(InputError) as caught:
        as_text(Source("table.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"))
    assert said in caught.value.message


@pytest.mark.parametrize("sector", [b"\xff", b"\0", b"\1", b"\x7f"])
def test_a_damaged_xls_is_an_error(sector: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """The format of Excel before 2007 is a file system of sectors, whose table a stranger writes.

    A lower limit of memory, which counts as that of the system does, is reached sooner.
    """
    limited = "import resource as r, runpy; r.setrlimit(r.RLIMIT_AS, (1 << 29, 1 << 29)); runpy.run_module"
    monkeypatch.setattr(sheets, "_READER", ("-c", f"{limited}({sheets._READER[1]!r}, run_name='__main__')"))
    head = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(16) + b"\x3e\0\3\0\xfe\xff\x09\0\6\0"
    with pytest.raises(InputError, match=r"spreadsheet that can be read|too large"):
        as_text(Source("table.xls", (head + sector * 8_192)[:8_192]))
