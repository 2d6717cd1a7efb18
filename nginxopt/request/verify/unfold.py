"""Divides requests by the rows of the maps that answer them, so that what is looked up becomes what a row says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from nginxopt.request.verify.patterns import Group, beginnings, equal_to, escaped, group
from nginxopt.request.verify.region import Fact, Known, Matches, Region, matches
from nginxopt.request.verify.state import State
from nginxopt.request.verify.steps import Leaf
from nginxopt.request.verify.substitution import Substitution, is_raw, replaced
from nginxopt.request.verify.symbols import Capture, Derived, Join, Match, Symbol, Text
from nginxopt.request.verify.tables import Table, Tables, key_pattern

_EMPTY = equal_to(b"")


@dataclass(frozen=True, slots=True)
class Pair:
    """The ends of both scripts for the requests of a region.

    Attributes:
        found: Values of look-ups that are known there.
        kept: A map whose value may have been looked up earlier, so that its rows do not decide.
    """

    old: Leaf
    new: Leaf
    region: Region
    found: Mapping[Symbol, Symbol] = field(default_factory=dict)
    kept: Symbol | None = None


@dataclass(frozen=True, slots=True)
class Division:
    """A pair by the rows of a map, or by what a group holds.

    Attributes:
        symbol: The value that is known in the parts.
        parts: Those that hold requests.
        tried: How many rows or strings were tried.
        is_complete: Whether these are all parts: a map may also have been looked up earlier.
    """

    symbol: Symbol
    parts: list[Pair]
    tried: int
    is_complete: bool


class Unfolding:
    """Divides pairs by the rows of maps; `walked` is how many parts of values were looked at for them."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self.walked = 0

    def divided(self, pair: Pair) -> Division | None:
        """Return the parts of a pair by the rows of one map, or by what one group holds; None if nothing is left."""
        symbol = None if pair.kept is not None else next(self._looked_up(pair), None)
        if symbol is None:
            return _with_only_values(pair)
        cases = list(self._cases(symbol, pair))
        put = Substitution(symbol)
        parts = [part for within, value in cases if (part := _part(pair, symbol, within, value, put)) is not None]
        is_kept = isinstance(symbol, Derived) and self._tables.is_kept(symbol)
        return Division(symbol, parts, len(cases), is_complete=not is_kept)

    def _looked_up(self, pair: Pair) -> Iterator[Derived | Capture]:
        """Yield the maps and groups in a pair, those that its requests depend on first."""
        for subject in pair.region.values:
            yield from self._within(subject, pair)
        for fact in pair.region.facts:
            for value in fact.values:
                yield from self._within(value, pair)
        for leaf in (pair.old, pair.new):
            for item in leaf.what:
                if isinstance(item, Symbol):
                    yield from self._within(item, pair)
            for value in (leaf.state.uri, leaf.state.args, *(leaf.state.values or {}).values()):
                yield from self._within(value, pair)

    def _within(self, symbol: Symbol, pair: Pair) -> Iterator[Derived | Capture]:
        """Yield the maps and groups that a value comes from, what they come from before themselves."""
        self.walked += 1
        match symbol:
            case Derived(_, sources):
                table = self._tables.table(symbol)
                if table is not None:
                    yield from self._within(self._source(symbol, table, pair), pair)
                    yield symbol
                else:
                    for source in sources:
                        yield from self._within(source, pair)
            case Capture(Match(subject, _)) if subject is not None:
                yield from self._within(subject, pair)
                if _is_one_of_some(symbol):
                    yield symbol
            case Join(parts):
                for part in parts:
                    yield from self._within(part, pair)

    def _source(self, symbol: Derived, table: Table, pair: Pair) -> Symbol:
        return _known_now(self._tables.source(symbol, table), pair.found)

    def _cases(self, symbol: Derived | Capture, pair: Pair) -> Iterator[tuple[Region, Symbol]]:
        """Yield the parts of a region by the row that answers, or by what a group holds, with that value."""
        if isinstance(symbol, Capture):
            yield from _held(symbol, pair.region)
            return
        table = self._tables.table(symbol)
        assert table is not None
        source, left = self._source(symbol, table, pair), pair.region
        if isinstance(source, Text):
            yield left, self._found(symbol, table, source)
            return
        for key in _keys(table, source, left):
            within = _equal(pair.region, source, key_pattern(key), True)
            if not within.is_empty:
                yield within, self._tables.value(symbol, table.exact[key], None)
                left = _equal(left, source, key_pattern(key), False)
        atom = Matches(source, _EMPTY)
        if table.rows and b"" not in table.exact and left.answer(atom) is not False:
            yield left.with_answer(atom, True), self._tables.value(symbol, table.default, None)
            left = left.with_answer(atom, False)
        for row in table.rows:
            hit, miss = _tried(row.pattern, source, left)
            if hit is not None:
                yield hit, self._tables.value(symbol, row.value, Match(source, row.pattern))
            if miss is None:
                return
            left = miss
        yield left, self._tables.value(symbol, table.default, None)

    def _found(self, symbol: Derived, table: Table, source: Text) -> Symbol:
        """Return what is found for a value that is known."""
        value = table.exact.get(source.value.lower())
        if value is not None:
            return self._tables.value(symbol, value, None)
        for row in table.rows if source.value else ():
            answer = matches(row.pattern, source.value)
            if answer is None:
                return Derived(f"{symbol.name} of", (source,))  # PCRE gives up
            if answer:
                return self._tables.value(symbol, row.value, Match(source, row.pattern))
        return self._tables.value(symbol, table.default, None)


