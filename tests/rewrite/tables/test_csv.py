"""CSV tables: delimiters, quotes, headers, and what a row says."""

from __future__ import annotations

import pytest

from nginxopt.errors import InputError
from nginxopt.rewrite.tables.detection import kind_of, read
from nginxopt.text import Source
from tests.rows import every_row
from tests.tables import answer, checked, compiled, reasons


@every_row(
    "text",
    [
        b"/a,/b\n/c,/d,302\n",
        b"from,to,status\n/a,/b,\n/c,/d,302\n",
        b"\xef\xbb\xbffrom;to;status\r\n/a;/b\r\n\r\n/c;/d;302\r\n",
        b"Status Code\tOld URL\tnew_url\n\t/a\t/b\n302\t/c\t/d",
        b'"/a","/b"\n "/c" , "/d" , "302" \n',
        b"/a|/b\n /c | /d | 302\n",
        b"source,destination\n/a,/b,\n",
        b'from,to,status\n/a,/b,\n,,\n"", ,\n/c,/d,302\n',
    ],
)
def test_forms(text: bytes) -> None:
    """A byte order mark, quotes, blanks, CRLF, other delimiters, headers in any order and case are read alike."""
    if b"destination" in text:
        assert reasons("csv", text) == []
    else:
        assert answer("csv", text, b"/c") == (302, b"/d")
    assert answer("csv", text, b"/a") == (301, b"/b")


def test_quotes() -> None:
    """A quoted field may hold the delimiter, doubled quotes; a line end in one is no part of an address."""
    table = b'"/a,b"," /x""y,z "\n"/c%0Ad\t",/e\n'
    assert answer("csv", table, b"/a,b") == (301, b"/x%22y,z")
    assert answer("csv", table, b"/c\nd") == (301, b"/e")
    assert reasons("csv", b'/a,"/b\r\nSet-Cookie: x"\n') == [(1, "control-character")]
    assert reasons("csv", b'from,to\n"/a\n",/b\n') == [(2, "control-character")]


@pytest.mark.parametrize(
    ("text", "line", "column", "message"),
    [
        (b'"/c,/d\n', 1, 1, "this quote is not closed"),
        (b"from,to,from\n/a,/b,x\n", 1, 9, "second column from"),
        (b"hello\n", 1, 1, "this is not a row of a table of redirects"),
        (b"/a;/b,/c\n", 1, 1, "two characters may separate the fields"),
    ],
)
def test_unreadable(text: bytes, line: int, column: int, message: str) -> None:
    """What is no table is an error with its place."""
    with pytest.raises(InputError) as raised:
        read(Source("r.csv", text), "csv")
    error = raised.value
    assert error.source is not None
    assert error.span is not None
    position = error.source.position(error.span.start)
    assert (position.line, position.column, error.message) == (line, column, message)


@pytest.mark.parametrize("text", [b"", b"\n \n", b",,\n"])
def test_empty(text: bytes) -> None:
    """A table without a row names what a row is."""
    with pytest.raises(InputError, match="the table is empty") as raised:
        read(Source("r.csv", text), "csv")
    assert "from,to,status" in (raised.value.expected or "")


def test_carriage_returns() -> None:
    """Lines may end as those of an old Mac do."""
    assert answer("csv", b"from,to\r/a,/b\r/c,/d", b"/c") == (301, b"/d")
    assert answer("csv", b"/a,HTTP://H/b\r", b"/a") == (301, b"HTTP://H/b")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_utf16(encoding: str) -> None:
    """A table in UTF-16, with its mark or without, is read; a half of a character is an error."""
    text = "Alte URL\tNeue URL\r\n/a\t/\u00e9\r\n".encode(encoding)
    assert answer("csv", text, b"/a") == (301, b"/%C3%A9")
    with pytest.raises(InputError, match="not UTF-16"):
        read(Source("r.csv", "/a,/b".encode("utf-16") + b"x"), "csv")


def test_other_encodings() -> None:
    """A row in another encoding is rejected, as its letters would be others; the rest is read."""
    text = b"/caf\xe9,/x\n/b,/c\n/d,/\xfc\n"
    assert reasons("csv", text) == [(1, "encoding"), (3, "encoding")]
    assert answer("csv", text, b"/b") == (301, b"/c")


