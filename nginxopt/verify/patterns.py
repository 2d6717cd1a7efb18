r"""Patterns as text: how to write one, and what can be said of one without running it.

A configuration's patterns and plain texts are both PCRE patterns here: `location = /a` asks `^/a\z`. This module writes
such patterns, divides a pattern into its branches, and finds what a group of it may hold.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator
from functools import lru_cache

from nginxopt import lazy
from nginxopt._native import Patterns, pattern_facts
from nginxopt.records import record


class WordIndex:
    """Some words, each once. O(n log n) to build; a search takes O(log n), the length of the text and what it finds."""

    def __init__(self, words: Iterable[bytes]) -> None:
        self._known = frozenset(words)
        self._sorted = sorted(self._known)

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._sorted)

    def starting_with(self, text: bytes) -> Iterator[bytes]:
        """Yield the words that start with a text, which may be that text."""
        for at in range(bisect_left(self._sorted, text), len(self._sorted)):
            if not self._sorted[at].startswith(text):
                return
            yield self._sorted[at]

    def at_start_of(self, text: bytes) -> Iterator[bytes]:
        """Yield the shorter words that a text starts with."""
        return (text[:end] for end in range(len(text)) if text[:end] in self._known)

    def longest(self, text: bytes) -> bytes:
        """Return the longest word that a text starts with; the empty one if there is none."""
        return next((text[:end] for end in range(len(text), 0, -1) if text[:end] in self._known), b"")

    def near(self, text: bytes) -> Iterator[bytes]:
        """Yield the words that may stand at the start of something that starts with a text."""
        yield from self.at_start_of(text)
        yield from self.starting_with(text)


_OF_BRANCH = lazy.pattern(
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
    """Return the branches of a pattern, without captures: a subject matches it if and only if it matches one of them.

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
        match = _OF_BRANCH.match(pattern, at)
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


PLAIN = lazy.pattern(rb"[A-Za-z0-9/_ -]+")
"""Text that stands for itself in a pattern."""

FLAGS = lazy.pattern(rb"\A\(\?[is]+\)")
"""Flags at the start of a pattern."""

_PLAIN_END = lazy.pattern(rb"(?:[A-Za-z0-9/_ -]|\n|\\n)*\\z")

_SEGMENTS = lazy.pattern(rb"(?:[A-Za-z0-9/_-]|\[\^/(?:\\.|[^\]\\])*\][*+]/)*")
"""Text and segments: what is not a slash, up to the next slash."""

_PLAIN_GROUP = lazy.pattern(rb"\((?:\?:|\?P?<([A-Za-z_]\w*)>|(?!\?|\*))")

CLASS = lazy.pattern(rb"\[\^?\]?(?:\\.|\[:\^?[a-z]+:\]|[^\]\\])*\]", re.DOTALL)
"""A class of bytes in a pattern."""

_NAMED = lazy.pattern(
    rb"\\Q.*?(?:\\E|\Z)|\\.|\(\?#[^)]*\)|"
    + CLASS.pattern
    + rb"|\(\?P?(?:<(?P<angle>[A-Za-z_]\w*)>|'(?P<quote>[A-Za-z_]\w*)')",
    re.DOTALL,
)
"""The names of groups, and what only looks like one: quotations, escapes, comments and classes."""

_PART = lazy.pattern(CLASS.pattern + rb"|\\.|.", re.DOTALL)
"""The parts of a pattern."""

_TEXT = lazy.pattern(rb"\(\?:|\\[^A-Za-z0-9]|.", re.DOTALL)
"""The parts of alternatives of plain text; an escape of a letter or digit begins with a lone backslash."""

_MOST_STRINGS = 100_000
"""The maximum number of strings that a group may hold: alternatives in sequence multiply."""


def equal_to(value: bytes) -> bytes:
    """Return a pattern that matches these bytes only."""
    return b"^" + escaped(value) + rb"\z"


def starts_with(prefix: bytes) -> bytes:
    """Return a pattern that matches what starts with these bytes."""
    return b"^" + escaped(prefix)


