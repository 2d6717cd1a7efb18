r"""Patterns as sequences of parts, for questions that need no automaton.

A part is a set of bytes, of which one stands there or any number, or a place such as `^`. `/a+(?:b|c)$` has the
sequences `/ a a* b $` and `/ a a* c $`: a subject matches the pattern if and only if it matches one of them.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import product

from nginxopt import lazy

Part = str | tuple[frozenset[int], bool]
"""A place, or bytes and whether any number of them may stand there."""
Parts = tuple[Part, ...]
"""Parts in sequence."""

_MOST = 4000
"""The maximum number of sequences of a pattern."""

_MOST_PARTS = 100_000
"""The maximum number of parts in the sequences of one of its alternatives."""

_MOST_SUBJECTS = 256
"""The maximum number of subjects of a sequence that are made."""

_LONGEST = 200
"""The maximum number of parts of sequences that are searched for one another."""

_ALL = frozenset(range(256))
_LINE = _ALL - {10}
_DIGITS = frozenset(b"0123456789")
_WORD = _DIGITS | frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
_SETS = {b"d": _DIGITS, b"w": _WORD, b"D": _ALL - _DIGITS, b"W": _ALL - _WORD}
_CONTROLS = {b"n": 10, b"r": 13, b"t": 9, b"f": 12, b"e": 27}
_PLACES = {b"b": "\\b", b"z": "\\z", b"A": "^"}
_TOKEN = lazy.pattern(rb"\\x[0-9A-Fa-f]{2}|\\.|\(\?:|\(\?P?<[A-Za-z_]\w*>|\((?!\?|\*)|[^\\]", 16)
_REPEAT = lazy.pattern(rb"(?:[*+?]|\{(\d{1,2})(,(\d{1,2})?)?\})(?![+?])")
_ITEM = lazy.pattern(rb"\[:|\\x[0-9A-Fa-f]{2}|\\.|[^\]\\]", 16)
_FLAGS = lazy.pattern(rb"\(\?([is]+)\)")


def sequences(pattern: bytes) -> tuple[Parts, ...]:
    """Return the sequences of a pattern; none if it has other parts, or too many sequences."""
    flags = _FLAGS.match(pattern)
    letters = b"" if flags is None else flags[1]
    reader = _Reader(pattern, 0 if flags is None else flags.end(), b"i" in letters, b"s" in letters)
    try:
        found = reader.alternatives(0)
    except ValueError:
        return ()
    return tuple(dict.fromkeys(found)) if reader.at == len(pattern) else ()


class _Reader:
    """Reads a pattern; raises `ValueError` for what has no sequences here."""

    def __init__(self, pattern: bytes, at: int, is_caseless: bool, has_dotall: bool) -> None:
        self._pattern = pattern
        self.at = at
        self._is_caseless = is_caseless
        self._dot = _ALL if has_dotall else _LINE

    def alternatives(self, depth: int) -> list[Parts]:
        """Return the sequences up to the end of a group."""
        if depth > 50:
            raise ValueError
        found: list[Parts] = []
        current: list[Parts] = [()]
        while self.at < len(self._pattern) and self._pattern[self.at : self.at + 1] != b")":
            if self._pattern[self.at : self.at + 1] == b"|":
                self.at += 1
                found += current
                current = [()]
                continue
            item = self._repeated(self._item(depth))
            size = len(item) * sum(map(len, current)) + len(current) * sum(map(len, item))
            if len(current) * len(item) + len(found) > _MOST or size > _MOST_PARTS:
                raise ValueError
            current = (
                [first + more for first, more in product(current, item)]
                if len(item) != 1
                else ([first + item[0] for first in current])
            )
        return found + current

    def _item(self, depth: int) -> list[Parts]:
        match = _TOKEN.match(self._pattern, self.at)
        if match is None:
            raise ValueError
        token: bytes = match[0]
        self.at = match.end()
        if token.startswith(b"("):
            inner = self.alternatives(depth + 1)
            if self._pattern[self.at : self.at + 1] != b")":
                raise ValueError
            self.at += 1
            return inner
        if token == b"[":
            return [((self._class(), False),)]
        if token == b".":
            return [((self._dot, False),)]
        if token in (b"^", b"$"):
            return [(token.decode(),)]
        if token in (b"*", b"+", b"?", b"{"):
            raise ValueError
        if token.startswith(b"\\") and token[1:] in _PLACES:
            return [(_PLACES[token[1:]],)]
        return [((self._folded(_bytes(token)), False),)]

    def _repeated(self, item: list[Parts]) -> list[Parts]:
        match = _REPEAT.match(self._pattern, self.at)
        if match is None:
            if self._pattern[self.at : self.at + 1] in (b"*", b"+", b"?"):  # lazy or possessive
                raise ValueError
            return item
        self.at = match.end()
        if match[0] == b"?":
            return [*item, ()]
        if len(item) != 1 or len(item[0]) != 1 or isinstance(item[0][0], str):
            raise ValueError
        part = item[0][0]
        least, most = {b"*": (0, None), b"+": (1, None)}.get(match[0]) or (
            int(match[1]),
            int(match[1]) if match[2] is None else None if match[3] is None else int(match[3]),
        )
        if most is None:
            return [(part,) * least + ((part[0], True),)]
        return [(part,) * number for number in range(most, least - 1, -1)]

    def _class(self) -> frozenset[int]:
        is_negated = self._pattern[self.at : self.at + 1] == b"^"
        self.at += is_negated
        found: set[int] = set()
        is_first = True
        while is_first or self._pattern[self.at : self.at + 1] != b"]":
            own = self._member(is_first)
            is_first = False
            if self._pattern[self.at : self.at + 1] == b"-" and self._pattern[self.at + 1 : self.at + 2] not in (
                b"]",
                b"",
            ):
                self.at += 1
                last = self._member(False)
                if len(own) != 1 or len(last) != 1:
                    raise ValueError
                own = frozenset(range(min(own), min(last) + 1))
            found |= own
        self.at += 1
        folded = self._folded(frozenset(found))
        return _ALL - folded if is_negated else folded

    def _member(self, is_first: bool) -> frozenset[int]:
        if is_first and self._pattern[self.at : self.at + 1] == b"]":
            raise ValueError
        match = _ITEM.match(self._pattern, self.at)
        if match is None or match[0] == b"[:":
            raise ValueError
        self.at = match.end()
        return frozenset((8,)) if match[0] == rb"\b" else _bytes(match[0])

    def _folded(self, found: frozenset[int]) -> frozenset[int]:
        if not self._is_caseless:
            return found
        return found | frozenset(byte ^ 32 for byte in found if chr(byte).isalpha() and byte < 128)


def _bytes(token: bytes) -> frozenset[int]:
    """Return what a byte or an escape stands for."""
    if len(token) == 1:
        return frozenset(token)
    name = token[1:2]
    if token.startswith(rb"\x") and len(token) == 4:
        return frozenset((int(token[2:], 16),))
    if name in _SETS:
        return _SETS[name]
    if name in _CONTROLS:
        return frozenset((_CONTROLS[name],))
    if name.isalnum() or name >= b"\x80":
        raise ValueError
    return frozenset(name)


def head(parts: Parts, start: bytes = b"") -> bytes:
    """Return the bytes that every subject of a sequence begins with; of those that begin with `start`, on demand."""
    if parts[:1] != ("^",):
        return start
    found = bytearray()
    for at, part in enumerate(parts[1:]):
        if isinstance(part, str) or part[1] or (at < len(start) and start[at] not in part[0]):
            break
        if at >= len(start) and len(part[0]) != 1:
            break
        found.extend(start[at : at + 1] or part[0])
    return bytes(found) if len(found) > len(start) else start


def as_text(parts: Parts) -> bytes | None:
    """Return the only text that a sequence matches; None if it has other parts."""
    found = bytearray()
    for part in parts:
        if isinstance(part, str) or part[1] or len(part[0]) != 1:
            return None
        found.extend(part[0])
    return bytes(found)


def may_start(parts: Parts, text: bytes) -> bool:
    """Return whether a subject of a sequence may start with these bytes; True if that is not clear."""
    if not parts or parts[0] != "^":
        return True
    places = _skipped(parts, {1})
    for at, byte in enumerate(text):
        if any(place == len(parts) or parts[place] in ("^", "\\b") for place in places):
            return True
        if any(parts[place] == "$" for place in places) and text[at:] == b"\n":
            return True
        after: set[int] = set()
        for place in places:
            part = parts[place]
            if not isinstance(part, str) and byte in part[0]:
                after.add(place if part[1] else place + 1)
        places = _skipped(parts, after)
        if not places:
            return False
    return True


def _skipped(parts: Parts, places: set[int]) -> set[int]:
    """Return places in a sequence with those behind what may be left out there."""
    for place in list(places):
        at = place
        while at < len(parts) and not isinstance(parts[at], str) and parts[at][1]:
            at += 1
            places.add(at)
    return places


def covers(parts: Parts, text: bytes, *, has_newlines: bool) -> bool:
    """Return whether a sequence certainly matches each subject that starts with a text; `has_newlines`: whether a
    newline may stand in one."""
    if parts[:1] != ("^",) or len(parts) <= len(text):
        return False
    for part, byte in zip(parts[1:], text, strict=False):
        if isinstance(part, str) or part[1] or byte not in part[0]:
            return False
    rest = parts[1 + len(text) :]
    return not rest or (not has_newlines and rest in (((_LINE, True),), ((_LINE, True), "$")))


def subjects(parts: Parts) -> tuple[bytes, ...]:
    """Return all subjects of a sequence, such as `^/[ab]$`; none if there are more than a few."""
    if parts[:1] != ("^",) or parts[-1] not in ("$", "\\z"):
        return ()
    found = [b""]
    for part in parts[1:-1]:
        if isinstance(part, str) or part[1] or len(found) * len(part[0]) > _MOST_SUBJECTS:
            return ()
        found = [text + bytes((byte,)) for text in found for byte in sorted(part[0])]
    return (*found, *(text + b"\n" for text in found)) if parts[-1] == "$" else tuple(found)


class SequenceIndex:
    """Sequences of a pattern that may match anywhere, to find those that stand in another sequence."""

    def __init__(self, found: Iterable[Parts]) -> None:
        self._known = frozenset(parts for parts in found if len(parts) <= _LONGEST)
        self._lengths = sorted({len(parts) for parts in self._known})

    def holds(self, parts: Parts) -> bool:
        """Return whether one of these sequences certainly stands in another one, so that each subject of that one
        matches it. Long ones are not searched, so this takes a bounded time."""
        count = len(parts)
        return count <= _LONGEST and any(
            parts[at : at + length] in self._known
            for at in range(count + 1)
            for length in self._lengths
            if at + length <= count
        )
