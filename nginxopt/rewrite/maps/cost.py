"""The number of patterns that a request without a match tries."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple


class Cost(NamedTuple):
    """Patterns tried for a subject that none matches.

    Attributes:
        far: For one that begins like no pattern.
        near: For one that begins like some, on the average.
        worst: For the worst of them.
    """

    far: int
    near: int
    worst: int

    @classmethod
    def of(cls, patterns: int) -> Cost:
        """Return the cost of patterns that are tried in sequence."""
        return cls(patterns, patterns, patterns)

    @classmethod
    def total(cls, costs: Iterable[Cost]) -> Cost:
        """Return the sum of the costs of lists that all requests try."""
        sums = [sum(values) for values in zip(*costs, strict=True)]
        return cls(*sums) if sums else cls.of(0)