def escaped(text: bytes) -> bytes:
    """Return bytes as a pattern that matches just them."""
    if PLAIN.fullmatch(text):
        return text
    return b"".join(bytes([byte]) if PLAIN.fullmatch(bytes([byte])) else b"\\x%02x" % byte for byte in text)


_ONLY = lazy.pattern(rb"\^((?:[A-Za-z0-9/_ -]|\\x[0-9a-f]{2})*)\\z")


@lru_cache(maxsize=1 << 16)
def only_value(pattern: bytes) -> bytes | None:
    """Return the value that a pattern matches if it is one of `equal_to`; None for other patterns."""
    match = _ONLY.fullmatch(pattern)
    if match is None:
        return None
    return re.sub(rb"\\x(..)", lambda escape: bytes.fromhex(escape[1].decode()), match[1])


@lru_cache(maxsize=1 << 12)
def without(pattern: bytes) -> bytes | None:
    """Return a pattern that matches just what a pattern `^(?!...)` does not; None for other patterns."""
    if not (pattern.startswith(b"^(?!") and pattern.endswith(b")")) or rb"\Q" in pattern:
        return None
    inner = b"(?:" + pattern[4:]
    depth = 0
    for match in _PART.finditer(inner):
        depth += {b"(": 1, b")": -1}.get(match[0], 0)
        if depth == 0 and match.end() < len(inner):
            return None
    return b"^" + inner if depth == 0 else None


_GROWS = lazy.pattern(
    rb"(?:\\(?:[^A-Za-z0-9]|[AbBdDnrsStwWzZ]|x[0-9A-Fa-f]{2})|\((?:\?:|(?![?*]))|[^\\\[(*+?}]|[*+?}](?!\+)"
    rb"|\[(?!\^)\]?(?:\\(?:[^A-Za-z0-9]|[dDnrsStwW]|x[0-9A-Fa-f]{2})|[^\]\\\[])*\])*+"
)
"""Patterns in which nothing is excluded and nothing is kept from giving back: with more for a part to match, the whole
matches more."""


@lru_cache(maxsize=1 << 12)
def in_any_case(pattern: bytes) -> bytes | None:
    """Return a pattern that matches all that a pattern does in all cases of letters; None where that is not clear, as
    for `[^a]`, which matches less if `A` counts as `a`."""
    flags = FLAGS.match(pattern)
    rest = pattern if flags is None else pattern[flags.end() :]
    letters = b"" if flags is None else flags[0][2:-1].replace(b"i", b"")
    return b"(?i" + letters + b")" + rest if _GROWS.fullmatch(rest) else None


def group_names(pattern: bytes) -> tuple[str, ...]:
    """Return the names of the groups of a pattern, in lower case."""
    if b"(?" not in pattern:
        return ()
    names = (match["angle"] or match["quote"] for match in _NAMED.finditer(pattern))
    return tuple(name.decode().lower() for name in names if name)


