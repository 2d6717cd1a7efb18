"""The summary of runs of regex locations."""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.rewrite.kinds.locations.planning import REASONS, LocationsPlan
from nginxopt.text.plural import count


def heading(plan: LocationsPlan) -> str:
    """Return the number of runs and locations, in words."""
    return f"{count(plan.locations, 'regex location')} in runs"


def lines(plan: LocationsPlan, *, verbose: bool) -> Iterator[str]:
    """Yield a line for each run that is divided into groups, and a line for each reason why locations stay."""
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
