"""What the proof of a part of the result finds that does not hold."""

from __future__ import annotations

from typing import Generic, TypeVar

from nginxopt.records import record

Part = TypeVar("Part", covariant=True)


@record(eq=True)
class PartRefutation(Generic[Part]):
    """What does not hold, and of which map or chain, if it is of one.

    `counterexample` is a value that the two texts answer differently, if one is known.
    """

    what: str
    counterexample: bytes | None = None
    of: Part | None = None
