"""A fault, and the ways to put one into an emission."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from nginxopt.rewrite import Emission
from tests.rewrite.mutations.obligations import Refutation

Damage = Callable[[Emission], Emission]


@dataclass(frozen=True)
class Mutation:
    """A fault: its name, what it is in one sentence, the program it is put into, what refutes it, and how it is put."""

    name: str
    says: str
    program: str
    refuted_by: Refutation
    damage: Damage


def maps(old: bytes, new: bytes, *, count: int = 1) -> Damage:
    """Replace a part of the maps."""

    def damage(emission: Emission) -> Emission:
        assert old in emission.maps, emission.maps.decode()
        return replace(emission, maps=emission.maps.replace(old, new, count))

    return damage


def text(old: bytes, new: bytes, *, count: int = 1) -> Damage:
    """Replace a part of the changed file that holds it."""

    def damage(emission: Emission) -> Emission:
        changes = list(emission.changes)
        at = next(at for at, change in enumerate(changes) if old in change.after)
        changes[at] = replace(changes[at], after=changes[at].after.replace(old, new, count))
        return replace(emission, changes=tuple(changes))

    return damage


def both(*damages: Damage) -> Damage:
    """Do one after the other."""

    def damaged(emission: Emission) -> Emission:
        for damage in damages:
            emission = damage(emission)
        return emission

    return damaged
