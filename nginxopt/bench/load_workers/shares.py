"""Divides a load into shares that add up to it, and whose requests interleave as if one generator sent them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate, pairwise

from nginxopt.bench.scenario import ClosedLoop, Load, OpenLoop, Target
from nginxopt.records import record


@record(eq=True)
class Share:
    """The share of one worker.

    Attributes:
        load: Its load; the rate of an open loop is a whole number of requests a second.
        targets: Its targets, which it requests in turn.
        delay: The seconds from the agreed instant to its start.
        first: The seconds from the agreed instant to its first request. At a constant rate, vegeta sends the first one
            an interval after its start (ConstantPacer.Pace in lib/pacer.go).
    """

    load: Load
    targets: tuple[Target, ...]
    delay: float
    first: float


def shares(load: Load, targets: Sequence[Target], workers: int) -> tuple[Share, ...]:
    """Divide a load among at most `workers`, so that each has at least one request a second or one connection.

    The rates of the shares add up to the rate of the load, rounded to a whole number. Connections and numbers of
    requests add up exactly.
    """
    if isinstance(load, OpenLoop):
        assert load.rate is not None, "found before the attack"
        return _open(load, targets, workers)
    return _closed(load, targets, workers)


def divide(total: int, parts: int) -> tuple[int, ...]:
    """Return `parts` whole numbers that add up to `total` and differ by at most one, the largest first."""
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
    """Return the rate for vegeta: a whole number of requests a second, at least one."""
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
    """Return the number of requests of each share, in proportion to its connections, and at least one."""
    if requests is None:
        return [None] * len(connections)
    spare, total = requests - len(connections), sum(connections)
    ends = [spare * end // total for end in accumulate(connections, initial=0)]
    return [1 + end - start for start, end in pairwise(ends)]


def _turns(targets: Sequence[Target], place: int, workers: int) -> tuple[Target, ...]:
    """Return the targets of one worker, if all take turns. With equal rates, the requests then have the order in which
    one generator would send them."""
    return tuple(targets[(place + turn * workers) % len(targets)] for turn in range(len(targets)))
