"""What a day of a site's traffic saves without what a finding is about.

A finding says what one request saves (`nginxopt.lint.diagnostic.Saving`). A profile knows how many requests reach the
level where it was found, and what patterns and compression take there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from nginxopt.config import Config
from nginxopt.lint.diagnostic import Diagnostic, SavedADay, Saving
from nginxopt.lint.queries.cost import PER_MICROSECOND
from nginxopt.lint.queries.model import Model
from nginxopt.profile import terms
from nginxopt.profile.sums import Class, Place, Profile
from nginxopt.profile.work import Work
from nginxopt.semantics import Level
from nginxopt.version import Version

_DAY = 86_400
_CONNECTION = (11_000, 15_000)
"""The nanoseconds of processor time of a connection to an upstream (measured on loopback)."""
_Where = tuple[str, int]
"""A directive: the name of its file without folders, as configurations are often copied, and its line."""


def weighted(
    profile: Profile, configs: Iterable[Config], target: Version, diagnostics: Sequence[Diagnostic]
) -> tuple[Diagnostic, ...]:
    """Return findings with what they save a day, those that save the most first; the others stay in their order."""
    models = {config.main.path: Model(config, target) for config in configs}
    found = Savings(profile)
    told = [
        diagnostic
        if diagnostic.finding.saves is None or diagnostic.tree not in models
        else replace(diagnostic, a_day=found.of(models[diagnostic.tree], diagnostic))
        for diagnostic in diagnostics
    ]
    return tuple(sorted(told, key=lambda one: 0.0 if one.a_day is None else -one.a_day.most))


@dataclass(frozen=True)
class Savings:
    """What findings save under the traffic of a profile."""

    profile: Profile

    @cached_property
    def _work(self) -> Work:
        return Work(self.profile)

    @cached_property
    def _days(self) -> float:
        """The days of the profile; one if the logs have no times."""
        return (self._work.seconds or _DAY) / _DAY

    @cached_property
    def _of_causes(self) -> dict[tuple[str, _Where], float]:
        """The nanoseconds of each cause and directive."""
        return {
            (cause, _where(place)): load.term.nanoseconds
            for cause, place, load in self._work.by_cause
            if place is not None
        }

    def of(self, model: Model, diagnostic: Diagnostic) -> SavedADay | None:
        """Return what a finding saves a day; None if it says nothing of it."""
        saves = diagnostic.finding.saves
        if saves is None:
            return None
        requests = self._reaching(model, diagnostic)
        least, most = self._nanoseconds(saves, diagnostic, requests)
        days = self._days
        return SavedADay(
            round(requests / days),
            least / terms.SPREAD / days / 1e9,
            most * terms.SPREAD / days / 1e9,
            round(saves.connections * requests / days),
        )

    def _nanoseconds(self, saves: Saving, diagnostic: Diagnostic, requests: int) -> tuple[float, float]:
        """Return the least and the most that all requests of the profile save."""
        at = (os.path.basename(diagnostic.path), diagnostic.start.line)  # noqa: PTH119 - a name of any file
        if saves.cause:
            of_cause = self._of_cause(saves.cause, at)
            least, most = saves.part
            return of_cause * least, of_cause * most
        fixed = float(saves.nanoseconds * requests)
        patterns = self._of_causes.get(("patterns", at))
        if saves.instructions and patterns is not None:  # what was tried is known for each request
            fixed += max(0.0, patterns)
        else:
            fixed += saves.instructions * requests * 1000 / PER_MICROSECOND
        low, high = (saves.connections * requests * each for each in _CONNECTION)
        return fixed + low, fixed + high

    def _of_cause(self, cause: str, at: _Where) -> float:
        """Return what a cause takes at a directive, or everywhere if that directive is none of its own."""
        here = self._of_causes.get((cause, at))
        return (
            here
            if here is not None
            else sum(nanoseconds for (name, _), nanoseconds in self._of_causes.items() if name == cause)
        )

    def _reaching(self, model: Model, diagnostic: Diagnostic) -> int:
        """Return the number of requests that reach the level of a finding, or are passed to its upstream."""
        level = _level(model, diagnostic)
        if level is None or level.kind in ("main", "http", "events"):
            return self._work.requests
        if level.kind == "upstream":
            passes = {
                (os.path.basename(one.directive.source.path), one.directive.line)  # noqa: PTH119
                for one in model.passes
                if one.upstream is not None and one.upstream.level is level
            }
            return self._number(lambda key: [key.node], passes)
        within = {
            (os.path.basename(inner.opener.source.path), inner.opener.line)  # noqa: PTH119
            for inner in level.walk()
            if inner.opener is not None
        }
        return self._number(lambda key: [key.level, key.server, key.node], within)

    def _number(self, places: Callable[[Class], list[Place | None]], within: set[_Where]) -> int:
        return sum(
            cell.requests
            for key, cell in self.profile.classes.items()
            if any(place is not None and _where(place) in within for place in places(key))
        )


def _where(place: Place) -> _Where:
    return os.path.basename(place.file), place.line  # noqa: PTH119


def _level(model: Model, diagnostic: Diagnostic) -> Level | None:
    """Return the innermost level that has the directive of a finding, or that it opens."""
    source, start = diagnostic.finding.source, diagnostic.finding.span.start

    def has(level: Level) -> bool:
        own = (level.opener, *level.directives) if level.opener is not None else level.directives
        return any(one is not None and one.source is source and one.start <= start < one.end for one in own)

    found = [level for level in model.root.walk() if has(level)]
    return found[-1] if found else None