def _part(pair: Pair, symbol: Symbol, within: Region, looked_up: Symbol, put: Substitution) -> Pair | None:
    """Return the part of a pair in which a value is known; None if no request is left in it."""
    value = _known_now(looked_up, pair.found)
    region = _with_value(within, value, put)
    if region is None:
        return None
    ends = _end(pair.old, value, put), _end(pair.new, value, put)
    return Pair(*ends, region, {**pair.found, symbol: value})


def _with_only_values(pair: Pair) -> Division | None:
    """Return a pair with a value for which its region leaves only one; None if there is no other such value."""
    for subject, known in pair.region.values.items():
        only = known.only
        if only is not None and subject not in pair.found:
            value = Text(only)
            found = {**pair.found, subject: value}
            put = Substitution(subject)
            ends = _end(pair.old, value, put), _end(pair.new, value, put)
            return Division(subject, [Pair(*ends, pair.region, found)], 1, is_complete=True)
    return None


def _known_now(symbol: Symbol, found: Mapping[Symbol, Symbol]) -> Symbol:
    if isinstance(symbol, Text):
        return symbol
    for looked_up, value in found.items():
        symbol = replaced(symbol, looked_up, value)
    return symbol


def _keys(table: Table, source: Symbol, region: Region) -> Iterator[bytes]:
    """Return the keys that a value may be equal to, as far as a glance tells."""
    known = region.known(source)
    only = known.only
    if only is not None:
        return iter([only.lower()] if only.lower() in table.exact else [])
    own = _group(source) if isinstance(source, Capture) else None
    if own is None or not own.is_first:
        return iter(table.keys if known.beginning is None else table.keys.starting_with(known.beginning))
    assert isinstance(source, Capture)
    assert source.match.subject is not None
    beginning = region.known(source.match.subject).beginning
    return iter(table.keys if beginning is None else table.keys.near(beginning))


def _tried(pattern: bytes, source: Symbol, region: Region) -> tuple[Region | None, Region | None]:
    """Return the parts of a region that a pattern matches and that it does not; None where nothing is left."""
    first = beginnings(pattern)
    if first is not None:  # which one it is, or that it is none, is easier to see than what all together match
        near = first.near(region.known(source).beginning)
        none = Known(outside=dict.fromkeys(first.holding(escaped(text)) for text in near))
        return (region if near else None), region.with_known(source, none)
    atom = Matches(source, pattern)
    answer = region.answer(atom)
    hit = None if answer is False else region.with_answer(atom, True)
    return hit, None if answer else region.with_answer(atom, False)


