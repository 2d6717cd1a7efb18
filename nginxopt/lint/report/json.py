"""A complete report as ASCII JSON. Its schema is `schemas/lint-report.json`."""

from __future__ import annotations

import json
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from nginxopt import __version__
from nginxopt.errors import InputError
from nginxopt.lint.diagnostic import Diagnostic, Fix, Grade, Witness
from nginxopt.lint.report.model import LintReport, Locatable, Note, by_rule, ends
from nginxopt.settings.vocabulary import Severity
from nginxopt.text import Change
from nginxopt.text.display import unicode

VERSION = 1
"""Incremented by changes that readers of reports have to follow."""


def render(report: LintReport) -> Iterator[str]:
    """Yield the report."""
    yield _text(_whole(report, diagnostics=list(map(_diagnostic, report.diagnostics))))


def statistics(report: LintReport) -> Iterator[str]:
    """Yield the report with counts by rule in place of the findings."""
    yield _text(_whole(report, statistics=list(map(asdict, by_rule(report)))))


def _text(value: dict[str, Any]) -> str:
    return json.dumps(value, indent=2) + "\n"


def _whole(report: LintReport, **findings: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "version": VERSION,
        "tool": {"name": "nginxopt", "version": __version__},
        "target": {"version": str(report.target.version), "origin": report.target.origin},
        **findings,
        "errors": list(map(_error, report.errors)),
        "notes": list(map(_note, report.notes)),
        "summary": _summary(report),
    }


def _a_day(diagnostic: Diagnostic) -> dict[str, Any]:
    """Return what a day saves, where that is known."""
    return {} if diagnostic.a_day is None else {"saves_a_day": diagnostic.a_day.form}


def _diagnostic(diagnostic: Diagnostic) -> dict[str, Any]:
    return {
        "rule": diagnostic.rule,
        "severity": str(diagnostic.severity),
        "file": unicode(diagnostic.path),
        **_place(diagnostic.finding),
        "message": unicode(diagnostic.message),
        "help": unicode(diagnostic.finding.help) or None,
        "url": diagnostic.url,
        "scenario": diagnostic.scenario,
        **_a_day(diagnostic),
        "witness": None if diagnostic.finding.witness is None else _witness(diagnostic.finding.witness),
        "places": [
            {"file": unicode(other.path), **_place(other.finding), "message": unicode(other.message)}
            for other in diagnostic.places
        ],
        "related": [
            {"file": unicode(related.source.path), **_place(related), "message": unicode(related.message)}
            for related in diagnostic.finding.related
        ],
        "fix": None if diagnostic.fix is None else _fix(diagnostic.fix),
    }


def _witness(witness: Witness) -> dict[str, Any]:
    return {
        "method": witness.method,
        "url": unicode(witness.url),
        "headers": list(map(unicode, witness.headers)),
        "client": witness.client,
        "assume": list(map(unicode, witness.assume)),
        "shows": unicode(witness.shows),
        "confirmed_by": witness.confirmed_by,
        "seconds": None if witness.seconds is None else round(witness.seconds, 3),
    }


def _fix(fix: Fix) -> dict[str, Any]:
    return {
        "title": unicode(fix.title),
        "safety": str(fix.safety),
        "premises": [premise.name for premise in sorted(fix.safety.premises or ())],
        "edits": list(map(_edit, fix.changes)),
    }


def _edit(change: Change) -> dict[str, Any]:
    span = change.edit.span
    start, end = change.source.position(span.start), change.source.position(span.end)
    return {
        "file": unicode(change.source.path),
        "start": span.start,
        "end": span.end,
        "line": start.line,
        "column": start.column,
        "end_line": end.line,
        "end_column": end.column,
        **_replacement(change.edit.text),
    }


def _replacement(text: bytes) -> dict[str, str | None]:
    """The replacement text of an edit, as base64 if it is not UTF-8."""
    try:
        return {"text": text.decode(), "base64": None}
    except UnicodeDecodeError:
        return {"text": None, "base64": b64encode(text).decode()}


def _error(error: InputError) -> dict[str, Any]:
    texts = {"message": error.message, "expected": error.expected, "nginx": error.nginx, "hint": error.hint}
    return {
        "file": None if error.path is None else unicode(error.path),
        **_place(error),
        **{name: None if text is None else unicode(text) for name, text in texts.items()},
    }


def _note(note: Note) -> dict[str, Any]:
    path = None if note.source is None else unicode(note.source.path)
    return {"file": path, **_place(note), "message": unicode(note.message)}


def _place(placed: Locatable) -> dict[str, int | None]:
    positions = ends(placed)
    if positions is None:
        return dict.fromkeys(("line", "column", "end_line", "end_column"))
    start, end = positions
    return {"line": start.line, "column": start.column, "end_line": end.line, "end_column": end.column}


def _summary(report: LintReport) -> dict[str, Any]:
    grades = Counter(diagnostic.severity for diagnostic in report.diagnostics)
    fixable = report.fixable()
    return {
        "files": len(report.files),
        "findings": {str(severity): grades[severity] for severity in Severity},
        "places": report.places(),
        "fixable": {grade.value: fixable[grade] for grade in Grade},
        "lacking": [premise.name for premise in sorted(report.undeclared())],
        "fixed": None if report.shown else report.fixed,
        "changed": list(map(unicode, report.changed)),
        "left": list(map(unicode, report.left)),
        "errors": len(report.errors),
    }
