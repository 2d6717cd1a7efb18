"""One finding for each cause: what the same change to a configuration would repair, at all its places.

Rules find places, and comments, baselines and fixes are about places. A report has one finding for each cause in a
configuration: at its first place of the highest severity, with the others beside it. Findings of a rule have the same
cause if they state the same one (`Finding.cause`) or, if they state none, if they have the same message.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import reduce
from itertools import chain

from nginxopt.lint.diagnostic import Diagnostic, Fix, Grade, SavedADay
from nginxopt.text import ChangeSet
from nginxopt.text.display import count

MOST_PLACES = 6
"""How many of the other places of a finding are named; more are counted."""

_GRADES = list(Grade)


def grouped(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Return one diagnostic for each cause, in the order of their first places; the others are its `places`."""
    causes: dict[tuple[str, str, str], list[Diagnostic]] = {}
    for diagnostic in diagnostics:
        causes.setdefault(cause(diagnostic), []).append(diagnostic)
    return tuple(map(_together, causes.values()))


def cause(diagnostic: Diagnostic) -> tuple[str, str, str]:
    """Return what findings of one cause have in common: the configuration, the rule and the cause."""
    return diagnostic.tree, diagnostic.rule, text(diagnostic)


def text(diagnostic: Diagnostic) -> str:
    """Return the cause of a finding among those of its rule."""
    return diagnostic.message if diagnostic.finding.cause is None else diagnostic.finding.cause


def _together(found: Sequence[Diagnostic]) -> Diagnostic:
    """Return one diagnostic for those of a cause."""
    if len(found) == 1:
        return found[0]
    first = max(found, key=lambda diagnostic: diagnostic.severity)  # the first of them
    others = tuple(diagnostic for diagnostic in found if diagnostic is not first)
    days = [diagnostic.a_day for diagnostic in found if diagnostic.a_day is not None]
    a_day = reduce(SavedADay.plus, days) if days else None
    return replace(first, finding=replace(first.finding, fix=_fix([first, *others])), places=others, a_day=a_day)


def _fix(found: Iterable[Diagnostic]) -> Fix | None:
    """Return the fixes of all places that have the safest kind of fix, as one; None if no place has a fix."""
    fixes = [diagnostic.fix for diagnostic in found if diagnostic.fix]
    if not fixes:
        return None
    grade = min((fix.safety.grade for fix in fixes), key=_GRADES.index)
    alike = [fix for fix in fixes if fix.safety.grade is grade]
    together = ChangeSet()
    made = [fix for fix in alike if together.take(fix.changes)]
    safety = made[0].safety
    for fix in made[1:]:
        safety = safety & fix.safety
    return Fix(made[0].title, tuple(dict.fromkeys(chain.from_iterable(fix.changes for fix in made))), safety)


def other_places(diagnostic: Diagnostic) -> str:
    """Return where else a finding is, such as `3 more places: lines 12, 30, conf.d/a.conf:7`; empty if nowhere."""
    if not diagnostic.places:
        return ""
    named = diagnostic.places if len(diagnostic.places) <= MOST_PLACES else diagnostic.places[: MOST_PLACES - 1]
    here = list(dict.fromkeys(place.start.line for place in named if place.path == diagnostic.path))
    words = [f"{'lines' if len(here) > 1 else 'line'} {', '.join(map(str, here))}"] if here else []
    words += dict.fromkeys(f"{place.path}:{place.start.line}" for place in named if place.path != diagnostic.path)
    left = len(diagnostic.places) - len(named)
    more = f" and {left:,} others" if left else ""
    return f"{count(len(diagnostic.places), 'more place')}: {', '.join(words)}{more}"
