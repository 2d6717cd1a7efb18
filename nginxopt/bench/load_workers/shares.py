"""Divides a load: the shares add up to it, and their requests interleave as if one generator had sent them all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

from nginxopt.bench.scenario import ClosedLoop, Load, OpenLoop, Target


@dataclass(frozen=True, slots=True)
class Share:
    """The part of one worker.

    Attributes:
        load: Its load; an open loop has a whole number of requests a second.
        targets: What it requests, in turn.
        delay: How long after the agreed instant it starts, in seconds.
        first: How long after the agreed instant its first request is due, in seconds. At a constant rate, vegeta sends
            the first one an interval after its start (ConstantPacer.Pace in lib/pacer.go).
    """

    load: Load
    targets: tuple[Target, ...]
    delay: float
    first: float


def shares(load: Load, targets: Sequence[Target], workers: int) -> tuple[Share, ...]:
    """Return the shares of at most `workers`; fewer if there is less than one request a second or connection for each.

    Rates add up to the rate, rounded as vegeta needs it; connections and requests add up likewise.
    """
    if isinstance(load, OpenLoop):
        assert load.rate is not None, "found before the attack"
        return _open(load, targets, workers)
    return _closed(load, targets, workers)


def divide(total: int, parts: int) -> tuple[int, ...]:
    """Return whole numbers that add up to `total` and differ by one at most, the largest first."""
    least, more = divmod(total, parts)
    return tuple(least + (place < more) for place in range(parts))


def _open(load: OpenLoop, targets: Sequence[Target], workers: int) -> tuple[Share, ...]:
    total = whole_rate(load)
    rates = divide(total, min(workers, total))
    return tuple(
        Share(
            replace(load, rate=float(rate)),
            _turns(targets, place, len(rates)),
            delay=place / total,
            first=place / total + 1 / rate,
        )
        for place, rate in enumerate(rates)
    )


def whole_rate(load: OpenLoop) -> int:
    """Return the requests a second that vegeta is given: a whole number, at least one."""
    return max(1, round(load.rate or 0))


def _closed(load: ClosedLoop, targets: Sequence[Target], workers: int) -> tuple[Share, ...]:
    most = load.connections if load.requests is None else min(load.connections, load.requests)
    connections = divide(load.connections, min(workers, most))
    requests = _in_proportion(load.requests, connections)
    return tuple(
        Share(
            replace(load, connections=count, requests=part),
            _turns(targets, place, len(connections)),
            delay=0.0,
            first=0.0,
        )
        for place, (count, part) in enumerate(zip(connections, requests, strict=True))
    )


def _in_proportion(requests: int | None, connections: Sequence[int]) -> list[int | None]:
    """The requests of each share, at least one, in proportion to its connections."""
    if requests is None:
        return [None] * len(connections)
    spare, total = requests - len(connections), sum(connections)
    ends = [spare * end // total for end in accumulate(connections, initial=0)]
    return [1 + end - start for start, end in pairwise(ends)]


def _turns(targets: Sequence[Target], place: int, workers: int) -> tuple[Target, ...]:
    """The targets of one of several workers that take turns: with equal rates, their requests come in the order of one
    generator."""
    return tuple(targets[(place + turn * workers) % len(targets)] for turn in range(len(targets)))
