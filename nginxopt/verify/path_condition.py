"""Path conditions: what the tests on a path say of a request, and requests that satisfy them.

For each value of a request, a path condition knows which patterns the value matches and which it does not. The
requests that it describes are a region. The automata of `_native` decide whether a region is empty, and find a value
for each of its conditions; `candidates` makes requests of these values, for the model and a real nginx to try.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import chain, islice, product
from math import prod
from typing import TYPE_CHECKING
from urllib.parse import quote_from_bytes

from nginxopt import lazy
from nginxopt._native import common_subject
from nginxopt.budget import limit
from nginxopt.records import record
from nginxopt.verify.patterns import (
    _is_certain,
    _spellings,
    beginning,
    branches,
    exclude_each_other,
    few_values,
    has_look,
    longest_beginning,
    matches,
    may_be,
    may_begin,
    only_of,
    without,
)
from nginxopt.verify.symbols import ARGS, METHOD, URI, Derived, KnownBytes, Symbol, Variable

if TYPE_CHECKING:
    from nginxopt.verify.pattern_parts import Parts, SequenceIndex

FALSE = rb"^0?\z"
"""What an `if` treats as false: the empty string and `0`."""


@record(eq=True)
class Matches:
    """Whether a value matches a pattern, in PCRE's syntax; `(?i)` at the start ignores case."""

    subject: Symbol
    pattern: bytes


@record(eq=True)
class Fact:
    """Any other question that a configuration asks of a request, such as whether a file exists."""

    name: str
    values: tuple[Symbol, ...]


Atom = Matches | Fact


class Excluded(Mapping[bytes, None]):
    """Patterns that a value does not match, in the order in which they were asked.

    Each rule of a list excludes one more pattern. If each exclusion copied or scanned those before it, a list of
    thousands would take quadratic time. So all share one log, of which each has the first `_count` patterns, and an
    index by the plain beginnings of the patterns.
    """

    __slots__ = ("_count", "_log")

    def __init__(self, patterns: Iterable[bytes] = ()) -> None:
        self._log, self._count = _Log(patterns), 0
        self._count = len(self._log.patterns)

    def __getitem__(self, pattern: bytes) -> None:
        if self._log.places[pattern] >= self._count:
            raise KeyError(pattern)

    def __iter__(self) -> Iterator[bytes]:
        return islice(self._log.patterns, self._count)

    def __len__(self) -> int:
        return self._count

    def __contains__(self, pattern: object) -> bool:
        return self._log.places.get(pattern, self._count) < self._count  # type: ignore[call-overload, no-any-return]

    def and_more(self, patterns: Iterable[bytes]) -> Excluded:
        """Return these patterns and more."""
        more = [pattern for pattern in dict.fromkeys(patterns) if pattern not in self]
        if not more:
            return self
        if self._count < len(self._log.patterns):  # another has added to the log
            return Excluded((*self, *more))
        self._log.add(more)
        longer = Excluded.__new__(Excluded)
        longer._log, longer._count = self._log, self._count + len(more)
        return longer

    def near(self, text: bytes) -> Excluded:
        """Return those that may match something that starts with these bytes, given in lower case."""
        places = sorted(place for place in self._log.near(text) if place < self._count)
        return self if len(places) == self._count else Excluded(self._log.patterns[place] for place in places)


class _Log:
    """Patterns in order, each once, with an index by their plain beginnings."""

    def __init__(self, patterns: Iterable[bytes]) -> None:
        self.patterns: list[bytes] = []
        self.places: dict[bytes, int] = {}
        self._beginnings: list[tuple[bytes, int]] = []
        self._at: dict[bytes, list[int]] = {}
        self._lengths: set[int] = set()
        self._others: list[int] = []
        self.add(dict.fromkeys(patterns))

    def add(self, patterns: Iterable[bytes]) -> None:
        """Add patterns that are not there yet."""
        for pattern in patterns:
            place = self.places[pattern] = len(self.patterns)
            self.patterns.append(pattern)
            own = beginning(pattern)
            if own is None:
                self._others.append(place)
            else:
                insort(self._beginnings, (own, place))
                self._at.setdefault(own, []).append(place)
                self._lengths.add(len(own))

    def near(self, text: bytes) -> Iterator[int]:
        """Yield the places of patterns that may match something that starts with these bytes, given in lower case."""
        yield from self._others
        for end in self._lengths:
            if end < len(text):
                yield from self._at.get(text[:end], ())
        longest = max(self._lengths, default=0)
        behind = text + b"\xff" * (longest + 1)  # all beginnings that start with the text come before it
        first, end = bisect_left(self._beginnings, (text,)), bisect_left(self._beginnings, (behind,))
        yield from (place for _, place in self._beginnings[first:end])


