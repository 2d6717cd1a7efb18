"""Tables of redirects on a real nginx: each row is served as written, and nothing else is."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import example, given, settings

from nginxopt.rewrite.tables import CheckedTable, emit, prove
from nginxopt.rewrite.tables.questions import ask
from nginxopt.rewrite.tables.table import TableKind
from nginxopt.system.http import RequestBytes
from nginxopt.system.nginx import Binary, Instance
from tests.tables import SAMPLES, apache_lists, checked, compiled, csv_tables, lists

pytestmark = [pytest.mark.nginx, pytest.mark.extended]

HOST = b"Host: nxo.test\r\n\r\n"


def assert_answered(table: CheckedTable, binary: Binary) -> int:
    """Ask nginx, proof first; return the number of requests."""
    emission = emit(table)
    proof = prove(emission)
    assert proof.holds, proof.refutation
    verdict = ask(emission, binary)
    assert [str(mismatch) for mismatch in verdict.mismatches] == []
    return verdict.requests


@pytest.mark.parametrize("kind", SAMPLES)
def test_samples(kind: TableKind, a_binary: Binary) -> None:
    """A table of each kind is answered as it says, by keys, patterns and what is nearly one of them."""
    emission = compiled(kind, SAMPLES[kind])
    assert assert_answered(emission.checked, a_binary) > 50


@pytest.mark.parametrize(
    "table",
    [
        b"RedirectMatch 301 ^(.*)$ http://x$1\n",
        b"RedirectMatch 301 ^/(a.*)$ http://x/$1\nRedirectMatch 302 (?i)/n([[:alpha:]]+)-(\\d+)$ /m/$2/$1/$3\n",
        b"RedirectMatch 308 /old(er)?/ /new\n",
    ],
)
def test_patterns_alone(table: bytes, each_binary: Binary) -> None:
    """Of regular expressions, too, nginx is asked for what they match, and near misses."""
    assert assert_answered(checked("apache", table), each_binary) > 3


@settings(max_examples=40)
@given(csv_tables())
def test_random_csv(each_binary: Binary, text: bytes) -> None:
    """A random CSV table, without its rejected rows, is answered as it says."""
    assert_answered(checked("csv", text), each_binary)


@settings(max_examples=30)
@given(lists())
def test_random_lists(each_binary: Binary, text: bytes) -> None:
    """A random _redirects list is answered as either platform reads it."""
    assert_answered(checked("netlify", text), each_binary)
    assert_answered(checked("cloudflare", text), each_binary)


@settings(max_examples=30)
@example(b'Redirect gone "/b/{"\nRedirect 301 "/b" /y?q')
@given(apache_lists())
def test_random_apache(each_binary: Binary, text: bytes) -> None:
    """Random redirects of Apache are answered as they say."""
    assert_answered(checked("apache", text), each_binary)


def answers(binary: Binary, emission_of: tuple[TableKind, bytes], server: bytes, targets: list[bytes]) -> list[bytes]:
    """Return the header of each response of a server that includes a table."""
    emission = compiled(*emission_of)
    files = {
        "http.conf": emission.http,
        "server.conf": emission.server,
        "html/index.html": b"index",
        "html/e.html": b"error page",
        "html/dir/index.html": b"dir",
    }
    instance = Instance(binary, servers=[b"include server.conf;\n" + server], http=b"include http.conf;", files=files)
    with instance, instance.client() as client:
        return client.ask([RequestBytes(b"GET %s HTTP/1.1\r\n%s" % (target, HOST)) for target in targets])


def test_only_what_clients_ask_for_is_answered(each_binary: Binary) -> None:
    """A row for an index or an error page does not answer what nginx goes on to by itself."""
    table = b"/index.html,/\n/e.html,/errors\n/dir/index.html,/dir/\n"
    server = b"error_page 404 /e.html;"
    responses = answers(each_binary, ("csv", table), server, [b"/", b"/dir/", b"/nothing", b"/index.html", b"/e.html"])
    assert [received[9:12] for received in responses] == [b"200", b"200", b"404", b"301", b"301"]
    bodies = (b"index", b"dir", b"error page")
    assert all(received.endswith(body) for received, body in zip(responses, bodies, strict=False))


def test_patterns_answer_only_what_clients_ask_for(each_binary: Binary) -> None:
    """A pattern for all pages ending in .html leaves the index of a directory alone, with captures and without."""
    for row in (rb"RedirectMatch 301 ^/(.*)\.html$ /$1", rb"RedirectMatch 308 \.html$ /elsewhere"):
        responses = answers(each_binary, ("apache", row), b"", [b"/", b"/index.html"])
        assert [received[9:12] for received in responses] == [b"200", row.split()[1]]


@pytest.mark.parametrize("rest", [b"%0d%0aSet-Cookie:%20a=b", b"%0aX:1", b"a%0d%0a%0d%0a<html>", b"%00"])
def test_no_header_is_split(a_binary: Binary, rest: bytes) -> None:
    """What a client puts into the rest of a path cannot end the header of a redirect."""
    tables: list[tuple[TableKind, bytes]] = [
        ("netlify", b"/a/* https://h/:splat"),
        ("cloudflare", b"/a/:x /b/:x 301"),
        ("apache", b"Redirect /a /b"),
        ("apache", b"RedirectMatch ^/a/(.*)$ /b/$1"),
        ("csv", b"/a/x,/b"),
    ]
    for table in tables:
        for response in answers(a_binary, table, b"", [b"/a/" + rest, b"/a/x?" + rest]):
            header = response.partition(b"\r\n\r\n")[0]
            assert b"\r\nSet-Cookie" not in header
            assert b"\nX:1" not in header


def test_absolute_redirect(each_binary: Binary) -> None:
    """nginx puts its scheme, host and port before a target that is a path, unless absolute_redirect is off."""
    table = b"/a,/b\n/c,https://x.example/d\n"
    on = answers(each_binary, ("csv", table), b"", [b"/a", b"/c"])
    off = answers(each_binary, ("csv", table), b"absolute_redirect off;", [b"/a", b"/c"])
    assert b"\r\nLocation: http://nxo.test:" in on[0]
    assert b"\r\nLocation: /b\r\n" in off[0]
    assert all(b"\r\nLocation: https://x.example/d\r\n" in response for response in (on[1], off[1]))


def test_spellings(each_binary: Binary) -> None:
    """A row answers each spelling of its path that nginx decodes to the same; arguments are passed on as sent."""
    spelled = [b"/a%20b", b"/%61%20b", b"//a%20b", b"/x/../a%20b", b"/./a%20b", b"/a%20b?q=%20+", b"/a%20b?"]
    responses = answers(each_binary, ("csv", b"/a b,/t\n"), b"absolute_redirect off;", spelled)
    locations = [received.partition(b"Location: ")[2].partition(b"\r\n")[0] for received in responses]
    assert locations == [b"/t"] * 5 + [b"/t?q=%20+", b"/t"]


def test_a_wrong_text_is_noticed(binary: Binary) -> None:
    """The question to nginx is one that a wrong text does not pass."""
    emission = compiled("csv", b"/a,/b\n/c,/d\n")
    for old, new in ((b'"/a" "/b"', b'"/a" "/d"'), (b'"/c" "/c"', b'"/c" "/C"')):
        assert old in emission.maps
        wrong = replace(emission, maps=emission.maps.replace(old, new))
        assert ask(wrong, binary).mismatches
    wrong = replace(emission, server=emission.server.replace(b"$is_args$args", b""))
    assert ask(wrong, binary).mismatches
