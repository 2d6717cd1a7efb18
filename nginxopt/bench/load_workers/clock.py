"""Measures the offset between the clock of a worker and that of this command, from round trips."""

from __future__ import annotations

from collections.abc import Iterable

from nginxopt.records import record


@record(eq=True)
class Trip:
    """A round trip, in seconds since the epoch: `sent` and `received` by the local clock, `there` by the worker's."""

    sent: float
    there: float
    received: float

    @property
    def seconds(self) -> float:
        """The duration of the round trip."""
        return self.received - self.sent


@record(eq=True)
class Clock:
    """How far the clock of a worker is ahead (`offset`), and the largest error of that, in seconds."""

    offset: float
    error: float

    @property
    def correction(self) -> float:
        """The seconds by which to correct times of the worker: 0 if the offset is within its error."""
        return self.offset if abs(self.offset) > self.error else 0.0


def compare(trips: Iterable[Trip]) -> Clock:
    """Estimate the clock of a worker from the shortest of its round trips.

    The worker answered at some instant of the trip. The estimate is the middle, and the largest error half of the trip
    (RFC 5905, section 8, has the same estimate from four times).
    """
    shortest = min(trips, key=lambda trip: trip.seconds)
    half = max(0.0, shortest.seconds / 2)
    return Clock(shortest.there - (shortest.sent + half), half)
