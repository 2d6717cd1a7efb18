"""Subjects on which PCRE2 reaches its match limit: a repeated group that can be taken apart in many ways.

The structure of a pattern shows only where to try (`(a+)+`, `(a|ab)*`). PCRE2 itself decides whether it happens.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from nginxopt import lazy
from nginxopt.semantics.subjects import gives_up, likely
from nginxopt.text import encode

_TOKEN = lazy.pattern(r"\\.|\[\^?\]?(?:\\.|[^]\\])*\]|\(|\)")
_REPEATED = lazy.pattern(r"(?:[*+]|\{\d+,\})(?!\+)|\{\d*,?[2-9]\d+\}(?!\+)")
_MANY = lazy.pattern(r"[*+]|\{\d+,\}|\|")
_REPEATS = 60
_LONGEST = 240
_TAILS = (b"!", b"~", b"/!", b"")
_MOST_PUMPS = 6


@lru_cache(maxsize=1 << 12)
def exploding(pattern: str) -> bytes | None:
    """Return a subject of less than `_LONGEST` bytes on which PCRE2 gives up; None if none was found."""
    for content in _repeated_groups(pattern):
        for pump in _pumps(content):
            subject = _with(pattern, pump)
            if subject is not None:
                return subject
    return None


def _repeated_groups(pattern: str) -> Iterator[str]:
    """Yield the contents of groups that are repeated without limit and can be taken apart in several ways."""
    opened: list[int] = []
    for match in _TOKEN.finditer(pattern):
        if match[0] == "(":
            opened.append(match.end())
        elif match[0] == ")" and opened:
            content = pattern[opened.pop() : match.start()]
            content = re.sub(r"^\?(?::|P?<\w+>|'\w+')", "", content)
            is_plain = not content.startswith(("?", "*"))
            if is_plain and _REPEATED.match(pattern, match.end()) and _MANY.search(_unescaped(content)):
                yield content


def _unescaped(content: str) -> str:
    return re.sub(r"\\.|\[\^?\]?(?:\\.|[^]\\])*\]", "x", content)


def _pumps(content: str) -> list[bytes]:
    """Return short texts that a group matches: of its choices, and of all of it."""
    choices = [content, *(content.split("|") if "(" not in content else [])]
    found = (likely((encode(f"^(?:{choice})$"), rb"^[!-~]+$")) for choice in choices)
    return list(dict.fromkeys(text for text in found if text is not None))[:_MOST_PUMPS]


def _with(pattern: str, pump: bytes) -> bytes | None:
    """Return a subject with many repetitions on which PCRE2 gives up."""
    few = pump * 3
    whole = likely((encode(pattern), re.escape(few), rb"^[!-~]*$"))
    if whole is None:
        return None
    start, many = whole.index(few), pump * min(_REPEATS, _LONGEST // len(pump))
    rest = whole[start + len(few) :]
    for tail in (*_TAILS, *(tail + rest for tail in _TAILS), *(rest + tail for tail in _TAILS)):
        subject = whole[:start] + many + tail
        if gives_up(encode(pattern), subject):
            return subject
    return None
