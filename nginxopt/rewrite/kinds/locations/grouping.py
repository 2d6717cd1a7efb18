"""Divides locations into groups, and finds for each group a pattern that matches exactly what its locations match."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from math import isqrt

from nginxopt import _native
from nginxopt.records import record
from nginxopt.rewrite.kinds.locations.reading import FEWEST, RegexLocation

_MOST = 256
"""The most locations in one group."""
_FEW = 12
"""Up to this number, the locations of a group are tried one by one; larger groups are divided into inner groups."""


@record(eq=True)
class LocationGroup:
    """A group with the pattern `union`; its members are locations or inner groups."""

    union: bytes
    members: tuple[LocationGroup | RegexLocation, ...]

    @property
    def locations(self) -> tuple[RegexLocation, ...]:
        """The locations, including those in inner groups."""
        inner = (each.locations if isinstance(each, LocationGroup) else (each,) for each in self.members)
        return tuple(location for locations in inner for location in locations)


def divided(locations: Sequence[RegexLocation]) -> Iterator[LocationGroup | RegexLocation]:
    """Yield groups, as large as their pattern can be, and the locations that are in no group."""
    at = 0
    while at < len(locations):
        rest = locations[at : at + _MOST]
        size = max(1, _most(len(rest), partial(_is_one, rest)))
        yield from _group(rest[:size])
        at += size


def _group(locations: Sequence[RegexLocation]) -> Iterator[LocationGroup | RegexLocation]:
    union = _union(locations) if len(locations) >= FEWEST else None
    if union is None:
        yield from locations
        return
    if len(locations) <= _FEW:
        yield LocationGroup(union, tuple(locations))
        return
    size = isqrt(len(locations) - 1) + 1
    parts = (locations[at : at + size] for at in range(0, len(locations), size))
    yield LocationGroup(union, tuple(member for part in parts for member in _group(part)))


def _is_one(locations: Sequence[RegexLocation], size: int) -> bool:
    return _union(locations[:size]) is not None


def _union(locations: Sequence[RegexLocation]) -> bytes | None:
    return _native.exact_union([location.pattern for location in locations])


def _most(limit: int, holds: Callable[[int], bool]) -> int:
    """Return the largest number up to `limit` for which `holds` is true, if it is true for all smaller ones."""
    low, high = 0, limit + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return low
