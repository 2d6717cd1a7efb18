"""The refutation of a part of the result by its proof."""

from __future__ import annotations

from typing import Generic, TypeVar

from nginxopt.records import record

Part = TypeVar("Part", covariant=True)


@record(eq=True)
class PartRefutation(Generic[Part]):
    """The part of a proof that does not hold.

    Attributes:
        what: A description.
        counterexample: A value for which the two texts differ, if one is known.
        of: The map, chain or run of locations that it is about, if it is about one.
        reason: The code of the reason for which that part stays.
    """

    what: str
    counterexample: bytes | None = None
    of: Part | None = None
    reason: str = "unproved"