@dataclass(frozen=True)
class Known:
    """What is known of a value.

    Attributes:
        inside: The patterns that it matches, in the order in which they were asked.
        outside: Those that it does not match, without those that the plain beginning of one in `inside` rules out.
    """

    inside: Mapping[bytes, None] = field(default_factory=dict)
    outside: Excluded = field(default_factory=Excluded)

    def with_answer(self, pattern: bytes, answer: bool) -> Known:
        """Return what is known after one more answer."""
        if answer:
            return self.with_known(Known({pattern: None}))
        is_excluded = self.beginning is not None and not may_begin(pattern, self.beginning)
        return self if is_excluded else Known(self.inside, self.outside.and_more((pattern,)))

    def with_known(self, other: Known) -> Known:
        """Return what is known if both hold."""
        inside = {**self.inside, **other.inside}
        mine, more = self.outside, other.outside
        longest = max(filter(None, (self.beginning, *map(beginning, other.inside))), key=len, default=None)
        if longest is not None:
            if longest != self.beginning:  # otherwise those were filtered before
                mine = mine.near(longest)
            more = more.near(longest)
        return Known(inside, mine.and_more(more))

    def in_common(self, other: Known) -> Known:
        """Return what is known in either case."""
        return Known(_both(self.inside, other.inside), Excluded(_both(self.outside, other.outside)))

    def answer(self, pattern: bytes) -> bool | None:
        """Return True if all possible values match a pattern, False if none does, and None if that is not known."""
        if pattern in self.inside or pattern in self.outside:
            return pattern in self.inside
        only = self.only
        if only is not None:
            return matches(pattern, only)
        inside = (*self.inside, pattern)
        if exclude_each_other(inside):
            return False
        longest = longest_beginning(inside)
        near = self.outside if longest is None else self.outside.near(longest)
        if is_empty(inside, tuple(near)):
            return False
        if not self.inside:  # then `is_empty` never knows
            return None
        return True if is_empty(tuple(self.inside), (*self.outside, pattern)) else None

    @cached_property
    def only(self) -> bytes | None:
        """The only possible value; None if there may be others."""
        return only_of(self.inside)

    @cached_property
    def beginning(self) -> bytes | None:
        """The common beginning of all these values, in lower case; None if that is not obvious."""
        return longest_beginning(self.inside)

    def may_be(self, value: bytes) -> bool:
        """Return whether this value is possible."""
        return may_be(value, self.inside, self.outside)

    @cached_property
    def is_empty(self) -> bool:
        """Whether certainly no value is possible."""
        return bool(self.inside) and is_empty(tuple(self.inside), tuple(self.outside))


def _both(patterns: Mapping[bytes, None], others: Mapping[bytes, None]) -> dict[bytes, None]:
    return {pattern: None for pattern in patterns if pattern in others}


_NOTHING = Known()


