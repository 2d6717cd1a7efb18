"""Numbers for things: equal ones have equal numbers, on both sides."""

from __future__ import annotations

from collections.abc import Hashable


class Interner:
    """Numbers things."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}

    def number(self, thing: Hashable) -> int:
        """Return the number of a thing."""
        return self._numbers.setdefault(thing, len(self._numbers))
