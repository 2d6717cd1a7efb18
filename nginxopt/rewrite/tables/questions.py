"""Compares the responses of a real nginx with the emitted text to those that the table requires."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from nginxopt.records import record
from nginxopt.rewrite.requests import receivable, spell_most
from nginxopt.rewrite.tables.emission import TableEmission
from nginxopt.rewrite.tables.meaning import Meaning, RowRequest
from nginxopt.rewrite.tables.premises import is_forwarded
from nginxopt.system.http import Client, RequestBytes, batches
from nginxopt.system.nginx import Binary, Instance
from nginxopt.text import decode
from nginxopt.text.display import percent_encode

REQUESTS = 20_000
"""The most requests."""
SECONDS = 60.0
"""The time limit, in seconds."""
HOST = b"nxo.test"
SHOWN = 10
"""The most mismatches that are kept."""

_SERVER = b"""
absolute_redirect off;
large_client_header_buffers 4 64k;
include server.conf;
location / { return 200 "[$uri][$args]"; }
"""


@record(eq=True)
class TableMismatch:
    """A request that nginx does not answer according to the table."""

    request: bytes
    expected: str
    response: str

    def __str__(self) -> str:
        return f"{decode(self.request.partition(b' HTTP/')[0])}: {self.expected} became {self.response}"


@record(eq=True)
class TableDifferential:
    """The result of a comparison: the number of `requests`, and of those `skipped` because of a limit."""

    requests: int
    skipped: int
    seconds: float
    mismatches: tuple[TableMismatch, ...]


def ask(
    emission: TableEmission, binary: Binary, *, limit: int = REQUESTS, seconds: float = SECONDS
) -> TableDifferential:
    """Compare the responses of a real nginx to requests for the keys of a table, and for close variants of them.

    Raises `InputError` with nginx's message if it refuses the text.
    """
    started = time.monotonic()
    requests = list(dict.fromkeys(_requests(emission)))
    chosen = (
        [requests[number * len(requests) // limit] for number in range(limit)] if len(requests) > limit else requests
    )
    meaning = emission.checked.meaning
    mismatches: list[TableMismatch] = []
    made = 0
    files = {"server.conf": emission.server, "http.conf": emission.http}
    http = b"include http.conf;"
    instance = Instance(binary, servers=[_SERVER], http=http, files=files, log_level="emerg", alone=True)
    with instance, instance.client() as client:
        for batch in _batches(chosen):
            if time.monotonic() > started + seconds:
                break
            mismatches += _compare(client, meaning, batch)
            made += len(batch)
    shown = tuple(mismatches[:SHOWN])
    return TableDifferential(made, len(requests) - made, time.monotonic() - started, shown)


_Asking = tuple[RowRequest, RequestBytes]


def _batches(asking: Sequence[_Asking]) -> Iterator[list[_Asking]]:
    at = 0
    for batch in batches([request for _, request in asking]):
        yield list(asking[at : at + len(batch)])
        at += len(batch)


def _compare(client: Client, meaning: Meaning, batch: Sequence[_Asking]) -> Iterator[TableMismatch]:
    responses = client.ask([request for _, request in batch])
    for (asked, request), response in zip(batch, responses, strict=True):
        expected = _expected(meaning, asked)
        if expected is not None and expected != _shown(response):
            yield TableMismatch(request.data, decode(expected), decode(_shown(response)))


def _expected(meaning: Meaning, asked: RowRequest) -> bytes | None:
    """Return the expected part of a response; None if it is not known."""
    try:
        answer = meaning.answer(asked)
    except ValueError:  # PCRE releases differ
        return None
    if answer is None:
        return b"200 [%s][%s]" % (asked.path, asked.args)
    if answer.location is None:
        return None
    if answer.status == 200:
        return b"200 [%s][%s]" % (answer.location, asked.args)
    return b"%d %s" % (answer.status, answer.location)


def _shown(response: bytes) -> bytes:
    """Return the status of a response with its `Location`, or with its body for status 200."""
    header, _, body = response.partition(b"\r\n\r\n")
    status = header[9:12]
    location = next((line[10:] for line in header.split(b"\r\n") if line.lower().startswith(b"location: ")), b"")
    return status + b" " + (body if status == b"200" else location)


def _requests(emission: TableEmission) -> Iterator[_Asking]:
    """Yield a request for each path and pattern of the table, then requests for close variants and other spellings."""
    table = emission.checked.table
    is_asked = is_forwarded(table)  # of https, by a header; there is no TLS
    rows = [row for row in table.rows if is_asked or not row.site.startswith(b"https:")]
    known = [(row.site, path, row.query) for row in rows for path in (*row.paths, *_samples(row.pattern))]
    for site, path, query in known:
        yield from _asking(site, path, query or b"")
    for site, path, query in known:
        yield from _asking(site, path, b"v=Z%41&w=%0A" if query is None else query + b"&x", spelled=spell_most(path))
        if query is not None:
            yield from _asking(site, path, b"")
        for near in (path.swapcase(), path + b"/", path + b"x", path + b"\n", path[:-1], path + b"/a b", path + b"/\n"):
            yield from _asking(site, near, query or b"")


def _samples(pattern: object) -> Iterator[bytes]:
    sample = getattr(pattern, "sample", None)
    if sample is not None:
        yield sample


def _asking(site: bytes, path: bytes, args: bytes, *, spelled: bytes | None = None) -> Iterator[_Asking]:
    if not receivable(path):
        return
    target = (spelled or percent_encode(path)) + (b"?" + args if args else b"")
    scheme, _, host = site.partition(b"://")
    stated = b"X-Forwarded-Proto: HTTPS\r\n" if scheme == b"https" else b""
    host = host or HOST
    asked = RowRequest(site or b"http://" + HOST, path, args)
    yield asked, RequestBytes(b"GET %s HTTP/1.1\r\nHost: %s\r\n%s\r\n" % (target, host, stated))
