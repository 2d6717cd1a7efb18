"""Summarises the compilation of maps with regular expressions."""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.rewrite.kinds.maps.cost import Cost
from nginxopt.rewrite.kinds.maps.planning import CompiledMap, KeptMap, MapsPlan
from nginxopt.rewrite.kinds.maps.reading import RegexMap
from nginxopt.text.plural import count

_WORTH_A_LINE = 5
"""The number of patterns from which a map that stays has a line even without -v."""


def cost(before: Cost, after: Cost) -> Iterator[str]:
    """Yield the headline: the number of patterns tried before and after."""
    if not before.worst:
        return
    now = "" if before == after else f"; now {_shown(after)}"
    yield f"  tried       {before.worst:>9,}  patterns for a request that none of them matches{now}"


def lines(plan: MapsPlan, *, verbose: bool) -> Iterator[str]:
    """Yield a line for each map that becomes a tree, and for each larger map that stays (`verbose`: for all)."""
    for compiled in plan.compiled:
        rows, tried = len(compiled.map.patterns), _shown(compiled.after)
        yield f"  {_form(compiled):<14}{rows:>7,}  {_patterns(rows)} of {_place(compiled.map)}: a miss tries {tried}"
    for kept in plan.kept:
        if verbose or kept.reason == "unproved" or len(kept.map.patterns) >= _WORTH_A_LINE:
            yield _kept(kept)


def _form(compiled: CompiledMap) -> str:
    """Return a phrase for the new form of a map. If captures are read after it, it gets guards instead of a tree."""
    if compiled.native.guard is not None:
        return "behind a guard"
    return "behind guards" if compiled.keeps_captures else "as a tree"


def _kept(kept: KeptMap) -> str:
    rows = len(kept.map.patterns)
    return f"  stay        {rows:>9,}  {_patterns(rows)} of {_place(kept.map)}: {kept.why}  [{kept.reason}]"


def heading(plan: MapsPlan) -> str:
    """Return the number of patterns and maps, in words."""
    return f"{count(plan.rows, 'pattern')} of {count(len(plan.found), 'map')}"


def _patterns(rows: int) -> str:
    return "pattern" if rows == 1 else "patterns"


def _place(regex_map: RegexMap) -> str:
    return f"{regex_map.variable} ({regex_map.directive.source.path}:{regex_map.directive.line})"


def _shown(cost: Cost) -> str:
    """Return a cost as one number, or as three if they are different."""
    far, near, worst = cost
    return f"{far:,}" if far == near == worst else f"{far:,} (near {near:,}, worst {worst:,})"
