"""What `rewrite-to-map` says of a compilation: the summary on the terminal, and the JSON report of `--report`.

The schema of the report is `schemas/rewrite-report.json`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from nginxopt import __version__
from nginxopt.rewrite import premises
from nginxopt.rewrite.compilation import LITERAL_READINGS, Plan
from nginxopt.rewrite.kinds.kind import Cost, Proved
from nginxopt.rewrite.kinds.registry import KINDS, PROVED
from nginxopt.rewrite.options import Readings
from nginxopt.rewrite.proving import Proof
from nginxopt.text.display import count, percent_encode

if TYPE_CHECKING:
    from nginxopt.rewrite.comparison import Differential

_BROKEN = "the plan does not come true, which is an error of nginxopt; please report this"
_FEW = 3
"""The number of examples per line."""
_PAYS_FROM = 5
"""The number of rules from which a map costs less: a lookup and a guard cost as much as two to five patterns."""


def summary(planned: Plan, proof: Proof | None, *, moved_by_literals: int = 0, verbose: bool = False) -> Iterator[str]:
    """Yield the lines of the summary; with `verbose`, one for each rule that stays or never fires.

    `moved_by_literals` is the result of `compilation.moved_by_literals`.
    """
    yield _heading(planned)
    yield from _cost(planned)
    for kind in KINDS:
        yield from kind.result(planned)
    for broken in planned.broken:
        yield f"  error: {_BROKEN}: {broken}"
    for kind in KINDS:
        yield from kind.lines(planned, verbose=verbose)
    yield from _rows_alone(planned)
    yield from _missing(planned, verbose)
    proved = {} if proof is None else proof.of
    for kind in PROVED:
        yield from kind.proof_lines(planned, proved.get(kind.name, Proved()))
    for premise in premises.of(planned):
        yield f"  premise  {premise}"
    yield from _hit(planned)
    yield from _hints(planned, moved_by_literals)


def _missing(planned: Plan, verbose: bool) -> Iterator[str]:
    missing = planned.config.missing
    if missing:
        yield f"  missing     {len(missing):>9,}  no rule moves across a missing file, as it may hold anything"
    for include in missing if verbose else missing[:_FEW]:
        yield f"    {include.source.path}:{include.line} includes {include.args[0]}"
    if not verbose and len(missing) > _FEW:
        yield f"    ... and {len(missing) - _FEW:,} more (-v lists them)"


def _heading(planned: Plan) -> str:
    found = [kind.heading(lists) for kind in KINDS if (lists := planned.of(kind)).total]
    return f"{planned.subject.path}: {', '.join(found or [KINDS[0].heading(planned.of(KINDS[0]))])}"


def _cost(planned: Plan) -> Iterator[str]:
    """Yield the number of patterns tried before and after."""
    before, after = planned.cost
    if not before.worst:
        return
    now = "" if before == after else f"; now {after.shown()}"
    yield f"  tried       {before.worst:>9,}  patterns for a request that none of them matches{now}"


def _rows_alone(planned: Plan) -> Iterator[str]:
    """Yield what to do with the rows of a file whose map is not known."""
    scope = planned.config.scope
    rows = 0 if scope.context else sum(row.name.startswith("~") for row in scope.directives)
    if rows:
        named = "row" if rows == 1 else "rows"
        yield f"  regexes     {rows:>9,}  {named} of a map: each lookup without a match tries all of them"
        yield "  hint: name the map that includes them: --context 'map $uri $new', or its nginx.conf with -c"


def _hit(planned: Plan) -> Iterator[str]:
    before, after = planned.cost
    if planned.rules.moved and after.worst < before.worst:
        yield "  a hit on the first rule gets slightly slower, every other request faster"


def _hints(planned: Plan, moved_by_literals: int) -> Iterator[str]:
    small = sum(1 for run in planned.rules.compiled if run.has_maps and len(run.native) < _PAYS_FROM)
    if small:
        yield f"  hint: {count(small, 'run')} of fewer than {_PAYS_FROM} rules, which cost less than a map"
    if moved_by_literals:
        declared = planned.options.readings
        flags = [Readings.flag(name) for name in LITERAL_READINGS.values() if not getattr(declared, name)]
        yield (
            f"  hint: {moved_by_literals:,} more would move with {' '.join(sorted(flags))}, which declare differences"
        )


# The JSON report

VERSION = 2
"""The version of the format, incremented by incompatible changes."""


def report(plan: Plan, proof: Proof | None, differentials: list[Differential] | None = None) -> dict[str, Any]:
    """Return the report of a compilation; `proof` is None with --plan-only.

    URIs are percent-encoded as in a request, and lines count from 1.
    """
    return {
        "version": VERSION,
        "nginxopt": __version__,
        "file": plan.subject.path,
        **{entry: value for kind in KINDS for entry, value in kind.report(plan).items()},
        "declared_differences": _declared(plan),
        "premises": [{"name": premise.name, "sentence": premise.sentence} for premise in premises.of(plan)],
        "proof": None if proof is None else _proof(proof),
        "cost": Cost.report(*plan.cost),
        "nginx": None if differentials is None else _nginx(differentials),
    }


def _declared(plan: Plan) -> list[dict[str, Any]]:
    sentences = Readings.sentences()
    return [
        {"option": Readings.flag(name), "difference": sentences[name], "rules": rules}
        for name, rules in plan.rules.changed.items()
    ]


def _proof(proof: Proof) -> dict[str, Any]:
    counterexample = proof.counterexample
    return {
        "status": "proved" if proof.holds else "refuted",
        "checked": proof.checked,
        "rules": proof.rules.lists,
        "gone": proof.rules.gone,
        **{kind.counted: proof.of.get(kind.name, Proved()).lists for kind in KINDS},
        "refutation": proof.refutation,
        "counterexample": None if counterexample is None else percent_encode(counterexample).decode("ascii"),
    }


def _nginx(differentials: list[Differential]) -> dict[str, Any]:
    mismatches = [str(mismatch) for differential in differentials for mismatch in differential.mismatches]
    return {
        "requests": sum(differential.requests for differential in differentials),
        "mismatches": sum(differential.mismatched for differential in differentials),
        "skipped": sum(differential.skipped for differential in differentials),
        "unstable": sum(differential.unstable for differential in differentials),
        "seconds": round(sum(differential.seconds for differential in differentials), 3),
        "first_mismatches": mismatches[:10],
        "whole_omitted": next((differential.omitted for differential in differentials if differential.omitted), None),
    }