@record(eq=True)
class CertainGroup:
    """A group that takes part in every match of its pattern.

    Attributes:
        before: What stands before it.
        body: What stands in it.
        strings: What it may hold, in the order in which they are tried, if it is made up of plain text.
        after: What stands behind it.
    """

    before: bytes
    body: bytes
    strings: tuple[bytes, ...] | None
    after: bytes

    @property
    def is_first(self) -> bool:
        """Whether a subject starts with what the group holds."""
        return FLAGS.sub(b"", self.before) == b"^"

    def determines(self, text: bytes) -> bool:
        """Return whether, in each subject that the pattern matches, the group holds a text if and only if the subject
        matches `holding` of that text.

        True for a group followed by plain text only, and for one of text and segments that can hold the text: a segment
        ends at the next slash, whatever follows. False if the pattern ignores case.
        """
        if self.before not in (b"^", b"(?s)^"):
            return False
        if _PLAIN_END.fullmatch(self.after):
            return True
        return _SEGMENTS.fullmatch(self.body) is not None and re.fullmatch(self.body, text) is not None

    def holding(self, pattern: bytes) -> bytes:
        """Return the pattern with another one in place of the group. It matches each subject in which the group holds
        what the other one matches, and perhaps more."""
        return self.before + pattern + self.after

    def near(self, beginning: bytes | None) -> tuple[bytes, ...]:
        """Return the strings that it may hold where the subject starts with these bytes, in any case of letters."""
        assert self.strings is not None
        if beginning is None or not self.is_first:
            return self.strings
        spellings, words = _by_letters(self.strings)
        return tuple(text for word in words.near(beginning) for text in spellings[word])

    def tried_before(self, content: bytes, strings: Iterable[bytes]) -> tuple[bytes, ...]:
        """Return those of some strings that start with `content` and that PCRE tries before it. Where the group holds
        `content`, the subject starts with none of them, as PCRE would have taken that one.
        """
        if self.after or self.before != b"^" or self.strings is None:
            return ()
        order = _order(self.strings)
        return tuple(text for text in strings if text.startswith(content) and order[text] < order[content])


@lru_cache(maxsize=1 << 8)
def _by_letters(strings: tuple[bytes, ...]) -> tuple[dict[bytes, list[bytes]], WordIndex]:
    """Return strings by what they are in lower case, and those words."""
    spellings: dict[bytes, list[bytes]] = {}
    for text in dict.fromkeys(strings):
        spellings.setdefault(text.lower(), []).append(text)
    return spellings, WordIndex(spellings)


@lru_cache(maxsize=1 << 8)
def _order(strings: tuple[bytes, ...]) -> dict[bytes, int]:
    """Return the first place of each string."""
    return {text: at for at, text in reversed(list(enumerate(strings)))}


@lru_cache(maxsize=1 << 10)
def group(pattern: bytes, name: str) -> CertainGroup | None:
    """Return a group by its number or name; None if the pattern is not simple enough to say what surrounds the group.

    The group may be neither repeated nor inside another one. Outside of it, the pattern may have no alternatives,
    look-arounds, atomic or possessive parts, or back references.
    """
    for number, (own_name, start, body, end) in enumerate(_outer_groups(pattern) or (), 1):
        if name in (str(number), own_name):
            inside = pattern[body : end - 1]
            strings = None if pattern.startswith(b"(?") else _strings(inside)
            return CertainGroup(pattern[:start], inside, None if strings is None else tuple(strings), pattern[end:])
    return None


def are_groups_plain(pattern: bytes) -> bool:
    """Return whether what a pattern captures depends only on where its parts are tried; see `group`."""
    return _outer_groups(pattern) is not None


def beginnings(pattern: bytes) -> CertainGroup | None:
    """Return the group of a pattern such as `^(/a|/b)`, which matches whatever starts with one of its strings; None for
    other patterns."""
    first = group(pattern, "1")
    is_such = first is not None and first.before == b"^" and not first.after and first.strings is not None
    return first if is_such else None


def _strings(body: bytes) -> list[bytes] | None:
    """Return what alternatives of plain text match, in the order in which they are tried; None for anything else."""
    ways: list[bytes] = []  # of the alternatives before
    current = [b""]  # of the sequence so far
    stack: list[tuple[list[bytes], list[bytes]]] = []
    for token in _TEXT.findall(body):
        if token == b"(?:":
            stack.append((ways, current))
            ways, current = [], [b""]
        elif token == b"|":
            ways, current = ways + current, [b""]
        elif token == b")":
            inner = ways + current
            ways, before = stack.pop()
            current = [text + more for text in before for more in inner]
        elif len(token) == 1 and token in b".*+?{[]^$()\\":
            return None
        else:
            current = [text + token.removeprefix(b"\\") for text in current]
        if len(ways) + len(current) > _MOST_STRINGS:
            return None
    return ways + current