@every_row(
    ("row", "message"),
    [
        (b"http:///x,/y", "'http:///x' has no host"),
        (b"http://h:8/x,/y", "nginx compares host names only: without port, user or letters beyond ASCII"),
        (b"/a,\\x", "the target '\\x' is not a path"),
        (b"x,/y", "'x' is not a path"),
        (b",/y", "the row has no path"),
        (b"/a,", "the row has no target"),
        (b"/a,\xc3\xa9", "the target 'é' is not a path"),
        (
            b"/" + b"a" * 4_093 + b",/b",
            "with variables and escapes, this may be longer than the 4,095 bytes of a parameter",
        ),
        (
            b"/a,/" + b"$" * 80,  # each is written as a variable, whose name may have 40 characters
            "with variables and escapes, this may be longer than the 4,095 bytes of a parameter",
        ),
    ],
)
def test_messages(row: bytes, message: str) -> None:
    """A message names what is wrong, as it is written."""
    (rejected,) = checked("csv", b"/q,/r\n" + row + b"\n").rejected
    assert rejected.message.startswith(message)


def test_hosts() -> None:
    """A final dot of a host does not count; behind the host, arguments are those of its home page."""
    table = b"/q,/r\nhttp://OLD.example./a,/b\nhttp://h?x=1,/c\n"
    compiled("csv", table)
    assert answer("csv", table, b"/a", site=b"http://old.example") == (301, b"/b")
    assert answer("csv", table, b"/", b"x=1", site=b"http://h") == (301, b"/c")


def test_a_long_path() -> None:
    """A path may have nearly the size of a parameter of nginx."""
    path = b"/" + b"a" * 4_080
    assert answer("csv", path + b",/b\n", path) == (301, b"/b")
    compiled("csv", path + b",/b\n")


@every_row(
    ("row", "reason"),
    [
        (b"old,/b", "no-path"),
        (b",/b", "no-path"),
        (b"/a", "fields"),
        (b"/a,/b,301,x", "fields"),
        (b"/a,", "target"),
        (b"/a,b", "target"),
        (b"/a,mailto:x@example.com", "target"),
        (b"/a,https://", "target"),
        (b"/a,//evil.example/x", "protocol-relative"),
        (b"/a,/b%zz", "escape"),
        (b"/a%4,/b", "escape"),
        (b"/a,/b\x01", "control-character"),
        (b"/a,/b\rX: y", "control-character"),
        (b"/a,/b,200", "status"),
        (b"/a,/b,somewhere", "status"),
        (b"/a,410,301", "target"),
        (b'/a,"/b', "quote"),
        (b'/a,"/b"x', "quote"),
        (b"/a,/b,410", "status"),
        (b"/a/*,/b", "wildcard"),
        (b"/a/:id,/b", "placeholder"),
        (b"http://h/a/:id,/b", "placeholder"),
        (b"/a%2Fb,/c", "encoded-slash"),
        (b"/a//b,/c", "unreachable"),
        (b"/a/../b,/c", "unreachable"),
        (b"/a/%2E/b,/c", "unreachable"),
        (b"/a%00,/c", "unreachable"),
        (b"/a#b,/c", "fragment"),
        (b"/a?,/c", "empty-query"),
        (b"http://h:8080/a,/c", "host"),
        (b"http://me@h/a,/c", "host"),
        (b"http://\xc3\xa9.example/a,/c", "host"),
        (b"/" + b"a" * 4100 + b",/c", "too-long"),
        (b"/" + b'"' * 2100 + b",/c", "too-long"),
        (b"/c,/" + b"$" * 200, "too-long"),
        (b"/c,/" + b"a" * 4096, "too-long"),
    ],
)
def test_rejected_rows(row: bytes, reason: str) -> None:
    """A row that nginx cannot answer exactly is rejected, with the code of the reason and its line."""
    assert reasons("csv", b"from,to,status\n/ok,/fine\n" + row + b"\n") == [(3, reason)]


