"""Gives equal things equal numbers, so that what two sides have is compared by number."""

from __future__ import annotations

from collections.abc import Hashable


class Interner:
    """The numbers of things, in the order in which these were first seen."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}

    def number(self, thing: Hashable) -> int:
        """Return the number of a thing; equal things have equal numbers."""
        return self._numbers.setdefault(thing, len(self._numbers))
