"""Requests that tell the parts of a site apart."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from nginxopt.text.display import percent_encode
from tests.fuzz.sites.generate import Site
from tests.fuzz.sites.messages import Fields, request
from tests.fuzz.sites.words import HOSTS, PATHS, VALUES, chance

_MUST_ENCODE = frozenset([*range(0x21), 0x7F, *b"%?#"])


def _least(uri: bytes) -> bytes:
    return b"".join(b"%%%02X" % byte if byte in _MUST_ENCODE else bytes([byte]) for byte in uri)


_FORMS: Sequence[Callable[[bytes], bytes]] = (
    *[percent_encode] * 8,
    _least,
    _least,
    lambda uri: b"/" + b"".join(b"%%%02x" % byte for byte in uri[1:]),
    lambda uri: b"/" + percent_encode(uri),
    lambda uri: percent_encode(uri) + b"/",
    lambda uri: percent_encode(uri) + b"%0a",
    lambda uri: percent_encode(uri) + b"x",
    lambda uri: percent_encode(uri).swapcase(),
    lambda uri: percent_encode(uri) + b"/../" + percent_encode(uri)[1:],
    lambda uri: b"/q/.." + percent_encode(uri),
    lambda uri: b"/." + percent_encode(uri),
    lambda uri: percent_encode(uri).replace(b"/", b"//", 2),
    lambda uri: percent_encode(uri) + b"%2F",
    lambda uri: percent_encode(uri) + b"+%20;",
    lambda uri: percent_encode(uri) + b"%3Fx",
    lambda uri: percent_encode(uri) + b"#y",
    lambda uri: percent_encode(uri) + b"/..",
    lambda uri: percent_encode(uri) + b"%01%7f%80",
    lambda uri: percent_encode(uri) + "ü€".encode(),
    lambda uri: percent_encode(uri) + b"%25%32%66",
    lambda uri: percent_encode(uri) + b"/%2e%2E/" + percent_encode(uri)[1:],
    lambda uri: percent_encode(uri).replace(b"/", b"/./"),
    lambda uri: b"http://a.test:7" + percent_encode(uri),
    lambda uri: b"HTTP://Www.Q.Org" + percent_encode(uri),
)
_BROKEN = (
    b"/%",
    b"/..",
    b"/%zz",
    b"/a%00",
    b"*",
    b"?a",
    b"/a/../..",
    b"x",
    b"http://h_x/",
    b"/%2e%2e/",
    b"http://b.test?a",
)


def asks(site: Site, seed: int, count: int, numbers: Sequence[int]) -> list[tuple[int, bytes]]:
    """Return requests of a site, each with the index of its port; they have the header X-N with a number."""
    draw = random.Random(f"{site.name} {seed}")
    return [_ask(draw, site, number) for number in numbers[:count]]


def _ask(draw: random.Random, site: Site, number: int) -> tuple[int, bytes]:
    uri = draw.choice(site.uris if site.uris and chance(draw, 0.7) else PATHS)
    target = draw.choice(_FORMS)(uri.encode()) if chance(draw, 0.985) else draw.choice(_BROKEN)
    if chance(draw, 0.5) and b"#" not in target:
        target += b"?" + _arguments(draw)
    host: str | None = draw.choice((*site.hosts, *HOSTS))
    if chance(draw, 0.08):
        host = draw.choice((f"{host}:8080", f"{host}.", f"{host}".upper(), "[::1]:5", "127.0.0.1"))
    version = b"HTTP/1.1"
    if chance(draw, 0.03):
        version, host = b"HTTP/1.0", draw.choice((host, None, None))
    fields: Fields = [(b"X-N", b"%d" % number)]
    for odds, name, values in _HEADERS:
        if chance(draw, odds):
            fields.append((name, draw.choice(values)))
    method = draw.choices((b"GET", b"HEAD", b"POST", b"PUT", b"FOO", b"DELETE"), (80, 5, 8, 2, 2, 2))[0]
    body = b"abc"[: draw.randint(0, 3)] if method in (b"POST", b"PUT") else b""
    data = request(
        target, method=method, host=None if host is None else host.encode(), version=version, fields=fields, body=body
    )
    return draw.choice(site.ports), data


_HEADERS: Sequence[tuple[float, bytes, Sequence[bytes]]] = (
    (0.1, b"X-A", (b"1", b"0", b"a b")),
    (0.05, b"X-A", (b"2",)),
    (0.1, b"Cookie", (b"c=1", b"a=2; c=/d/", b"C=x")),
    (0.05, b"Referer", (b"http://r/",)),
    (0.06, b"X-Real-IP", (b"10.1.1.1", b"10.2.3.4", b"127.0.0.1", b"::1", b"x")),
    (0.04, b"X-Forwarded-For", (b"10.1.1.1", b"10.2.3.4, 127.0.0.2", b"1.2.3.4")),
)


def _arguments(draw: random.Random) -> bytes:
    pairs = [
        b"%s=%s" % (draw.choice((b"a", b"v", b"v", b"ip", b"A")), draw.choice(VALUES).replace(" ", "%20").encode())
        for _ in range(draw.choice((1, 1, 2)))
    ]
    return b"&".join(pairs) + draw.choice((b"", b"", b"&", b"?x", b"&v"))
