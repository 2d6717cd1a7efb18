"""Requests that probably reach a level: what a rule asks the model of requests about.

A wrong guess costs only time, as the model says in which location each request ends.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from nginxopt import lazy
from nginxopt.lint.queries.requests import AskedRequest
from nginxopt.semantics import FRAGMENT, Level
from nginxopt.semantics.subjects import shortest
from nginxopt.text import encode

_ENDS = (b"", b"x", b"x/")
"""What is appended to a prefix: a folder, a file in it, a folder in it."""
_FILES = (b"x.php", b"x.html", b"x.css", b"x.js", b"x.png")
"""File names that patterns of locations often match."""
_MOST = 12

_NAME = lazy.pattern(r"\$\{?(http_\w+|request_method|arg_\w+)\}?", re.IGNORECASE)
_PLAIN = lazy.pattern(rb"/[!-~]*")


def reaching(level: Level) -> Iterator[AskedRequest]:
    """Yield requests for a location, an `if`, a server or a fragment; none for a named location."""
    if level.kind == "if" and level.parent is not None:
        yield from _through(level, reaching(level.parent))
    elif level.kind == "limit_except" and level.parent is not None:
        yield from (replace(asked, method="DELETE") for asked in reaching(level.parent))
    elif level.kind == "location" and level.opener is not None:
        yield from map(AskedRequest, dict.fromkeys(filter(_PLAIN.fullmatch, _uris(level))))
    elif level.kind in ("server", "location", FRAGMENT):  # a location of a fragment may have any name
        yield from (AskedRequest(b"/" + end) for end in (*_ENDS, *_FILES))


def _uris(location: Level) -> Iterator[bytes]:
    sign, path = location.modifier, encode(location.path)
    if sign in ("~", "~*"):
        yield from _of_pattern(location)
    elif sign == "=":
        yield path
    elif path.startswith(b"/"):
        slash = b"" if path.endswith(b"/") else b"/"
        yield from (path + end for end in _ENDS)
        yield from (path + slash + end for end in (*_ENDS, *_FILES))


def _of_pattern(location: Level) -> Iterator[bytes]:
    """Yield URIs that a pattern matches and, if possible, none of those before it."""
    pattern = location.pattern
    before = tuple(each.pattern for each in _shortly_before(location) if _has_pattern(each))
    outer = location.parent
    prefix: tuple[bytes, ...] = ()
    if outer is not None and outer.kind == "location" and outer.modifier in ("", "^~"):
        prefix = (b"^" + re.escape(encode(outer.path)),)
    for outside in dict.fromkeys((before, ())):
        uri = shortest((pattern, b"^/", *prefix), outside, is_uri=True)
        if uri is not None:
            yield uri


def _shortly_before(location: Level) -> list[Level]:
    """Return the last levels before a location, which may take its URIs."""
    levels = location.parent.levels if location.parent else [location]
    place = levels.index(location)
    return levels[max(0, place - _MOST) : place]


def _has_pattern(level: Level) -> bool:
    return level.kind == "location" and level.modifier in ("~", "~*")


def _through(level: Level, requests: Iterator[AskedRequest]) -> Iterator[AskedRequest]:
    """Yield requests for which the condition of an `if` is probably true."""
    words = [str(word) for word in level.args]
    match = _NAME.fullmatch(words[0]) if words else None
    value = _value(words[1:])
    if match is None or value is None:
        yield from requests
        return
    name = match[1].lower()
    for asked in requests:
        if name == "request_method":
            yield replace(asked, method=value)
        elif name.startswith("http_"):
            header = f"{name.removeprefix('http_').replace('_', '-').title()}: {value}"
            yield replace(asked, headers=(*asked.headers, header))
        else:
            yield replace(asked, target=asked.target + encode(f"?{name.removeprefix('arg_')}={value}"))


def _value(words: list[str]) -> str | None:
    """Return a value for which the rest of a condition holds; None if none is known."""
    if not words:
        return "1"
    if len(words) != 2:
        return None
    sign, text = words
    if sign in ("=", "=="):
        return text
    if sign == "!=":
        return f"{text}x"
    if sign in ("~", "~*"):
        subject = shortest(((b"(?i)" if sign == "~*" else b"") + encode(text), b"^[!-~]*$"))
        return None if subject is None else subject.decode("ascii")
    return None


def also(location: Level, pattern: bytes) -> Iterator[bytes]:
    """Yield a URI that the pattern of a location matches and another pattern as well, if there is one."""
    uri = shortest((location.pattern, b"^/[!-~]*$", pattern))
    if uri is not None:
        yield uri
