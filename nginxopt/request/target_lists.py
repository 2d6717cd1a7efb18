"""Reads lists of requests: a URL a line, or targets as `vegeta attack` reads them.

A line is `URL` or `METHOD URL`, or a path instead of the URL. Lines below it, up to the next request or an empty line,
are headers, `Name: value`, or the file of a body, `@path`, on which no outcome depends. `#` begins a comment.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from nginxopt import lazy
from nginxopt.errors import InputError
from nginxopt.request.client import Request, Url, UrlError, from_curl, read_request, read_url
from nginxopt.request.traffic import TargetGroup, Traffic, grouped
from nginxopt.text import Source, Span, decode

_METHOD = rb"(?:([A-Z_-]+)[ \t]+)?"
_PLAIN = lazy.pattern(rb"(?m)^(?:%s(https?://[^\s/?#]+)?(/[!\"$-~]*)[ \t]*\r?|[ \t]*(?:#.*)?\r?|(.+))$" % _METHOD)
"""A line with method, site and target; an empty one or a comment; or any other."""
_REQUEST = lazy.pattern(rb"%s(?:[A-Za-z][A-Za-z0-9+.-]*://|/)" % _METHOD)
_HEADER = lazy.pattern(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+:")


def is_list(line: bytes) -> bool:
    """Return whether a line is probably a request."""
    return _REQUEST.match(line) is not None


def read(source: Source, base: Url | None) -> Traffic:
    """Return the requests of a list. Raises `InputError` with the place of a wrong line, and for an empty list."""
    lines: Counter[tuple[bytes, ...]] = Counter(_PLAIN.findall(source.data))
    try:
        groups = grouped(requests(source, base)) if any(fields[-1] for fields in lines) else _plain(lines, base)
    except UrlError:
        groups = grouped(requests(source, base))  # which knows the place
    traffic = Traffic("list of requests", groups)
    traffic.lines = traffic.requests
    if not traffic.lines:
        raise InputError("no requests in this file", path=source.path, expected="one URL per line")
    return traffic


def _plain(lines: Mapping[tuple[bytes, ...], int], base: Url | None) -> list[TargetGroup]:
    """Return the requests of lines without headers."""
    groups: dict[tuple[bytes, bytes], TargetGroup] = {}
    for (method, site, target, _), count in lines.items():
        if not target:
            continue
        group = groups.get((method, site))
        if group is None:
            url = read_url(site.decode("latin-1") + "/", base)
            group = groups[method, site] = TargetGroup(from_curl(url, method=method or b"GET"))
        group.targets[target] = group.targets.get(target, 0) + count
    return list(groups.values())


def requests(source: Source, base: Url | None) -> Iterator[Request]:
    """Yield the requests in their order. Raises `InputError` with the place of an invalid line."""
    target: str | None = None
    target_at = 0
    headers: list[str] = []
    at = 0
    for line in source.data.split(b"\n"):
        text = line.strip()
        start = at + (line.find(text) if text else 0)
        at += len(line) + 1
        if text.startswith((b"#", b"@")):
            continue
        if target is not None and _HEADER.match(text) and not is_list(text):
            name, _, value = decode(text).partition(":")
            headers.append(f"{name}:{value}" if value.strip() else f"{name};")
            continue
        if target is not None:
            yield _request(source, target, target_at, headers, base)
        target, target_at, headers = decode(text) or None, start, []
    if target is not None:
        yield _request(source, target, target_at, headers, base)


def _request(source: Source, text: str, at: int, headers: list[str], base: Url | None) -> Request:
    try:
        return read_request(text, base, headers=headers)
    except UrlError as error:
        before = len(text[: error.column - 1].encode("utf-8", "surrogateescape"))
        place = Span(at + before, max(at + before, at + len(text.encode("utf-8", "surrogateescape"))))
        raise InputError(error.message, source=source, span=place) from None
