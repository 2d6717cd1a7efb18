"""A report as JSON; `nginxopt/schemas/test-report.json` describes it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from nginxopt import __version__
from nginxopt.request.expectations import RowResult
from nginxopt.request.report.model import COVERED, TestReport, line_of
from nginxopt.semantics.site import DirectivePlace
from nginxopt.text.display import unicode

VERSION = 1
"""Grows when a reader of reports would have to change."""


def render(report: TestReport) -> Iterator[str]:
    """Yield the document."""
    yield json.dumps(_document(report), indent=2, ensure_ascii=False) + "\n"


def _document(report: TestReport) -> dict[str, Any]:
    results = report.results
    return {
        "version": VERSION,
        "nginxopt": __version__,
        "table": unicode(report.path),
        "answered_by": report.by,
        "rows": len(results.rows) + len(report.broken),
        "passed": len(results.of("passed")),
        "failed": len(results.of("failed")),
        "unknown": len(results.of("unknown")),
        "broken": [{"line": line_of(error), "message": unicode(error.message)} for error in report.broken],
        "problems": [_problem(report, result) for result in results.rows if result.verdict != "passed"],
        "coverage": {f"{part}s": _coverage(report, part) for part in COVERED},
    }


def _problem(report: TestReport, result: RowResult) -> dict[str, Any]:
    row, answer, place = result.row, result.answer, report.place(result)
    return {
        "line": row.line,
        "verdict": result.verdict,
        "request": unicode(str(row.request)),
        "expected": {"to": unicode(row.to) or None, "status": row.status},
        "outcome": {
            "kind": "depends" if answer.branches else answer.kind,
            "status": answer.status,
            "location": None if answer.location is None else unicode(answer.location),
            "target": unicode(answer.target) or None,
            "unknown": None if answer.unknown is None else unicode(answer.unknown),
        },
        "message": unicode(result.problem),
        "chain": [unicode(address) for address in result.chain],
        "rule": None if place is None else place_form(place),
    }


def _coverage(report: TestReport, part: Any) -> dict[str, Any]:
    unreached = [place_form(place) for place in report.unreached(part)]
    total = len(report.results.reached.of(part))
    return {"total": total, "reached": total - len(unreached), "unreached": unreached}


def place_form(place: DirectivePlace) -> dict[str, Any]:
    """Return a directive as an object."""
    return {"file": unicode(place.path), "line": place.line, "text": unicode(place.text)}
