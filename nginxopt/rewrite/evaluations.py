"""How variables evaluate each other: which ones, how deeply nested, and how often.

To evaluate `$a` of `map $b $a { default $c; }`, nginx evaluates `$b`, and `$c` if it is the value. A *way* is a
sequence of variables, each of which may evaluate the next. nginx nests at most 100 evaluations in a request
(`ngx_http_variable_depth`), and takes a variable that is nested more deeply as empty. It caches the value of a map for
the request, unless the map is `volatile`: that is evaluated again at each use.

Lookups that replace lists add evaluations. The proof of one list shows that its lookup adds few, but the lookups of
maps that evaluate each other add up. So lists stay as written where their lookups together would exceed a limit that
nginx has for a whole request. No other limit depends on the form of a list: see `docs/design/rewrite-to-map.md`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from nginxopt import _native, lazy
from nginxopt.config import Config, Directive, Scope
from nginxopt.records import record
from nginxopt.rewrite.kinds.maps.readers import EVALUATED_BY

DEEPEST = 100
"""The most nested evaluations of variables (`ngx_http_variable_depth`)."""

_VARIABLE = lazy.pattern(r"\$\{?([A-Za-z_]\w*)")
_NOT_ROWS = ("default", "volatile", "hostnames", "include")

Name = TypeVar("Name", str, bytes)

VariableNames = tuple[str, ...]
"""Names of variables in lower case, each as often as it occurs."""


@record(eq=True)
class Definition:
    """A definition of a variable: the names in its source, those in each of its values, and whether it is volatile."""

    source: VariableNames = ()
    values: tuple[VariableNames, ...] = ()
    is_volatile: bool = False

    @property
    def names(self) -> set[str]:
        """All variables that it may evaluate."""
        return {*self.source, *(name for names in self.values for name in names)}


@dataclass(frozen=True)
class Evaluations:
    """The variables of a configuration, with all their definitions. Directives may evaluate any of them."""

    definitions: Mapping[str, tuple[Definition, ...]]

    @classmethod
    def of(cls, config: Config, maps: bytes = b"") -> Evaluations:
        """Return the variables of http, with those of a text of maps that http includes.

        Raises `ValueError` if the text has anything but maps.
        """
        found: dict[str, tuple[Definition, ...]] = {}
        for scope in config.scope.tree():
            if scope.context[:1] not in (("stream",), ("mail",), ("events",)):
                for name, definition in _defined(scope):
                    found[name] = (*found.get(name, ()), definition)
        return cls(found).with_maps(maps)

    def with_maps(self, maps: bytes) -> Evaluations:
        """Return these variables with those of a text of maps. Raises `ValueError` if it has anything else."""
        return self.with_definitions(of_maps(maps))

    def with_definitions(self, definitions: Mapping[str, Definition]) -> Evaluations:
        """Return these variables with others, or with other definitions of them."""
        return Evaluations({**self.definitions, **{name: (each,) for name, each in definitions.items()}})

    def is_same(self, name: str, other: Evaluations) -> bool:
        """Return whether a variable evaluates the same here as in `other`."""
        return self.definitions.get(name) == other.definitions.get(name)

    @cached_property
    def too_deep(self) -> frozenset[str]:
        """The variables on a way that is longer than `DEEPEST`, or that never ends."""
        ways = ((name, self._above[name] + below - 1) for name, below in self._below.items())
        return frozenset(name for name, length in ways if length > DEEPEST)

    @property
    def longest(self) -> float:
        """The length of the longest way; infinite if there is a cycle, such as two maps that look up each other."""
        return max(self._below.values(), default=0)

    @cached_property
    def counts(self) -> Mapping[str, float]:
        """For each variable, the most maps that one evaluation of it evaluates, if no value is cached yet.

        Infinite for a variable that leads into a cycle.
        """
        counts: dict[str, float] = {}
        for name in self._order:
            counts[name] = max((self._count(each, counts) for each in self.definitions.get(name, ())), default=0)
        return counts | dict.fromkeys(self._in_circles, math.inf)

    def meet_circle(self, names: Iterable[str]) -> bool:
        """Return whether one of these variables is on an endless way: in a cycle, before one or behind one."""
        return any(math.isinf(self._above[name] + self._below[name]) for name in names)

    def longest_way(self, through: Collection[str]) -> set[str]:
        """Return the variables on the longest way through one of these. Raises `ValueError` if it is a cycle."""
        name = max(sorted(through), key=lambda each: self._above[each] + self._below[each])
        way = [*_way(name, self._readers, self._above), *_way(name, self._read, self._below)]
        return set(way)

    def longest_with(self, definitions: Mapping[str, Definition]) -> float:
        """Return the length of the longest way through one of these variables, if they had these definitions."""
        below: dict[str, float] = {}
        for name in _sorted({name: each.names & definitions.keys() for name, each in definitions.items()}):
            inner = (below.get(other, self._below.get(other, 1)) for other in definitions[name].names)
            below[name] = 1 + max(inner, default=0)
        lengths = (self._above.get(name, 1) + below.get(name, math.inf) - 1 for name in definitions)
        return max(lengths, default=0)

    def reached(self, names: Iterable[str]) -> set[str]:
        """Return all variables that the evaluation of `names` may evaluate, including themselves."""
        return reached(names, self._read)

    def _count(self, definition: Definition, counts: Mapping[str, float]) -> float:
        def of(names: VariableNames) -> float:
            return sum(counts[name] for name in names if self._is_volatile(name))

        return 1 + of(definition.source) + max(map(of, definition.values), default=0)

    def _is_volatile(self, name: str) -> bool:
        return any(each.is_volatile for each in self.definitions.get(name, ()))

    @cached_property
    def _read(self) -> Mapping[str, set[str]]:
        """For each variable, including those that nginx defines, the variables that it may evaluate."""
        read = {name: set().union(*(each.names for each in of)) for name, of in self.definitions.items()}
        others: set[str] = set().union(*read.values())
        return {name: set() for name in others} | read

    @cached_property
    def _order(self) -> list[str]:
        """The variables that lead into no cycle, each after those that it evaluates."""
        return _sorted(self._read)

    @cached_property
    def _in_circles(self) -> set[str]:
        """The variables in a cycle, and those that lead into one."""
        return self._read.keys() - set(self._order)

    @cached_property
    def _below(self) -> Mapping[str, float]:
        """For each variable, the length of the longest way that begins with it."""
        return _lengths(self._read, self._order)

    @cached_property
    def _readers(self) -> Mapping[str, set[str]]:
        """For each variable, those that may evaluate it."""
        readers: dict[str, set[str]] = {name: set() for name in self._read}
        for name, read in self._read.items():
            for other in read:
                readers[other].add(name)
        return readers

    @cached_property
    def _above(self) -> Mapping[str, float]:
        """For each variable, the length of the longest way that ends with it."""
        return _lengths(self._readers, _sorted(self._readers))


def reached(names: Iterable[Name], read: Mapping[Name, Iterable[Name]]) -> set[Name]:
    """Return `names` and all names that they read, directly or not; `read` maps each name to those that it reads."""
    found: set[Name] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += read.get(name, ())
    return found


def of_maps(text: bytes) -> Mapping[str, Definition]:
    """Return the definitions of the maps of a text, by variable. Raises `ValueError` if it has anything else."""
    blocks = _native.map_evaluations(text) if text else []
    return {_text(name).lower(): _definition(source, values, is_volatile=flag) for name, flag, source, values in blocks}


def kept(maps: bytes) -> list[str]:
    """Return the variables of the maps that are not volatile, in lower case. Raises `ValueError` like `of_maps`."""
    return [name for name, definition in of_maps(maps).items() if not definition.is_volatile]


def anew(text: bytes, variables: Iterable[str]) -> bytes:
    """Return a text in which the maps of these variables are volatile.

    A comparison may run the rules a second time in one request, with a URI of its own, for which a cached value would
    be that of the first. The proof of the configuration itself shows that caching changes no response.
    """
    names = "|".join(map(re.escape, variables)).encode()
    return re.sub(rb"(?mi)^(\s*map \S+ \$(?:%s) \{)$" % names, rb"\1 volatile;", text) if names else text


def _definition(source: bytes, values: list[bytes], *, is_volatile: bool) -> Definition:
    return Definition(names(_text(source)), tuple(dict.fromkeys(names(_text(value)) for value in values)), is_volatile)


def names(text: str) -> VariableNames:
    """Return the variables in a value, without captures such as `$1`."""
    return tuple(name.lower() for name in _VARIABLE.findall(text)) if "$" in text else ()


def of_map(scope: Scope) -> Definition:
    """Return the definition of the variable of a map."""
    assert scope.opener is not None
    rows = [row for row in scope.directives if row.name == "default" or row.name not in _NOT_ROWS]
    values = dict.fromkeys(names(str(row.args[0])) for row in rows if row.args)
    is_volatile = any(row.name == "volatile" and not row.args for row in scope.directives)
    return Definition(names(str(scope.opener.args[0])), tuple(values), is_volatile)


def _defined(scope: Scope) -> Iterator[tuple[str, Definition]]:
    """Yield the variables that a block defines by itself or by its directives."""
    opener = scope.opener
    if opener is not None and len(opener.args) == 2 and opener.name in ("map", "split_clients", "geo"):
        definition = Definition(names(str(opener.args[0]))) if opener.name == "geo" else of_map(scope)
        yield from ((name, definition) for name in names(str(opener.args[1])))
        return
    for directive in scope.directives:
        yield from _of_directive(directive)


def _of_directive(directive: Directive) -> Iterator[tuple[str, Definition]]:
    read = names(" ".join(directive.args)) if directive.name in EVALUATED_BY else ()
    if read:
        yield from ((name, Definition(read, is_volatile=True)) for name in EVALUATED_BY[str(directive.name)])


def _sorted(read: Mapping[str, set[str]]) -> list[str]:
    """Return the variables that lead into no cycle, each after those that it reads (Kahn's algorithm)."""
    left = {name: len(of) for name, of in read.items()}
    readers: dict[str, list[str]] = {name: [] for name in read}
    for name, of in read.items():
        for other in of:
            readers[other].append(name)
    order = [name for name, count in left.items() if not count]
    for name in order:
        for reader in readers[name]:
            left[reader] -= 1
            if not left[reader]:
                order.append(reader)
    return order


def _lengths(read: Mapping[str, set[str]], order: Iterable[str]) -> Mapping[str, float]:
    """Return the length of the longest way from each variable; infinite if it leads into a cycle."""
    lengths: dict[str, float] = {}
    for name in order:
        lengths[name] = 1 + max((lengths[other] for other in read[name]), default=0)
    return dict.fromkeys(read, math.inf) | lengths


def _way(name: str, read: Mapping[str, set[str]], lengths: Mapping[str, float]) -> Iterator[str]:
    """Yield the variables of the longest way from `name`."""
    if math.isinf(lengths[name]):
        raise ValueError(f"${name} leads to a circle")
    while name:
        yield name
        name = max(sorted(read[name]), key=lengths.__getitem__, default="")


def _text(text: bytes) -> str:
    return text.decode("utf-8", "surrogateescape")


MOST = 256
"""The most maps that one evaluation of a variable evaluates after a compilation, unless it evaluated more before."""

TOO_DEEP = "evaluation-depth"
TOO_MANY = "evaluation-count"
"""The codes of the reasons why a list stays."""


@record(eq=True)
class Exceeded:
    """Variables whose evaluation may exceed a limit, and the code of the reason why lists that evaluate them stay."""

    reason: str
    names: frozenset[str]


def exceeded(before: Evaluations, after: Evaluations) -> Iterator[Exceeded]:
    """Yield what exceeds a limit, in a configuration before a compilation or after it.

    Where evaluations are too deep, nginx takes a variable as empty, and which one depends on the length of the way to
    it. So nothing may change on such a way, even if it was too long before.
    """
    yield Exceeded(TOO_DEEP, before.too_deep | after.too_deep)
    many = [name for name, count in after.counts.items() if count > max(MOST, before.counts.get(name, 0))]
    yield Exceeded(TOO_MANY, frozenset(after.reached(many)) if many else frozenset())


@dataclass(eq=False)
class Lookup:
    """Maps that are evaluated in place of a list.

    Attributes:
        kind: The name of the kind of the list.
        of: The list.
        definitions: The definitions of variables that the lookup adds or changes.
        rows: The size of what it replaces.
    """

    kind: str
    of: object
    definitions: Mapping[str, Definition]
    rows: int

    @cached_property
    def levels(self) -> float:
        """The number of its maps that are nested in each other."""
        return Evaluations({name: (each,) for name, each in self.definitions.items()}).longest


def too_much(config: Config, lookups: Collection[Lookup]) -> Mapping[Lookup, str]:
    """Return the lookups that would exceed a limit, each with the code of the reason why its list stays.

    The result is minimal: none of these lookups could be compiled in addition. On each way, as few as possible stay.
    """
    return _staying(Evaluations.of(config), list(lookups)) if lookups else {}


def _staying(before: Evaluations, lookups: list[Lookup]) -> Mapping[Lookup, str]:
    """Return the lookups that are not to be compiled, with the reasons."""
    always = {lookup: TOO_DEEP for lookup in lookups if not before.too_deep.isdisjoint(lookup.definitions)}
    staying = dict(always)
    while True:
        compiled = [lookup for lookup in lookups if lookup not in staying]
        after = _with(before, compiled)
        if too_many := _too_many(before, after, compiled):
            staying |= too_many
            continue
        for lookup in sorted(staying.keys() - always.keys(), key=_loss):
            if after.longest_with(lookup.definitions) <= DEEPEST:
                more = _with(after, [lookup])
                if not _too_many(before, more, [*compiled, lookup]):
                    del staying[lookup]
                    compiled.append(lookup)
                    after = more
        return staying


def _loss(lookup: Lookup) -> tuple[float, int]:
    """Return the sort key of a lookup that may have to stay: nested maps first, then few rows, which lose least."""
    return lookup.levels, -lookup.rows


def _with(before: Evaluations, lookups: Iterable[Lookup]) -> Evaluations:
    """Return the evaluations of the configuration with these lookups."""
    return before.with_definitions({name: each for lookup in lookups for name, each in lookup.definitions.items()})


def _too_many(before: Evaluations, after: Evaluations, compiled: list[Lookup]) -> dict[Lookup, str]:
    """Return lookups that have to stay, with the reasons; none if those that are compiled keep within the limits.

    On a way that is too long, those with the most nested maps stay, as these shorten it most.
    """
    exceeding = {
        limit.reason: [lookup for lookup in compiled if not limit.names.isdisjoint(lookup.definitions)]
        for limit in exceeded(before, after)
    }
    deep = exceeding[TOO_DEEP]
    if endless := [lookup for lookup in deep if after.meet_circle(lookup.definitions)]:
        return dict.fromkeys(endless, TOO_DEEP)
    if deep:
        way = after.longest_way({name for lookup in deep for name in lookup.definitions})
        on_way = sorted((lookup for lookup in deep if not way.isdisjoint(lookup.definitions)), key=_loss, reverse=True)
        least, left = 0, len(way) - DEEPEST
        while left > 0 and least < len(on_way):
            left -= int(on_way[least].levels)
            least += 1
        return dict.fromkeys(on_way[:least], TOO_DEEP)
    many = exceeding[TOO_MANY]
    return {max(many, key=_loss): TOO_MANY} if many else {}