def _outer_groups(pattern: bytes) -> list[tuple[str, int, int, int]] | None:
    """Return name, start, start of the body and end of each capturing group, if all stand side by side."""
    found: list[tuple[str, int, int, int]] = []
    stack: list[tuple[str, int, int] | None] = []
    flags = FLAGS.match(pattern)
    at = 0 if flags is None else flags.end()
    while at < len(pattern):
        byte = pattern[at : at + 1]
        if byte == b"\\":
            if not _is_escape(pattern[at + 1 : at + 2]):
                return None
            at += 2
        elif byte == b"[":
            match = CLASS.match(pattern, at)
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


_UNIT = lazy.pattern(rb"[A-Za-z0-9/_ -]|\\x[0-9a-f]{2}|\\[^A-Za-z0-9]", re.DOTALL)
"""A byte that stands for itself in a pattern."""

_ESCAPED = lazy.pattern(rb"\\(.)", re.DOTALL)

_REPEATED = lazy.pattern(rb"[*+?{]|\(\?#|\\[EQ]")
"""How a quantifier begins, or what PCRE passes over before one."""

_TEXT_UNITS = lazy.pattern(rb"(?:" + _UNIT.pattern + rb")*", re.DOTALL)

_PLAIN_TEXT = lazy.pattern(rb"\^" + _TEXT_UNITS.pattern + rb"(?:\$|\\[zZ])", re.DOTALL)

_FOLDED = lazy.pattern(rb"\^\(\?i:(" + _TEXT_UNITS.pattern + rb")\)(?!" + _REPEATED.pattern + rb")", re.DOTALL)
"""The beginning of a pattern that is text in any case of letters."""

_FEW = lazy.pattern(rb"(?:\(\?s\))?\^(" + _TEXT_UNITS.pattern + rb")(\??)(\n|\\n)?(\$|\\[zZ])", re.DOTALL)
"""Text whose last byte may be optional: at most four values."""

_SPELLED = lazy.pattern(rb"((?:\(\?s\))?\^)\(\?i:(" + _TEXT_UNITS.pattern + rb")\)(.*)", re.DOTALL)
"""A beginning that is text in any case of letters, between what is before and behind it."""

NO_CAPITALS, _ANY_CASE = rb"^[^A-Z]*\z", b"(?i)"


def only_of(patterns: Collection[bytes]) -> bytes | None:
    """Return the only value that can match all patterns, where that is obvious: a text, or the spelling of a text
    without capital letters."""
    found = next((value for pattern in patterns if (value := only_value(pattern)) is not None), None)
    if found is not None or NO_CAPITALS not in patterns:
        return found
    texts = (only_value(pattern.removeprefix(_ANY_CASE)) for pattern in patterns if pattern.startswith(_ANY_CASE))
    return next((text.lower() for text in texts if text is not None), None)


def may_be(value: bytes, inside: Iterable[bytes], outside: Iterable[bytes]) -> bool:
    """Return whether a value may match all of `inside` and none of `outside`."""
    return all(matches(pattern, value) is not False for pattern in inside) and not any(
        matches(pattern, value) for pattern in outside
    )


def _is_certain(value: bytes, inside: Iterable[bytes], outside: Iterable[bytes]) -> bool:
    return all(matches(pattern, value) for pattern in inside) and all(
        matches(pattern, value) is False for pattern in outside
    )


@lru_cache(maxsize=1 << 16)
def few_values(pattern: bytes) -> tuple[bytes, ...]:
    """Return all values that a pattern matches, such as `^/a/?$`; none if these are not obvious."""
    match = _FEW.fullmatch(pattern)
    if match is None or (match[2] and not match[1]):
        return ()
    units = list(map(_byte, _UNIT.findall(match[1])))
    texts = [units, units[:-1]] if match[2] else [units]
    ends = (b"",) if match[4] == rb"\z" else (b"", b"\n")
    return tuple(b"".join(text) + (b"\n" if match[3] else b"") + end for text in texts for end in ends)


