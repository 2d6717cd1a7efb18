"""A difference made small: directives of a site are dropped while it stays, whole blocks first."""

from __future__ import annotations

import copy
from collections.abc import Callable

from tests.rewrite_fuzz.nodes import Node, walk

Fails = Callable[[list[Node]], bool]


def smaller(nodes: list[Node], fails: Fails, attempts: int = 400) -> list[Node]:
    """Return nodes that fail as these do, of which hardly one can be dropped."""
    before = -1
    while before != len(list(walk(nodes))) and attempts > 0:
        before = len(list(walk(nodes)))
        index = 0
        while index < len(list(walk(nodes))) and attempts > 0:
            tree = copy.deepcopy(nodes)
            inside, node = list(walk(tree))[index]
            inside.remove(node)
            attempts -= 1
            if fails(tree):
                nodes = tree
            else:
                index += 1
    return nodes
