"""The branches of a pattern, and patterns that differ only by what they capture.

A subject matches `A|B` exactly if it matches `A` or `B`, so a question about a pattern can be put to its branches. Some
branches are known exactly; others, such as those with a look-around, may be the same as a branch of another pattern.
"""

from __future__ import annotations

import re
from functools import lru_cache

from nginxopt import lazy

_PART = lazy.pattern(
    rb"""
      \[\^?\]?(?:\\.|\[:\^?[a-z]+:\]|[^\]\\])*\]   # a class
    | \\[^0-9A-Za-z]                                   # a byte that stands for itself
    | \\[AbBdDfnrsStwWzZ]                              # what means the same in each branch
    | \((?:\?(?::|!|=|<!|<=|P?<[A-Za-z_]\w*>))?(?![?*])  # a group, or a look-around
    | [^(\\\[]
    """,
    re.VERBOSE | re.DOTALL,
)
_LOOK = (b"(?!", b"(?=", b"(?<!", b"(?<=")


@lru_cache(maxsize=1 << 12)
def branches(pattern: bytes) -> tuple[bytes, ...]:
    """Return the branches of a pattern, without captures: a subject matches it exactly if it matches one of them.

    Returns the pattern itself if it has flags, back references, or anything else that reaches from one branch to
    another.
    """
    return _divided(pattern) or (pattern,)


@lru_cache(maxsize=1 << 12)
def has_branches(pattern: bytes) -> bool:
    """Return whether a pattern may have more than one branch."""
    return b"|" in pattern and len(_divided(pattern)) != 1


def _divided(pattern: bytes) -> tuple[bytes, ...]:
    """Return the branches; none if it is not clear where they end."""
    found, depth, at = [b""], 0, 0
    while at < len(pattern):
        match = _PART.match(pattern, at)
        if match is None:
            return ()
        part, at = match[0], match.end()
        depth += part.startswith(b"(") - (part == b")")
        if depth < 0:
            return ()
        if part == b"|" and not depth:
            found.append(b"")
        elif part.startswith(b"("):
            found[-1] += part if part in _LOOK else b"(?:"
        else:
            found[-1] += part
    return () if depth else tuple(found)


def has_look(pattern: bytes) -> bool:
    """Return whether a pattern has a look-around, so that its language is not known exactly."""
    return any(look in pattern for look in _LOOK)