def test_places_of_rejected_rows() -> None:
    """The place of a rejected row is that of the field."""
    table = checked("csv", b"/a,/b\n/c,https://x.example/%zz,301\n")
    (rejected,) = table.rejected
    assert table.table.source.text(rejected.span) == "https://x.example/%zz"


@every_row(
    ("row", "path", "args", "expected"),
    [
        (b"/a,/b", b"/a", b"", (301, b"/b")),
        (b"/a,/b", b"/a", b"x=1", (301, b"/b?x=1")),
        (b"/a,/b?y=2", b"/a", b"x=1", (301, b"/b?y=2&x=1")),
        (b"/a,/b#top", b"/a", b"x=1", (301, b"/b?x=1#top")),
        (b"/a,/b?y#top", b"/a", b"x=1", (301, b"/b?y&x=1#top")),
        (b"/a?x=1,/b", b"/a", b"x=1", (301, b"/b")),
        (b"/a?x=1,/b", b"/a", b"x=2", None),
        (b"/a?x=1,/b", b"/a", b"", None),
        (b"/a,/b", b"/A", b"", None),
        (b"/a,/b", b"/a/", b"", None),
        (b"/%C3%A9,/b", "/é".encode(), b"", (301, b"/b")),
        ("/é,/ü x".encode(), "/é".encode(), b"", (301, b"/%C3%BC%20x")),
        (b"/a%3Fb,/c%3Fd%2Fe", b"/a?b", b"", (301, b"/c%3Fd%2Fe")),
        (b"/a,,410", b"/a", b"", (410, b"")),
        (b"/a,http://[::1]:80/x,308", b"/a", b"", (308, b"http://[::1]:80/x")),
    ],
)
def test_meaning(row: bytes, path: bytes, args: bytes, expected: tuple[int, bytes] | None) -> None:
    """What a row says to a request, which the proof holds the text to."""
    compiled("csv", row)
    assert answer("csv", row, path, args) == expected


def test_sites() -> None:
    """A row with a host answers there only, and before one without; the scheme counts, letters in any case."""
    table = b"http://Old.Example/a,/site\n/a,/any\nhttps://old.example,/root\n"
    assert answer("csv", table, b"/a", site=b"http://old.example") == (301, b"/site")
    assert answer("csv", table, b"/a", site=b"https://old.example") == (301, b"/any")
    assert answer("csv", table, b"/", site=b"https://old.example") == (301, b"/root")
    emission = compiled("csv", table)
    assert b'map "$scheme://$host$uri"' in emission.maps
    assert b"client-scheme" in emission.maps


@every_row(
    ("name", "text", "kind"),
    [
        ("x.csv", b"anything", "csv"),
        ("x.TSV", b"", "csv"),
        ("-", b"/a,/b\n", "csv"),
        ("x", b"# c\n\n/a;/b;302\n", "csv"),
        ("x", b"From,To\n", "csv"),
        ("x", b"/a /b 301!\n", "netlify"),
        ("_redirects", b"/ /en 302 Language=en\n", "netlify"),
        (".htaccess", b"Options -Indexes\n", "apache"),
        ("x.conf", b"# old\nRedirectMatch ^/a$ /b\n", "apache"),
        ("x.conf", b"<IfModule mod_alias.c>\n", "apache"),
        ("map.rows", b"/a /b;\n", None),
        ("map.rows", b"/a /b; # ticket 1\n", None),
        ("x.conf", b"rewrite ^/a$ /b permanent;\n", None),
        ("nginx.conf", b"http {\n}\n", None),
        ("x", b"/a\n", None),
        ("x", b"", None),
    ],
)
def test_kinds(name: str, text: bytes, kind: str | None) -> None:
    """The kind of a table is seen from its name and content; rules and rows of maps are no tables."""
    assert kind_of(Source(name, text)) == kind


def test_an_unknown_platform() -> None:
    """A list that both platforms read, each in its own way, is an error that names the option."""
    with pytest.raises(InputError, match="Netlify and Cloudflare") as raised:
        kind_of(Source("_redirects", b"/a /b 301\n"))
    assert raised.value.hint == "use --from netlify or --from cloudflare"
