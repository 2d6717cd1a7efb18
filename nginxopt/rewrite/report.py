"""The JSON report of `rewrite-to-map --report`. Its schema is `schemas/rewrite-report.json`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nginxopt import __version__
from nginxopt.rewrite import premises
from nginxopt.rewrite.compilation import Plan
from nginxopt.rewrite.kinds.kind import Cost, Proved
from nginxopt.rewrite.kinds.registry import KINDS
from nginxopt.rewrite.options import Readings
from nginxopt.rewrite.proving import Proof
from nginxopt.rewrite.uris import percent_encode

if TYPE_CHECKING:
    from nginxopt.rewrite.comparison import Differential

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
