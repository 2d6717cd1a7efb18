"""Selects the location of a URI like nginx (`ngx_http_core_find_location` in ngx_http_core_module.c).

First the longest prefix among those that stand side by side, an exact one at once; then within it, and unless it is
`^~`, the regular expressions beside it in their order.
"""

from __future__ import annotations

from functools import cached_property

from nginxopt._native import Patterns
from nginxopt.semantics.inherit import Level
from nginxopt.text import encode

MODIFIERS = ("=", "^~", "~", "~*")


class Uncertain(Exception):  # noqa: N818 - no error: a question that the text leaves open
    """The configuration that was read does not determine the location."""


def modifier(location: Level) -> str:
    """Return the modifier of a location, as `=`; empty for a prefix or a name."""
    first = location.args[0] if location.args else ""
    if len(location.args) > 1 and first in MODIFIERS:
        return first
    return next((sign for sign in ("~*", "^~", "=", "~") if first.startswith(sign)), "")


def path(location: Level) -> str:
    """Return the URI, prefix or pattern of a location, without its modifier (which may be joined to it)."""
    if len(location.args) > 1:
        return location.args[1]
    return location.args[0].removeprefix(modifier(location)) if location.args else ""


class Locations:
    """The sibling locations in a server or location."""

    def __init__(self, level: Level) -> None:
        self._is_open = level.is_open
        self._exact: dict[bytes, Level] = {}
        self._prefixes: dict[bytes, Level] = {}
        self._regexes: list[Level] = []
        self._inner: dict[Level, Locations] = {}
        for inner in level.levels:
            if inner.kind == "location" and not path(inner).startswith("@"):
                self._add(inner)

    def select(self, uri: bytes) -> Level | None:
        """Return the location for `uri`, None if there is none; `Uncertain` if a part was not read."""
        return self._find(uri)[0]

    def _find(self, uri: bytes) -> tuple[Level | None, bool]:
        """Return the location, and whether it is final: the regular expressions further out come before a prefix."""
        if self._is_open or uri + b"/" in self._prefixes:  # a location that passes on redirects to its slash
            raise Uncertain
        if uri in self._exact:
            return self._exact[uri], True
        prefix = location = self._longest(uri)
        if prefix is not None:
            inner, final = self._within(prefix)._find(uri)
            location = inner or prefix
            if final:
                return location, True
        regex = None if prefix is not None and modifier(prefix) == "^~" else self._regex(uri)
        if regex is not None:
            return self._within(regex)._find(uri)[0] or regex, True
        return location, False

    def _add(self, location: Level) -> None:
        sign, text = modifier(location), encode(path(location))
        if sign == "=":
            self._exact[text] = location
        elif sign in ("~", "~*"):
            self._regexes.append(location)
        else:
            self._prefixes[text] = location

    def _longest(self, uri: bytes) -> Level | None:
        return next((self._prefixes[uri[:end]] for end in range(len(uri), 0, -1) if uri[:end] in self._prefixes), None)

    def _regex(self, uri: bytes) -> Level | None:
        if not self._regexes:
            return None
        try:
            number = self._patterns.first(uri)
        except ValueError:
            raise Uncertain from None
        return None if number is None else self._regexes[number]

    @cached_property
    def _patterns(self) -> Patterns:
        return Patterns([pattern(location) for location in self._regexes])

    def _within(self, location: Level) -> Locations:
        if location not in self._inner:
            self._inner[location] = Locations(location)
        return self._inner[location]


def pattern(location: Level) -> bytes:
    """Return the pattern of a regex location; `~*` becomes `(?i)` (`NGX_REGEX_CASELESS`)."""
    return (b"(?i)" if modifier(location) == "~*" else b"") + encode(path(location))


def matches(text: bytes, uri: bytes) -> bool | None:
    """Return whether a pattern matches `uri`; None if not every PCRE gives the same answer."""
    try:
        return Patterns([text]).first(uri) is not None
    except ValueError:
        return None
