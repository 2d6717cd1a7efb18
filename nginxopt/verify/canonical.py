"""The canonical form of values that come from different patterns and are equal in every request.

Let P be plain text that begins and ends with a slash. A group of `^PR` captures the same as that group of
`^/[^/]*/...R` with as many slashes before R. A subject that `^PR` matches begins with P, and each `[^/]*/` ends at the
next slash, so both patterns try R from the same place. Nothing in R may depend on what is before it in the pattern: R
does not begin with a quantifier, has neither alternatives outside of groups nor back references, and no flags are set.
"""

from __future__ import annotations

from functools import lru_cache

from nginxopt import lazy
from nginxopt.verify.patterns import are_groups_plain
from nginxopt.verify.symbols import Capture, Derived, Join, Match, Symbol, mapped

_SEGMENTS = lazy.pattern(rb"\^((?:/(?:[A-Za-z0-9_~%!,;:=&@-]|\\[^A-Za-z0-9/])*)*/)(?![*+?{])")


def canonical(value: object) -> object:
    """Return a value in canonical form; tuples and sets are converted with all values in them."""
    match value:
        case tuple():
            return tuple(map(canonical, value))
        case frozenset():
            return frozenset(map(canonical, value))
        case Match():
            return _match(value, value.subject and mapped(value.subject, {}, _of_parts))
        case Capture() | Derived() | Join():
            return mapped(value, {}, _of_parts)
    return value


def _of_parts(symbol: Symbol, parts: tuple[Symbol, ...]) -> Symbol:
    """Return a value of canonical parts."""
    match symbol:
        case Capture(match, group, use):
            return Capture(_match(match, parts[0] if parts else None), group, use)
        case Derived(name, _):
            return Derived(name, parts)
        case Join():
            return Join(parts)
    return symbol


def _match(match: Match, subject: Symbol | None) -> Match:
    return Match(subject, match.pattern and behind_segments(match.pattern))


@lru_cache(maxsize=1 << 12)
def behind_segments(pattern: bytes) -> bytes:
    """Return a pattern with `[^/]*` for the segments at its start; its groups capture the same where both patterns
    match."""
    segments = _SEGMENTS.match(pattern)
    if segments is None or not are_groups_plain(pattern):
        return pattern
    return b"^/" + b"[^/]*/" * (segments[1].count(b"/") - 1) + pattern[segments.end() :]
