"""What comes out of a comparison of two configurations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from nginxopt.request.connection import RequestForm
from nginxopt.request.outcomes import TraceForm
from nginxopt.semantics.site.form import Node

Verdict = Literal["equivalent", "different", "unknown"]


@dataclass(frozen=True, slots=True)
class Witness:
    """A request that the two sides answer differently, with both traces of the model.

    Attributes:
        existing: The files that are taken to exist.
        missing: Those that are taken to be missing.
    """

    request: RequestForm
    old: TraceForm
    new: TraceForm
    existing: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Doubt:
    """Something that differs, and of which it is not known whether it changes an answer.

    Attributes:
        reason: A phrase.
        old: The directive of the old side, by its number; None if it has none.
        new: That of the new side.
    """

    reason: str
    old: Node | None
    new: Node | None


@dataclass(frozen=True, slots=True)
class Verification:
    """The result.

    Attributes:
        servers: How many pairs of servers were compared.
        tried: How many requests the model answered on both sides.
        given: What was taken as given, as phrases.
    """

    witness: Witness | None
    doubts: tuple[Doubt, ...]
    servers: int
    tried: int
    given: tuple[str, ...]

    @property
    def verdict(self) -> Verdict:
        """The verdict: different if there is a witness, equivalent if nothing is in doubt."""
        if self.witness is not None:
            return "different"
        return "unknown" if self.doubts else "equivalent"
