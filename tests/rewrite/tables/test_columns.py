"""Tables as people have them: names of columns in several languages or none, further columns, statuses in words."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from xml.sax.saxutils import escape

import pytest

from nginxopt.budget import ExceededError, using
from nginxopt.errors import InputError
from nginxopt.request import read_url
from nginxopt.request.columns import status_of
from nginxopt.request.table import read_table
from nginxopt.rewrite.tables.detection import kind_of, read
from nginxopt.text import Source
from tests.rows import every_row
from tests.tables import answer, checked, reasons

HEADERS = [
    "From,To,Status",
    "Alte URL,Neue URL,Statuscode",
    "Quelle,Ziel,Typ",
    "ancienne_url,nouvelle_url,code HTTP",
    "URL antigua,URL nueva,Código",
    "Vecchio URL,Nuovo URL,Stato",
    "Oude URL,Nieuwe URL,Type",
    "Откуда,Куда,Код ответа",
    "転送元,転送先,ステータスコード",
    "旧网址,新网址,状态码",
    "Old URL (relative),New URL (full):,HTTP-Status",
    "vanha,uusi,koodi",
]


@every_row("delimiter", [",", ";", "\t", "|"])
@every_row("header", [*HEADERS, ""])
def test_names_of_columns(header: str, delimiter: str) -> None:
    """Columns have names of several languages, names that nobody knows, or none; with every delimiter."""
    text = "\n".join(filter(None, [header, "/a,/b,", "/c,/d,302", "/e,,410"])).replace(",", delimiter).encode()
    assert reasons("csv", text) == []
    assert [answer("csv", text, path) for path in (b"/a", b"/c", b"/e")] == [(301, b"/b"), (302, b"/d"), (410, b"")]
    rows = read_table(Source("t.csv", text), read_url("http://h")).rows
    assert [(row.request.url.target, row.to, row.status) for row in rows][1:] == [(b"/c", "/d", 302), (b"/e", "", 410)]


def test_columns_in_another_order() -> None:
    """A header may name the columns in any order, with others between, and behind a title."""
    text = b"Redirects of 2024;;;;\nid;Neu;Notiz;Alt;Code\n1;/b;moved by me;/a;307\n"
    assert answer("csv", text, b"/a") == (307, b"/b")
    assert checked("csv", text).table.notes == ("not read: the columns id, Notiz",)


@every_row(
    "header",
    [
        "Zielseite;Quellseite",
        "Nouveau lien;Ancien lien",
        "Page de destination;Page d'origine",
        "Zu;?",
        "?;Von",
        "X;Alt-URL",
    ],
)
def test_words_of_longer_names(header: str) -> None:
    """A word in a longer name shows its column, so that no table is read the wrong way round; one is enough."""
    text = f"{header}\n/new;/old\n".encode()
    assert answer("csv", text, b"/old") == (301, b"/new")
    assert answer("csv", text, b"/new") is None


@pytest.mark.parametrize(
    "header", ["Old text;New text;from;to", "from;to;new one;the old;old code", "old;new or old;x;Ziel"]
)
def test_names_go_before_words(header: str) -> None:
    """A word counts only where no name is known, in one name alone, and not beside a word of the other column."""
    names = [name.strip() for name in header.split(";")]
    row = ["/x", "/y", "/z", "/w", "v"][: len(names)]
    text = f"{header}\n{';'.join(row)}\n".encode()
    origin = row[names.index("from") if "from" in names else 0]
    assert answer("csv", text, origin.encode()) == (301, row[names.index("to") if "to" in names else 3].encode())
    assert answer("csv", b"/a;the old page;/b;the new page\n", b"/a") == (301, b"/b")


def test_exports() -> None:
    """Exports of plug-ins have a second status, which says whether a row is in force, and mark patterns."""
    redirection = (
        b"source,target,regex,code,type,hits,title,status\n/a,/b,0,302,url,7,,active\n/c,/d,1,301,url,0,,active\n"
    )
    assert answer("csv", redirection, b"/a") == (302, b"/b")
    assert reasons("csv", redirection) == [(3, "pattern")]
    rank_math = (
        b"id,source,matching,destination,type,category,status\n1,/a,exact,/b,307,,active\n2,/c,exact,/d,301,,inactive\n"
    )
    assert answer("csv", rank_math, b"/a") == (307, b"/b")
    assert answer("csv", rank_math, b"/c") is None
    assert "not in force by their status: 1 row" in checked("csv", rank_math).table.notes
    yoast = b"Origin,Target,Type,Format\n/a,/b,301,plain\n/old/(.*),/new/$1,301,regex\n"
    assert reasons("csv", yoast) == [(3, "pattern")]


@every_row(
    ("text", "expected"),
    [
        (b"17;/a;/b;301;x\n18;/c;/d;302;y\n", (302, b"/d")),
        (b"/a,/b,note,\n/c,/d,other,302\n", (302, b"/d")),
        (b"/a,/b,1,permanent\n/c,/d,2,temporary\n", (302, b"/d")),
        (b'# a comment, with "quotes\n/a,/b\n   # another\n/c,/d,302\n', (302, b"/d")),
        (b"sep=;\r\n/a;/b\r\n/c;/d;302\r\n", (302, b"/d")),
        (b"https://h.example/x,https://h.example/y\n/c,/d,302 Found\n", (302, b"/d")),
    ],
)
def test_without_names(text: bytes, expected: tuple[int, bytes]) -> None:
    """What is an address and what a status shows the columns of a table that does not name them."""
    assert answer("csv", text, b"/c") == expected
    assert reasons("csv", text) == []


STATUSES = [
    ("301", 301), ("301 Moved Permanently", 301), ("301 - Moved", 301), ("HTTP/1.1 302 Found", 302), ("301!", 301),
    ("HTTP 308", 308), ("Permanent", 301), ("temp", 302), ("See Other", 303), ("gone", 410), ("301.0", 301),
    ("410: gone", 410), ("", None), ("3011", None), ("yes", None), ("301x", None), ("99", None), ("/301", None),
]  # fmt: skip


@every_row(("text", "status"), STATUSES)
def test_statuses(text: str, status: int | None) -> None:
    """A status is a code, perhaps with its words, or the words."""
    assert status_of(text) == status


@pytest.mark.parametrize("row", ["/a,410", "/a,410,410", "/a,410 Gone,", "/a,gone,gone", "/a,,410"])
def test_a_status_in_place_of_a_target(row: str) -> None:
    """A path that is gone may have 410 where others have a target."""
    assert answer("csv", f"/q,/r,302\n{row}\n".encode(), b"/a") == (410, b"")


def test_a_bad_row_does_not_lose_the_rest() -> None:
    """What is wrong with a row, its quotes or its encoding too, leaves the others as they are, on their lines."""
    text = b'from,to\n/a,/b\n"/c,/d\n/e,"/f"x\n/g\xff,/h\n/i,/j,,,,k\n/l,/m\n'
    assert reasons("csv", text) == [(3, "quote"), (4, "quote"), (5, "encoding"), (6, "fields")]
    assert [answer("csv", text, path) for path in (b"/a", b"/l")] == [(301, b"/b"), (301, b"/m")]
    table = read_table(Source("t.csv", text), read_url("http://h"))
    assert [row.line for row in table.rows] == [2, 5, 7]
    assert [error.render().partition("\n")[0] for error in table.broken] == [
        "t.csv:3:1: text after a closing quote",
        "t.csv:4:8: text after a closing quote",
        "t.csv:6:1: 6 fields",
    ]


ROWS: list[list[object]] = [
    ["Old URL", "New URL", "Status"],
    ["/a", "/b", 301],
    ["", "", ""],
    ["/c\nx", "/d", 302.0],
    ["/e", 410, None],
]


def xlsx(rows: Sequence[Sequence[object]], *, before: Sequence[Sequence[object]] = ()) -> bytes:
    """A workbook of two sheets with rows; the first is empty by default."""

    def cell(value: object) -> str:
        if isinstance(value, int | float):
            return f"<c><v>{value}</v></c>"
        return f'<c t="inlineStr"><is><t xml:space="preserve">{escape(str(value or ""))}</t></is></c>'

    ns = "http://schemas.openxmlformats.org"
    main, relations = f"{ns}/spreadsheetml/2006/main", f"{ns}/officeDocument/2006/relationships"
    lines, first = ("".join(f"<row>{''.join(map(cell, row))}</row>" for row in each) for each in (rows, before))
    names = ("first", "redirects")
    sheets = "".join(f'<sheet name="{name}" sheetId="{at}" r:id="r{at}"/>' for at, name in enumerate(names, 1))
    related = "".join(
        f'<Relationship Id="r{at}" Type="{relations}/worksheet" Target="worksheets/s{at}.xml"/>' for at in (1, 2)
    )
    package = f"{ns}/package/2006"
    files = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types"><Default Extension="xml" '
        'ContentType="application/xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r" '
        f'Type="{relations}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{relations}"><sheets>{sheets}</sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}/relationships">{related}</Relationships>',
        "xl/worksheets/s1.xml": f'<worksheet xmlns="{main}"><sheetData>{first}</sheetData></worksheet>',
        "xl/worksheets/s2.xml": f'<worksheet xmlns="{main}"><sheetData>{lines}</sheetData></worksheet>',
    }
    return packed(files)


def ods(rows: Sequence[Sequence[object]]) -> bytes:
    """A document of LibreOffice with rows."""

    def cell(value: object) -> str:
        if isinstance(value, int | float):
            return f'<table:table-cell office:value-type="float" office:value="{value}"/>'
        text = f"<text:p>{escape(str(value))}</text:p>" if value else ""
        return f'<table:table-cell office:value-type="string">{text}</table:table-cell>'

    ns = "urn:oasis:names:tc:opendocument:xmlns"
    lines = "".join(f"<table:table-row>{''.join(map(cell, row))}</table:table-row>" for row in rows)
    content = (
        f'<office:document-content xmlns:office="{ns}:office:1.0" xmlns:table="{ns}:table:1.0" '
        f'xmlns:text="{ns}:text:1.0"><office:body><office:spreadsheet><table:table table:name="s">{lines}'
        "</table:table></office:spreadsheet></office:body></office:document-content>"
    )
    kind = "application/vnd.oasis.opendocument.spreadsheet"
    manifest = (
        f'<manifest:manifest xmlns:manifest="{ns}:manifest:1.0"><manifest:file-entry manifest:full-path="/" '
        f'manifest:media-type="{kind}"/></manifest:manifest>'
    )
    return packed({"mimetype": kind, "content.xml": content, "META-INF/manifest.xml": manifest})


def packed(files: dict[str, str]) -> bytes:
    """A ZIP archive."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return data.getvalue()


