"""Requests as a client sends them: by default with the headers of curl."""

from __future__ import annotations

from collections.abc import Iterable

from nginxopt import lazy
from nginxopt.records import record
from nginxopt.request.urls import Url, UrlError, read_url

Header = tuple[bytes, bytes]

CURL: tuple[Header, ...] = ((b"User-Agent", b"curl/8.5.0"), (b"Accept", b"*/*"))
"""The headers that curl sends besides `Host`."""

_METHOD = lazy.pattern(r"([A-Za-z_-]+)[ \t]+(?=\S)")
_HEADER = lazy.pattern(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+)[ \t]*([:;])[ \t]*([^\x00\r\n]*)")


@record(eq=True)
class Request:
    """A request to a URL.

    Attributes:
        headers: In their order, `Host` among them.
        protocol: HTTP/2 or HTTP/3, where it comes so; the rest is then as for one of HTTP/1.1.
        client: The address of the client, without a port; None if it is not known.
    """

    url: Url
    headers: tuple[Header, ...]
    method: bytes = b"GET"
    version: tuple[int, int] = (1, 1)
    protocol: tuple[int, int] | None = None
    client: bytes | None = None

    def __str__(self) -> str:
        method = "" if self.method == b"GET" else f"{self.method.decode('latin-1')} "
        return f"{method}{self.url}"


def from_curl(url: Url, *, method: bytes = b"GET", headers: Iterable[str] = (), client: bytes | None = None) -> Request:
    """Return the request that curl sends; `headers` are as with its `-H`.

    `Name: value` adds a header or replaces one that curl sends by itself, `Name;` sends one without a value, and
    `Name:` sends none. Raises `UrlError` for a text that is no header; its column is that of the text.
    """
    sent = {b"host": (b"Host", url.authority.encode())}
    if url.authorization is not None:
        sent[b"authorization"] = (b"Authorization", url.authorization)
    sent |= {name.lower(): (name, value) for name, value in CURL}
    more: list[Header] = []
    for name, value in map(_header, headers):
        own = name.lower() in sent
        if own and value is not None:
            sent[name.lower()] = (name, value)
        elif own:
            del sent[name.lower()]
        elif value is not None:
            more.append((name, value))
    return Request(url, (*sent.values(), *more), method, client=client)


def read_request(text: str, base: Url | None = None, *, headers: Iterable[str] = (), spaces: bool = False) -> Request:
    """Return the request for `URL` or `METHOD URL`. Raises `UrlError` with the column in the whole text.

    `spaces` is as for `read_url`.
    """
    match = _METHOD.match(text)
    start = match.end() if match else 0
    try:
        url = read_url(text[start:], base, spaces=spaces)
    except UrlError as error:
        raise UrlError(error.message, error.column + start) from None
    return from_curl(url, method=match[1].encode() if match else b"GET", headers=headers)


def _header(text: str) -> tuple[bytes, bytes | None]:
    """Return a header of `-H`; its value is None if none is to be sent."""
    match = _HEADER.fullmatch(text.encode("utf-8", "surrogateescape"))
    if match is None or (match[2] == b";" and match[3]):
        raise UrlError('a header is "Name: value"', 1)
    value = match[3].rstrip(b" \t")
    return match[1], value if value or match[2] == b";" else None
