"""Tables of expectations, and the comparison of a `Location` with an expected one."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nginxopt._native import plain_rows
from nginxopt.errors import InputError
from nginxopt.request import read_url
from nginxopt.request.columns import columns_of
from nginxopt.request.locations import leads_to, normal
from nginxopt.request.table import ExpectedRow, ExpectedTable, read_table
from nginxopt.text import Source
from tests.rows import every_row

BASE = read_url("https://shop.example")


def read_all(text: str, *, follow: bool = False, base: bool = True) -> ExpectedTable:
    """A table."""
    return read_table(Source("t.csv", text.encode("utf-8", "surrogateescape")), BASE if base else None, follow=follow)


def read(text: str, *, follow: bool = False, base: bool = True) -> list[ExpectedRow]:
    """The rows of a table, none of which is broken."""
    table = read_all(text, follow=follow, base=base)
    assert table.broken == ()
    return list(table.rows)


def listed(rows: list[ExpectedRow]) -> list[tuple[int, str, str, int | str | None]]:
    """Rows as plain values."""
    return [(row.line, str(row.request), row.to, row.status) for row in rows]


def test_a_table_of_csv() -> None:
    """Rows have a URL or a path, a target, and a code or kind; lines are those of the file."""
    text = '/a,/b,301\n\nhttp://h/x?y,https://h/x,\n/c,,404\n/d,http://app:81/d,proxy\n/e,,static\n"/f,g",/h,308\r\n/i,/j\n'
    assert listed(read(text)) == [
        (1, "https://shop.example/a", "/b", 301),
        (3, "http://h/x?y", "https://h/x", None),
        (4, "https://shop.example/c", "", 404),
        (5, "https://shop.example/d", "http://app:81/d", "proxy"),
        (6, "https://shop.example/e", "", "static"),
        (7, "https://shop.example/f,g", "/h", 308),
        (8, "https://shop.example/i", "/j", None),
    ]


def test_spaces() -> None:
    """A space in a path is percent-encoded, as `rewrite-to-map` does for the same table."""
    expected = [(1, "https://shop.example/sp%20ace", "/x%20y", 301)]
    assert listed(read("/sp ace,/x y,301\n")) == expected
    assert listed(read('{"from": "/sp ace", "to": "/x y", "status": 301}\n')) == expected


def test_a_header_names_the_columns() -> None:
    """The columns of a table with a header may stand in any order."""
    assert listed(read("\ufeffStatus;Old URL;New URL\n301;/a;/b\n")) == [(2, "https://shop.example/a", "/b", 301)]


def test_a_table_of_json_lines() -> None:
    """A row may have a method and headers."""
    rows = read(
        '{"from": "/a", "to": "/b", "status": 301}\n\n'
        '{"from": "/c", "status": "static", "method": "POST", "headers": {"X-A": "1", "X-B": ""}}\n'
    )
    assert listed(rows) == [
        (1, "https://shop.example/a", "/b", 301),
        (3, "POST https://shop.example/c", "", "static"),
    ]
    assert rows[1].request.headers[3:] == ((b"X-A", b"1"), (b"X-B", b""))


WRONG = [
    ("/a,/b,301\n/c,/d,30x\n", "2:7", "the status is neither a code nor one of static, proxy,"),
    ("/a,/b,301\nc,/d,301\n", "2:1", "a URL begins with http:// or https://, a path with /"),
    ("/a,/b,301\n/c\x01d,/d,301\n", "2:3", "the control character 1 in the URL"),
    ("/a,/b,301\nhttp://c d/,/d,301\n", "2:9", "a space in the host"),
    ("/a,/b,301\n/\u00e4,d,301\n", "2:4", "neither a path nor an address"),
    ("/a,/b,301\n/c,/d\x01e,301\n", "2:4", "neither a path nor an address"),
    ("/a,/b,301\n/c\n", "2:1", "the row expects nothing"),
    ("/a,/b,301\n/c,,\n", "2:1", "the row expects nothing"),
    ("/a,/b,301\n,/b,301\n", "2:1", "from is empty"),
    ("/a,/b,301\n/c,/d,301,x\n", "2:1", "4 fields"),
    ("/a,/b,301\n/c,/d,200\n", "2:4", "a response with status 200 has no target"),
    ("/a,/b,301\n/c,/d,static\n", "2:4", "the kind static has no target"),
    ('/a,/b,301\n"/c,/d\n', "2:1", "this quote is not closed"),
    ('{"from": "/a", "to": "/b"}\n{"from": "/a", \n', "2:16", "invalid JSON: Expecting property name"),
    ('{"from": "/a"}\n', "1:1", "the row expects nothing"),
    ('{"from": "/a", "to": "/b"}\n{"from": "http://h:x/", "to": "/b"}', "2:20", "the port is not a number"),
    ('{"from": "/a", "to": "/b", "when": 1}\n', "1:29", 'unknown key "when"'),
    ('{"from": "/a", "to": 1}\n', "1:1", "to and method are strings"),
    ('{"from": "/a", "to": "/b", "headers": {"X": 1}}\n', "1:1", "to and method are strings"),
    ('{"from": "/a", "to": "/b"}\n["/a"]\n', "2:1", "not an object with a string from"),
    ('{"from": "/a", "to": "/b"}\n{"from": ' + "[" * 100_000, "2:1", "invalid JSON: Nested too deeply"),
    ('{"from": "/a", "status": ' + "3" * 5_000 + "}", "1:1", "invalid JSON: Integer with too many digits"),
    ('{"from": "\udcff"}\n', "1:11", "invalid JSON: not UTF-8"),
    ('{"from": "/a", "to": "/b", "headers": {"X Y": "1"}}\n', "1:11", 'a header is "Name: value"'),
]  # fmt: skip


@every_row(("text", "place", "message"), WRONG)
def test_a_broken_row_is_an_error_with_its_place(text: str, place: str, message: str) -> None:
    """An error has the line and column of what is wrong with a row, which does not lose the others."""
    if place.startswith("1:"):
        with pytest.raises(InputError) as caught:
            read_all(text)
        error = caught.value
    else:
        table = read_all(text)
        assert [row.line for row in table.rows] == [1]
        (error,) = table.broken
    assert error.render().startswith(f"t.csv:{place}: {message}")
    assert error.exit_code == 3


ODD = st.sampled_from(
    [
        *(
            "/a",
            "/b?c",
            "http://h",
            "https://H:81",
            "HTTP://u:p@h",
            "ftp://h",
            "/ä",
            "?ä",
            "#",
            " ",
            "\t",
            "\r",
            '"',
            '""',
        ),
        *(
            ",",
            ",",
            ",",
            ";",
            "\n",
            "\n",
            "\n",
            "\r\n",
            "301",
            "404",
            " 410 ",
            "301 moved",
            "static",
            "proxy",
            "gone",
            "x",
        ),
        *("\ufeff", "\x00", "\x7f", "\udcff", "yes", "no", "GET ", "%20", "'", "\\", "mailto:", "\u00a0", "\u3000"),
    ]
)
HEADS = ["", "from,to,status\n", "from;to;status\n", "from\tto\tstatus\n", "status,from,note,to,type,regex\n"]


@settings(max_examples=300, derandomize=True, deadline=None)
@given(
    st.sampled_from(HEADS),
    st.lists(st.sampled_from(["/a,/b,301\n", "/c,,404\n", "http://h/x?y,/d\n", '"/e","/f",302\n']) | ODD, max_size=25),
    st.booleans(),
    st.booleans(),
)
def test_the_readers_of_plain_and_of_other_rows_agree(head: str, parts: list[str], follow: bool, base: bool) -> None:
    """A table has the same rows, errors and notes if no row is taken for plain."""

    def outcome() -> object:
        try:
            table = read_all(
                head + "/0,/1,301\n".replace(",", head[4:5] or ",") + "".join(parts), follow=follow, base=base
            )
        except InputError as error:
            return error.render()
        return table.rows, [error.render() for error in table.broken], table.notes

    of_both = outcome()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("nginxopt.request.table.plain_rows", lambda _, at, *__: ([], *at))
        assert outcome() == of_both


def test_plain_rows_are_read_by_the_native_core() -> None:
    """The usual rows are plain: blank lines, comments, quotes, any order of the columns."""
    text = 'Status;Old URL;New URL\n301;/a;/b\n\n# no\n;"http://h/c;d" ; https://h/e\r\n404;/f;\n'
    rows, start, line = plain_rows(text.encode(), (23, 2), ord(";"), (1, 2, 0), [], 3)
    assert rows == [
        (23, 2, "", b"/a", "/b", "301"),
        (39, 5, "http://h", b"/c;d", "https://h/e", ""),
        (70, 6, "", b"/f", "", "404"),
    ]
    assert (start, line) == (len(text), 7)


def test_an_empty_table() -> None:
    """A table without rows is an error."""
    with pytest.raises(InputError, match="the table has no rows"):
        read("from,to,status\n")
    with pytest.raises(InputError, match="the table is empty"):
        read("")


def test_a_path_needs_a_base() -> None:
    """A path without a site is an error, with what to do."""
    with pytest.raises(InputError) as caught:
        read("/a,/b,301\n", base=False)
    assert caught.value.hint == "name the site of the paths with --base URL"


def test_a_followed_target_goes_with_any_status() -> None:
    """If redirects are followed, a status may be that of the end."""
    assert listed(read("/a,/b,200\n", follow=True)) == [(1, "https://shop.example/a", "/b", 200)]


def test_many_rows() -> None:
    """A row of a long table has its line."""
    rows = read("".join(json.dumps({"from": f"/{number}", "status": 404}) + "\n" for number in range(1000)))
    assert [row.line for row in rows] == list(range(1, 1001))


EQUAL = [
    ("https://shop.example/b", "/b", True),
    ("http://SHOP.example:8080/b", "/b", True),
    ("https://other.example/b", "/b", False),
    ("https://shop.example/b?x", "/b", False),
    ("https://shop.example/b", "/b#top", False),
    ("https://shop.example/b#top", "/b#top", True),
    ("/b", "/b", True),
    ("/b", "https://shop.example/b", True),
    ("/b", "http://shop.example/b", False),
    ("//other.example/b", "https://other.example/b", True),
    ("//other.example/b", "//other.example/b", True),
    ("//other.example/b", "/b", False),
    ("https://Other.Example:443", "https://other.example/", True),
    ("http://other.example:443/", "http://other.example/", False),
    ("https://h?x", "https://h/?x", True),
    ("https://h/%7ea%2fb", "https://h/~a%2Fb", True),
    ("https://h/%2fb", "https://h//b", False),
    ("https://h/\u00e4", "https://h/%C3%A4", True),
    ("https://h/\udcff", "https://h/%ff", True),
    ("https://h/a", "https://h/A", False),
    ("mailto:a@b.example", "mailto:a@b.example", True),
    ("", "/a", False),
]


@every_row(("location", "expected", "equal"), EQUAL)
def test_a_location_leads_to_what_is_expected(location: str, expected: str, equal: bool) -> None:
    """Addresses are equal if clients ask for the same; an expected path is on the host of the request."""
    assert leads_to(location, expected, read_url("https://shop.example/a")) is equal


def test_the_normal_form() -> None:
    """The form of an address in which equal ones are the same."""
    assert normal("HTTP://Shop.Example:80?a=%7e%c3") == "http://shop.example/?a=~%C3"


def test_many_columns_that_are_not_read() -> None:
    """The note names some of them, and is short."""
    header = ",".join(f"{'x' * 100}{number}" for number in range(10_000))
    table = columns_of(Source("a.csv", f"from,to,{header}\n/a,/b\n".encode()))
    (note,) = table.notes
    assert note.startswith("not read: the columns ")
    assert note.endswith(" and 9,990 more")
    assert len(note) < 500