def _spellings(patterns: Iterable[bytes]) -> Iterator[bytes]:
    """Yield spellings of the texts that patterns match in any case of letters, where these are obvious."""
    for pattern in patterns:
        spelled = _SPELLED.fullmatch(pattern)
        is_folded = pattern.startswith(_ANY_CASE)
        if spelled is not None or is_folded:
            text = pattern.removeprefix(_ANY_CASE) if spelled is None else b"".join(spelled.groups())
            for value in few_values(text):
                yield from dict.fromkeys((value, value.lower(), value.upper(), value.swapcase()))


def overlap(pattern: bytes, inside: tuple[bytes, ...]) -> bool:
    """Return whether a value may match a pattern and all of `inside`, as far as that is clear at a glance."""
    return not exclude_each_other((pattern, *inside))


def exclude_each_other(patterns: tuple[bytes, ...]) -> bool:
    """Return whether the plain beginnings of two patterns differ: a short way to see that nothing matches both."""
    longest = longest_beginning(patterns)
    return longest is not None and not all(may_begin(pattern, longest) for pattern in patterns)


def may_begin(pattern: bytes, text: bytes) -> bool:
    """Return whether something that starts with these bytes, given in lower case, may match a pattern."""
    own = beginning(pattern)
    return own is None or own.startswith(text) or text.startswith(own)


def longest_beginning(patterns: Iterable[bytes]) -> bytes | None:
    """Return the longest plain beginning, in lower case; None if no pattern has one."""
    return max((own for own in map(beginning, patterns) if own is not None), key=len, default=None)


@lru_cache(maxsize=1 << 16)
def beginning(pattern: bytes) -> bytes | None:
    """Return the plain bytes that a match begins with, in lower case; None if that is not clear at a glance."""
    if pattern.startswith(b"("):
        pattern = FLAGS.sub(b"", pattern, 1)
    if not pattern.startswith(b"^") or has_branches(pattern):
        return None
    folded = _FOLDED.match(pattern)
    return _plain(folded[1] if folded is not None else _beginning(pattern)).lower()


def is_plain(pattern: bytes) -> bool:
    """Return whether a pattern matches one text, and nothing else but that text with a line end behind it."""
    return _PLAIN_TEXT.fullmatch(pattern) is not None


def _beginning(pattern: bytes) -> bytes:
    """Return the part of a pattern behind its `^` that stands for itself, as it is written."""
    match = _TEXT_UNITS.match(pattern, 1)
    assert match is not None
    text: bytes = match[0]
    if _REPEATED.match(pattern, match.end()) is None:
        return text
    return text[:-1] if b"\\" not in text else b"".join(_UNIT.findall(text)[:-1])


def _plain(text: bytes) -> bytes:
    """Return the bytes that units of a pattern stand for."""
    if b"\\x" in text:
        return b"".join(map(_byte, _UNIT.findall(text)))
    return text if b"\\" not in text else _ESCAPED.sub(rb"\1", text)


def _byte(unit: bytes) -> bytes:
    """Return the byte that a part of a pattern stands for."""
    return bytes.fromhex(unit[2:].decode()) if unit.startswith(rb"\x") else unit.removeprefix(b"\\")


@lru_cache(maxsize=1 << 16)
def matches(pattern: bytes, value: bytes) -> bool | None:
    """Return whether a pattern matches; None if PCRE gives up."""
    try:
        return _read(pattern).first(value) is not None
    except ValueError:
        return None


_MANY_WAYS = lazy.pattern(rb"[*+{|]|\(\?(?:R|&|P>|[-+0-9])|\\g")
"""What a pattern needs to match in many ways: repetitions, alternatives, or calls of a group."""


@lru_cache(maxsize=1 << 12)
def may_give_up(pattern: bytes) -> bool:
    """Return whether PCRE may reach its match limit on a subject; False only if it certainly answers on each."""
    facts = pattern_facts(pattern)
    return (facts is None or not facts[0]) and _MANY_WAYS.search(pattern) is not None


@lru_cache(maxsize=1 << 12)
def _read(pattern: bytes) -> Patterns:
    return Patterns([pattern], to_match=True)
