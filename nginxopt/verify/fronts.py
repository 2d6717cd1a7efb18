r"""Fronts: tables of what patterns capture, as sequences that are tried in order.

The compiler writes a front for rows of literals and dots. A lookup finds which of some texts, of which none starts with
another, the subject starts with; each text leads to a lookup of patterns such as `^/b/(?<key>x[^A-Z]{3}(?=-y))`, which
captures a key; and the front has the answers by key, and a default that leads on.

An alternative of such a pattern is the parts before the capture, those captured, and those that must follow. PCRE tries
the alternatives in order, and the first that matches decides the key, as nothing is behind the capture but what must
follow. For each key K of the front that may be what it captures, let its *entry* be the alternative in which each part
that is captured is narrowed to the byte of K there, in both cases, and behind those of all keys let there be the
alternative itself, which leads on. Each entry is narrowed to the subjects that start with one of the texts that lead to
its lookup.

*Lemma.* The front gives a subject the answer of the first entry that matches it, and leads on if that has none, or if
there is no such entry. *Proof.* Let a subject start with a text that leads to some patterns. As it starts with no
other text, it matches no entries of other patterns. If no alternative matches it, no entry does, the key is empty,
which is no key of the front, and the front leads on. Otherwise let A be the first alternative that matches. Entries
of those before do not match. If what A captures is a key of the front in small letters, the entry of that key matches
and those of other keys of A do not, as nginx compares keys in small letters; otherwise only A itself does, which
leads on.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest

from nginxopt import lazy
from nginxopt.records import record
from nginxopt.verify.lookups import Lookups, NotProvedError
from nginxopt.verify.pattern_parts import Part, Parts, head, may_meet, sequences
from nginxopt.verify.patterns import CLASS, WordIndex
from nginxopt.verify.symbols import pieces

_TOKEN = lazy.pattern(rb"\\.|" + CLASS.pattern + rb"|\(\?=|\(\?<(\w+)>|[()]", re.DOTALL)
_LAZY = lazy.pattern(rb"[*+?}]\?")
_MARK = rb"\b"
"""What stands in a pattern, in place of itself, where a capture or what must follow begins and ends."""


@record(eq=True)
class KeyAlternative:
    """The parts before a capture, those that are captured, and those that must follow."""

    before: Parts
    captured: Parts
    after: Parts


@record(eq=True)
class FrontEntry:
    """A sequence of single bytes, with `^` before and perhaps `$` behind them, and its answer; None leads on."""

    parts: Parts
    answer: bytes | None


class Front:
    """A front as entries.

    Args:
        lookups: What the side defines.
        name: The lookup that has the answers.
        texts: The texts that a lookup captures of the start of subjects; none starts with another.
        spend: Counts steps.
    """

    def __init__(
        self, lookups: Lookups, name: str, texts: Callable[[str], WordIndex], spend: Callable[[int], None]
    ) -> None:
        table, candidates = lookups.table(name), lookups.table(lookups.source(name))
        starts = texts(lookups.source(lookups.source(name)))
        if (
            b"" in table.exact
            or b"" in candidates.exact
            or any(True for text in starts for _ in starts.at_start_of(text))
        ):
            raise NotProvedError
        self.behind = table.default
        self._spend = spend
        self._keys = table.exact
        lengths: dict[int, list[bytes]] = {}
        for key in table.exact:
            lengths.setdefault(len(key), []).append(key)
        self._by_length = {length: WordIndex(keys) for length, keys in lengths.items()}
        chains: dict[str, list[bytes]] = {}
        for text in starts:
            chain = lookups.inner(candidates.exact.get(text.lower(), b""))
            if chain is not None:
                chains.setdefault(chain, []).append(text)
            elif text.lower() in candidates.exact:
                raise NotProvedError
        self.entries = tuple(each for chain in chains for each in self._made(lookups, chain, chains[chain]))
        self._by_head: dict[bytes, list[int]] = {}
        for at, entry in enumerate(self.entries):
            self._by_head.setdefault(head(entry.parts), []).append(at)
        self._heads = WordIndex(self._by_head)

    def _made(self, lookups: Lookups, chain: str, starts: list[bytes]) -> Iterator[FrontEntry]:
        """Yield the entries of a lookup of patterns, for the texts that lead to it."""
        table = lookups.table(chain)
        if not lookups.is_chain(chain) or table.exact or table.default:
            raise NotProvedError
        by_start = WordIndex(starts)
        for row in table.rows:
            found, name = alternatives(row.pattern)
            value = pieces(row.value)
            literal = [each for each in value[:-1] if isinstance(each, bytes)]
            if value[-1:] != (name,) or len(literal) != len(value) - 1:
                raise NotProvedError
            for each in found:
                for start in by_start.near(head(each.before + each.captured)):
                    yield from self._entries(each, b"".join(literal), start)

    def _entries(self, alternative: KeyAlternative, key: bytes, start: bytes) -> Iterator[FrontEntry]:
        """Yield an alternative for subjects that start with a text: with each key that it may give, and itself."""
        known = self._by_length.get(len(key) + len(alternative.captured))
        begun = (key + head(("^", *alternative.captured))).lower()
        for found in known.starting_with(begun) if known else ():
            self._spend(1)
            captured = _narrowed(alternative.captured, _spellings(found[len(key) :]))
            if captured is not None:
                yield from _entry(alternative, captured, start, self._keys[found])
        self._spend(1)
        yield from _entry(alternative, alternative.captured, start, None)

    def leads_on(self, parts: Parts, is_right: Callable[[FrontEntry], bool]) -> bool:
        """Return whether a subject of a sequence may be led on.

        Raises:
            NotProvedError: It may get an answer that is not right.
        """
        does_lead = False
        for at in self._near(parts):
            entry = self.entries[at]
            self._spend(1)
            if not may_meet(parts, entry.parts[1:]):
                continue
            if entry.answer is not None and not is_right(entry):
                raise NotProvedError
            does_lead |= entry.answer is None
            left = _without(parts, entry.parts)
            if left is None:
                return does_lead
            parts = left
        return True

    def _near(self, parts: Parts) -> list[int]:
        """Return the places of the entries that subjects of a sequence may match."""
        return sorted(at for each in self._heads.near(head(parts)) for at in self._by_head[each])


def alternatives(pattern: bytes) -> tuple[list[KeyAlternative], str]:
    """Return the alternatives of a pattern that captures what is between `^`, bytes before it, and look-aheads at its
    end, in the order in which PCRE tries them; and the name of the capture.

    Raises:
        NotProvedError: The pattern has another form.
    """
    marked, name, at = bytearray(), "", 0
    ends: list[bool] = []
    for match in _TOKEN.finditer(pattern):
        token = match[0]
        marked += pattern[at : match.start()]
        at = match.end()
        is_marked = token == b"(?=" or match[1] is not None
        if token == _MARK or (is_marked and bool(name) is not (match[1] is None)):
            raise NotProvedError
        name = name if match[1] is None else match[1].decode().lower()
        if token.startswith(b"("):
            ends.append(is_marked)
        elif token == b")" and ends and ends.pop():
            marked += _MARK
        marked += b"(?:" + _MARK if is_marked else token
    marked += pattern[at:]
    found = []
    for parts in sequences(bytes(marked)):
        before, captured, *rest = _divided(parts)
        after = rest.pop(0) if len(rest) == 3 else ()
        bytes_of = (*before[1:], *captured, *(after[:-1] if after[-1:] == ("$",) else after))
        if before[:1] != ("^",) or not rest or any(rest) or not all(map(_is_byte, bytes_of)):
            raise NotProvedError
        found.append(KeyAlternative(before, captured, after))
    if not found or _LAZY.search(pattern):
        raise NotProvedError
    return found, name


def _entry(alternative: KeyAlternative, captured: Parts, start: bytes, answer: bytes | None) -> Iterator[FrontEntry]:
    """Yield the entry of an alternative with `captured` in place of what it captures, narrowed to the subjects that
    start with a text; nothing if there are none.
    """
    choices = [frozenset((byte,)) for byte in start]
    parts = _narrowed((*alternative.before[1:], *captured, *alternative.after), choices)
    if parts is not None:
        yield FrontEntry(("^", *parts), answer)


def _divided(parts: Parts) -> list[Parts]:
    """Return what is between the marks."""
    places = [at for at, part in enumerate(parts) if part == _MARK.decode()]
    if not places:
        raise NotProvedError
    return [parts[start:end] for start, end in zip([0, *(at + 1 for at in places)], [*places, len(parts)], strict=True)]


def _is_byte(part: Part) -> bool:
    return not isinstance(part, str) and not part[1]


def _narrowed(parts: Parts, choices: Sequence[frozenset[int]]) -> Parts | None:
    """Return a sequence of single bytes whose first ones are among the choices; None if no subject is left."""
    found: list[Part] = []
    for part, choice in zip_longest(parts, choices):
        if choice is None:
            found.append(part)
        elif part is None:
            found.append((choice, False))
        elif isinstance(part, str) or part[0].isdisjoint(choice):
            if 10 in choice:  # `$` may have a newline behind it
                raise NotProvedError
            return None
        else:
            found.append((part[0] & choice, False))
    return tuple(found)


def _spellings(text: bytes) -> Sequence[frozenset[int]]:
    """Return the bytes of a text in both cases."""
    return [frozenset(pair) for pair in zip(text.lower(), text.upper(), strict=True)]


def _without(parts: Parts, others: Parts) -> Parts | None:
    """Return a sequence of the subjects of one that another one does not match, and perhaps of more; None if there are
    none. The other one has single bytes only.
    """
    apart = []
    for at, other in enumerate(others):
        part = parts[at] if at < len(parts) else ""
        if isinstance(part, str) or isinstance(other, str):
            if part != other and (part, other) != ("\\z", "$"):
                return parts
        elif part[1]:
            return parts
        elif not part[0] <= other[0]:
            apart.append((at, part[0] - other[0]))
    if len(apart) > 1:
        return parts
    return next(((*parts[:at], (left, False), *parts[at + 1 :]) for at, left in apart), None)


def as_pattern(parts: Parts) -> bytes:
    """Return an entry's sequence as a pattern."""
    return b"".join(
        part.encode() if isinstance(part, str) else b"[%s]" % b"".join(b"\\x%02x" % byte for byte in sorted(part[0]))
        for part in parts
    )
