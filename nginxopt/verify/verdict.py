"""The result of a comparison of two configurations."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from nginxopt.records import record
from nginxopt.request.connection import RequestForm
from nginxopt.request.outcomes import TraceForm
from nginxopt.semantics.site.form import Node
from nginxopt.verify.effects import Effect
from nginxopt.verify.summary import ComparedPlace

Verdict = Literal["equivalent", "different", "unknown"]


@record(eq=True)
class RequestWitness:
    """A request that the two sides answer differently, with both traces of the model.

    Attributes:
        existing: The files that are taken to exist.
        missing: Those that are taken to be missing.
        effects: What differs besides the outcomes.
        premises: What else has to be so, as clauses.
        is_answered: Whether upstreams answer.
    """

    request: RequestForm
    old: TraceForm
    new: TraceForm
    existing: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    effects: tuple[Effect, ...] = ()
    premises: tuple[str, ...] = ()
    is_answered: bool = True


@record(eq=True)
class Doubt:
    """A difference that may or may not change an answer.

    Attributes:
        reason: A phrase.
        old: The directive of the old side, by its number; None if it has none.
        new: That of the new side.
        premise: The premise that was not taken and under which this is no difference; None if there is none.
    """

    reason: str
    old: Node | None
    new: Node | None
    premise: str | None = None


@record(eq=True)
class Confirmation:
    """The answers of a real nginx to a witness.

    Attributes:
        nginx: Its name and version.
        differences: How its answers differ from those of the model, on the old and on the new side.
        is_alike: Whether its answers to both sides are the same, and so are the requests to upstreams.
    """

    nginx: str
    differences: tuple[tuple[str, ...], tuple[str, ...]]
    is_alike: bool = False

    @property
    def holds(self) -> bool:
        """Whether nginx answers both sides as the model says, so that they differ."""
        return not any(self.differences) and not self.is_alike


@record(eq=True)
class Verification:
    """The result.

    Attributes:
        servers: How many pairs of servers were compared.
        tried: How many requests the model answered on both sides.
        given: What was taken as given, as phrases; at their end in brackets, the name of a premise.
        premises: The names of the premises that were used.
        conditions: The names of premises with which both answer alike, if it is unknown whether they do.
        places: The servers and locations that were compared; all are equal if the verdict is "equivalent".
        confirmation: What nginx makes of the witness, if it was asked.
    """

    witness: RequestWitness | None
    doubts: tuple[Doubt, ...]
    servers: int
    tried: int
    given: tuple[str, ...]
    confirmation: Confirmation | None = None
    premises: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    places: tuple[ComparedPlace, ...] = ()

    def confirmed(self, confirmation: Confirmation) -> Verification:
        """Return the result after nginx was asked: without the witness if nginx does not confirm it."""
        if confirmation.holds:
            return replace(self, confirmation=confirmation)
        reasons = ["; ".join(side) for side in confirmation.differences if side]
        if confirmation.is_alike:
            reasons.append(f"{confirmation.nginx} answers both configurations alike")
        doubts = [Doubt(f"the model is wrong about a request: {reason}", None, None) for reason in reasons]
        doubted = (*doubts, *self.doubts)
        return replace(self, witness=None, doubts=doubted, confirmation=confirmation, conditions=())

    @property
    def verdict(self) -> Verdict:
        """The verdict: different if there is a witness, equivalent if nothing is in doubt."""
        if self.witness is not None:
            return "different"
        return "unknown" if self.doubts else "equivalent"
