"""A failing case made small: parts of it are left out as long as it fails."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

from tests.fuzz.nodes import Node, walk

Case = TypeVar("Case")
Failure = TypeVar("Failure")
Part = TypeVar("Part")

Reduction = Callable[[Case, int], Case | None]
"""What leaves out one part of a case: `reduction(case, n)` lacks the part `n`, and is None if there are fewer parts."""

SIZES = (40, 12, 4, 2, 1)
"""How many neighbours are left out at a time: many first, as most of a case has nothing to do with its failure."""


def minimise(
    case: Case,
    failure: Failure,
    reductions: Sequence[Reduction[Case]],
    fails: Callable[[Case], Failure | None],
    attempts: int,
) -> tuple[Case, Failure]:
    """Return the smallest case found, and its failure; `fails` is asked at most `attempts` times.

    A reduction leaves out one part after the other. A part without which the case still fails stays out. All reductions
    are tried again until none of them finds a part to leave out.
    """
    before = None
    while before is not case:
        before = case
        for reduction in reductions:
            number = 0
            while attempts > 0 and (smaller := reduction(case, number)) is not None:
                attempts -= 1
                failing = fails(smaller)
                if failing is None:
                    number += 1
                else:
                    case, failure = smaller, failing
    return case, failure


def in_turn(parts: Callable[[Case], Iterable[Case]]) -> Reduction[Case]:
    """Return the reduction to the cases that `parts` yields, each of which lacks one part."""

    def reduction(case: Case, number: int) -> Case | None:
        return next(islice(parts(case), number, None), None)

    return reduction


def fewer(parts: Sequence[Part], size: int = 1) -> Iterator[tuple[Part, ...]]:
    """Yield the parts without `size` neighbours, the first ones first."""
    for start in range(0, len(parts), size):
        yield (*parts[:start], *parts[start + size :])


def without_nodes(
    nodes: list[Node], number: int, size: int = 1, keep: Callable[[Node], bool] = lambda _: False
) -> list[Node] | None:
    """Return a copy of a tree without the `number`-th group of `size` neighbours; None if there are fewer groups.

    What `keep` holds of stays, unless it stands in a block that goes.
    """
    tree = copy.deepcopy(nodes)
    places = [(inside, node) for inside, node in walk(tree) if not keep(node)]
    if number * size >= len(places):
        return None
    for inside, node in places[number * size : (number + 1) * size]:
        inside.remove(node)
    return tree
