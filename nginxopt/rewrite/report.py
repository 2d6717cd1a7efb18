"""The JSON report of `rewrite-to-map --report`. Its schema is `schemas/rewrite-report.json`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nginxopt import __version__
from nginxopt.config import Directive, File
from nginxopt.rewrite import premises
from nginxopt.rewrite.kinds.maps.cost import Cost
from nginxopt.rewrite.options import Readings
from nginxopt.rewrite.planning import Plan, reasons
from nginxopt.rewrite.proof import Proof
from nginxopt.rewrite.uris import percent_encode
from nginxopt.text import Span

if TYPE_CHECKING:
    from nginxopt.rewrite.comparison import Differential

VERSION = 2
"""The version of the format, incremented by incompatible changes."""


def report(plan: Plan, proof: Proof | None, differentials: list[Differential] | None = None) -> dict[str, Any]:
    """Return the report of a compilation; `proof` is None with --plan-only.

    URIs are percent-encoded as in a request, and lines count from 1.
    """
    before, after = plan.cost
    return {
        "version": VERSION,
        "nginxopt": __version__,
        "file": plan.subject.path,
        "rules": plan.rules,
        "moved": plan.moved,
        "keys": plan.keys,
        "moved_rules": [_place(file, span) for file, span in plan.moved_rules()],
        "kept": _kept(plan),
        "dead": [
            {
                **_place(dead.file, dead.span),
                "shadowed_by": None if dead.by is None else _line(dead.file, dead.by),
                "witness": _uri(dead.witness),
                "removed": dead.removed,
            }
            for dead in plan.dead()
        ],
        "duplicates": [
            {**_place(duplicate.file, duplicate.span), "of": _line(duplicate.file, duplicate.of)}
            for duplicate in plan.duplicates()
        ],
        "missing": [
            {"file": include.source.path, "line": include.line, "includes": str(include.args[0])}
            for include in plan.config.missing
        ],
        "regex_maps": [
            {
                "file": regex_map.place.source.path,
                "line": regex_map.place.line,
                "variable": regex_map.variable,
                "rows": len(regex_map.rows),
            }
            for regex_map in plan.regex_maps
        ],
        "maps": _maps(plan),
        "chains": _chains(plan),
        "locations": _locations(plan),
        "declared_differences": _declared(plan),
        "premises": [{"name": premise.name, "sentence": premise.sentence} for premise in premises.of(plan)],
        "proof": None if proof is None else _proof(proof),
        "cost": {"before": before._asdict(), "after": after._asdict()},
        "nginx": None if differentials is None else _nginx(differentials),
    }


def _kept(plan: Plan) -> list[dict[str, Any]]:
    why = reasons()
    return [{**_place(kept.file, kept.span), "reason": kept.reason, "why": why[kept.reason]} for kept in plan.kept()]


def _maps(plan: Plan) -> list[dict[str, Any]]:
    """Return the maps with regular expressions, in the order of the text."""
    maps = [
        (compiled.map, {"moved": True, "reason": None, "why": None}, compiled.before, compiled.after)
        for compiled in plan.maps.compiled
    ] + [
        (kept.map, {"moved": False, "reason": kept.reason, "why": kept.why}, kept.cost, kept.cost)
        for kept in plan.maps.kept
    ]
    places = {regex_map: number for number, regex_map in enumerate(plan.maps.found)}
    return [
        {
            "file": each.directive.source.path,
            "line": each.directive.line,
            "source": each.source,
            "variable": each.variable,
            "rows": len(each.patterns),
            "moved_rows": [_row(row) for row in each.patterns] if verdict["moved"] else [],
            **verdict,
            "cost": {"before": before._asdict(), "after": after._asdict()},
        }
        for each, verdict, before, after in sorted(maps, key=lambda found: places[found[0]])
    ]


def _chains(plan: Plan) -> list[dict[str, Any]]:
    """Return the chains of `if`s that become lookups, and the conditions that stay."""
    compiled = [
        (each.chain.file, each.chain.conditions, None, each.before, each.after) for each in plan.chains.compiled
    ]
    kept = [(each.file, (each.condition,), each.reason, each.cost, each.cost) for each in plan.chains.kept]
    return [
        {
            "file": file.path,
            "line": conditions[0].directive.line,
            "variable": conditions[0].variable,
            "conditions": len(conditions),
            "reason": reason,
            "cost": {"before": before._asdict(), "after": after._asdict()},
        }
        for file, conditions, reason, before, after in [*compiled, *kept]
    ]


def _locations(plan: Plan) -> list[dict[str, Any]]:
    """Return the runs of regex locations that are divided into groups, and the locations that stay."""
    compiled = [(each.run.file, each.run.locations, None, each.before, each.after) for each in plan.locations.compiled]
    one = Cost.of(1)
    kept = [(each.file, (each.location,), each.reason, one, one) for each in plan.locations.kept]
    return [
        {
            "file": file.path,
            "line": locations[0].directive.line,
            "locations": len(locations),
            "reason": reason,
            "cost": {"before": before._asdict(), "after": after._asdict()},
        }
        for file, locations, reason, before, after in [*compiled, *kept]
    ]


def _declared(plan: Plan) -> list[dict[str, Any]]:
    sentences = Readings.sentences()
    return [
        {"option": Readings.flag(name), "difference": sentences[name], "rules": rules}
        for name, rules in plan.changed.items()
    ]


def _proof(proof: Proof) -> dict[str, Any]:
    return {
        "status": "proved" if proof.holds else "refuted",
        "checked": proof.checked,
        "rules": proof.rules,
        "gone": proof.gone,
        "rows": proof.rows,
        "conditions": proof.conditions,
        "locations": proof.locations,
        "refutation": proof.refutation,
        "counterexample": _uri(proof.counterexample),
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


def _place(file: File, span: Span) -> dict[str, Any]:
    text = file.source.data[span.start : span.end].decode("utf-8", "backslashreplace")
    return {"file": file.path, "line": _line(file, span), "text": text}


def _row(row: Directive) -> dict[str, Any]:
    """Return the place of a row; its number in an emitted value is its place among the rows, from 0."""
    text = row.source.data[row.span.start : row.span.end].decode("utf-8", "backslashreplace")
    return {"file": row.source.path, "line": row.line, "text": text}


def _line(file: File, span: Span) -> int:
    return file.source.position(span.start).line


def _uri(uri: bytes | None) -> str | None:
    return None if uri is None else percent_encode(uri).decode("ascii")
