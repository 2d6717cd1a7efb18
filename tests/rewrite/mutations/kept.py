"""Faults of values that nginx keeps for a request, in which the rules may run again."""

from __future__ import annotations

from tests.rewrite.mutations.fault import Mutation, maps
from tests.rewrite.mutations.obligations import Refutation
from tests.rewrite.mutations.programs import NOT_KEPT

VOLATILE = b"    volatile;\n"

MUTATIONS = (
    *(
        Mutation(
            f"target kept: {name}",
            "The target of the first URI answers for the second.",
            name,
            Refutation.NOT_VOLATILE,
            maps(b"map $uri $m_to {\n" + VOLATILE, b"map $uri $m_to {\n"),
        )
        for name in NOT_KEPT
    ),
    Mutation(
        "key kept",
        "The first URI is compared with the second.",
        "kept-key",
        Refutation.NOT_VOLATILE,
        maps(b"map $uri $m_key {\n" + VOLATILE, b"map $uri $m_key {\n"),
    ),
)
