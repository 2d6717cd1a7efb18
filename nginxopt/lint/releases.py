"""The nginx releases by which the findings of rules change."""

from __future__ import annotations

from collections.abc import Iterable

from nginxopt import facts
from nginxopt.lint.declare import Rule
from nginxopt.version import Version

_CHANGES = """
    1.3.4 1.11.4 1.11.10 1.15.0 1.15.8 1.15.10 1.17.6 1.19.10 1.21.6 1.23.0 1.23.4 1.25.0 1.25.1 1.25.3 1.25.5 1.27.2
    1.27.3 1.29.0 1.29.3 1.29.4 1.29.6 1.29.7 1.30.1 1.30.2 1.30.4 1.31.0 1.31.1 1.31.3
"""
CHANGES = tuple(map(Version.parse, _CHANGES.split()))
"""The releases that change the findings of a rule, or what nginx refuses, in addition to the bounds of each rule."""

OLDEST = Version(1, 0, 0)


def turning_points(rules: Iterable[Rule]) -> tuple[Version, ...]:
    """Return releases that cover the behaviour of the rules: findings for any nginx equal those for one of them."""
    edges = {edge for rule in rules for edge in (rule.since, rule.until and rule.until.next()) if edge}
    if any(rule.by_release for rule in rules):
        edges |= facts.turning_points()
    return tuple(sorted({OLDEST, *CHANGES, *edges}))
