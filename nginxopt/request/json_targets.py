"""Reads targets as `vegeta attack -format=json` does: a JSON object a line, with `method`, `url`, `header` and `body`.

`header` has a list of values by name, and `body` is in base64; no outcome depends on it.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from typing import Any

from nginxopt.errors import InputError
from nginxopt.request.client import Request, Url, UrlError, from_curl, read_url
from nginxopt.request.traffic import Traffic, grouped
from nginxopt.text import Source, Span
from nginxopt.text.json import loads

KEYS = ("method", "url", "header", "body")


def is_target(line: bytes) -> bool:
    """Return whether a line is probably a target: an object with a `url` that is not a row of a table."""
    if not line.lstrip().startswith(b"{"):
        return False
    try:
        value = loads(line)
    except ValueError:
        return False
    return "url" in value and "from" not in value


def read(source: Source, base: Url | None) -> Traffic:
    """Return the requests of targets. Raises `InputError` with the place of a line that is not a target."""
    traffic = Traffic("vegeta targets in JSON", grouped(requests(source, base)))
    traffic.lines = traffic.requests
    return traffic


def requests(source: Source, base: Url | None) -> Iterator[Request]:
    """Yield the requests in their order; raises as `read`."""
    at = 0
    for line in source.data.split(b"\n"):
        text = line.strip()
        if text:
            start = at + line.find(text)
            yield _Target(source, Span(start, start + len(text)), text).request(base)
        at += len(line) + 1


class _Target:
    """A line, with its place for errors."""

    def __init__(self, source: Source, span: Span, text: bytes) -> None:
        self._source = source
        self._span = span
        self._text = text

    def request(self, base: Url | None) -> Request:
        """Return the request. Raises `InputError`."""
        value = self._value()
        method, url, header, body = (value.get(key) for key in KEYS)
        if not isinstance(method, str) or not isinstance(url, str) or not method or not url:
            raise self._error("a target has a method and a url, which are strings")
        self._check_body(body)
        lines = [*self._lines(header)]
        try:
            return from_curl(read_url(url, base), method=method.encode(), headers=lines)
        except UrlError as error:
            raise self._error(error.message) from None

    def _value(self) -> dict[str, Any]:
        try:
            value = loads(self._text)
        except ValueError as error:
            raise self._error(f"invalid JSON: {getattr(error, 'msg', 'not UTF-8')}") from None
        if not isinstance(value, dict):
            raise self._error("a target is an object")
        if unknown := [key for key in value if key not in KEYS]:
            raise self._error(f'unknown key "{unknown[0]}"; a target has {", ".join(KEYS)}')
        return value

    def _check_body(self, body: object) -> None:
        try:
            is_body = body is None or (isinstance(body, str) and base64.b64decode(body, validate=True) is not None)
        except (ValueError, binascii.Error):
            is_body = False
        if not is_body:
            raise self._error("the body of a target is a string in base64")

    def _lines(self, header: object) -> Iterator[str]:
        """Yield the headers as curl's `-H` has them."""
        if header is None:
            return
        if not isinstance(header, dict) or not all(_are_texts(values) for values in header.values()):
            raise self._error("header is an object of lists of strings")
        for name, values in header.items():
            yield from (f"{name}: {value}" if value.strip() else f"{name};" for value in values)

    def _error(self, message: str) -> InputError:
        return InputError(message, source=self._source, span=self._span)


def _are_texts(values: object) -> bool:
    return isinstance(values, list) and all(isinstance(value, str) for value in values)
