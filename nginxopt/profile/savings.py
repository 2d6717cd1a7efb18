"""What a site saves in a day of its traffic if a finding is fixed.

A finding states what one request saves (`nginxopt.lint.diagnostic.Saving`). A profile knows how many requests reach the
level of the finding, and the cost of patterns and compression there.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from nginxopt.config import Config, Directive
from nginxopt.lint.diagnostic import Diagnostic, SavedADay, Saving
from nginxopt.lint.queries.model import Model
from nginxopt.profile import terms
from nginxopt.profile.sums import Place, Profile
from nginxopt.profile.work import Work
from nginxopt.semantics import Level
from nginxopt.semantics.cost import PER_MICROSECOND
from nginxopt.version import Version

_CONNECTION = (11_000, 15_000)
"""The nanoseconds of processor time of a connection to an upstream (measured on loopback)."""
Where = str
"""A directive: its file and line, separated by a colon. Configurations are often copied, so folders are left out, and
so is the name of the main file.
"""


def weighted(
    profile: Profile, configs: Iterable[Config], target: Version, diagnostics: Sequence[Diagnostic]
) -> tuple[Diagnostic, ...]:
    """Return findings with what they save a day, those that save the most first; the others stay in their order."""
    # Savings in templates depend on their tags.
    models = {config.main.path: Model(config, target) for config in configs if config.templates is None}
    found = Savings(profile)

    def told(diagnostic: Diagnostic) -> Diagnostic:
        if diagnostic.finding.saves is None or diagnostic.tree not in models:
            return diagnostic
        return replace(diagnostic, a_day=found.of(concern(models[diagnostic.tree], diagnostic)))

    return tuple(sorted(map(told, diagnostics), key=lambda one: 0.0 if one.a_day is None else -one.a_day.most))


@dataclass(frozen=True)
class Concern:
    """What a profile needs to know to compute the savings of a finding.

    Attributes:
        at: The place of the finding.
        requests: Those that it concerns: `all`, those that a directive of `within` passes on (`pass`), or those that
            are answered within a level that opens there (`level`).
    """

    saves: Saving
    at: Where
    requests: str = "all"
    within: frozenset[Where] = frozenset()


def concern(model: Model, diagnostic: Diagnostic) -> Concern:
    """Return what a profile needs to know about a finding that states its savings."""
    saves = diagnostic.finding.saves
    assert saves is not None
    main = model.config.main.path
    at = _place(main, diagnostic.path, diagnostic.start.line)
    level = _level(model, diagnostic)
    if level is None or level.kind in ("main", "http", "events"):
        return Concern(saves, at)
    if level.kind == "upstream":
        passes = (one for one in model.passes if one.upstream is not None and one.upstream.level is level)
        return Concern(saves, at, "pass", frozenset(_opened(main, one.directive) for one in passes))
    openers = (inner.opener for inner in level.walk() if inner.opener is not None)
    return Concern(saves, at, "level", frozenset(_opened(main, opener) for opener in openers))


@dataclass(frozen=True)
class Savings:
    """What findings save under the traffic of a profile."""

    profile: Profile

    @cached_property
    def work(self) -> Work:
        """What nginx does for the requests."""
        return Work(self.profile)

    @cached_property
    def _of_causes(self) -> dict[tuple[str, Where], float]:
        """The nanoseconds of each cause and directive."""
        return {
            (cause, self._where(place)): load.term.nanoseconds
            for cause, place, load in self.work.by_cause
            if place is not None
        }

    def of(self, concern: Concern) -> SavedADay:
        """Return what a site saves in a day if a finding is fixed."""
        requests = self._reaching(concern)
        least, most = self._nanoseconds(concern, requests)
        days = self.work.days
        return SavedADay(
            round(requests / days),
            least / terms.SPREAD / days / 1e9,
            most * terms.SPREAD / days / 1e9,
            round(concern.saves.connections * requests / days),
        )

    def is_everywhere(self, concern: Concern) -> bool:
        """Whether all work of a cause counts, because the finding is not at one of its directives."""
        return bool(concern.saves.cause) and (concern.saves.cause, concern.at) not in self._of_causes

    def _where(self, place: Place) -> Where:
        return _place(self.profile.config, place.file, place.line)

    def _nanoseconds(self, concern: Concern, requests: int) -> tuple[float, float]:
        """Return the smallest and the largest saving over all requests of the profile."""
        saves = concern.saves
        if saves.cause:
            of_cause = self._of_cause(concern)
            least, most = saves.part
            return of_cause * least, of_cause * most
        fixed = float(saves.nanoseconds * requests)
        patterns = self._of_causes.get(("patterns", concern.at))
        if saves.instructions and patterns is not None:  # the profile has the patterns that each request tried
            fixed += max(0.0, patterns)
        else:
            fixed += saves.instructions * requests * 1000 / PER_MICROSECOND
        low, high = (saves.connections * requests * each for each in _CONNECTION)
        return fixed + low, fixed + high

    def _of_cause(self, concern: Concern) -> float:
        """Return the cost of a cause at a directive, or everywhere if the directive does not have that cause."""
        cause = concern.saves.cause
        if self.is_everywhere(concern):
            return sum(nanoseconds for (name, _), nanoseconds in self._of_causes.items() if name == cause)
        return self._of_causes[cause, concern.at]

    def _reaching(self, concern: Concern) -> int:
        """Return the number of requests that a finding concerns."""
        if concern.requests == "all":
            return self.work.requests
        return sum(
            cell.requests
            for key, cell in self.profile.classes.items()
            if any(
                place is not None and self._where(place) in concern.within
                for place in ((key.node,) if concern.requests == "pass" else (key.level, key.server, key.node))
            )
        )


def _opened(main: str, directive: Directive) -> Where:
    return _place(main, directive.source.path, directive.line)


def _place(main: str, path: str, line: int) -> Where:
    return f"{'' if path == main else os.path.basename(path)}:{line}"  # noqa: PTH119 - a name of any file


def _level(model: Model, diagnostic: Diagnostic) -> Level | None:
    """Return the innermost level that has the directive of a finding, or that it opens."""
    source, start = diagnostic.finding.source, diagnostic.finding.span.start

    def has(level: Level) -> bool:
        own = (level.opener, *level.directives) if level.opener is not None else level.directives
        return any(one is not None and one.source is source and one.start <= start < one.end for one in own)

    found = [level for level in model.root.walk() if has(level)]
    return found[-1] if found else None
