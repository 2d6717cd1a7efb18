"""Subjects on which PCRE2 reaches its match limit, because a repeated group can match them in many ways.

The structure of a pattern only shows which subjects to try: `(a+)+` and `(a|ab)*` suggest `aaa...`. Whether PCRE2 gives
up on them is decided by running it, which takes a tenth of a second if it does. So `Trials` count against the budget
`backtracking`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import islice

from nginxopt import budget, lazy
from nginxopt.config import Directive
from nginxopt.semantics.subjects import gives_up, likely
from nginxopt.text import encode

_TOKEN = lazy.pattern(r"\\.|\[\^?\]?(?:\\.|[^]\\])*\]|\(|\)")
_REPEATED = lazy.pattern(r"(?:[*+]|\{\d+,\})(?!\+)|\{\d*,?[2-9]\d+\}(?!\+)")
_MANY = lazy.pattern(r"[*+]|\{\d+,\}|\|")
_REPEATS = 60
_LONGEST = 240
_TAILS = (b"!", b"~", b"/!", b"")
_MOST_PUMPS = 6
_MOST_TRIES = 50
"""The most texts that are repeated to make subjects for one pattern."""
_MATCH_LIMIT = 10_000_000
"""The steps after which PCRE2 gives up."""
_FEW_STEPS = 20_000
"""The steps that a subject counts for if PCRE2 does not give up: most take fewer, and the real number is unknown."""


class Trials:
    """Tries patterns of one configuration. Its methods raise `budget.ExceededError`, at a directive, after too many."""

    def __init__(self) -> None:
        self._steps = budget.meter("backtracking")
        self._tried: dict[str, bytes | None] = {}

    def exploding(self, pattern: str, at: Directive) -> bytes | None:
        """Return a subject of less than `_LONGEST` bytes on which PCRE2 gives up; None if none was found."""
        if pattern not in self._tried:
            self._spend(0, at)  # raises if the budget is spent, before anything is tried
            subject, steps = _exploding(pattern)
            self._tried[pattern] = subject
            self._spend(steps, at)
        return self._tried[pattern]

    def asked(self, at: Directive, *, gave_up: bool) -> None:
        """Count a request to the model of requests that got as far as a pattern."""
        self._spend(_MATCH_LIMIT if gave_up else _FEW_STEPS, at)

    def _spend(self, steps: int, at: Directive) -> None:
        self._steps.spend(steps, source=at.source, span=at.name.span)


@lru_cache(maxsize=1 << 12)
def _exploding(pattern: str) -> tuple[bytes | None, int]:
    """Return a subject on which PCRE2 gives up, and the steps of looking for it."""
    pumps = (pump for content in _repeated_groups(pattern) for pump in _pumps(content))
    steps = 0
    for pump in islice(pumps, _MOST_TRIES):
        for subject in _subjects(pattern, pump):
            if gives_up(encode(pattern), subject):
                return subject, steps + _MATCH_LIMIT
            steps += _FEW_STEPS
    return None, steps


def _repeated_groups(pattern: str) -> Iterator[str]:
    """Yield the contents of groups that are repeated without limit and may match a text in several ways."""
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
    """Return short texts that a group matches: one for each alternative, and one for the whole group."""
    choices = [content, *(content.split("|") if "(" not in content else [])]
    found = (likely((encode(f"^(?:{choice})$"), rb"^[!-~]+$")) for choice in choices)
    return list(dict.fromkeys(text for text in found if text is not None))[:_MOST_PUMPS]


def _subjects(pattern: str, pump: bytes) -> Iterator[bytes]:
    """Yield subjects with many repetitions on which PCRE2 may give up."""
    few = pump * 3
    whole = likely((encode(pattern), re.escape(few), rb"^[!-~]*$"))
    if whole is None:
        return
    start, many = whole.index(few), pump * min(_REPEATS, _LONGEST // len(pump))
    rest = whole[start + len(few) :]
    for tail in (*_TAILS, *(tail + rest for tail in _TAILS), *(rest + tail for tail in _TAILS)):
        yield whole[:start] + many + tail
