"""Divides requests by the rows of the maps that answer them, so that a lookup becomes the value of a row.

The term of a lookup does not say which value it has, so a map and the rules that it replaces are different terms. Where
such a term decides a question, or two ends of scripts with such a term differ, the requests are divided: one part for
each row that may answer, in the order in which nginx tries rows. In each part, the value of the row replaces the lookup
everywhere (`Substitution`), and a part without requests is dropped. A group of a pattern that can hold only a few texts
is treated as a map with these texts as rows.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice

from nginxopt.records import record
from nginxopt.verify.definitions import MapTable, Tables, key_pattern
from nginxopt.verify.executor import Leaf
from nginxopt.verify.path_condition import Atom, Excluded, Fact, Known, Matches, PathCondition
from nginxopt.verify.patterns import (
    CertainGroup,
    beginnings,
    equal_to,
    escaped,
    few_values,
    group,
    in_any_case,
    matches,
    only_value,
)
from nginxopt.verify.state import State
from nginxopt.verify.symbols import (
    Capture,
    Derived,
    KnownBytes,
    Match,
    Substitution,
    Symbol,
    all_parts,
    is_raw,
    may_be_empty,
    parts_of,
    replaced,
)

_EMPTY = equal_to(b"")
_WALKED = 4  # this many parts of values take as long to visit as one operation
_COMPARED = 12  # this many excluded patterns take as long to compare with another one as one operation
_FEW = 16  # this many values of a request are replaced at no extra cost
_PUT = 20  # the cost of each further value that is replaced, in operations
_MOST_ASKED = 1000
"""The maximum number of parts that requests are divided into before a question about a map is asked."""


@record(eq=True)
class Pair:
    """The ends of both scripts for the requests of a region.

    Attributes:
        kept: A map whose value may have been looked up earlier, so that its rows do not decide.
    """

    old: Leaf
    new: Leaf
    region: PathCondition
    kept: Symbol | None = None


@record(eq=True)
class Division:
    """A pair divided by the rows of a map, or by the text of a group.

    Attributes:
        symbol: The value that is known in the parts.
        parts: The parts that hold requests, made one by one on demand.
        is_complete: Whether these are all parts. They are not if the map may have been looked up earlier.
    """

    symbol: Symbol
    parts: Iterator[Pair]
    is_complete: bool


class Unfolding:
    """Divides requests by the rows of maps.

    `work` is the cost of that so far, in operations of a script, `matched` the patterns by which it divided them.
    """

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self.matched: set[bytes] = set()
        self._walked = 0
        self._tried = 0

    @property
    def work(self) -> int:
        """The cost so far, in operations."""
        return self._walked // _WALKED + self._tried

    def divided(self, pair: Pair) -> Division | None:
        """Return the parts of a pair by the rows of one map, or by what one group holds; None if nothing is left."""
        symbol = None if pair.kept is not None else next(self._looked_up(pair), None)
        if symbol is None:
            return _with_only_values(pair)
        return Division(symbol, self._pairs(pair, symbol), is_complete=not self._is_kept(symbol))

    def _pairs(self, pair: Pair, symbol: Derived | Capture) -> Iterator[Pair]:
        put, more = Substitution(symbol), _PUT * max(0, _values_of(pair) - _FEW)
        for region in self._parts(symbol, pair.region, put):
            self._tried += more
            yield _in(region, pair, symbol, put)
        self._tried += put.work

    def asked(self, atom: Atom, region: PathCondition, state: State) -> list[tuple[PathCondition, State]] | None:
        """Return a region divided by the rows of one map that a question depends on. In each part the value is known,
        and replaces the lookup in the state, so that it is not looked for again in each question that follows.

        None if the question depends on no map, or if there are too many parts to follow each by itself, as there may be
        if nothing is known of what is looked up. `atom` is a question as `atom_now` returns it.
        """
        values = (atom.subject,) if isinstance(atom, Matches) else atom.values
        symbol = next((symbol for value in values for symbol in self._within(value, region.found)), None)
        if symbol is None or self._is_kept(symbol) or not _is_known(symbol, region):
            return None
        put = Substitution(symbol)
        regions = list(islice(self._parts(symbol, region, put), _MOST_ASKED + 1))
        parts = [(part, _state(state, part.found[symbol], put)) for part in regions]
        self._tried += put.work
        return parts if len(parts) <= _MOST_ASKED else None

    def _parts(self, symbol: Derived | Capture, region: PathCondition, put: Substitution) -> Iterator[PathCondition]:
        """Yield the parts of a region that hold requests, by the row that answers or by what a group holds."""
        for within, looked_up in self._cases(symbol, region):
            part = _with_value(within, symbol, looked_up, put)
            if part is not None:
                yield part

    def _is_kept(self, symbol: Derived | Capture) -> bool:
        return isinstance(symbol, Derived) and self._tables.is_kept(symbol)

    def _looked_up(self, pair: Pair) -> Iterator[Derived | Capture]:
        """Yield the maps and groups in a pair, those that its requests depend on first."""
        found = pair.region.found
        for subject in pair.region.values:
            yield from self._within(subject, found)
        for fact in pair.region.facts:
            for value in fact.values:
                yield from self._within(value, found)
        for leaf in (pair.old, pair.new):
            for item in leaf.what:
                if isinstance(item, Symbol):
                    yield from self._within(item, found)
            for value in (leaf.state.uri, leaf.state.args, *(leaf.state.values or {}).values()):
                yield from self._within(value, found)

    def _within(self, symbol: Symbol, found: Mapping[Symbol, Symbol]) -> Iterator[Derived | Capture]:
        """Yield the maps and groups of unknown value that a value comes from, each after those it comes from."""
        seen: set[Symbol] = set()
        waiting: list[tuple[Symbol, bool]] = [(symbol, False)]
        while waiting:
            here, is_behind = waiting.pop()
            if is_behind:
                assert isinstance(here, Derived | Capture)
                yield here
            elif here not in found and here not in seen:
                self._walked += 1
                seen.add(here)
                if self._is_divided(here, found):
                    waiting.append((here, True))
                waiting += [(part, False) for part in reversed(self._sources(here, found))]

    def _sources(self, symbol: Symbol, found: Mapping[Symbol, Symbol]) -> tuple[Symbol, ...]:
        """Return what a value comes from: of a map, what it looks up."""
        table = self._tables.table(symbol) if isinstance(symbol, Derived) else None
        if table is None:
            return parts_of(symbol)
        assert isinstance(symbol, Derived)
        return (self._source(symbol, table, found),)

    def _is_divided(self, symbol: Symbol, found: Mapping[Symbol, Symbol]) -> bool:
        """Return whether requests can be divided by a value: that of a map, or of a group with few possible texts."""
        match symbol:
            case Derived():
                return self._tables.table(symbol) is not None
            case Capture(Match(subject, _)) if subject is not None:
                return subject not in found and _is_one_of_some(symbol)
        return False

    def _source(self, symbol: Derived, table: MapTable, found: Mapping[Symbol, Symbol]) -> Symbol:
        return known_now(self._tables.source(symbol, table), found)

    def _cases(self, symbol: Derived | Capture, region: PathCondition) -> Iterator[tuple[PathCondition, Symbol]]:
        """Yield the parts of a region by the row that answers, or by what a group holds, with that value."""
        if isinstance(symbol, Capture):
            for case in _held(symbol, region):
                self._tried += 1
                yield case
            return
        table = self._tables.table(symbol)
        assert table is not None
        source, left = self._source(symbol, table, region.found), region
        if isinstance(source, KnownBytes):
            yield left, self._tables.found(symbol, table, source)
            return
        for key in _keys(table, source, left):
            self._tried += 1
            # Keys exclude each other, so this starts from `region`: `left` excludes all earlier keys, maybe thousands.
            within = _equal(region, source, key_pattern(key), True)
            if not within.is_empty:
                yield within, self._tables.value(symbol, table.exact[key], None)
                left = _equal(left, source, key_pattern(key), False)
        atom = Matches(source, _EMPTY)  # nginx tries no patterns on the empty string (`ngx_http_map_find`)
        if table.rows and b"" not in table.exact and left.answer(atom) is not False:
            yield with_answer(left, atom, True), self._tables.value(symbol, table.default, None)
            left = with_answer(left, atom, False)
        for row in table.rows:
            self._tried += 1 + len(left.known(source).outside) // _COMPARED
            self.matched.add(row.pattern)
            hit, miss = _tried(row.pattern, source, left)
            if hit is not None:
                yield hit, self._tables.value(symbol, row.value, Match(source, row.pattern))
            if miss is None:
                return
            left = miss
        yield left, self._tables.value(symbol, table.default, None)


def _is_known(symbol: Derived | Capture, region: PathCondition) -> bool:
    """Return whether a region knows something of a value that a map or a group depends on."""
    sources = symbol.sources if isinstance(symbol, Derived) else (symbol.match.subject,)
    return any(isinstance(source, KnownBytes) or source in region.values for source in sources)


def by_value(leaf: Leaf, region: PathCondition, uri: Symbol) -> Iterator[tuple[Leaf, PathCondition]]:
    """Yield a leaf for each URI that leads to it, as known text, if its requests obviously have few; else as it is.

    What follows is then looked up and matched, not decided by automata. A leaf that is no end stays whole: its states
    would no longer be equal where they meet.
    """
    known = region.known(uri)
    few = next(filter(None, map(few_values, known.inside)), ())
    if not few or uri in region.found or leaf.kind in ("exit", "locating"):
        yield leaf, region
        return
    put = Substitution(uri)
    for text in few:
        value = KnownBytes(text)
        part = _with_value(region, uri, value, put)
        if part is not None:
            yield _end(leaf, value, put), part.with_known(uri, Known({equal_to(text): None}))


def with_found(pair: Pair) -> Pair:
    """Return a pair in whose ends the lookups that are known in its region are replaced by their values."""
    old, new = pair.old, pair.new
    for looked_up, value in pair.region.found.items():
        put = Substitution(looked_up)
        old, new = _end(old, value, put), _end(new, value, put)
    return replace(pair, old=old, new=new)


def _in(region: PathCondition, pair: Pair, symbol: Symbol, put: Substitution) -> Pair:
    """Return the part of a pair in a region where a value is known."""
    value = region.found[symbol]
    return Pair(_end(pair.old, value, put), _end(pair.new, value, put), region)


def _values_of(pair: Pair) -> int:
    """Return how many values are rewritten for each part of a pair."""
    states = pair.old.state, pair.new.state
    return len(pair.region.found) + sum(len(state.values or {}) + len(state.cached or {}) for state in states)


def _with_only_values(pair: Pair) -> Division | None:
    """Return a pair with a value for which its region leaves only one; None if there is no other such value."""
    for subject, known in pair.region.values.items():
        only = known.only
        if only is not None and subject not in pair.region.found:
            region = pair.region.with_found(subject, KnownBytes(only))
            return Division(subject, iter([_in(region, pair, subject, Substitution(subject))]), is_complete=True)
    return None


def atom_now(atom: Atom, found: Mapping[Symbol, Symbol]) -> Atom | bool:
    """Return a question about values as they are known, or the answer."""
    if isinstance(atom, Matches):
        subject = known_now(atom.subject, found)
        is_never = atom.pattern == _EMPTY and not may_be_empty(subject)
        return False if is_never else Matches(subject, atom.pattern)
    values = tuple(known_now(value, found) for value in atom.values)
    return _comparison(*values) if atom.name == "=" else Fact(atom.name, values)


def _comparison(first: Symbol, second: Symbol) -> Atom | bool:
    """Return the question whether two values are equal, or the answer."""
    if first == second:
        return True
    match first, second:
        case KnownBytes(), KnownBytes():
            return False
        case (KnownBytes(text), other) | (other, KnownBytes(text)):
            return Matches(other, equal_to(text))
    return Fact("=", (first, second))


def known_now(symbol: Symbol, found: Mapping[Symbol, Symbol]) -> Symbol:
    """Return a value in which known lookups are replaced by their values."""
    parts = set(all_parts(symbol)) if found else ()
    for looked_up, value in found.items():
        if looked_up in parts:
            symbol = replaced(symbol, looked_up, value)
            parts = set(all_parts(symbol))
    return symbol


def _keys(table: MapTable, source: Symbol, region: PathCondition) -> Iterator[bytes]:
    """Yield the keys that may equal a value in any case of letters: those that what is known of it does not exclude."""
    known = region.known(source)
    only = known.only
    if only is not None:
        return iter([only.lower()] if only.lower() in table.exact else [])
    own = _group(source) if isinstance(source, Capture) else None
    keys: Iterable[bytes]
    if own is None or not own.is_first:
        keys = table.keys if known.beginning is None else table.keys.starting_with(known.beginning)
    else:
        assert isinstance(source, Capture)
        assert source.match.subject is not None
        beginning = region.known(source.match.subject).beginning
        keys = table.keys if beginning is None else table.keys.near(beginning)
    spelled = [pattern for each in known.inside if (pattern := in_any_case(each)) is not None]
    return (key for key in keys if all(matches(pattern, key) is not False for pattern in spelled))


def _tried(pattern: bytes, source: Symbol, region: PathCondition) -> tuple[PathCondition | None, PathCondition | None]:
    """Return the parts of a region that a pattern matches and that it does not; None where nothing is left."""
    first = beginnings(pattern)
    if first is not None:  # to exclude strings one by one is easier than to exclude the pattern as a whole
        near = first.near(region.known(source).beginning)
        none = Known(outside=Excluded(first.holding(escaped(text)) for text in near))
        return (region if near else None), region.with_known(source, none)
    atom = Matches(source, pattern)
    answer = region.answer(atom)
    hit = None if answer is False else region.with_answer(atom, True)
    return hit, None if answer else region.with_answer(atom, False)


def _group(capture: Capture) -> CertainGroup | None:
    """Return the group of a capture, if it is used as it was matched."""
    match = capture.match
    if not is_raw(capture) or match.pattern is None or match.subject is None:
        return None
    return group(match.pattern, capture.group)


def _is_one_of_some(capture: Capture) -> bool:
    own = _group(capture)
    return own is not None and own.strings is not None


def with_answer(region: PathCondition, atom: Atom, answer: bool) -> PathCondition:
    """Return the part of a region with an answer. An answer about a capture also restricts the captured subject."""
    if isinstance(atom, Matches) and isinstance(atom.subject, KnownBytes):
        return region  # says nothing of a request
    if isinstance(atom, Matches) and only_value(atom.pattern) is not None:
        return _equal(region, atom.subject, atom.pattern, answer)
    return region.with_answer(atom, answer)


def _equal(region: PathCondition, value: Symbol, pattern: bytes, answer: bool) -> PathCondition:
    """Return the part of a region in which a value equals a text, or not. `pattern` has the form of `key_pattern`."""
    region = region.with_answer(Matches(value, pattern), answer)
    own = _group(value) if isinstance(value, Capture) else None
    plain = pattern.removeprefix(b"(?i)")
    if own is None or not (answer or own.determines(only_value(plain) or b"")):
        return region
    assert isinstance(value, Capture)
    assert value.match.subject is not None
    text = plain.removeprefix(b"^").removesuffix(rb"\z")
    held = b"(?i:" + text + b")" if pattern.startswith(b"(?i)") else text
    return region.with_answer(Matches(value.match.subject, own.holding(held)), answer)


def _held(capture: Capture, region: PathCondition) -> Iterator[tuple[PathCondition, Symbol]]:
    """Yield the parts of a region by what a capture holds."""
    own, subject = _group(capture), capture.match.subject
    assert own is not None
    assert subject is not None
    near = own.near(region.known(subject).beginning)
    for text in near:
        others = (own.holding(escaped(other)) for other in own.tried_before(text, near))
        held = Known({own.holding(escaped(text)): None}, Excluded(others))
        yield region.with_known(subject, held), KnownBytes(text)


def _with_value(region: PathCondition, symbol: Symbol, looked_up: Symbol, put: Substitution) -> PathCondition | None:
    """Return a region in which a value is known; None if no request is left in it."""
    value = known_now(looked_up, region.found)
    result = PathCondition(found={**region.found, symbol: value})
    for subject, known in region.values.items():
        now = put.into(subject, value)
        if isinstance(now, KnownBytes):
            if not known.may_be(now.value):
                return None
        elif _EMPTY in known.inside and not may_be_empty(now):
            return None
        else:
            result = result.with_known(now, known)
    for fact, answer in region.facts.items():
        changed = _fact(fact, tuple(put.into(part, value) for part in fact.values), result, answer)
        if changed is None:
            return None
        result = changed
    return None if result.is_empty else result


def _fact(fact: Fact, values: tuple[Symbol, ...], region: PathCondition, answer: bool) -> PathCondition | None:
    """Return a region with the answer to a question about these values; None if it cannot be."""
    atom = _comparison(*values) if fact.name == "=" else Fact(fact.name, values)
    if isinstance(atom, bool):
        return region if atom is answer else None
    if region.answer(atom) not in (None, answer):
        return None
    return with_answer(region, atom, answer)


def _end(leaf: Leaf, value: Symbol, put: Substitution) -> Leaf:
    """Return the end of a script in which a value that is known now is replaced."""
    what = tuple([put.into(item, value) if isinstance(item, Symbol) else item for item in leaf.what])
    state = _state(leaf.state, value, put)
    is_same = state is leaf.state and all(map(operator.is_, what, leaf.what))
    return leaf if is_same else replace(leaf, what=what, state=state)


def state_now(state: State, found: Mapping[Symbol, Symbol]) -> State:
    """Return a state in which known lookups are replaced by their values."""
    for looked_up, value in found.items():
        state = _state(state, value, Substitution(looked_up))
    return state


def _state(state: State, value: Symbol, put: Substitution) -> State:
    """Return a state in which a value is known now: the same object if the value is not in it."""
    is_same = True

    def now(part: Symbol) -> Symbol:
        nonlocal is_same
        known = put.into(part, value)
        is_same = is_same and known is part
        return known

    captures = state.captures
    if captures is not None and captures.subject is not None:
        captures = Match(now(captures.subject), captures.pattern)
    uri, args = now(state.uri), now(state.args)
    values = None if state.values is None else {name: now(part) for name, part in state.values.items()}
    cached = None if state.cached is None else {name: now(part) for name, part in state.cached.items()}
    if is_same:
        return state
    return replace(state, uri=uri, args=args, values=values, cached=cached, captures=captures)
