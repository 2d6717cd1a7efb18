"""One value for those that are equal in every request, though they come from different patterns.

What a group of `^PR` captures, where P is plain text that begins and ends with a slash, is what the same group of
`^/[^/]*/...R` captures, with as many slashes before R: a subject that `^PR` matches begins with P, each `[^/]*/` ends
at the next slash, and so both try R from the same place. Nothing in R depends on what is before it in the pattern: it
does not begin with a quantifier, it has neither alternatives outside of groups nor back references, and no flags are
set.
"""

from __future__ import annotations

import re
from functools import lru_cache

from nginxopt.request.verify.patterns import are_groups_plain
from nginxopt.request.verify.symbols import Capture, Derived, Join, Match, Symbol

_SEGMENTS = re.compile(rb"\^((?:/(?:[A-Za-z0-9_~%!,;:=&@-]|\\[^A-Za-z0-9/])*)*/)(?![*+?{])")


def canonical(value: object) -> object:
    """Return a value, or values in tuples and sets, with captures of canonical patterns."""
    match value:
        case tuple():
            return tuple(map(canonical, value))
        case frozenset():
            return frozenset(map(canonical, value))
        case Match():
            return _match(value)
        case Capture() | Derived() | Join():
            return _symbol(value)
    return value


def _symbol(symbol: Symbol) -> Symbol:
    match symbol:
        case Capture(match, group, use):
            return Capture(_match(match), group, use)
        case Derived(name, sources):
            return Derived(name, tuple(map(_symbol, sources)))
        case Join(parts):
            return Join(tuple(map(_symbol, parts)))
    return symbol


def _match(match: Match) -> Match:
    subject, pattern = match.subject, match.pattern
    return Match(subject and _symbol(subject), pattern and behind_segments(pattern))


@lru_cache(maxsize=1 << 12)
def behind_segments(pattern: bytes) -> bytes:
    """Return a pattern with any segments at its start, whose groups capture the same where both patterns match."""
    segments = _SEGMENTS.match(pattern)
    if segments is None or not are_groups_plain(pattern):
        return pattern
    return b"^/" + b"[^/]*/" * (segments[1].count(b"/") - 1) + pattern[segments.end() :]
