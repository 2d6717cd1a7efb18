"""Finds the shortest strings that patterns match, with finite automata."""

from __future__ import annotations

from functools import lru_cache

from nginxopt._native import Patterns, common_subject, pattern_facts
from nginxopt._native import captures as _captures
from nginxopt._native import gives_up as _gives_up
from nginxopt.text import encode


@lru_cache(maxsize=1 << 12)
def shortest(inside: tuple[bytes, ...], outside: tuple[bytes, ...] = (), *, is_uri: bool = False) -> bytes | None:
    """Return a shortest string that all patterns `inside` match and none of `outside`; None if none was found.

    PCRE has confirmed the matches.
    """
    subject = likely(inside, outside, is_uri=is_uri)
    return subject if subject is not None and _is_so(subject, inside, outside) else None


def likely(inside: tuple[bytes, ...], outside: tuple[bytes, ...] = (), *, is_uri: bool = False) -> bytes | None:
    """Return a string like `shortest`, but without PCRE, which may give up on some patterns."""
    return common_subject(inside, outside, is_uri=is_uri)[1]


def is_none(inside: tuple[bytes, ...], outside: tuple[bytes, ...] = (), *, is_uri: bool = False) -> bool:
    """Return whether certainly no string of a byte or more is matched by all of `inside` and none of `outside`."""
    return common_subject(inside, outside, is_uri=is_uri)[0]


def gives_up(pattern: bytes, subject: bytes) -> bool:
    """Return whether PCRE2 reaches its match limit on a subject; nginx then answers 500. Takes up to a second."""
    return bool(_gives_up(pattern, subject))


def group_count(pattern: str) -> int | None:
    """Return the number of groups of a pattern; None if the pattern cannot be parsed."""
    facts = pattern_facts(encode(pattern))
    return None if facts is None else facts[1]


def _is_so(subject: bytes, inside: tuple[bytes, ...], outside: tuple[bytes, ...]) -> bool:
    return all(_captures(pattern, subject) for pattern in inside) and not any(
        _captures(pattern, subject) for pattern in outside
    )


def matches(pattern: bytes, subject: bytes) -> bool | None:
    """Return whether a pattern matches a subject; None if that depends on the version of PCRE."""
    try:
        return _compiled(pattern).first(subject) is not None
    except ValueError:
        return None


@lru_cache(maxsize=1 << 10)
def _compiled(pattern: bytes) -> Patterns:
    """Return a compiled pattern. Raises `ValueError` if versions of PCRE interpret it differently."""
    return Patterns([pattern])
