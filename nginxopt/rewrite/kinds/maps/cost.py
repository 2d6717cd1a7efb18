"""The number of patterns that nginx tries for a request that matches none of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Cost(NamedTuple):
    """The number of patterns that are tried for a subject that none matches.

    Attributes:
        far: For a subject that begins differently from all patterns.
        near: The average for subjects that begin like a pattern.
        worst: The maximum for any subject.
    """

    far: int
    near: int
    worst: int

    @classmethod
    def of(cls, patterns: int) -> Cost:
        """Return the cost of a number of patterns that are tried in sequence."""
        return cls(patterns, patterns, patterns)

    @classmethod
    def total(cls, costs: Iterable[Cost]) -> Cost:
        """Return the sum of the costs of several lists, if every request tries all of them."""
        sums = [sum(values) for values in zip(*costs, strict=True)]
        return cls(*sums) if sums else cls.of(0)
