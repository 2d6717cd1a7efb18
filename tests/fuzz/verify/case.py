"""A site before and after edits, the requests that are asked of it, and what came out of many of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, fields

from nginxopt.verify import Verification


@dataclass(frozen=True, slots=True)
class Edited:
    """A site after edits: its text, and what they were."""

    text: str
    told: str


@dataclass(frozen=True, slots=True)
class Case:
    """A site, the same after edits of several kinds, and requests.

    Attributes:
        text: What stands in `http`, with names of places as `Stage` fills them.
        requests: The bytes of requests, each with the index of the port that gets it.
    """

    name: str
    text: str
    edited: Sequence[Edited]
    requests: Sequence[tuple[int, bytes]]


@dataclass(slots=True)
class Figures:
    """What came out.

    Attributes:
        refused: Pairs with a side that the model refuses.
        accepted: Pairs with a side that nginx refuses, and the model does not.
        confirmed: Those called different whose witness nginx answers differently.
        contradicted: Those whose witness nginx answers alike.
        wrong: Those called equivalent that are answered differently.
        failed: Those for which `verify` raises an error.
        asked: Requests that both sides of a pair called equivalent answered.
        reasons: Why pairs are unknown.
    """

    refused: int = 0
    accepted: int = 0
    equivalent: int = 0
    different: int = 0
    unknown: int = 0
    confirmed: int = 0
    contradicted: int = 0
    wrong: int = 0
    failed: int = 0
    asked: int = 0
    reasons: Counter[str] = field(default_factory=Counter)

    @property
    def pairs(self) -> int:
        """How many pairs were compared."""
        return self.equivalent + self.different + self.unknown

    @property
    def is_wrong(self) -> bool:
        """Whether `verify` was wrong about a pair."""
        return bool(self.wrong or self.failed or self.contradicted)

    def count(self, result: Verification) -> None:
        """Count a result."""
        setattr(self, result.verdict, getattr(self, result.verdict) + 1)
        if result.verdict == "unknown":
            self.reasons[result.doubts[0].reason] += 1

    def add(self, other: Figures) -> None:
        """Add those of others."""
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))

    def __str__(self) -> str:
        names = [each.name for each in fields(self) if each.name != "reasons"]
        return f"pairs {self.pairs:,} " + " ".join(f"{name} {getattr(self, name):,}" for name in names)
