"""A report as SARIF 2.1.0 (OASIS Standard, 27 March 2020), for code scanning and editors.

Paths below the folder of the run are relative to `%SRCROOT%`, whose place is left to the reader. Columns
count characters.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any
from urllib.parse import quote

from nginxopt import __version__
from nginxopt.lint.declare import Rule
from nginxopt.lint.diagnostic import Diagnostic, Fix, Grade, Related
from nginxopt.lint.report.fingerprint import fingerprints
from nginxopt.lint.report.model import PROJECT, LintReport, Locatable, details, option, other_places, relative
from nginxopt.settings.vocabulary import Severity
from nginxopt.text import Change, Source, Span, encode
from nginxopt.text.display import unicode

_SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}
_SUBJECTS = {"security": "security", "hardening": "security", "correctness": "correctness"}
"""The tags of rules that are about something other than speed, by category."""
_ROOT = "%SRCROOT%"
_ROOT_IS = "The working directory of nginxopt."


def render(report: LintReport) -> Iterator[str]:
    """Yield one run: the rules, their results, and errors and notes as notifications."""
    run = {
        "tool": {"driver": _driver(_spoken(report))},
        "invocations": [{"executionSuccessful": not report.errors, "toolExecutionNotifications": _notices(report)}],
        "originalUriBaseIds": {_ROOT: {"description": {"text": _ROOT_IS}}},
        "columnKind": "unicodeCodePoints",
        "results": list(_results(report)),
        "properties": {"nginx": str(report.target.version), "nginxFrom": report.target.origin},
    }
    yield json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def _spoken(report: LintReport) -> tuple[Rule, ...]:
    """Return the rules with findings only: the pages of all rules take half a megabyte."""
    ids = {diagnostic.rule for diagnostic in report.diagnostics}
    return tuple(rule for rule in report.rules if rule.id in ids)


def _driver(rules: Iterable[Rule]) -> dict[str, Any]:
    return {
        "name": "nginxopt",
        "version": __version__,
        "semanticVersion": __version__,
        "informationUri": PROJECT,
        "rules": list(map(_rule, rules)),
    }


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.id,
        "shortDescription": {"text": f"{rule.title}."},
        "fullDescription": {"text": rule.page.summary or f"{rule.title}."},
        **({"helpUri": rule.url} if rule.url else {}),
        "help": {"text": rule.page.text, "markdown": rule.page.text},
        "defaultConfiguration": {"level": _LEVELS[rule.severity], "enabled": rule.default},
        "properties": {
            "category": rule.category,
            "tags": list(dict.fromkeys([_SUBJECTS.get(rule.category, "performance"), rule.category])),
        },
    }


def _results(report: LintReport) -> Iterator[dict[str, Any]]:
    indexes = {rule.id: index for index, rule in enumerate(_spoken(report))}
    digests = fingerprints(report.diagnostics, report.base)
    for diagnostic, fingerprint in zip(report.diagnostics, digests, strict=True):
        index = {"ruleIndex": indexes[diagnostic.rule]} if diagnostic.rule in indexes else {}
        yield {"ruleId": diagnostic.rule, **index, **_result(diagnostic, fingerprint, report.base)}


def _result(diagnostic: Diagnostic, fingerprint: str, base: str) -> dict[str, Any]:
    finding = diagnostic.finding
    others = (Related(other.finding.source, other.finding.span, other.message) for other in diagnostic.places)
    places = (*finding.related, *others)
    located = (
        {**_location(place, place.source.path, base), "message": {"text": unicode(place.message)}} for place in places
    )
    related = list({json.dumps(location): location for location in located}.values())  # the schema wants them unique
    fixes = [] if diagnostic.fix is None else list(_fixes(diagnostic.fix, base))
    return {
        "level": _LEVELS[diagnostic.severity],
        "message": {"text": unicode(" ".join(map(_sentence, _texts(diagnostic))))},
        "locations": [_location(diagnostic.finding, diagnostic.path, base)],
        **({"relatedLocations": related} if related else {}),
        **({"fixes": fixes} if fixes else {}),
        "partialFingerprints": {"nginxopt/v1": fingerprint},
    }


def _texts(diagnostic: Diagnostic) -> Iterator[str]:
    yield diagnostic.message
    if diagnostic.places:
        yield f"Also: {other_places(diagnostic)}"
    if diagnostic.finding.witness is not None:
        yield f"Witness: {diagnostic.finding.witness}"
    if diagnostic.fix is not None and diagnostic.fix.safety.grade is not Grade.SAFE:
        yield f"Fix: {diagnostic.fix.title} ({option(diagnostic.fix.safety)})"
    if diagnostic.finding.help:
        yield diagnostic.finding.help


def _sentence(text: str) -> str:
    return text if text.endswith(".") else f"{text}."


def _fixes(fix: Fix, base: str) -> Iterator[dict[str, Any]]:
    """The fix if it is safe: readers of SARIF apply fixes without asking.

    SARIF cannot represent one that writes bytes that are not UTF-8.
    """
    if fix.safety.grade is not Grade.SAFE:
        return
    try:
        changes = [
            {"artifactLocation": _artifact(path, base), "replacements": list(map(_replacement, in_file))}
            for path, in_file in groupby(sorted(fix.changes, key=_path), key=_path)
        ]
    except UnicodeDecodeError:
        return
    yield {"description": {"text": unicode(fix.title)}, "artifactChanges": changes}


def _path(change: Change) -> str:
    return change.source.path


def _replacement(change: Change) -> dict[str, Any]:
    text = change.edit.text.decode()
    return {"deletedRegion": _region(change.source, change.edit.span), "insertedContent": {"text": text}}


def _notices(report: LintReport) -> list[dict[str, Any]]:
    errors = [
        _notice("error", "\n".join([error.message, *details(error)]), error, error.path, report.base)
        for error in report.errors
    ]
    notes = [
        _notice("note", note.message, note, None if note.source is None else note.source.path, report.base)
        for note in report.notes
    ]
    return errors + notes


def _notice(level: str, message: str, placed: Locatable, path: str | None, base: str) -> dict[str, Any]:
    locations = {} if path is None else {"locations": [_location(placed, path, base)]}
    return {"level": level, "message": {"text": unicode(message)}, **locations}


def _location(placed: Locatable, path: str, base: str) -> dict[str, Any]:
    place: dict[str, Any] = {"artifactLocation": _artifact(path, base)}
    if placed.source is not None and placed.span is not None:
        place["region"] = _region(placed.source, placed.span)
    return {"physicalLocation": place}


def _region(source: Source, span: Span) -> dict[str, int]:
    start, end = source.position(span.start), source.position(span.end)
    return {"startLine": start.line, "startColumn": start.column, "endLine": end.line, "endColumn": end.column}


def _artifact(path: str, base: str) -> dict[str, str]:
    """A URI, relative to the folder of the run if the file is in it."""
    name = relative(path, base)
    uri = quote(encode(name))
    return {"uri": f"file://{uri}"} if name.startswith("/") else {"uri": uri, "uriBaseId": _ROOT}
