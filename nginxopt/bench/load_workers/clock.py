"""The clock of a worker against that of the command, from round trips."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Trip:
    """A question and its answer, in seconds since the epoch: sent and received here, answered there."""

    sent: float
    there: float
    received: float

    @property
    def seconds(self) -> float:
        """How long it took."""
        return self.received - self.sent


@dataclass(frozen=True, slots=True)
class Clock:
    """How far the clock of a worker is ahead, in seconds, and by how much that may be wrong."""

    offset: float
    error: float

    @property
    def correction(self) -> float:
        """What times of the worker are ahead of ours: nothing, if the offset cannot be told from none."""
        return self.offset if abs(self.offset) > self.error else 0.0


def compare(trips: Iterable[Trip]) -> Clock:
    """Return the clock of a worker by the shortest of its trips.

    The answer was given at some instant of the trip; half of the trip is the largest error of the middle (RFC 5905,
    section 8, has the same estimate from four times).
    """
    shortest = min(trips, key=lambda trip: trip.seconds)
    half = max(0.0, shortest.seconds / 2)
    return Clock(shortest.there - (shortest.sent + half), half)
