r"""Proves that a map and lookups that replace it have the same value, row by row and in time proportional to the map.

The value of a map is that of its first row that matches. Say that an answer of the lookups is *due to* some rows of the
map if each subject that gets it matches one of them, and they have its value. The lookups have the value of the map if

1. each answer but the default is due to some rows;
2. each subject that a row matches gets the value of that row, or an answer due to rows none of which is behind it.

*Proof.* If no row matches a subject, it gets the default by 1. Otherwise let r be the first row that does. By 2, the
subject gets the value of r, or an answer due to rows that are not behind r. By 1 it matches one of these, which is r.

So no row is compared with another one, and no float with a leaf. Condition 1 is checked once for each answer of each
lookup that may be reached, and 2 by following the subjects of each row through the lookups. The parts of patterns
decide where they lead (`pattern_parts`), and automata where the parts do not. Plain keys are looked up in the map
itself. Where lookups compare the numbers of two answers, the smaller one counts, so it is enough for 2 if one of both
is not behind the row; the numbers must have the order of the rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property
from itertools import islice

from nginxopt import lazy
from nginxopt.budget import ExceededError, Meter, limit
from nginxopt.records import record
from nginxopt.verify.definitions import MapTable, PatternRow, SideDefinitions, table_of
from nginxopt.verify.fronts import Front, FrontEntry, as_pattern
from nginxopt.verify.lookups import WIDTH, Lookups, NotProvedError
from nginxopt.verify.path_condition import is_empty, searches
from nginxopt.verify.pattern_parts import (
    Parts,
    SequenceIndex,
    covers,
    head,
    holds_all,
    may_start,
    sequences,
    subjects,
    texts_of,
)
from nginxopt.verify.patterns import WordIndex, group_names, starts_with, without
from nginxopt.verify.plain_keys import PlainKeys
from nginxopt.verify.symbols import pieces

_KEY = lazy.pattern(rb"\^\(\?<(\w+)>(.*)\)", re.DOTALL)
"""What captures the text that a subject starts with."""

_NUMBERED = lazy.pattern(rb"(\d+)\|(.*)", re.DOTALL)
_LEAST, _PER_ROW, _SHORT = 200_000, 150, 3
"""The most operations of a proof, and the most for each row, which takes up to 1.5 ms: an operation is a few steps."""

_DEEPEST = 60
"""The maximum number of lookups that are evaluated inside one another."""

_MOST_PARTS = 10_000_000
"""The maximum number of parts of all patterns, each of which takes some bytes of memory."""

_CANDIDATES = 50
"""The maximum number of rows with the value of a key that are tried for it."""


@record(eq=True)
class _Chain:
    """Patterns that are tried on the subject in order.

    Attributes:
        answers: For each row, the last row of the map that its answer is due to by its pattern; None if there is none,
            as it gives the default, leads to other lookups, or depends on what leads to it.
        most: For each number of rows, the maximum of that.
        places: For each row of the map, the first place at which all its subjects match.
        others: The other places.
    """

    table: MapTable
    answers: tuple[int | None, ...]
    most: tuple[int, ...]
    places: Mapping[int, int]
    others: tuple[int, ...]


def same_values(old: SideDefinitions, new: SideDefinitions, name: str) -> bool:
    """Return whether a map of the old side certainly has the same value as that of the new side, for each subject."""
    if any(side.form(name)["kind"] != "map" or not _is_plain(side, name) for side in (old, new)):
        return False
    if old.inner(name) or old.bases(name) != new.bases(name) or len(old.bases(name)) != 1:
        return False
    groups = {*old.groups(name), *new.groups(name)}
    if not groups.isdisjoint(old.bases(name)) or any(map(new.defines, groups)):
        return False
    table = table_of(old.form(name))
    if table is None or pieces(table.source) != old.bases(name) or old.bases(name)[0].isdigit():
        return False
    try:
        return _Proof(table, new, name).holds()
    except (NotProvedError, ExceededError):
        return False


def _is_plain(side: SideDefinitions, name: str) -> bool:
    """Return whether the value of a map depends on nothing but what is looked up now."""
    left = {each: side.used(each) for each in (name, *side.inner(name))}
    if any(map(side.is_kept, left)) or side.is_opaque(name) or any(map(side.is_entangled, left)):
        return False
    for _ in range(_DEEPEST):  # those that read no other one, then those that read only these, and so on
        left = {each: used for each, used in left.items() if not used.isdisjoint(left)}
    return not left


class _Proof:
    def __init__(self, table: MapTable, new: SideDefinitions, name: str) -> None:
        self._new = new
        self._name = name
        self._table = table
        self._subject = pieces(table.source)[0]
        self._lookups = Lookups(new, self._subject, table.default)
        # A request line ends at a newline, and HTTP/2 and HTTP/3 refuse one in a path.
        self._never = (rb"\n",) if self._subject == "request_uri" else ()
        self._rows = table.rows
        self._place: dict[bytes, int] = {}
        for number, row in enumerate(self._rows):
            self._place.setdefault(row.pattern, number)
        self._chains: dict[str, _Chain] = {}
        self._keys: dict[str, WordIndex] = {}
        self._homes: dict[str, frozenset[int]] = {}
        self._indexes: dict[bytes, SequenceIndex] = {}
        self._fronts: dict[str, Front] = {}
        self._due: dict[tuple[bytes, bytes, bool], int] = {}
        self._parts: dict[bytes, tuple[Parts, ...]] = {}
        self._checked: set[tuple[str, bytes, bool]] = set()
        self._numbers: dict[bytes, int] = {}
        self._reached: dict[tuple[str, bytes, bool], bool] = {}
        self._numbered: dict[str, bool] = {}
        self._due_of_entry: dict[FrontEntry, int] = {}
        self._left = _MOST_PARTS
        self._steps = Meter("steps", _SHORT * min(limit("steps"), _LEAST + _PER_ROW * len(self._rows)))
        self._plain = PlainKeys(self._lookups, table, self._subject, self._steps.spend)

    def holds(self) -> bool:
        """Return whether both conditions hold."""
        table, own = self._table, self._lookups.table(self._name)
        for text in (table.default, *table.exact.values()):
            self._check_text(text, ())
        for row in self._rows:
            self._check_text(row.value, (*group_names(row.pattern), *"0123456789"))
        if own.exact != table.exact or pieces(own.source) != (self._subject,):
            return False
        if b"" not in table.exact and self._lookups.of_empty(self._name) != table.default:
            return False
        self._check_answers(self._name, b"", is_numbered=False)
        for number, row in enumerate(self._rows):
            self._reached = {}
            if self._place[row.pattern] == number and not self._reaches(self._name, number, b"", is_strict=False):
                return False
        return self._are_ordered()

    def _check_text(self, text: bytes, captured: tuple[str, ...]) -> None:
        """Check that a value reads nothing that lookups may set, but what its own pattern captures."""
        for piece in pieces(text) if b"$" in text else ():
            if isinstance(piece, bytes) or piece in captured:
                continue
            if piece.isdigit() or self._new.defines(piece) or piece in self._new.groups(self._name):
                raise NotProvedError

    def _are_ordered(self) -> bool:
        """Return whether numbers have the order of the rows."""
        if any(len(number) != WIDTH for number in self._numbers):
            return False
        rows = [row for _, row in sorted(self._numbers.items())]
        return rows == sorted(rows)

    # What is looked up.

    def _chain(self, name: str, *, is_numbered: bool) -> _Chain:
        if self._numbered.setdefault(name, is_numbered) != is_numbered:
            raise NotProvedError
        if name not in self._chains:
            self._chains[name] = self._made_chain(self._lookups.table(name), is_numbered=is_numbered)
        return self._chains[name]

    def _made_chain(self, table: MapTable, *, is_numbered: bool) -> _Chain:
        answers: list[int | None] = []
        most, others = [-1], []
        places: dict[int, int] = {}
        for at, row in enumerate(table.rows):
            self._steps.spend(1)
            answer = None  # `_check_answers` follows lookups, and checks other answers
            if self._lookups.inner(row.value) is None and not self._is_none(row.value, is_numbered=is_numbered):
                answer, held = self._due_to(row, is_numbered=is_numbered)
                for number in held:
                    places.setdefault(number, at)
            answers.append(answer)
            most.append(most[-1] if answer is None else max(most[-1], answer))
            if answer is None:
                others.append(at)
        return _Chain(table, tuple(answers), tuple(most), places, tuple(others))

    def _is_none(self, value: bytes, *, is_numbered: bool) -> bool:
        return value == (b"" if is_numbered else self._table.default)

    def _due_to(self, row: PatternRow, *, is_numbered: bool) -> tuple[int | None, tuple[int, ...]]:
        """Return the last row of the map that the answer of a row is due to by its pattern, and the rows that this row
        holds; None if it is due to none, or only for subjects with the right start, as that of a filter in a leaf."""
        number = self._place.get(row.pattern)
        if number is not None and self._rows[number].value == self._text(row.value, is_numbered=is_numbered):
            named = self._named(row.value, row.pattern) if is_numbered else number
            if is_numbered:
                self._count(row.value, named)
            return named, (number,) if named == number else ()
        known = set(self._sequences(row.pattern))
        numbers = {self._by_sequence.get((parts, row.value), -1) for parts in known}
        if not known or -1 in numbers or is_numbered or b"$" in row.value:
            return None, ()
        return max(numbers), tuple(each for each in numbers if known.issuperset(self._sequences_of(each)))

    @cached_property
    def _by_sequence(self) -> dict[tuple[Parts, bytes], int]:
        """The first row with a sequence and a value."""
        found: dict[tuple[Parts, bytes], int] = {}
        for number, row in enumerate(self._rows):
            for parts in self._sequences_of(number):
                found.setdefault((parts, row.value), number)
        return found

    def _sequences(self, pattern: bytes) -> tuple[Parts, ...]:
        if pattern not in self._parts:
            self._parts[pattern] = sequences(pattern)
            self._left -= sum(map(len, self._parts[pattern]))
            if self._left < 0:
                raise NotProvedError
        return self._parts[pattern]

    def _sequences_of(self, row: int) -> tuple[Parts, ...]:
        return self._sequences(self._rows[row].pattern)

    def _text(self, value: bytes, *, is_numbered: bool) -> bytes:
        """Return the text of an answer, without its number if it has one."""
        if not is_numbered:
            return value
        match = _NUMBERED.fullmatch(value)
        if match is None:
            raise NotProvedError
        return match[2]

    def _named(self, value: bytes, pattern: bytes) -> int:
        """Return the row with a pattern that a number stands for; the first one with it if that is another one."""
        number = int(value.partition(b"|")[0])
        is_same = number < len(self._rows) and self._rows[number] == PatternRow(pattern, value.partition(b"|")[2])
        return number if is_same else self._place[pattern]

    def _count(self, value: bytes, number: int) -> None:
        """Note the row that the number of an answer stands for."""
        written = value.partition(b"|")[0]
        if self._numbers.setdefault(written, number) != number:
            raise NotProvedError

    def _words(self, name: str) -> WordIndex:
        """Return the texts of a lookup whose patterns capture the longest one that a subject starts with."""
        if name not in self._keys:
            table = self._lookups.table(name)
            if pieces(table.source) != (self._subject,) or table.exact or table.default:
                raise NotProvedError
            words: dict[bytes, None] = {}
            for row in table.rows:
                match = _KEY.fullmatch(row.pattern)
                found = () if match is None else tuple(map(texts_of, self._sequences(match[2])))
                if match is None or not found or not all(found) or pieces(row.value) != (match[1].decode().lower(),):
                    raise NotProvedError
                for text in (text for texts in found for text in texts):
                    self._steps.spend(1)
                    if any(text[:end] in words for end in range(len(text))):  # which would be tried first
                        raise NotProvedError
                    words[text] = None
            self._keys[name] = WordIndex(words)
        return self._keys[name]

    # Condition 1, and the key of a subject.

    def _check_answers(self, name: str, start: bytes, *, is_numbered: bool) -> None:
        """Check condition 1 for all that a lookup may answer for subjects that start with a text."""
        key = (name, start, is_numbered)
        if not self._checked.isdisjoint((key, (name, b"", is_numbered))):
            return
        self._steps.spend(1)
        self._checked.add(key)
        if self._numbered.setdefault(name, is_numbered) is not is_numbered:
            raise NotProvedError
        table = self._lookups.table(name)
        if self._lookups.is_chain(name):
            if table.exact and name != self._name:
                raise NotProvedError
            chain = self._chain(name, is_numbered=is_numbered)
            for value in (table.default, *(table.rows[at].value for at in chain.others)):
                self._check_value(value, start, is_numbered=is_numbered)
        elif self._lookups.is_for_empty(table):
            least = self._lookups.least(name)
            if least is None:
                self._check_value(self._plain.behind(name)[0], start, is_numbered=is_numbered)
            elif is_numbered:
                raise NotProvedError
            else:
                for each in least:
                    self._check_answers(each, start, is_numbered=True)
        elif self._lookups.is_front(name):
            front = self._front(name)
            for entry in front.entries:
                if entry.answer is not None:
                    self._due_to_entry(entry)
            self._check_value(front.behind, start, is_numbered=is_numbered)
        else:
            for word in dict.fromkeys(
                (b"", *(word for chain in self._lookups.key_chains(name) for word in self._words(chain)))
            ):
                self._steps.spend(1)
                if word.startswith(start) or start.startswith(word):
                    self._check_value(
                        self._lookups.at_key(name, word), max(word, start, key=len), is_numbered=is_numbered
                    )

    def _check_value(self, value: bytes, start: bytes, *, is_numbered: bool) -> None:
        inner = self._lookups.inner(value)
        if inner is not None:
            self._check_answers(inner, start, is_numbered=is_numbered)
        elif not self._is_none(value, is_numbered=is_numbered):
            self._due_at(start, value, is_numbered=is_numbered)

    def _due_at(self, word: bytes, value: bytes, *, is_numbered: bool) -> int:
        """Return the row that an answer for all subjects that start with a word is due to."""
        key = (word, value, is_numbered)
        found = self._due.get(key)
        if found is None:
            text = self._text(value, is_numbered=is_numbered)
            numbers = self._by_value.get(text, [])[:_CANDIDATES]
            named = int(value.partition(b"|")[0]) if is_numbered else -1
            rows = [named] if 0 <= named < len(self._rows) and self._rows[named].value == text else numbers
            found = next((row for row in rows if b"$" not in text and self._covers(row, word)), None)
            if found is None:
                raise NotProvedError
            self._due[key] = found
            if is_numbered:
                self._count(value, found)
        return found

    @cached_property
    def _by_value(self) -> dict[bytes, list[int]]:
        found: dict[bytes, list[int]] = {}
        for number, row in enumerate(self._rows):
            found.setdefault(row.value, []).append(number)
        return found

    def _covers(self, row: int, word: bytes) -> bool:
        """Return whether a row matches each subject that starts with a word."""
        if any(covers(parts, word, has_newlines=not self._never) for parts in self._sequences_of(row)):
            return True
        return self._is_empty((starts_with(word),), (self._rows[row].pattern,))

    def _possible(self, name: str, parts: Parts, text: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Yield the keys that a lookup may give for the subjects of a sequence that start with a text, each with the
        longest text known to be at their start."""
        if self._lookups.is_chain(name):
            words = self._words(name)
            text = head(parts, text)
            yield words.longest(text), text
            for word in words.starting_with(text):
                self._steps.spend(1)
                start = head(parts, word)
                if word != text and may_start(parts, word) and words.longest(start) == word:
                    yield word, start
            return
        table, source = self._lookups.table(name), self._lookups.source(name)
        for key, start in self._possible(source, parts, text):
            value = table.exact.get(key.lower(), table.default)
            inner = self._lookups.inner(value)
            if inner == source and key.lower() not in table.exact:
                yield key, start
            elif inner is not None:
                yield from self._possible(inner, parts, max(key, start, key=len))
            else:
                raise NotProvedError

    # Fronts.

    def _front(self, name: str) -> Front:
        if name not in self._fronts:
            self._fronts[name] = Front(self._lookups, name, self._words, self._steps.spend)
        return self._fronts[name]

    def _due_to_entry(self, entry: FrontEntry) -> int:
        """Return the first row that the answer of an entry of a front is due to."""
        if entry not in self._due_of_entry:
            answer = entry.answer
            rows = () if answer is None or b"$" in answer else self._by_value.get(answer, ())
            found = next((row for row in rows[:_CANDIDATES] if self._has_all(row, entry.parts)), None)
            if found is None:
                raise NotProvedError
            self._due_of_entry[entry] = found
        return self._due_of_entry[entry]

    def _has_all(self, row: int, parts: Parts) -> bool:
        """Return whether a row certainly matches all subjects of an entry's sequence."""
        self._steps.spend(1)
        return any(holds_all(each, parts[1:], has_newlines=not self._never) for each in self._sequences_of(row))

    def _by_front(self, front: Front, row: int, text: bytes, *, is_strict: bool) -> bool:
        def is_right(entry: FrontEntry) -> bool:
            is_due = entry.answer == self._rows[row].value or self._due_to_entry(entry) <= row
            return is_due or self._is_empty((self._rows[row].pattern, as_pattern(entry.parts)), ())

        found = self._sequences_of(row)
        does_lead = [front.leads_on(parts, is_right) for parts in found]
        if is_strict or not found:
            raise NotProvedError
        return not any(does_lead) or self._leads(front.behind, row, text, is_strict=is_strict)

    # Condition 2.

    def _reaches(self, name: str, row: int, text: bytes, *, is_strict: bool) -> bool:
        """Return whether each subject of a row that starts with a text gets an answer that is not due to a later row,
        or one with the same value unless `is_strict`."""
        key = (name, text, is_strict)
        if key not in self._reached:
            self._steps.spend(1)
            self._reached[key] = self._found(name, row, text, is_strict=is_strict)
        return self._reached[key]

    def _found(self, name: str, row: int, text: bytes, *, is_strict: bool) -> bool:
        if self._lookups.is_chain(name):
            return self._in_chain(name, row, text, is_strict=is_strict)
        table = self._lookups.table(name)
        if self._lookups.is_for_empty(table):
            least = self._lookups.least(name)
            if least is None:
                behind, keys = self._plain.behind(name)
                return self._is_among(keys, row) or self._leads(behind, row, text, is_strict=is_strict)
            if is_strict:
                raise NotProvedError
            order = least if row in self._home(least[0]) else least[::-1]
            return any(self._reaches(each, row, text, is_strict=True) for each in order)
        if self._lookups.is_front(name):
            return self._by_front(self._front(name), row, text, is_strict=is_strict)
        return self._by_keys(name, row, is_strict=is_strict)

    def _in_chain(self, name: str, row: int, text: bytes, *, is_strict: bool) -> bool:
        chain = self._chain(name, is_numbered=is_strict)
        end = chain.places.get(row, len(chain.answers))
        if self._through(chain, end, row, text, is_strict=is_strict):
            return True
        if row in chain.places:
            return False
        end = self._taken_before(chain, row, text, is_strict=is_strict)
        return end < len(chain.answers) and self._through(chain, end, row, text, is_strict=is_strict)

    def _through(self, chain: _Chain, end: int, row: int, text: bytes, *, is_strict: bool) -> bool:
        """Return what `_reaches` does for a chain in which all these subjects match at a place, if not before."""
        if chain.most[end] > row and not all(
            self._is_right(chain, at, row, is_strict=is_strict) or self._is_apart(row, text, chain.table.rows[at])
            for at in range(end)
            if chain.answers[at] is not None
        ):
            return False
        passed: list[bytes] = []  # patterns of earlier rows with right answers
        for at in chain.others:
            if at >= end:
                break
            other = chain.table.rows[at]
            if self._leads(other.value, row, text, is_strict=is_strict):
                if self._stands(other.pattern, row, text):
                    return True
                passed.append(other.pattern)
            elif not self._is_apart(row, text, other):
                return any(self._holds(each, row, text) for each in passed)
        if end < len(chain.answers) or self._leads(chain.table.default, row, text, is_strict=is_strict):
            return True
        if any(self._holds(each, row, text) for each in passed):
            return True
        tried = [each.pattern for each in chain.table.rows]
        return self._is_empty((self._rows[row].pattern, starts_with(text)), tuple(tried))

    def _taken_before(self, chain: _Chain, row: int, text: bytes, *, is_strict: bool) -> int:
        """Return the first place with a right answer at which each subject of a row that starts with a text matches;
        the end of the chain if there is none. The end also stands for a row whose subjects are all matched by an
        earlier row."""
        starts = [head(parts, text) for parts in self._sequences_of(row)]
        for at, other in enumerate(chain.table.rows):
            if chain.answers[at] is None or not self._is_right(chain, at, row, is_strict=is_strict):
                continue
            self._steps.spend(1)
            found = self._sequences(other.pattern)
            is_covered = all(
                any(covers(parts, start, has_newlines=not self._never) for parts in found) for start in starts
            )
            if starts and (is_covered or self._stands(other.pattern, row, text)):
                return at
        return len(chain.answers)

    def _is_right(self, chain: _Chain, at: int, row: int, *, is_strict: bool) -> bool:
        answer = chain.answers[at]
        assert answer is not None
        value = chain.table.rows[at].value
        return answer <= row or (not is_strict and b"$" not in value and value == self._rows[row].value)

    def _leads(self, value: bytes, row: int, text: bytes, *, is_strict: bool) -> bool:
        """Return whether a value is right for each subject of a row that starts with a text."""
        inner = self._lookups.inner(value)
        if inner is not None:
            return self._reaches(inner, row, text, is_strict=is_strict)
        if not is_strict and b"$" not in value and value == self._rows[row].value:
            return True
        if self._is_none(value, is_numbered=is_strict) or not text:
            return False
        return self._due_at(text, value, is_numbered=is_strict) <= row

    def _by_keys(self, name: str, row: int, *, is_strict: bool) -> bool:
        source = self._lookups.source(name)
        for parts in self._sequences_of(row):
            for key, text in self._possible(source, parts, head(parts)):
                value = self._lookups.at_key(name, key)
                if not self._leads(value, row, text, is_strict=is_strict) and not self._is_no_key(name, row, key, text):
                    return False
        return bool(self._sequences_of(row))

    def _is_no_key(self, name: str, row: int, key: bytes, text: bytes) -> bool:
        """Return whether no subject of a row that starts with a text has a key: all start with a longer one."""
        words = (word for chain in self._lookups.key_chains(name) for word in self._words(chain).starting_with(key))
        longer = set(islice((word for word in words if word != key and self._may_start(row, word)), _CANDIDATES + 1))
        if len(longer) > _CANDIDATES:
            return False
        return self._is_empty((self._rows[row].pattern, starts_with(text)), tuple(map(starts_with, sorted(longer))))

    def _may_start(self, row: int, text: bytes) -> bool:
        """Return whether a subject of a row may start with a text."""
        self._steps.spend(1)
        return any(may_start(parts, text) for parts in self._sequences_of(row))

    def _is_apart(self, row: int, text: bytes, other: PatternRow) -> bool:
        """Return whether another pattern matches no subject of a row that starts with a text."""
        found, others = self._sequences_of(row), self._sequences(other.pattern)
        starts = {head(parts, text) for parts in found}
        self._steps.spend(1)
        if starts and others and not any(may_start(parts, start) for start in starts for parts in others):
            return True
        inside = without(other.pattern)
        if inside is not None:
            return self._holds(inside, row, text)
        return self._is_empty((self._rows[row].pattern, other.pattern, starts_with(text)), ())

    def _holds(self, pattern: bytes, row: int, text: bytes) -> bool:
        """Return whether a pattern matches each subject of a row that starts with a text."""
        if self._stands(pattern, row, text):
            return True
        return self._is_empty((self._rows[row].pattern, starts_with(text)), (pattern,))

    def _stands(self, pattern: bytes, row: int, text: bytes) -> bool:
        """Return whether the parts of the pattern of a row show that."""
        if pattern not in self._indexes:
            self._indexes[pattern] = SequenceIndex(self._sequences(pattern))
        found = self._sequences_of(row)
        self._steps.spend(len(found))
        return bool(found) and all(self._indexes[pattern].holds(parts) for parts in found if may_start(parts, text))

    def _is_empty(self, inside: tuple[bytes, ...], outside: tuple[bytes, ...]) -> bool:
        before = searches().work
        try:
            return is_empty(tuple(each for each in inside if each != b"^"), (*outside, *self._never))
        finally:
            self._steps.spend(1 + searches().work - before)

    def _home(self, name: str) -> frozenset[int]:
        """Return the rows that a lookup, or another one that it leads to, holds."""
        if name not in self._homes:
            chain = self._chain(name, is_numbered=True)
            values = (chain.table.default, *(chain.table.rows[at].value for at in chain.others))
            inner = (each for value in values if (each := self._lookups.inner(value)) is not None)
            self._homes[name] = frozenset(chain.places).union(*map(self._home, inner))
        return self._homes[name]

    def _is_among(self, keys: frozenset[bytes], row: int) -> bool:
        """Return whether a row has no other subjects than these."""
        all_of = [subjects(parts) for parts in self._sequences_of(row)]
        texts = (text for found in all_of for text in found if not (self._never and b"\n" in text))
        return bool(all_of) and all(all_of) and keys.issuperset(texts)
