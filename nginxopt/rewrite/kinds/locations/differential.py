"""Compares the responses of locations with and without groups on a real nginx."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from nginxopt.rewrite.comparison import Differential, Limits
from nginxopt.rewrite.kinds.locations.planning import GroupedLocations, edit
from nginxopt.rewrite.kinds.maps.differential import MapsSide, compare_sides, examples, sender, variants
from nginxopt.system.nginx import Binary
from nginxopt.text import apply

if TYPE_CHECKING:
    from nginxopt.rewrite.proving import Emission

_OTHERWISE = b'\nlocation / { return 200 "no regex location: $uri"; }\nlocation ^~ /-/ { return 200 "$uri $args"; }'


def questions(emission: Emission) -> Iterator[Callable[[Binary, Limits], Differential]]:
    """Yield the comparison of each run of locations with its groups."""
    return (partial(_asked, compiled) for compiled in emission.plan.locations.compiled)


def _asked(compiled: GroupedLocations, binary: Binary, limits: Limits) -> Differential:
    return differential(compiled, binary=binary, limits=limits)


def differential(compiled: GroupedLocations, *, binary: Binary, limits: Limits) -> Differential:
    """Return the differences between the responses of a run of locations and of its groups, each in a server.

    Raises `InputError` if nginx refuses the run.
    """
    locations = [location.directive for location in compiled.run.locations]
    start, end = locations[0].span.start, locations[-1].span.end
    data = locations[0].source.data
    after = apply(data, [edit(group) for group in compiled.groups])
    sides = (
        MapsSide(b"", data[start:end] + _OTHERWISE),
        MapsSide(b"", after[start : len(after) - len(data) + end] + _OTHERWISE),
    )
    known = chain.from_iterable(examples(location.pattern) for location in compiled.run.locations)
    send, _ = sender("$uri")
    return compare_sides(*sides, map(send, variants([b"/", *known])), compiled.run.file.path, binary, limits)
