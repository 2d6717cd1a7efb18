"""Keeps lists as written where their lookups would exceed a limit that nginx has for a whole request.

The lookups add evaluations of variables (`nginxopt.rewrite.evaluations`). Each is proved alone to add few, but those of
maps that evaluate each other add up. The other limits of a request do not move: see `docs/rewrite-to-map.md`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from nginxopt.config import Config
from nginxopt.records import record
from nginxopt.rewrite.evaluations import DEEPEST, Definition, Evaluations
from nginxopt.rewrite.kinds.kind import AnyPlan
from nginxopt.rewrite.kinds.registry import KINDS

MOST = 256
"""The most maps that one evaluation of a variable evaluates after a compilation, unless it evaluated more before."""

TOO_DEEP = "evaluation-depth"
TOO_MANY = "evaluation-count"
"""The codes of the reasons why a list stays."""


@record(eq=True)
class Exceeded:
    """Variables that may exceed a limit, and the code of the reason for which what evaluates them stays."""

    reason: str
    names: frozenset[str]


def exceeded(before: Evaluations, after: Evaluations) -> Iterator[Exceeded]:
    """Yield what exceeds a limit, in a configuration before a compilation or after it.

    Where evaluations are too deep, nginx takes a variable as empty, and which one depends on each level above it. So
    nothing may change on such a way of evaluations, even if it was too deep before.
    """
    yield Exceeded(TOO_DEEP, before.too_deep | after.too_deep)
    many = [name for name, count in after.counts.items() if count > max(MOST, before.counts.get(name, 0))]
    yield Exceeded(TOO_MANY, frozenset(after.reached(many)) if many else frozenset())


@dataclass(eq=False)
class _Lookup:
    """A lookup of a list of a kind."""

    kind: str
    of: object
    definitions: Mapping[str, Definition]
    rows: int

    @cached_property
    def levels(self) -> float:
        """The number of its maps that are evaluated within each other."""
        return Evaluations({name: (each,) for name, each in self.definitions.items()}).longest


def within(config: Config, plans: Mapping[str, AnyPlan]) -> Mapping[str, AnyPlan]:
    """Return the plans, by kind, in which the lists stay whose lookups would exceed a limit.

    No list could be added to the result. On one way of evaluations, the fewest stay.
    """
    kinds = [kind for kind in KINDS if kind.name in plans]
    found = ((kind.name, lookup) for kind in kinds for lookup in kind.lookups(plans[kind.name]))
    lookups = [_Lookup(kind, each.of, each.definitions, each.rows) for kind, each in found]
    if not lookups:
        return plans
    kept = dict(plans)
    for lookup, reason in _staying(Evaluations.of(config), lookups).items():
        kept[lookup.kind] = kept[lookup.kind].without(lookup.of, reason)
    return kept


def _staying(before: Evaluations, lookups: list[_Lookup]) -> Mapping[_Lookup, str]:
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


def _loss(lookup: _Lookup) -> tuple[float, int]:
    """Return how much is gained if a lookup stays: the levels; of equal ones, the one with the fewest rows stays."""
    return lookup.levels, -lookup.rows


def _with(before: Evaluations, lookups: Iterable[_Lookup]) -> Evaluations:
    """Return the evaluations if these lookups are compiled."""
    return before.with_definitions({name: each for lookup in lookups for name, each in lookup.definitions.items()})


def _too_many(before: Evaluations, after: Evaluations, compiled: list[_Lookup]) -> dict[_Lookup, str]:
    """Return lookups that have to stay, with the reasons; none if those that are compiled keep within the limits.

    On a way that is too deep, those with the most levels stay: as few as can suffice on this way.
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