@record(eq=True)
class PathCondition:
    """The requests that give these answers to some questions.

    Attributes:
        values: What is known of each value of a request.
        facts: The answers to all other questions.
        found: The values of lookups that are known in the region, which replace the lookups in `values` and `facts`.
    """

    values: Mapping[Symbol, Known] = field(default_factory=dict)
    facts: Mapping[Fact, bool] = field(default_factory=dict)
    found: Mapping[Symbol, Symbol] = field(default_factory=dict)

    def with_answer(self, atom: Atom, answer: bool) -> PathCondition:
        """Return the part of the region with that answer."""
        if isinstance(atom, Fact):
            return PathCondition(self.values, {**self.facts, atom: answer}, self.found)
        pattern, answer = _positive(atom.pattern, answer)
        known = self.known(atom.subject).with_answer(pattern, answer)
        return PathCondition({**self.values, atom.subject: known}, self.facts, self.found)

    def with_known(self, subject: Symbol, known: Known) -> PathCondition:
        """Return the part of the region in which this is also known of a value."""
        before = self.values.get(subject)
        if before is None:
            return PathCondition({**self.values, subject: known}, self.facts, self.found)
        return PathCondition({**self.values, subject: before.with_known(known)}, self.facts, self.found)

    def with_found(self, looked_up: Symbol, value: Symbol) -> PathCondition:
        """Return the region with the value of a lookup that all its requests have."""
        return PathCondition(self.values, self.facts, {**self.found, looked_up: value})

    def within(self, other: PathCondition) -> PathCondition:
        """Return the part of the region in which what another one knows of values holds, too."""
        region = self
        for subject, known in other.values.items():
            region = region.with_known(subject, known)
        return region

    def in_common(self, other: PathCondition) -> PathCondition:
        """Return a region that contains the requests of both."""
        values = {
            subject: known.in_common(other.values[subject])
            for subject, known in self.values.items()
            if subject in other.values
        }
        facts = {fact: answer for fact, answer in self.facts.items() if other.facts.get(fact) is answer}
        found = {looked_up: value for looked_up, value in self.found.items() if other.found.get(looked_up) == value}
        return PathCondition(values, facts, found)

    def answer(self, atom: Atom) -> bool | None:
        """Return the answer that all requests of the region have; None if that is not known."""
        if isinstance(atom, Fact):
            return self.facts.get(atom)
        if isinstance(atom.subject, KnownBytes):
            return matches(atom.pattern, atom.subject.value)
        pattern, is_match = _positive(atom.pattern, True)
        answer = self.known(atom.subject).answer(pattern)
        return answer if is_match or answer is None else not answer

    def known(self, subject: Symbol) -> Known:
        """Return what is known of a value."""
        return self.values.get(subject, _NOTHING)

    @property
    def is_empty(self) -> bool:
        """Whether certainly no request is in it."""
        return any(known.is_empty for known in self.values.values())


def _positive(pattern: bytes, answer: bool) -> tuple[bytes, bool]:
    """Return an equivalent pattern and answer, without a negative look-ahead around the whole pattern."""
    inner = without(pattern)
    return (pattern, answer) if inner is None else (inner, not answer)


_RESOLVED = (rb"//|/\.\.?(?:/|\z)", rb"[\x00-\x1f]")
"""What nginx resolves in a URI (`//`, `/./` and `/../`), and control characters: examples avoid both if possible."""

_MOST_WAYS = 512
"""The maximum number of combinations of the branches of patterns."""

_MOST_AGAINST = 6
"""The number of patterns that a search excludes at first. If that does not decide, another search excludes all."""

_REMEMBERED = 4
"""The number of values of a pattern that are kept, to be tried before a search."""

_LONGEST_READ, _FEW_SEQUENCES = 10_000, 64
"""The longest pattern that is read as sequences, in bytes, and the maximum number of them that are searched."""

_NEVER = lazy.pattern(rb"[\^A-Za-z0-9/]*\(\?!\)")
"""Patterns that match nothing, which `rewrite-to-map` writes to clear captures."""


def is_empty(inside: tuple[bytes, ...], outside: tuple[bytes, ...]) -> bool:
    """Return whether certainly no value matches all of `inside` and none of `outside`."""
    if not inside:
        return False
    if exclude_each_other(inside) or any(map(_NEVER.fullmatch, inside)):
        return True
    only = only_of(inside)
    if only is not None:
        return not may_be(only, inside, outside)
    return _is_nothing(inside, outside) or _is_empty_by_branches(inside, outside)


