"""Runs of regex locations as a kind of list."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nginxopt.config import File
from nginxopt.rewrite.kinds.kind import Cost, Kind, Offsets, PlanRequest, Proved, Refutation
from nginxopt.rewrite.kinds.locations import planning, proof
from nginxopt.rewrite.kinds.locations.planning import REASONS, LocationsPlan
from nginxopt.rewrite.kinds.locations.reading import read
from nginxopt.text import Edit
from nginxopt.text.display import count

if TYPE_CHECKING:
    from nginxopt.rewrite.compilation import Plan
    from nginxopt.rewrite.kinds.kind import Question
    from nginxopt.rewrite.proving import Emission


class Locations(Kind[LocationsPlan]):
    """Regex locations that nginx tries in sequence become groups, each inside a location with a common pattern."""

    name = "locations"
    counted = "locations"
    follows = True

    def plan(self, asked: PlanRequest, changing: Offsets) -> LocationsPlan:
        """Plan the runs of locations, except those in which something else changes."""
        return planning.plan(read(asked.config, asked.files) if asked.options.groups else (), changing)

    def edits(self, plan: LocationsPlan, maps_name: str) -> Mapping[File, Sequence[Edit]]:  # noqa: ARG002 - no maps
        """Return the edits that put locations into groups."""
        return planning.edits(plan.compiled)

    def prove(self, emission: Emission) -> Proved | Refutation:
        """Prove that nginx finds the same location with groups, in the text in which only locations change."""
        plan = emission.plan.of(self)
        if not plan.compiled:
            return Proved()
        refutation = proof.prove(emission.plan.config, plan, emission.texts_of(self.name))
        return refutation or Proved(plan.moved)

    def questions(self, emission: Emission) -> list[Question]:
        """Return the comparison of each run with its groups."""
        from nginxopt.rewrite.kinds.locations import differential

        return list(differential.questions(emission))

    def uris(self, emission: Emission) -> Iterator[bytes]:
        """Yield URIs that the locations match."""
        from nginxopt.rewrite.kinds.maps.differential import examples

        for compiled in emission.plan.of(self).compiled:
            for location in compiled.run.locations:
                yield from examples(location.pattern)

    def heading(self, plan: LocationsPlan) -> str:
        """Return the number of locations, in words."""
        return f"{count(plan.total, 'regex location')} in runs"

    def lines(self, planned: Plan, *, verbose: bool) -> Iterator[str]:
        """Yield a line for each run that is divided into groups, and a line for each reason why locations stay."""
        plan = planned.of(self)
        for compiled in plan.compiled:
            first = compiled.run.locations[0].directive
            grouped = sum(len(group.locations) for group in compiled.groups)
            place = f"{compiled.run.file.path}:{first.line}"
            groups = len(compiled.groups)
            others = f"{count(groups, 'other')} that {'matches' if groups == 1 else 'match'} nothing else"
            yield f"  nested      {grouped:>9,}  regex locations ({place}), in {others}"
        for reason, staying in plan.reasons().most_common():
            yield f"  stay        {staying:>9,}  regex locations: {REASONS[reason]}  [{reason}]"
        for kept in plan.kept if verbose else ():
            yield f"    {kept.file.path}:{kept.location.directive.line}  [{kept.reason}]"

    def proof_lines(self, planned: Plan, proved: Proved) -> Iterator[str]:  # noqa: ARG002 - the count says all
        """Yield how many locations were compared with their groups."""
        if proved.lists:
            yield f"  proved      {proved.lists:>9,}  regex locations: each URI finds the location that it found before"

    def report(self, planned: Plan) -> dict[str, Any]:
        """Return the runs of regex locations that are divided into groups, and the locations that stay."""
        plan, one = planned.of(self), Cost.of(1)
        compiled = [(each.run.file, each.run.locations, None, each.before, each.after) for each in plan.compiled]
        kept = [(each.file, (each.location,), each.reason, one, one) for each in plan.kept]
        return {
            "locations": [
                {
                    "file": file.path,
                    "line": locations[0].directive.line,
                    "locations": len(locations),
                    "reason": reason,
                    "cost": Cost.report(before, after),
                }
                for file, locations, reason, before, after in [*compiled, *kept]
            ]
        }


LOCATIONS = Locations()
