r"""Patterns as sequences of parts, for questions that need no automaton.

A part is a set of bytes, of which one stands there or any number, or a place such as `^`. `/a+(?:b|c)$` has the
sequences `/ a a* b $` and `/ a a* c $`: a subject matches the pattern if and only if it matches one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import product
from math import prod

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

_STARTED = 3
"""The number of parts by which sequences are looked up in others."""

_LONGEST = 200
"""The maximum number of parts of sequences that are searched for one another."""

_ALL = frozenset(range(256))
_LINE = _ALL - {10}
_ONE: tuple[Part, ...] = tuple((frozenset((byte,)), False) for byte in range(256))
_BYTE_OF = {part: byte for byte, part in enumerate(_ONE)}
_DIGITS = frozenset(b"0123456789")
_WORD = _DIGITS | frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
_SETS = {b"d": _DIGITS, b"w": _WORD, b"D": _ALL - _DIGITS, b"W": _ALL - _WORD}
_CONTROLS = {b"n": 10, b"r": 13, b"t": 9, b"f": 12, b"e": 27}
_PLACES = {b"b": "\\b", b"z": "\\z", b"A": "^"}
_TOKEN = lazy.pattern(rb"\\x[0-9A-Fa-f]{2}|\\.|\(\?:|\(\?P?<[A-Za-z_]\w*>|\((?!\?|\*)|[^\\]", 16)
_LITERAL = lazy.pattern(rb"[A-Za-z0-9/_%=&~ -]+(?![*+?{])", 16)
_REPEAT = lazy.pattern(rb"([*+?]|\{(\d{1,3})(,(\d{1,2})?)?\})(?:\??|(\+)(?=([A-Za-z0-9/])(?![*?{])))(?![+?])")
"""A quantifier; a possessive one only if what is behind it cannot be left out."""
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
        behind: list[Part] = []  # all of `current`
        while self.at < len(self._pattern) and self._pattern[self.at : self.at + 1] != b")":
            if self._pattern[self.at : self.at + 1] == b"|":
                self.at += 1
                found += _followed(current, [tuple(behind)])
                current, behind = [()], []
                continue
            behind += self._literal()
            if self.at < len(self._pattern) and self._pattern[self.at] not in b"|)":
                item = self._repeated(self._item(depth))
                if len(item) == 1:
                    behind += item[0]
                else:
                    current, behind = _followed(_followed(current, [tuple(behind)]), item), []
            if len(current) + len(found) > _MOST or len(current) * len(behind) > _MOST_PARTS:
                raise ValueError
        return found + _followed(current, [tuple(behind)])

    def _literal(self) -> list[Part]:
        """Return the bytes up to the next one that may not stand for itself."""
        match = None if self._is_caseless else _LITERAL.match(self._pattern, self.at)
        if match is None:
            return []
        self.at = match.end()
        return [_ONE[byte] for byte in match[0]]

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
        found = self._folded(_bytes(token))
        return [(_ONE[min(found)] if len(found) == 1 else (found, False),)]

    def _repeated(self, item: list[Parts]) -> list[Parts]:
        match = _REPEAT.match(self._pattern, self.at)
        if match is None:
            if self._pattern[self.at : self.at + 1] in (b"*", b"+", b"?"):  # possessive
                raise ValueError
            return item
        self.at = match.end()
        if match[5] and not all(map(_is_without(match[6]), item)):
            raise ValueError
        if match[1] == b"?":
            return [*item, ()]
        item = _as_class(item)
        if len(item) != 1 or len(item[0]) != 1 or isinstance(item[0][0], str):
            raise ValueError
        part = item[0][0]
        least, most = {b"*": (0, None), b"+": (1, None)}.get(match[1]) or (
            int(match[2]),
            int(match[2]) if match[3] is None else None if match[4] is None else int(match[4]),
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


def _followed(sequences: list[Parts], item: list[Parts]) -> list[Parts]:
    """Return sequences with each alternative of an item behind them."""
    size = len(item) * sum(map(len, sequences)) + len(sequences) * sum(map(len, item))
    if len(sequences) * len(item) > _MOST or size > _MOST_PARTS:
        raise ValueError
    return [first + more for first, more in product(sequences, item)] if item != [()] else sequences


def _is_without(byte: bytes) -> Callable[[Parts], bool]:
    """Return a test for a sequence of one part in which a byte cannot stand: it never has to give back what it took."""
    return lambda parts: len(parts) == 1 and not isinstance(parts[0], str) and byte[0] not in parts[0][0]


def _as_class(item: list[Parts]) -> list[Parts]:
    """Return alternatives of one byte each, such as `(?:a|[bc])`, as a class; others as they are."""
    found: set[int] = set()
    for parts in item:
        if len(parts) != 1 or isinstance(parts[0], str) or parts[0][1]:
            return item
        found |= parts[0][0]
    return [((frozenset(found), False),)]


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
    if name.isalnum():  # PCRE reads others as themselves, also those behind ASCII
        raise ValueError
    return frozenset(name)


def head(parts: Parts, start: bytes = b"") -> bytes:
    """Return the bytes that every subject of a sequence begins with; of those that begin with `start`, on demand."""
    if parts[:1] != ("^",):
        return start
    found = bytearray()
    for at, part in enumerate(parts[1:]):
        byte = _BYTE_OF.get(part)
        if at < len(start):
            if isinstance(part, str) or part[1] or start[at] not in part[0]:
                break
            byte = start[at]
        elif byte is None:
            break
        found.append(byte)
    return bytes(found) if len(found) > len(start) else start


def texts_of(parts: Parts) -> tuple[bytes, ...]:
    """Return all texts that single bytes in sequence match; none if there are other parts, or more than a few texts."""
    choices = [part[0] for part in parts if not isinstance(part, str) and not part[1]]
    if len(choices) < len(parts) or prod(map(len, choices)) > _MOST_SUBJECTS:
        return ()
    return tuple(bytes(each) for each in product(*map(sorted, choices)))


def may_start(parts: Parts, text: bytes) -> bool:
    """Return whether a subject of a sequence may start with these bytes; True if that is not clear."""
    return may_meet(parts, tuple(_ONE[byte] for byte in text))


def may_meet(parts: Parts, start: Parts) -> bool:
    """Return whether a subject of a sequence may start with single bytes, and, if `$` is behind them, end there or at a
    newline; True if that is not clear.
    """
    if not parts or parts[0] != "^":
        return True
    first = 0  # before the first part that may be left out or repeated, each byte has one place
    for part, other in zip(parts[1:], start, strict=False):
        if part != other:
            if isinstance(part, str) or isinstance(other, str) or part[1]:
                break
            if part[0].isdisjoint(other[0]):
                return False
        first += 1
    places = _skipped(parts, {1 + first})
    for at, part in enumerate(start[first:], first):
        if any(place == len(parts) or parts[place] in ("^", "\\b") for place in places):
            return True
        if isinstance(part, str):  # what ends here may go on with a newline
            return any(parts[place] in ("$", "\\z") or 10 in parts[place][0] for place in places)
        if 10 in part[0] and any(parts[place] == "$" for place in places) and start[at + 1 :] in ((), ("$",)):
            return True
        places = _behind(parts, places, part[0], is_certain=False)
        if not places:
            return False
    return True


def _behind(parts: Parts, places: set[int], found: frozenset[int], *, is_certain: bool) -> set[int]:
    """Return the places in a sequence where a match may go on after one of these bytes, or after each of them if
    `is_certain`, given those where it may read that byte.
    """
    after: set[int] = set()
    for place in places:
        part = parts[place]
        if not isinstance(part, str) and (found <= part[0] if is_certain else not found.isdisjoint(part[0])):
            after.add(place if part[1] else place + 1)
    return _skipped(parts, after)


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
    return holds_all(parts, tuple(_ONE[byte] for byte in text), has_newlines=has_newlines)


def holds_all(parts: Parts, start: Parts, *, has_newlines: bool) -> bool:
    """Return whether a sequence certainly matches each subject that starts with single bytes, and ends there or at a
    newline if `$` is behind them."""
    if parts[:1] != ("^",):
        return False
    places = _skipped(parts, {1})
    for part in start:
        if len(parts) in places or not places:
            break
        if isinstance(part, str):
            return any(parts[place:] == (part,) for place in places)
        places = _behind(parts, places, part[0], is_certain=True)
    rests = {parts[place:] for place in places}
    return () in rests or (not has_newlines and not rests.isdisjoint((((_LINE, True),), ((_LINE, True), "$"))))


def subjects(parts: Parts) -> tuple[bytes, ...]:
    """Return all subjects of a sequence, such as `^/[ab]$`; none if there are more than a few."""
    if parts[:1] != ("^",) or parts[-1] not in ("$", "\\z"):
        return ()
    found = texts_of(parts[1:-1])
    return (*found, *(text + b"\n" for text in found)) if parts[-1] == "$" else found


class SequenceIndex:
    """Sequences of a pattern that may match anywhere, to find those that stand in another sequence."""

    def __init__(self, found: Iterable[Parts]) -> None:
        self._known = frozenset(parts for parts in found if len(parts) <= _LONGEST)
        self._lengths: dict[Part, dict[Parts, set[int]]] = {}  # by the first part, and by a few
        for parts in filter(None, self._known):
            self._lengths.setdefault(parts[0], {}).setdefault(parts[:_STARTED], set()).add(len(parts))

    def holds(self, parts: Parts) -> bool:
        """Return whether one of these sequences certainly stands in another one, so that each subject of that one
        matches it. Long ones are not searched, so this takes a bounded time."""
        if len(parts) > _LONGEST:
            return False
        return () in self._known or any(
            parts[at : at + length] in self._known
            for at, part in enumerate(parts)
            if part in self._lengths
            for started in range(1, _STARTED + 1)
            for length in self._lengths[part].get(parts[at : at + started], ())
        )