def _is_nothing(inside: tuple[bytes, ...], outside: tuple[bytes, ...]) -> bool:
    """Return whether a search shows that no value matches all of `inside` and none of `outside`.

    Most patterns in `outside` do not matter. So a search begins without them, and adds one whenever the value that it
    finds matches it.
    """
    few = next(filter(None, map(few_values, inside)), None)
    if few is not None:
        return not any(may_be(value, inside, outside) for value in few)
    inside = _necessary(inside)
    if any(_is_certain(value, inside, outside) for value in _spellings(inside)):
        return False
    against: tuple[bytes, ...] = ()
    value = _found_before(inside)
    while True:
        if value is None:
            is_nothing, value = _example(inside, against, False)
            if is_nothing:
                return True
        if value is None:  # given up
            break
        pattern = next((pattern for pattern in outside if matches(pattern, value) is not False), None)
        if pattern is None:
            return False
        if any(_implies(each, pattern) for each in inside):
            return True
        if pattern in against:  # the search does not know all that it matches
            break
        against += (pattern,)
        if len(against) == _MOST_AGAINST:
            break
        value = None
    return any(_is_covered(each, outside) for each in inside) or _example(inside, outside, False)[0]


def _necessary(patterns: tuple[bytes, ...]) -> tuple[bytes, ...]:
    """Return patterns without those that another one implies, as `/word` implies a list of words."""
    kept = list(patterns)
    for pattern in sorted(patterns, key=len, reverse=True):
        if any(other is not pattern and _implies(other, pattern) for other in kept):
            kept.remove(pattern)
    return tuple(kept)


@lru_cache(maxsize=1 << 14)
def _values_of(pattern: bytes) -> deque[bytes]:  # noqa: ARG001 - the cache has one for each pattern
    """The last values that were found for a pattern, maybe with others."""
    return deque(maxlen=_REMEMBERED)


def _found_before(inside: tuple[bytes, ...]) -> bytes | None:
    """Return a value that was found for one of some patterns and certainly matches all of them; None without one."""
    known = dict.fromkeys(value for pattern in inside for value in _values_of(pattern))
    return next((value for value in known if all(matches(pattern, value) for pattern in inside)), None)


@lru_cache(maxsize=1 << 16)
def _implies(pattern: bytes, other: bytes) -> bool:
    """Return whether the parts of patterns show that each value which one matches also matches the other one."""
    if max(len(pattern), len(other)) > _LONGEST_READ:
        return False
    found, index = _sequences(pattern), _index(other)
    return bool(found) and all(map(index.holds, found))


def _is_covered(pattern: bytes, others: tuple[bytes, ...]) -> bool:
    """Return whether the parts of patterns show that each value which one matches also matches one of the others."""
    found = _all_sequences(pattern)
    return bool(found) and all(map(_index_of_all(others).holds, found))


@lru_cache(maxsize=1 << 4)
def _index_of_all(patterns: tuple[bytes, ...]) -> SequenceIndex:
    from nginxopt.verify.pattern_parts import SequenceIndex

    return SequenceIndex(chain.from_iterable(map(_all_sequences, patterns)))


@lru_cache(maxsize=1 << 12)
def _sequences(pattern: bytes) -> tuple[Parts, ...]:
    found = _all_sequences(pattern)
    return found if len(found) <= _FEW_SEQUENCES else ()


@lru_cache(maxsize=1 << 12)
def _all_sequences(pattern: bytes) -> tuple[Parts, ...]:
    """Return the sequences of a pattern; none of a long one."""
    from nginxopt.verify.pattern_parts import sequences  # few comparisons need it

    return sequences(pattern) if len(pattern) <= _LONGEST_READ else ()


@lru_cache(maxsize=1 << 8)
def _index(pattern: bytes) -> SequenceIndex:
    from nginxopt.verify.pattern_parts import SequenceIndex, sequences

    return SequenceIndex(sequences(pattern))


def _is_empty_by_branches(inside: tuple[bytes, ...], outside: tuple[bytes, ...]) -> bool:
    """Return what `_is_nothing` does, for patterns with look-arounds. Each branch must be known exactly, or equal to a
    branch of another pattern."""
    looking = [pattern for pattern in (*inside, *outside) if has_look(pattern)]
    if not looking:
        return False
    apart = tuple(dict.fromkeys(branch for pattern in outside for branch in branches(pattern)))
    ways = [branches(pattern) for pattern in inside]
    if all(len(branches(pattern)) == 1 for pattern in looking):  # the language of none of them becomes known
        return any(len(way) == 1 and way[0] in apart for way in ways)
    if prod(map(len, ways)) > _MOST_WAYS:
        return False
    return all(_is_way_empty(way, apart) for way in product(*ways))


