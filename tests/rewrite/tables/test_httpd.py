"""What a real httpd of Apache answers to its redirects is what the table is read to say."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings, strategies

from nginxopt.rewrite.requests import receivable
from nginxopt.rewrite.tables import CheckedTable
from nginxopt.rewrite.tables.meaning import RowRequest
from nginxopt.rewrite.tables.paths import escaped
from nginxopt.system.http import Client, RequestBytes
from nginxopt.text.display import percent_encode
from tests.servers import httpd
from tests.tables import SAMPLES, apache_lists, checked

FORMS = [
    b"Redirect /a http://h/b",
    b"Redirect 301 /a/ http://h/b/",
    b"Redirect permanent / https://h/",
    b"Redirect temp /a /b\nRedirectMatch seeother ^/c /d\nRedirectMatch 307 ^/e /f",
    b"Redirect gone /a\nRedirect 410 /b\nRedirect 403 /c\nRedirect 404 /d\nRedirect 451 /e",
    b"Redirect /a /b?y\nRedirect /c /d#y\nRedirect /e /f?",
    b"Redirect /a/ /b?y=1#z",
    b'redirectPERMANENT \'/a b\' "/x\\"y"',
    b"RedirectTemp /a /b\nREDIRECT 302 /\xc3\xa9 /\xc3\xbc",
    b"Redirect \\\n 301 /a \\\r\n /b",
    b"Redirect /100% /x\nRedirect /a%%b /y",
    b"Redirect /a /b\nRedirect /a/x /c\nRedirect 301 /a /d",
    b"Redirect /a/x /c\nRedirect /a /b",
    b"Redirect 301 /a http://h",
    b"RedirectMatch 301 ^/(.*)\\.gif$ http://img.example/$1.png",
    b"RedirectMatch seeother ^/a$ /b",
    b"RedirectMatch (?i)^/foo$ /bar",
    b"RedirectMatch ^/a.b /b\nRedirectMatch x[]$]$ /c",
    b"RedirectMatch ^/[[:alpha:]]\\$$ /b\\$1",
    b"RedirectMatch 308 /old(er)?/ /new",
    b"RedirectMatch /n([a-z]+)-(\\d+) /m\\$/$2/$1",
    b"RedirectMatch ^/q$ /100%?y=5%25\nRedirectMatch ^/r /\xc3\xa9",
    b"RedirectMatch 410 ^/a\nRedirectMatch gone ^/b\nRedirectMatch 301 ^/(c|d)$ /e?f",
    b"RedirectMatch 301 ^/a(/.*)?$ http://h$1\nRedirectMatch 302 /z$ /y",
    b"<IfModule mod_alias.c>\nRedirect /a /b\n</IfModule>\n# comment\nRedirect /c /d",
    *(form.replace(b"Redirect", b"  Redirect ") for form in (b"Redirect /a /b", b"Redirect 301 /a /b")),
    SAMPLES["apache"],
]
"""Every form of the directives that is read."""


def requests(table: CheckedTable) -> Iterator[RowRequest]:
    """Requests for what the rows answer, for what is below and beside it, as written and as clients spell it."""
    for row in table.table.rows:
        samples = [row.pattern.sample] if row.pattern is not None and row.pattern.sample is not None else []
        for path in dict.fromkeys([*row.paths, *samples]):
            for near in (
                path,
                path + b"/",
                path + b"/x y",
                path + b"x",
                path.swapcase(),
                path[:-1],
                path + b"/\xc3\xa9",
            ):
                if receivable(near) and b"//" not in near:
                    yield from (RowRequest(b"", near, args) for args in (b"", b"v=1&w=%20"))


def spelled(path: bytes) -> bytes:
    """A path with each byte but slashes percent-encoded: httpd refuses an encoded slash."""
    return b"".join(b"/" if byte == 0x2F else b"%%%02x" % byte for byte in path)


def answers(client: Client, host: bytes, asked: Sequence[RowRequest], port: int) -> Iterator[tuple[int, bytes]]:
    """The status and the Location of each answer; a path of the host itself as such."""
    sent = []
    for number, request in enumerate(asked):
        path = spelled(request.path) if number % 3 == 0 else percent_encode(request.path)
        target = path + (b"?" + request.args if request.args else b"")
        sent.append(RequestBytes(b"GET %s HTTP/1.1\r\nHost: %s\r\n\r\n" % (target, host)))
    for answer in client.ask(sent):
        header = answer.partition(b"\r\n\r\n")[0].split(b"\r\n")
        location = next((line[10:] for line in header if line.lower().startswith(b"location: ")), b"")
        own = location.removeprefix(b"http://%s" % host).removeprefix(b":%d" % port)
        # httpd sends a blank or a letter of a target as it is written, which is no address (RFC 9110, 10.2.2).
        yield int(header[0].split()[1]), re.sub(rb"%[0-9a-f]{2}", lambda escape: escape[0].upper(), escaped(own))


def assert_same(texts: Sequence[bytes], folder: Path) -> int:
    """Compare the answers of httpd with the meaning of each table; return the number of requests."""
    asked = 0
    wrong: list[tuple[bytes, RowRequest, tuple[int, bytes], tuple[int, bytes]]] = []
    tables = [checked("apache", text) for text in texts]
    with httpd(texts, folder) as port, Client(port, timeout=60) as client:
        for number, table in enumerate(tables):
            wanted = list(requests(table))
            got = list(answers(client, b"t%d.test" % number, wanted, port))
            for request, answer in zip(wanted, got, strict=True):
                due = table.meaning.answer(request)
                expected = (404, b"") if due is None else (due.status, escaped(due.location or b""))
                if b"#" in request.path:  # in a part that httpd repeats, it begins a fragment; nginx encodes it
                    answer = (answer[0], answer[1].replace(b"#", b"%23"))
                if answer != expected:
                    wrong.append((texts[number], request, answer, expected))
            asked += len(wanted)
    assert wrong == []
    return asked


def test_every_form(tmp_path: Path) -> None:
    """Each form that is read is answered as it is read."""
    assert [(text, checked("apache", text).rejected) for text in FORMS if checked("apache", text).rejected] == []
    assert assert_same(FORMS, tmp_path) > 500


def without_rejected(text: bytes) -> bytes:
    """A list without the lines that are rejected, and so on until none is."""
    while rejected := checked("apache", text).rejected:
        lines = {text[: row.span.start].count(b"\n") for row in rejected}
        text = b"\n".join(line for number, line in enumerate(text.split(b"\n")) if number not in lines)
    return text


@pytest.mark.extended
@settings(max_examples=4, phases=[Phase.explicit, Phase.generate], suppress_health_check=list(HealthCheck))
@given(strategies.lists(apache_lists(), min_size=20, max_size=20))
def test_random_lists(tmp_path_factory: pytest.TempPathFactory, texts: list[bytes]) -> None:
    """Random lists, without the lines that are rejected, are answered as they are read."""
    assert_same([without_rejected(text) for text in texts], tmp_path_factory.mktemp("httpd"))
