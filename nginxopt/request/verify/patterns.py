"""Patterns as they are written: the names of their groups, and what stands in a group and beside it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

_NAMED = re.compile(rb"\(\?P?(?:<([A-Za-z_]\w*)>|'([A-Za-z_]\w*)')")

_PLAIN_GROUP = re.compile(rb"\((?:\?:|\?P?<([A-Za-z_]\w*)>|(?!\?|\*))")

_CLASS = re.compile(rb"\[\^?\]?(?:\\.|\[:\^?[a-z]+:\]|[^\]\\])*\]", re.DOTALL)

_TOKEN = re.compile(_CLASS.pattern + rb"|\\.|.", re.DOTALL)

_BORDERS = {b"^", b"$", rb"\b", rb"\B", rb"\A", rb"\z", rb"\Z"}


def group_names(pattern: bytes) -> tuple[str, ...]:
    """Return the names of the groups of a pattern, in lower case."""
    return tuple((match[1] or match[2]).decode().lower() for match in _NAMED.finditer(pattern))


@dataclass(frozen=True, slots=True)
class Group:
    """A group that takes part in every match of its pattern: `flags`, `before`, `(body)`, `after`."""

    flags: bytes
    before: bytes
    body: bytes
    after: bytes

    def whole(self) -> bytes:
        """Return a pattern that matches whatever the group captures, in full."""
        return self.flags + b"^(?:" + self.body + rb")\z"

    def holding(self, content: bytes) -> bytes:
        """Return a pattern that matches at least where the group captures what `content` matches in full."""
        return self.flags + self.before + b"(?:" + content + b")" + self.after


@lru_cache(maxsize=1 << 12)
def group(pattern: bytes, name: str) -> Group | None:
    """Return a group by its number or name; None if it is not clear at a glance what stands in it.

    Understood are groups that are neither repeated nor in another one and have no anchors, of a pattern without
    alternatives beside them, look-around, atomic and possessive parts, and back references.
    """
    flags = b"(?i)" if pattern.startswith(b"(?i)") else b""
    spans = _outer_groups(pattern, len(flags))
    if spans is None:
        return None
    for number, (own_name, start, body, end) in enumerate(spans, 1):
        if name in (str(number), own_name):
            result = Group(flags, pattern[len(flags) : start], pattern[body : end - 1], pattern[end:])
            return None if _has_border(result.body) else result
    return None


def _has_border(body: bytes) -> bool:
    """Return whether a match depends on what stands beside it."""
    return any(token in _BORDERS for token in _TOKEN.findall(body))


def _outer_groups(pattern: bytes, at: int) -> list[tuple[str, int, int, int]] | None:
    """Return name, start, start of the body and end of each capturing group, if all stand side by side."""
    found: list[tuple[str, int, int, int]] = []
    stack: list[tuple[str, int, int] | None] = []
    while at < len(pattern):
        byte = pattern[at : at + 1]
        if byte == b"\\":
            if not _is_escape(pattern[at + 1 : at + 2]):
                return None
            at += 2
        elif byte == b"[":
            match = _CLASS.match(pattern, at)
            if match is None:
                return None
            at = match.end()
        elif byte == b"(":
            match = _PLAIN_GROUP.match(pattern, at)
            if match is None:
                return None
            is_capturing = match[0] != b"(?:"
            if is_capturing and stack:
                return None
            stack.append(((match[1] or b"").decode().lower(), at, match.end()) if is_capturing else None)
            at = match.end()
        elif byte == b")":
            if not stack:
                return None
            at += 1
            opened = stack.pop()
            if opened is not None:
                if pattern[at : at + 1] in (b"*", b"+", b"?", b"{"):
                    return None
                found.append((*opened, at))
        else:
            is_outside = byte == b"|" and not stack
            is_possessive = byte == b"+" and pattern[at - 1 : at] in (b"*", b"+", b"?", b"}")
            if is_outside or is_possessive:
                return None
            at += 1
    return None if stack else found


def _is_escape(letter: bytes) -> bool:
    """Return whether an escape stands for a byte, a set of bytes or a border, whatever stands beside it."""
    return letter in b"dDwWsSntrfvhHVNbBAzZx" if letter.isalpha() else not letter.isdigit() and bool(letter)
