"""The requests that a case is asked with."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from nginxopt.rewrite.requests import receivable
from nginxopt.text.display import percent_encode

_MUST_ENCODE = frozenset([*range(0x21), 0x7F, *b"%?#"])

FIXED = (
    b"/", b"/a/old", b"/b", b"/e/404", b"/e/up", b"/ok", b"/no", b"/mir", b"/pa", b"/try", b"/trya", b"/err", b"/empty",
    b"/auth/x", b"/last", b"/index/", b"/static/a.html", b"/a/", b"/a/new", b"/t/x", b"/re/x", b"/rexy", b"/x.php",
    b"/p/x", b"/none", b"/a.html", b"//a//old", b"/a/../b", b"/a/./old", b"/%2e%2e/b",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Ask:
    """One request to the port of that index. A HEAD has no body; `alone`: on a connection of its own, which closes."""

    port: int
    data: bytes
    head: bool = False
    alone: bool = False


def _least(uri: bytes) -> bytes:
    return b"".join(b"%%%02X" % byte if byte in _MUST_ENCODE else bytes([byte]) for byte in uri)


def _most(uri: bytes) -> bytes:
    return b"/" + b"".join(b"%%%02x" % byte for byte in uri[1:])


# Each makes a request target of a decoded URI.
VARIANTS: tuple[Callable[[bytes], bytes], ...] = (
    percent_encode,
    _least,
    _most,
    lambda uri: percent_encode(uri + b"\n"),
    lambda uri: percent_encode(uri.swapcase()),
    lambda uri: percent_encode(uri.upper()),
    lambda uri: percent_encode(uri.lower()),
    lambda uri: percent_encode(uri + b"\n\n"),
    lambda uri: percent_encode(uri + b"\r"),
    lambda uri: percent_encode(uri + b"/"),
    lambda uri: percent_encode(uri + b"x"),
    lambda uri: percent_encode(uri[:-1] or b"/"),
    lambda uri: b"/" + percent_encode(uri),
    lambda uri: percent_encode(uri + b"\x0b"),
    lambda uri: percent_encode(uri + b"y" * 2600),
)

Form = tuple[bytes, bytes, bytes, bytes]
"""A method, arguments, header lines and a body."""

FORMS: tuple[Form, ...] = (
    (b"GET", b"", b"", b""),
    (b"GET", b"?x=1", b"", b""),
    (b"GET", b"?x=1&v=Z%41%20", b"X-F: abc\r\n", b""),
    (b"GET", b"", b"X-F: 1\r\nCookie: k=1\r\n", b""),
    (b"GET", b"?", b"", b""),
    (b"GET", b"?v=old&w=1", b"Accept-Encoding: gzip\r\n", b""),
    (b"HEAD", b"", b"", b""),
    (b"GET", b"?x=2", b"Authorization: Basic dXNlcjpzZWNyZXQ=\r\n", b""),
    (b"GET", b"", b"Range: bytes=0-3\r\nTE: trailers\r\n", b""),
    (b"GET", b"?a=%0a", b"Referer: http://ex/\r\nIf-Modified-Since: Sat, 01 Jan 2000 00:00:00 GMT\r\n", b""),
    (b"POST", b"?x=1", b"Content-Length: 2\r\n", b"ab"),
    (b"POST", b"", b"Content-Length: 2\r\nExpect: 100-continue\r\n", b"ab"),
    (b"POST", b"?0", b"Transfer-Encoding: chunked\r\n", b"zz\r\n"),
    (b"PUT", b"", b"Content-Length: 3\r\n", b"put"),
    (b"OPTIONS", b"?x=1", b"", b""),
)


def requests(draw: random.Random, named: Sequence[tuple[bytes, int, list[bytes]]], count: int) -> list[Ask]:
    """Return `count` requests for servers (Host, port, URIs): each URI plainly first, then in variants and forms."""
    plain, varied = [], []
    for host, port, uris in named:
        known = [uri for uri in dict.fromkeys(uris) if receivable(uri) and len(uri) < 8000]
        plain += [(host, port, percent_encode(uri), FORMS[0]) for uri in draw.sample(known, min(len(known), 300))]
        plain += [(host, port, target, form) for target in FIXED for form in FORMS[:2]]
        varied.append((host, port, known))
    draw.shuffle(plain)
    chosen = plain[: count * 2 // 3]
    while len(chosen) < count:
        host, port, known = draw.choice(varied)
        if known and draw.random() < 0.9:
            uri = draw.choice(known)
            target = VARIANTS[0](uri) if draw.random() < 0.4 else draw.choice(VARIANTS)(uri)
        else:
            target = draw.choice(FIXED)
        chosen.append(
            (host, port, target, draw.choices(FORMS, (6, 5, 5, 4, 2, 2, 2, 2, 1, 1, 1, 0.5, 0.3, 0.3, 0.3))[0])
        )
    asks = [_ask(number, *chosen_one, draw) for number, chosen_one in enumerate(chosen)]
    return sorted(asks, key=lambda ask: (ask.port, ask.alone))


def _ask(number: int, host: bytes, port: int, target: bytes, form: Form, draw: random.Random) -> Ask:
    method, arguments, headers, body = form
    if draw.random() < 0.03:
        host = draw.choice((host.upper(), host + b":80", b"other.test", b"three.test", host + b"."))
    alone = bool(body)
    protocol = b"1.1"
    if not alone and draw.random() < 0.01:
        alone, protocol = True, b"1.0"
    if draw.random() < 0.01:
        target = b"http://" + host + target
    lines = b"%s %s%s HTTP/%s\r\nHost: %s\r\nX-N: %d\r\n%s" % (
        method,
        target,
        arguments,
        protocol,
        host,
        number,
        headers,
    )
    if alone:
        lines += b"Connection: close\r\n"
    return Ask(port, lines + b"\r\n" + body, method == b"HEAD", alone)
