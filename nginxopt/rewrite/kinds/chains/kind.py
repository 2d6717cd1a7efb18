"""Chains of `if`s as a kind of list."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

from nginxopt.config import File
from nginxopt.rewrite.evaluations import Lookup, of_maps
from nginxopt.rewrite.kinds.chains import planning, proof
from nginxopt.rewrite.kinds.chains.planning import REASONS, ChainsPlan
from nginxopt.rewrite.kinds.kind import Cost, HttpPart, Kind, Offsets, PlanRequest, Proved, Refutation
from nginxopt.text import Edit, encode
from nginxopt.text.display import count

if TYPE_CHECKING:
    from nginxopt.rewrite.compilation import Plan
    from nginxopt.rewrite.kinds.kind import Question
    from nginxopt.rewrite.proving import Emission


class Chains(Kind[ChainsPlan]):
    """Chains of `if`s that compare the same variable become one lookup in a map."""

    name = "chains"
    counted = "conditions"

    def plan(self, asked: PlanRequest, changing: Offsets) -> ChainsPlan:  # noqa: ARG002 - an `if` has no rules of runs
        """Plan the chains."""
        return planning.plan(asked)

    def lookups(self, plan: ChainsPlan) -> Iterator[Lookup]:
        """Yield the lookups of the chains."""
        for compiled in plan.compiled:
            yield Lookup(self.name, compiled, of_maps(planning.maps(compiled)), len(compiled.chain.conditions))

    def edits(self, plan: ChainsPlan, maps_name: str) -> Mapping[File, Sequence[Edit]]:
        """Return the edits that replace the `if`s by a lookup."""
        return planning.edits(plan.compiled, maps_name)

    def http(self, plan: ChainsPlan) -> HttpPart:
        """Return the maps of the lookups."""
        variables = {encode(name) for compiled in plan.compiled for name in compiled.variables}
        tables = [keys for compiled in plan.compiled for keys in compiled.keys]
        return HttpPart(b"".join(map(planning.maps, plan.compiled)), variables, tables)

    def moved_in_words(self, plan: ChainsPlan) -> str:
        """Return the number of conditions that move."""
        return f"{count(plan.moved, 'condition')} of chains" if plan.moved else ""

    def prove(self, emission: Emission) -> Proved | Refutation:
        """Prove that lookups answer as the chains, in the text in which only chains change."""
        plan = emission.plan.of(self)
        if not plan.compiled:
            return Proved()
        texts = emission.texts_of(self.name)
        refutation = proof.prove(emission.plan.config, plan, texts, emission.text_of_trees)
        return refutation or Proved(plan.moved)

    def questions(self, emission: Emission) -> list[Question]:
        """Return the comparison of each chain with its lookup."""
        from nginxopt.rewrite.kinds.chains import differential

        return list(differential.questions(emission))

    def values(self, emission: Emission) -> Iterator[tuple[str, Iterator[bytes]]]:
        """Yield the variable of each chain, with values that its conditions compare it with."""
        from nginxopt.rewrite.kinds.maps.differential import examples, variants

        for compiled in emission.plan.of(self).compiled:
            conditions = compiled.chain.conditions
            known = (examples(encode(condition.value).lstrip(b"^").rstrip(b"$")) for condition in conditions)
            yield conditions[0].variable, variants(chain.from_iterable(known))

    def heading(self, plan: ChainsPlan) -> str:
        """Return the number of conditions, in words."""
        return f"{count(plan.total, 'condition')} in chains of `if`"

    def lines(self, planned: Plan, *, verbose: bool) -> Iterator[str]:
        """Yield a line for each chain that becomes a lookup, and a line for each reason why conditions stay."""
        plan = planned.of(self)
        for compiled in plan.compiled:
            first = compiled.chain.conditions[0]
            place = f"{first.variable} ({compiled.chain.file.path}:{first.directive.line})"
            conditions = len(compiled.chain.conditions)
            yield f"  in one      {conditions:>9,}  conditions on {place}: a map finds the first that is true"
        for reason, staying in plan.reasons().most_common():
            yield f"  stay        {staying:>9,}  conditions of `if`: {REASONS[reason]}  [{reason}]"
        for kept in plan.kept if verbose else ():
            yield f"    {kept.file.path}:{kept.condition.directive.line}  [{kept.reason}]"

    def proof_lines(self, planned: Plan, proved: Proved) -> Iterator[str]:  # noqa: ARG002 - the count says all
        """Yield how many conditions were compared with their lookups."""
        if proved.lists:
            yield f"  proved      {proved.lists:>9,}  conditions: no response changes"

    def report(self, planned: Plan) -> dict[str, Any]:
        """Return the chains of `if`s that become lookups, and the conditions that stay."""
        plan = planned.of(self)
        compiled = [(each.chain.file, each.chain.conditions, None, each.before, each.after) for each in plan.compiled]
        kept = [(each.file, (each.condition,), each.reason, each.cost, each.cost) for each in plan.kept]
        return {
            "chains": [
                {
                    "file": file.path,
                    "line": conditions[0].directive.line,
                    "variable": conditions[0].variable,
                    "conditions": len(conditions),
                    "reason": reason,
                    "cost": Cost.report(before, after),
                }
                for file, conditions, reason, before, after in [*compiled, *kept]
            ]
        }


CHAINS = Chains()