def _is_way_empty(inside: tuple[bytes, ...], outside: tuple[bytes, ...]) -> bool:
    if not set(inside).isdisjoint(outside) or exclude_each_other(inside):
        return True
    longest = longest_beginning(inside)
    near = outside if longest is None else tuple(pattern for pattern in outside if may_begin(pattern, longest))
    return _is_nothing(inside, near)


_SEARCHING = 40
"""The rough cost of a search for a value that several patterns match, in operations of a script."""

_STEPS = 200
"""The steps of a search that take as long as an operation, 10 us: each is a part of an automaton, built or visited."""


class Searches:
    """The work of searches for values, in operations of a script, and how much of it there may be.

    Attributes:
        work: What was done so far.
        built: What of it was building and visiting automata.
        hardest: A pattern of the search that took longest.
    """

    def __init__(self, most: int | None = None) -> None:
        self.work = self.built = 0
        self.hardest: bytes | None = None
        self._most = most
        self._longest = 0

    @property
    def are_over(self) -> bool:
        """Whether there was too much of it, so that all further searches are given up at once."""
        return self._most is not None and self.work > self._most

    def count(self, inside: tuple[bytes, ...], steps: int) -> None:
        """Count a search."""
        self.work += _SEARCHING + steps // _STEPS
        self.built += steps // _STEPS
        if steps > self._longest:
            self._longest, self.hardest = steps, max(inside, key=len, default=None)


_counted = Searches()
_in_force: ContextVar[Searches] = ContextVar("searches", default=_counted)


@contextmanager
def bounded_searches() -> Iterator[None]:
    """Bound the work of searches in the block by the budget `steps`. Beyond it, each search is given up, so that
    nothing more is found to be empty."""
    token = _in_force.set(Searches(limit("steps")))
    try:
        yield
    finally:
        _in_force.reset(token)


def searches() -> Searches:
    """Return the searches of the block of `bounded_searches` around, or of the process, which have no bound."""
    return _in_force.get()


def example(inside: tuple[bytes, ...], outside: tuple[bytes, ...], subject: Symbol) -> bytes | None:
    """Return a value that seems to match all of `inside` and none of `outside`.

    Of `$uri` it is one that a client can send, if possible without what nginx resolves.
    """
    if subject != Variable(URI):
        return _example(inside, outside, False)[1]
    return _example(inside, (*outside, *_RESOLVED), True)[1] or _example(inside, outside, True)[1]


def _example(inside: tuple[bytes, ...], outside: tuple[bytes, ...], is_uri: bool) -> tuple[bool, bytes | None]:
    return (False, None) if searches().are_over else _found(inside, outside, is_uri)


@lru_cache(maxsize=1 << 16)
def _found(inside: tuple[bytes, ...], outside: tuple[bytes, ...], is_uri: bool) -> tuple[bool, bytes | None]:
    if not is_uri and may_be(b"", inside, outside):  # `common_subject` does not try the empty string
        return False, b""
    is_nothing, value, steps = common_subject(inside, outside, is_uri)
    searches().count(inside, steps)
    if value is not None:
        for pattern in inside:
            _values_of(pattern).append(value)
    return is_nothing, value


_ADDRESS = lazy.pattern(rb"(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!\Z)|\Z)){4}")
_MOST_AGAINST_TEXT = 200
"""The number of patterns that one text is compared with."""

_METHODS = (b"GET", b"POST", b"HEAD", b"PUT", b"DELETE", b"OPTIONS", b"PATCH", b"PROPFIND", b"TRACK", b"DEBUG")
_SAFE = "/-_.~!$&'()*,;=:@"
_IN_LINE = rb"\A[^\x00-\x20\x7f]*\z"
_IN_HEADER = rb"\A[^\x00-\x1f\x7f]*\z"
"""The bytes that need no escape in a request line, and in a header."""


