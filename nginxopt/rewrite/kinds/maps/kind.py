"""Maps with regular expressions as a kind of list."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nginxopt.config import Directive, File
from nginxopt.rewrite.evaluations import Definition, Lookup, names, of_maps
from nginxopt.rewrite.kinds.kind import (
    Cost,
    HttpPart,
    Kind,
    Offsets,
    PlanRequest,
    Proved,
    Refutation,
    remedy,
)
from nginxopt.rewrite.kinds.maps import planning, proof
from nginxopt.rewrite.kinds.maps.planning import KeptMap, MapsPlan, PlannedMap
from nginxopt.rewrite.kinds.maps.reading import RegexMap
from nginxopt.text import Edit, encode
from nginxopt.text.display import count

if TYPE_CHECKING:
    from nginxopt.rewrite.compilation import Plan
    from nginxopt.rewrite.kinds.kind import Question
    from nginxopt.rewrite.proving import Emission

_WORTH_A_LINE = 5
"""The number of patterns from which a map that stays has a line even without -v."""
_TREES = """\
# Each list of patterns is a tree: its first map tells by which prefix a value begins, and the next which patterns are
# left to be tried.
"""

MAP_REMEDIES: Mapping[str, str] = {
    "default-captures": "write a default and a source without `$1` to `$9`",
    "captures-read": "read `$1` to `$9` only where the pattern that sets them stands",
    "unbounded-row": "in this row, write `[^/]+` for a `.+` before a slash, so that PCRE has one way to match it",
    "showing-row": "in this row, write `(...)` and `$1` for the named group, or put the row first",
    "hash-collision": "remove keys that only collide: nginx compares each with all of them",
}
"""What to change by hand, so that a map moves: by the code of the reason for which it stays."""


class Maps(Kind[MapsPlan]):
    """Maps with regular expressions become trees of maps, so that few expressions are tried for each value."""

    name = "maps"
    counted = "rows"

    def plan(self, asked: PlanRequest, changing: Offsets) -> MapsPlan:  # noqa: ARG002 - maps are no statements
        """Plan the maps."""
        return planning.plan(asked)

    def lookups(self, plan: MapsPlan) -> Iterator[Lookup]:
        """Yield the trees; a guard adds no evaluation."""
        for compiled in plan.compiled:
            if compiled.native.guard is None:
                yield Lookup(self.name, compiled, dict(_definitions(compiled)), len(compiled.map.movable))

    def edits(self, plan: MapsPlan, maps_name: str) -> Mapping[File, Sequence[Edit]]:
        """Return the edits that remove expressions from maps and make their default the tree."""
        return planning.edits(plan.compiled, maps_name)

    def http(self, plan: MapsPlan) -> HttpPart:
        """Return the trees."""
        trees = [compiled.native for compiled in plan.compiled if compiled.native.guard is None]
        maps = b"".join(compiled.native.maps for compiled in plan.compiled)
        variables = {encode(name) for tree in trees for name in tree.variables}
        return HttpPart(maps, variables, [keys for tree in trees for keys in tree.keys])

    def moved_in_words(self, plan: MapsPlan) -> str:
        """Return the number of patterns that move."""
        return f"{count(plan.moved, 'pattern')} of maps" if plan.moved else ""

    def note(self, plan: MapsPlan) -> str:
        """Return what a tree is."""
        return _TREES if plan.compiled else ""

    def prove(self, emission: Emission) -> Proved | Refutation:
        """Prove that each map returns the same value for every subject, and that nothing else changes with it."""
        plan = emission.plan.of(self)
        if not plan.compiled:
            return Proved()
        return proof.refutation(emission) or Proved(plan.moved)

    def questions(self, emission: Emission) -> list[Question]:
        """Return the comparison of each map with its tree."""
        from nginxopt.rewrite.kinds.maps import differential

        return list(differential.questions(emission))

    def values(self, emission: Emission) -> Iterator[tuple[str, Iterator[bytes]]]:
        """Yield the source of each map, with subjects."""
        from nginxopt.rewrite.kinds.maps.differential import subjects

        for compiled in emission.plan.of(self).compiled:
            keys = [key for keys in compiled.native.keys for key in keys]
            yield compiled.map.source, subjects(compiled.map, keys)

    def heading(self, plan: MapsPlan) -> str:
        """Return the number of patterns and maps, in words."""
        return f"{count(plan.total, 'pattern')} of {count(len(plan.found), 'map')}"

    def lines(self, planned: Plan, *, verbose: bool) -> Iterator[str]:
        """Yield a line for each map that becomes a tree, and for each larger map that stays (`verbose`: for all)."""
        plan = planned.of(self)
        for compiled in plan.compiled:
            rows, tried = len(compiled.map.movable), compiled.after.shown()
            place = _place(compiled.map)
            yield f"  {_form(compiled):<14}{rows:>7,}  {_patterns(rows)} of {place}: a miss tries {tried}"
        for kept in plan.kept:
            if verbose or kept.reason == "unproved" or len(kept.map.patterns) >= _WORTH_A_LINE:
                yield _kept(kept)
                yield from remedy(MAP_REMEDIES, kept.reason)

    def proof_lines(self, planned: Plan, proved: Proved) -> Iterator[str]:  # noqa: ARG002 - the count says all
        """Yield how many patterns were compared with their trees."""
        if proved.lists:
            yield f"  proved      {proved.lists:>9,}  patterns of maps: the trees answer every value as they did"

    def report(self, planned: Plan) -> dict[str, Any]:
        """Return the maps with regular expressions: those with many rows, and what becomes of each."""
        return {
            "regex_maps": [
                {
                    "file": regex_map.place.source.path,
                    "line": regex_map.place.line,
                    "variable": regex_map.variable,
                    "rows": len(regex_map.rows),
                }
                for regex_map in planned.regex_maps
            ],
            "maps": _maps(planned.of(self)),
        }


MAPS = Maps()


def _definitions(compiled: PlannedMap) -> Iterator[tuple[str, Definition]]:
    """Yield the definitions of a tree and of the map before it."""
    native, regex_map = compiled.native, compiled.map
    values = [row.args[0] for row in regex_map.exact] + [native.default.decode("utf-8", "surrogateescape")]
    is_volatile = any(row.name == "volatile" and not row.args for row in regex_map.rows)
    (variable,) = names(regex_map.variable)
    yield variable, Definition(names(regex_map.source), tuple(names(str(value)) for value in values), is_volatile)
    yield from of_maps(native.maps).items()


def _form(compiled: PlannedMap) -> str:
    """Return a phrase for the new form of a map. If captures are read after it, it gets guards instead of a tree."""
    if compiled.native.guard is not None:
        return "behind a guard"
    return "behind guards" if compiled.keeps_captures else "as a tree"


def _kept(kept: KeptMap) -> str:
    rows = len(kept.map.patterns)
    return f"  stay        {rows:>9,}  {_patterns(rows)} of {_place(kept.map)}: {kept.why}  [{kept.reason}]"


def _patterns(rows: int) -> str:
    return "pattern" if rows == 1 else "patterns"


def _place(regex_map: RegexMap) -> str:
    return f"{regex_map.variable} ({regex_map.directive.source.path}:{regex_map.directive.line})"


def _maps(plan: MapsPlan) -> list[dict[str, Any]]:
    """Return the maps with regular expressions, in the order of the text."""
    maps = [
        (compiled.map, {"moved": True, "reason": None, "why": None}, compiled.before, compiled.after)
        for compiled in plan.compiled
    ] + [
        (kept.map, {"moved": False, "reason": kept.reason, "why": kept.why}, kept.cost, kept.cost) for kept in plan.kept
    ]
    places = {regex_map: number for number, regex_map in enumerate(plan.found)}
    return [
        {
            "file": each.directive.source.path,
            "line": each.directive.line,
            "source": each.source,
            "variable": each.variable,
            "rows": len(each.patterns),
            "moved_rows": [_row(row) for row in each.movable] if verdict["moved"] else [],
            **verdict,
            "cost": Cost.report(before, after),
        }
        for each, verdict, before, after in sorted(maps, key=lambda found: places[found[0]])
    ]


def _row(row: Directive) -> dict[str, Any]:
    """Return the place of a row; its number in an emitted value is its place among the rows, from 0."""
    text = row.source.data[row.span.start : row.span.end].decode("utf-8", "backslashreplace")
    return {"file": row.source.path, "line": row.line, "text": text}
