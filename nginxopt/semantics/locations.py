"""Parses the arguments of locations: modifiers, paths and patterns (`ngx_http_core_location`)."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from nginxopt._native import Patterns
from nginxopt.semantics.inherit import Level
from nginxopt.text import encode

MODIFIERS = ("=", "^~", "~", "~*")


def modifier(location: Level) -> str:
    """Return the modifier of a location, such as `=`; empty for a prefix or a named location."""
    first = location.args[0] if location.args else ""
    if len(location.args) > 1 and first in MODIFIERS:
        return first
    if first[:1] not in ("~", "^", "="):
        return ""
    return next((sign for sign in ("~*", "^~", "=", "~") if first.startswith(sign)), "")


def path(location: Level) -> str:
    """Return the URI, prefix or pattern of a location, without its modifier (which need not be a separate word)."""
    if len(location.args) > 1:
        return location.args[1]
    return location.args[0].removeprefix(modifier(location)) if location.args else ""


def second_locations(level: Level) -> Iterator[tuple[Level, Level]]:
    """Yield each location of a level whose path an earlier one has, after that one (`ngx_http_join_exact_locations`).

    `location /a` and `location ^~ /a` are the same to nginx; patterns and names may stand twice.
    """
    seen: dict[tuple[bool, str], Level] = {}
    for location in level.levels:
        if location.kind != "location" or not location.args:
            continue
        sign, text = modifier(location), path(location)
        if sign in ("~", "~*") or (text.startswith("@") and not sign):
            continue
        first = seen.setdefault((sign == "=", text), location)
        if first is not location:
            yield first, location


def pattern(location: Level) -> bytes:
    """Return the pattern of a regex location; `~*` becomes `(?i)` (`NGX_REGEX_CASELESS`)."""
    return (b"(?i)" if modifier(location) == "~*" else b"") + encode(path(location))


def matches(text: bytes, uri: bytes) -> bool | None:
    """Return whether a pattern matches `uri`; None if that depends on the version of PCRE."""
    try:
        return _compiled(text).first(uri) is not None
    except ValueError:
        return None


@lru_cache(maxsize=1 << 10)
def _compiled(text: bytes) -> Patterns:
    """Return a compiled pattern. Raises `ValueError` if versions of PCRE interpret it differently."""
    return Patterns([text])
