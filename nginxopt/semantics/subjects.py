"""Subjects that patterns match: the shortest of all, found by automata."""

from __future__ import annotations

from functools import lru_cache

from nginxopt._native import captures as _captures
from nginxopt._native import common_subject, pattern_facts
from nginxopt._native import gives_up as _gives_up
from nginxopt.text import encode


@lru_cache(maxsize=1 << 12)
def shortest(inside: tuple[bytes, ...], outside: tuple[bytes, ...] = (), *, is_uri: bool = False) -> bytes | None:
    """Return a subject that all of `inside` match and none of `outside`; None if there is none, or none was found.

    The patterns are those of PCRE, which was asked.
    """
    subject = likely(inside, outside, is_uri=is_uri)
    return subject if subject is not None and _is_so(subject, inside, outside) else None


def likely(inside: tuple[bytes, ...], outside: tuple[bytes, ...] = (), *, is_uri: bool = False) -> bytes | None:
    """Return a subject as `shortest` does, by automata alone: also for patterns on which PCRE may give up."""
    return common_subject(inside, outside, is_uri=is_uri)[1]


def is_none(inside: tuple[bytes, ...], outside: tuple[bytes, ...] = (), *, is_uri: bool = False) -> bool:
    """Return whether certainly no subject is matched by all of `inside` and none of `outside`."""
    return common_subject(inside, outside, is_uri=is_uri)[0]


def gives_up(pattern: bytes, subject: bytes) -> bool:
    """Return whether PCRE2 reaches its match limit on a subject, as nginx does, which answers 500. Up to a second."""
    return bool(_gives_up(pattern, subject))


def group_count(pattern: str) -> int | None:
    """Return the number of groups of a pattern; None for one that is not read."""
    facts = pattern_facts(encode(pattern))
    return None if facts is None else facts[1]


def _is_so(subject: bytes, inside: tuple[bytes, ...], outside: tuple[bytes, ...]) -> bool:
    return all(_captures(pattern, subject) for pattern in inside) and not any(
        _captures(pattern, subject) for pattern in outside
    )
