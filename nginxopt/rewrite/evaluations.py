"""What the evaluation of each variable of a configuration evaluates in turn, how deeply, and how often.

nginx nests at most 100 evaluations of variables in a request (`ngx_http_variable_depth`), and takes a variable below as
empty. A value that it keeps is not evaluated again, but that of a `volatile` map is, at each use.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from nginxopt import _native
from nginxopt.config import Config, Directive, Scope
from nginxopt.rewrite.kinds.maps.readers import EVALUATED_BY

DEEPEST = 100
"""The most evaluations of variables within each other (`ngx_http_variable_depth`)."""

_VARIABLE = re.compile(r"\$\{?([A-Za-z_]\w*)")
_NOT_ROWS = ("default", "volatile", "hostnames", "include")

Name = TypeVar("Name", str, bytes)

Names = tuple[str, ...]
"""Names of variables in lower case, each as often as it occurs."""


@dataclass(frozen=True, slots=True)
class Definition:
    """A definition of a variable: the names in its source, those in each of its values, and whether it is volatile."""

    source: Names = ()
    values: tuple[Names, ...] = ()
    is_volatile: bool = False

    @property
    def names(self) -> set[str]:
        """All variables that it may evaluate."""
        return {*self.source, *(name for names in self.values for name in names)}


@dataclass(frozen=True)
class Evaluations:
    """The variables of a configuration, with all their definitions. Any of them may be evaluated by a directive."""

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
        """The variables on a way of evaluations within each other that is longer than `DEEPEST`, or in a circle."""
        ways = ((name, self._above[name] + below - 1) for name, below in self._below.items())
        return frozenset(name for name, length in ways if length > DEEPEST)

    @property
    def longest(self) -> float:
        """The length of the longest way; infinite if variables evaluate each other."""
        return max(self._below.values(), default=0)

    @cached_property
    def counts(self) -> Mapping[str, float]:
        """For each variable, the largest number of maps that one evaluation of it evaluates, without kept values.

        Infinite if they evaluate each other.
        """
        counts: dict[str, float] = {}
        for name in self._order:
            counts[name] = max((self._count(each, counts) for each in self.definitions.get(name, ())), default=0)
        return counts | dict.fromkeys(self._in_circles, math.inf)

    def meet_circle(self, names: Iterable[str]) -> bool:
        """Return whether one of these variables is on an endless way: in a circle, before it or behind it."""
        return any(math.isinf(self._above[name] + self._below[name]) for name in names)

    def longest_way(self, through: Collection[str]) -> set[str]:
        """Return the variables on the longest way that has one of these. Raises `ValueError` if it is a circle."""
        name = max(sorted(through), key=lambda each: self._above[each] + self._below[each])
        way = [*_way(name, self._readers, self._above), *_way(name, self._read, self._below)]
        return set(way)

    def longest_with(self, definitions: Mapping[str, Definition]) -> float:
        """Return the length of the longest way that has one of these variables, if they had these definitions."""
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
        def of(names: Names) -> float:
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
        """The variables that lead to no circle, each after those that it evaluates."""
        return _sorted(self._read)

    @cached_property
    def _in_circles(self) -> set[str]:
        """The variables that evaluate themselves, or lead to one that does."""
        return self._read.keys() - set(self._order)

    @cached_property
    def _below(self) -> Mapping[str, float]:
        """For each variable, the length of the longest way of evaluations down from it."""
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
        """For each variable, the length of the longest way of evaluations to it."""
        return _lengths(self._readers, _sorted(self._readers))


def reached(names: Iterable[Name], read: Mapping[Name, Iterable[Name]]) -> set[Name]:
    """Return all names that are read where `names` are, including themselves; `read` are those that each reads."""
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


def _definition(source: bytes, values: list[bytes], *, is_volatile: bool) -> Definition:
    return Definition(names(_text(source)), tuple(dict.fromkeys(names(_text(value)) for value in values)), is_volatile)


def names(text: str) -> Names:
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
    """Return the variables that lead to no circle, each after those that it reads (Kahn's algorithm)."""
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
    """Return the length of the longest way from each variable; infinite if it leads to a circle."""
    lengths: dict[str, float] = {}
    for name in order:
        lengths[name] = 1 + max((lengths[other] for other in read[name]), default=0)
    return dict.fromkeys(read, math.inf) | lengths


def _way(name: str, read: Mapping[str, set[str]], lengths: Mapping[str, float]) -> Iterator[str]:
    """Yield the variables of the longest way from one."""
    if math.isinf(lengths[name]):
        raise ValueError(f"${name} leads to a circle")
    while name:
        yield name
        name = max(sorted(read[name]), key=lengths.__getitem__, default="")


def _text(text: bytes) -> str:
    return text.decode("utf-8", "surrogateescape")
