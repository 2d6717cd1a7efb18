"""A GitLab Code Quality report, which shows new and resolved findings in a merge request.

The form: "Code Quality report format" in GitLab's documentation. Findings are compared by their fingerprints.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from nginxopt.errors import InputError
from nginxopt.lint.diagnostic import Diagnostic
from nginxopt.lint.report.fingerprint import fingerprint, fingerprints, text_digest
from nginxopt.lint.report.model import LintReport, Locatable, advice, details, ends, relative
from nginxopt.settings.vocabulary import Severity
from nginxopt.text import encode
from nginxopt.text.display import unicode

_SEVERITIES = {Severity.ERROR: "critical", Severity.WARNING: "major", Severity.INFO: "info"}


def render(report: LintReport) -> Iterator[str]:
    """Yield the findings and the errors; an error is a `blocker`."""
    digests = fingerprints(report.diagnostics, report.base)
    findings = [_finding(*pair, report.base) for pair in zip(report.diagnostics, digests, strict=True)]
    errors = [_error(error, number, report.base) for number, error in enumerate(report.errors)]
    yield json.dumps([*findings, *errors], indent=2) + "\n"


def _finding(diagnostic: Diagnostic, digest: str, base: str) -> dict[str, Any]:
    return {
        "description": unicode("; ".join([diagnostic.message, *advice(diagnostic)])),
        "check_name": diagnostic.rule,
        "fingerprint": digest,
        "severity": _SEVERITIES[diagnostic.severity],
        "location": _location(diagnostic.finding, diagnostic.path, base),
    }


def _error(error: InputError, number: int, base: str) -> dict[str, Any]:
    path = error.path or "."
    return {
        "description": unicode("; ".join([error.message, *details(error)])),
        "check_name": "input",
        "fingerprint": fingerprint("input", relative(path, base), text_digest(encode(error.message)), number),
        "severity": "blocker",
        "location": _location(error, path, base),
    }


def _location(placed: Locatable, path: str, base: str) -> dict[str, Any]:
    """The location; the first line for an entry without a position."""
    positions = ends(placed)
    begin, end = (1, 1) if positions is None else (positions[0].line, positions[1].line)
    return {"path": unicode(relative(path, base)), "lines": {"begin": begin, "end": end}}
