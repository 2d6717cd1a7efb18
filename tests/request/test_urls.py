"""URLs and requests as curl reads them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nginxopt.request import UrlError, from_curl, read_request, read_url
from tests.rows import every_row

# The URL, the header Host, the port, the target: as curl 7.88.1 sends them with --path-as-is.
SENT = [
    ("http://h", "h", 80, "/"),
    ("http://Shop.Example/old?x=1#f", "Shop.Example", 80, "/old?x=1"),
    ("HTTP://h/x", "h", 80, "/x"),
    ("https://h/x", "h", 443, "/x"),
    ("http://h:80/x", "h", 80, "/x"),
    ("http://h:/x", "h", 80, "/x"),
    ("https://h:80/x", "h:80", 80, "/x"),
    ("http://h:8080/x", "h:8080", 8080, "/x"),
    ("http://h?x", "h", 80, "/?x"),
    ("http://h#f", "h", 80, "/"),
    ("http://h/?q?r#x#y", "h", 80, "/?q?r"),
    ("http://h/a//b/../c", "h", 80, "/a//b/../c"),
    ("http://h/%zz", "h", 80, "/%zz"),
    ("http://h//x", "h", 80, "//x"),
    ('http://h/<>"^`{|}', "h", 80, '/<>"^`{|}'),
    ("http://h/\u00e4", "h", 80, "/%C3%A4"),
    ("http://h/\udcff", "h", 80, "/%FF"),
    ("http://h_x./", "h_x.", 80, "/"),
    ("http://[::1]:81/x", "[::1]:81", 81, "/x"),
    ("http://m\u00fcller.de/", "xn--mller-kva.de", 80, "/"),
    ("http://u:p%20@h/x", "h", 80, "/x"),
]


@every_row(("text", "host", "port", "target"), SENT)
def test_a_url_is_read_as_curl_reads_it(text: str, host: str, port: int, target: str) -> None:
    """A URL has the host, port and target that curl sends."""
    url = read_url(text)
    assert (url.authority, url.port, url.target.decode()) == (host, port, target)


@pytest.mark.parametrize(
    ("target", "text"),
    [
        ("/a?b", "http://h/a?b"),
        ("http://evil/", "http://evil/ sent to http://h"),
        ("*", "* sent to http://h"),
        ("evil:443", "evil:443 sent to http://h"),
    ],
)
def test_a_target_that_is_no_path_is_not_glued_to_the_site(target: str, text: str) -> None:
    """A target in absolute form, `*` and an authority are shown beside the site that they are sent to."""
    assert str(replace(read_url("http://h/"), target=target.encode())) == text


def test_other_bytes_than_ascii_stay_in_arguments() -> None:
    """Arguments are sent as the bytes that are written."""
    assert read_url("http://h/?a=\u00e4").target == "/?a=\u00e4".encode()


WRONG = [
    ("", 1, "a URL begins with http:// or https://"),
    ("h/x", 1, "a URL begins with http:// or https://"),
    ("/x", 1, "a URL begins with http:// or https://"),
    ("ftp://h/", 3, "a URL begins with http:// or https://"),
    ("http://", 8, "the host is missing"),
    ("http:///x", 8, "the host is missing"),
    ("http://:80/x", 8, "the host is missing"),
    ("http://h x/", 9, "a space in the host"),
    ("http://h\\b", 9, '"\\" in the host'),
    ("http://*.h/", 8, '"*" in the host'),
    ("http://h:x/", 10, "the port is not a number from 1 to 65535"),
    ("http://h:99999/", 10, "the port is not a number from 1 to 65535"),
    (f"http://h:{'9' * 5_000}/", 10, "the port is not a number from 1 to 65535"),
    ("http://h:\u0661/", 10, "the port is not a number from 1 to 65535"),
    ("http://h:0/", 10, "the port is not a number from 1 to 65535"),
    ("http://[::1/x", 8, "the bracket of the address is not closed"),
    ("http://[::1]x/", 13, "the port is not a number from 1 to 65535"),
    ("http://[::g]/", 9, "not an IPv6 address"),
    ("http://h/a b", 11, "a space in the URL"),
    ("http://h/a\tb", 11, "the control character 9 in the URL"),
    ("http://u x@h/", 9, "a space in the URL"),
]


@every_row(("text", "column", "message"), WRONG)
def test_what_is_no_url_is_refused_with_its_column(text: str, column: int, message: str) -> None:
    """An error says what is wrong, and where."""
    with pytest.raises(UrlError) as caught:
        read_url(text)
    assert (caught.value.column, caught.value.message) == (column, message)


def test_a_path_is_one_of_its_base() -> None:
    """A path is requested from the site of a base, if there is one."""
    base = read_url("https://shop.example:8443/ignored")
    assert str(read_url("/old?x", base)) == "https://shop.example:8443/old?x"
    assert str(read_url("http://h/", base)) == "http://h/"
    assert str(read_url("//x/y", base)) == "https://shop.example:8443//x/y"
    assert str(read_url("/a b?c d", base, spaces=True)) == "https://shop.example:8443/a%20b?c%20d"
    with pytest.raises(UrlError, match="a path with /"):
        read_url("old", base)


def test_a_request_is_that_of_curl() -> None:
    """The headers are those of curl, which -H adds, replaces and removes."""
    request = from_curl(
        read_url("http://u:p@h/x"), headers=["X-A: 1", "X-B;", "Host: z", "Accept:", "X-None:", "X-A:  2 "]
    )
    assert request.headers == (
        (b"Host", b"z"),
        (b"Authorization", b"Basic dTpw"),
        (b"User-Agent", b"curl/8.5.0"),
        (b"X-A", b"1"),
        (b"X-B", b""),
        (b"X-A", b"2"),
    )


@pytest.mark.parametrize("header", ["X", "X Y: 1", "X: a\nb", "X; 1", ": 1"])
def test_what_is_no_header_is_refused(header: str) -> None:
    """A text for -H that is no header is an error."""
    with pytest.raises(UrlError, match="a header is"):
        from_curl(read_url("http://h/"), headers=[header])


def test_a_method_stands_before_the_url() -> None:
    """`METHOD URL` is a request with this method; columns count from its beginning."""
    request = read_request("POST  http://h/x")
    assert (request.method, str(request)) == (b"POST", "POST http://h/x")
    assert str(read_request("http://h/x")) == "http://h/x"
    with pytest.raises(UrlError) as caught:
        read_request("POST http://h:x/")
    assert caught.value.column == 15