@record(eq=True)
class Candidate:
    """A request to try, as far as a region determines it; `size` is that of its body in bytes, if it has one, `client`
    the address that it comes from."""

    path: bytes = b"/"
    args: bytes | None = None
    method: bytes = b"GET"
    host: str | None = None
    headers: tuple[tuple[bytes, bytes], ...] = ()
    is_tls: bool | None = None
    size: int | None = None
    client: str = "127.0.0.1"

    @property
    def target(self) -> bytes:
        """Path and arguments as in a request line."""
        path = quote_from_bytes(self.path, safe=_SAFE).encode()
        return path if self.args is None else path + b"?" + self.args


def candidates(region: PathCondition, host: str | None) -> Iterator[Candidate]:
    """Yield requests of a region to one host, the plainest first."""
    first = Candidate(host=host)
    for subject, known in region.values.items():
        if isinstance(subject, Variable | Derived):
            value = _method(known) if subject.name == METHOD else None
            if subject.name in ("host", "http_host") and host is not None and _fits(known, host.encode()):
                value = host.encode()
            value = value or example((*known.inside, *_sendable(subject.name)), tuple(known.outside), subject)
            if value is not None:
                first = with_value(first, subject.name, value)
    yield first
    if first.args is None:
        yield replace(first, args=b"a=b")
    if first.method == b"GET":
        yield replace(first, method=b"POST")
    yield replace(first, path=first.path + b"x")
    yield replace(first, path=first.path + b"/x.html")
    yield replace(first, path=first.path + b"|")  # sent as %7C, which a redirect by `rewrite` decodes
    if first.host is not None:
        yield replace(first, host=first.host.upper())  # as `$http_host` has it, and `$host` does not


def _sendable(name: str) -> tuple[bytes, ...]:
    """Return patterns that match what a client can send as the value of a variable."""
    if name in (ARGS, METHOD, "query_string", "request_uri") or name.startswith("arg_"):
        return (_IN_LINE,)
    return (_IN_HEADER,) if name.startswith(("http_", "cookie_")) else ()


def _method(known: Known) -> bytes | None:
    """Return the plainest method that is one of those known; None if none of those that clients use is."""
    return next((method for method in _METHODS if _fits(known, method)), None)


def _fits(known: Known, value: bytes) -> bool:
    """Return whether a value is certainly one of those known."""
    if len(known.outside) > _MOST_AGAINST_TEXT:
        return False
    is_inside = all(matches(pattern, value) for pattern in known.inside)
    return is_inside and not any(matches(pattern, value) for pattern in known.outside)


def with_value(request: Candidate, name: str, value: bytes) -> Candidate:
    """Return a request that gives a variable a value; the request unchanged if no client decides that value."""
    if name in (URI, "document_uri") and value.startswith(b"/"):
        return replace(request, path=value)
    if name == "request_uri" and value.startswith(b"/"):
        path, mark, args = value.partition(b"?")
        return replace(request, path=path, args=args if mark else None)
    if name in (ARGS, "query_string"):
        return replace(request, args=value or None)
    if name.startswith("arg_"):
        return _with_arg(request, name.removeprefix("arg_").encode(), value)
    if name == "request_method":
        return replace(request, method=value)
    if name in ("host", "http_host") and value.isascii():
        return replace(request, host=value.decode())
    if name == "scheme":
        return replace(request, is_tls=value == b"https")
    if name == "remote_addr" and _ADDRESS.fullmatch(value):
        return replace(request, client=value.decode())
    if name.startswith("http_"):
        header = name.removeprefix("http_").replace("_", "-").encode()
        return replace(request, headers=(*request.headers, (header, value))) if value else request
    if name.startswith("cookie_") and value:
        cookie = name.removeprefix("cookie_").encode() + b"=" + value
        return replace(request, headers=(*request.headers, (b"Cookie", cookie)))
    return request


def _with_arg(request: Candidate, name: bytes, value: bytes) -> Candidate:
    if not value:
        return request
    arg = name + b"=" + value
    return replace(request, args=arg if request.args is None else request.args + b"&" + arg)