@pytest.mark.parametrize(("name", "make"), [("r.xlsx", xlsx), ("r.ods", ods), ("-", xlsx)])
def test_spreadsheets(name: str, make: object) -> None:
    """A sheet with rows is the table; its rows have their numbers as lines, and numbers are codes."""
    assert callable(make)
    source = Source(name, make(ROWS))
    assert kind_of(source) == "csv" or name == "-"
    table = read(source, "csv")
    assert [(table.line(row.start), row.paths[0], row.target, row.status) for row in table.rows] == [
        (2, b"/a", b"/b", 301), (4, b"/c x", b"/d", 302), (5, b"/e", b"", 410),
    ]  # fmt: skip


def test_several_sheets() -> None:
    """The first sheet with redirects is the table, or else the first with rows; the others are named."""
    for before, note, path in (
        ([["Ask Bob"], ["https://wiki.example"]], "not read: the sheet first", b"/a"),
        ([["/x", "/y"]], "not read: the sheet redirects", b"/x"),
    ):
        data = xlsx(ROWS, before=before)
        table = read(Source("r.xlsx", data), "csv")
        assert (table.notes, table.rows[0].paths) == ((note,), (path,))
        assert read_table(Source("r.xlsx", data), read_url("http://h")).notes == (note,)
    with pytest.raises(InputError, match="not a row") as error:
        read(Source("r.xlsx", xlsx([["x", "y"]], before=[["Ask", "Bob"]])), "csv")
    assert "Ask,Bob" in error.value.render()


def test_what_is_no_spreadsheet() -> None:
    """A damaged file, an empty one, and one that unpacks to too much are errors that name it."""
    good = xlsx(ROWS)
    with pytest.raises(InputError, match="not a spreadsheet that can be read"):
        read(Source("r.xlsx", good[:100]), "csv")
    with pytest.raises(InputError, match="not a spreadsheet that can be read"):
        read(Source("r.xlsx", packed({"a.txt": "x"})), "csv")
    with pytest.raises(InputError, match="the table is empty"):
        read(Source("r.xlsx", xlsx([])), "csv")
    from nginxopt.budget import limits

    with using({**limits(), "bytes": 1_000}), pytest.raises(ExceededError):
        read(Source("r.xlsx", good), "csv")
