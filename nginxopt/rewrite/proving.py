"""Proves that the emitted text answers every request like the original configuration: each kind of list by itself.

What is right alone may exceed a limit together, so the finished configuration is read again, too.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from nginxopt.config import reread
from nginxopt.errors import InputError
from nginxopt.records import record
from nginxopt.rewrite import premises
from nginxopt.rewrite.compilation import Plan, replanned
from nginxopt.rewrite.evaluations import Evaluations, exceeded
from nginxopt.rewrite.kinds.kind import Kind, P, Proved, Refutation
from nginxopt.rewrite.kinds.registry import PROVED, RULES
from nginxopt.rewrite.output import Emission, emit
from nginxopt.rewrite.premises import RewritePremise


@record(eq=True)
class Proof:
    """The result of a proof.

    Attributes:
        refuted: The part of the proof that does not hold; None if every request is answered as before.
        of: What was proved of each kind of list, by its name.
        premises: The assumptions of the proof.
    """

    refuted: Refutation | None = None
    of: Mapping[str, Proved] = field(default_factory=dict)
    premises: tuple[RewritePremise, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether every request is answered as before."""
        return self.refuted is None

    @property
    def refutation(self) -> str | None:
        """A description of the part of the proof that does not hold."""
        return None if self.refuted is None else self.refuted.what

    @property
    def counterexample(self) -> bytes | None:
        """A URI on which the two texts differ, if one is known."""
        return None if self.refuted is None else self.refuted.counterexample

    @property
    def rules(self) -> Proved:
        """What was proved of the rules."""
        return self.of.get(RULES.name, Proved())

    @property
    def checked(self) -> int:
        """The number of URIs on which both texts were run."""
        return self.rules.strings + self.rules.any_case


def prove(emission: Emission) -> Proof:
    """Prove that an emission answers every request like the configuration of its plan. Linear in both texts."""
    of: dict[str, Proved] = {}
    for kind in PROVED:
        proved = kind.prove(emission)
        if isinstance(proved, Refutation):
            return Proof(proved)
        of[kind.name] = proved
    if (of_whole := _refutation_of_whole(emission)) is not None:
        return Proof(of_whole)
    assumed = premises.of(emission.plan)
    unstated = [premise.name for premise in assumed if str(premise).encode() not in emission.maps]
    if unstated and emission.maps:
        return Proof(Refutation(f"the maps do not state the premise {unstated[0]}"))
    return Proof(None, of, assumed)


def proved(plan: Plan) -> tuple[Emission, Proof]:
    """Return the emission of a plan and its proof.

    Lists whose new form cannot be proved stay, with the reason `unproved`, and so do rules whose groups cannot be
    proved. Lists of rewrites whose proof takes too much work stay with that reason.
    """
    while True:
        emission = emit(plan)
        proof = prove(emission)
        smaller = None if proof.refuted is None else _without(plan, proof.refuted)
        if smaller is None:
            return emission, proof
        plan = smaller


def _without(plan: Plan, refutation: Refutation) -> Plan | None:
    """Return a plan without what a refutation is about; None if there is none that may be proved."""
    return next((smaller for kind in PROVED if (smaller := _without_lists(plan, kind, refutation)) is not None), None)


def _without_lists(plan: Plan, kind: Kind[P], refutation: Refutation) -> Plan | None:
    def prove_with(lists: P) -> Proved | Refutation:
        return kind.prove(emit(replanned(plan, kind, lists)))

    lists = kind.fallback(plan.of(kind), refutation, prove_with)
    return None if lists is None else replanned(plan, kind, lists)


def _refutation_of_whole(emission: Emission) -> Refutation | None:
    """Return the refutation of a lookup that is right alone, but exceeds a limit in the finished configuration.

    The limits are those of `nginxopt.rewrite.evaluations`; both texts are read again. None if none is exceeded.
    """
    plan = emission.plan
    if not emission.maps:
        return None
    texts = {change.file.path: change.after for change in emission.changes}
    try:
        before = Evaluations.of(plan.config)
        after = Evaluations.of(reread(plan.config, texts), emission.blocks)
    except (InputError, ValueError) as error:
        return Refutation(f"the result cannot be read: {error}")
    changed = frozenset(name for name in after.definitions if not after.is_same(name, before))
    for limit in exceeded(before, after):
        for name in sorted(changed & limit.names):
            what = f"the evaluation of ${name} may exceed a limit [{limit.reason}]"
            return Refutation(what, of=plan.owner(name))
    return None