def _group(capture: Capture) -> Group | None:
    """Return the group of a capture, if it is used as it was matched."""
    match = capture.match
    if not is_raw(capture) or match.pattern is None or match.subject is None:
        return None
    return group(match.pattern, capture.group)


def _is_one_of_some(capture: Capture) -> bool:
    own = _group(capture)
    return own is not None and own.strings is not None


def _equal(region: Region, value: Symbol, pattern: bytes, answer: bool) -> Region:
    """Return the part of a region in which a value is equal to a text, or not. `pattern` is as of `key_pattern`."""
    region = region.with_answer(Matches(value, pattern), answer)
    own = _group(value) if isinstance(value, Capture) else None
    if own is None or not (answer or own.is_determined):
        return region
    assert isinstance(value, Capture)
    assert value.match.subject is not None
    text = pattern.removeprefix(b"(?i)").removeprefix(b"^").removesuffix(rb"\z")
    held = b"(?i:" + text + b")" if pattern.startswith(b"(?i)") else text
    return region.with_answer(Matches(value.match.subject, own.holding(held)), answer)


def _held(capture: Capture, region: Region) -> Iterator[tuple[Region, Symbol]]:
    """Yield the parts of a region by what a capture holds."""
    own, subject = _group(capture), capture.match.subject
    assert own is not None
    assert subject is not None
    near = own.near(region.known(subject).beginning)
    for text in near:
        others = (own.holding(escaped(other)) for other in own.tried_before(text, near))
        held = Known({own.holding(escaped(text)): None}, dict.fromkeys(others))
        yield region.with_known(subject, held), Text(text)


def _with_value(region: Region, value: Symbol, put: Substitution) -> Region | None:
    """Return a region in which a value is known now; None if no request is left in it."""
    result = Region()
    for subject, known in region.values.items():
        now = put.into(subject, value)
        if isinstance(now, Text):
            if not known.may_be(now.value):
                return None
        else:
            result = result.with_known(now, known)
    for fact, answer in region.facts.items():
        changed = _fact(fact, tuple(put.into(part, value) for part in fact.values), result, answer)
        if changed is None:
            return None
        result = changed
    return None if result.is_empty else result


def _fact(fact: Fact, values: tuple[Symbol, ...], region: Region, answer: bool) -> Region | None:
    """Return a region with the answer to a question about these values; None if it cannot be."""
    if fact.name == "=":
        first, second = values
        if first == second:
            return region if answer else None
        if isinstance(first, Text) and isinstance(second, Text):
            return None if answer else region
        for text, other in ((first, second), (second, first)):
            if isinstance(text, Text):
                atom = Matches(other, equal_to(text.value))
                if region.answer(atom) not in (None, answer):
                    return None
                return _equal(region, other, atom.pattern, answer)
    known = region.answer(Fact(fact.name, values))
    return region.with_answer(Fact(fact.name, values), answer) if known in (None, answer) else None


def _end(leaf: Leaf, value: Symbol, put: Substitution) -> Leaf:
    """Return the end of a script in which a value is known now."""
    what = tuple(put.into(item, value) if isinstance(item, Symbol) else item for item in leaf.what)
    return replace(leaf, what=what, state=_state(leaf.state, value, put))


def _state(state: State, value: Symbol, put: Substitution) -> State:
    def now(part: Symbol) -> Symbol:
        return put.into(part, value)

    captures = state.captures
    if captures is not None and captures.subject is not None:
        captures = Match(now(captures.subject), captures.pattern)
    return replace(
        state,
        uri=now(state.uri),
        args=now(state.args),
        values=None if state.values is None else {name: now(part) for name, part in state.values.items()},
        cached=None if state.cached is None else {name: now(part) for name, part in state.cached.items()},
        captures=captures,
    )
