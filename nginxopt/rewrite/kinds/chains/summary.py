"""The summary of chains of `if`s."""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.rewrite.kinds.chains.planning import REASONS, ChainsPlan
from nginxopt.text.plural import count


def heading(plan: ChainsPlan) -> str:
    """Return the number of chains and conditions, in words."""
    return f"{count(plan.conditions, 'condition')} in chains of `if`"


def lines(plan: ChainsPlan, *, verbose: bool) -> Iterator[str]:
    """Yield a line for each chain that becomes a lookup, and a line for each reason why conditions stay."""
    for compiled in plan.compiled:
        first = compiled.chain.conditions[0]
        place = f"{first.variable} ({compiled.chain.file.path}:{first.directive.line})"
        conditions = len(compiled.chain.conditions)
        yield f"  in one      {conditions:>9,}  conditions on {place}: a map finds the first that is true"
    for reason, staying in plan.reasons().most_common():
        yield f"  stay        {staying:>9,}  conditions of `if`: {REASONS[reason]}  [{reason}]"
    for kept in plan.kept if verbose else ():
        yield f"    {kept.file.path}:{kept.condition.directive.line}  [{kept.reason}]"
