"""Subjects that patterns match: the shortest of all, found by automata."""

from __future__ import annotations

from functools import cache

from nginxopt._native import captures as _captures
from nginxopt._native import common_subject


@cache
def shortest(inside: tuple[bytes, ...], outside: tuple[bytes, ...] = (), *, is_uri: bool = False) -> bytes | None:
    """Return a subject that all of `inside` match and none of `outside`; None if there is none, or none was found.

    The patterns are those of PCRE. What is returned was tried with PCRE2 where that is not certain.
    """
    subject = common_subject(inside, outside, is_uri=is_uri)[1]
    return subject if subject is not None and _is_so(subject, inside, outside) else None


def captured(pattern: bytes, subject: bytes, group: int) -> bytes | None:
    """Return what a group captures; None if it takes no part, if the pattern does not match, or that is not known."""
    match = _captures(pattern, subject)
    return match[0][group] if match is not None and group < len(match[0]) else None


def _is_so(subject: bytes, inside: tuple[bytes, ...], outside: tuple[bytes, ...]) -> bool:
    return all(_captures(pattern, subject) for pattern in inside) and not any(
        _captures(pattern, subject) for pattern in outside
    )
