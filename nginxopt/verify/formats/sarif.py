"""A comparison as SARIF 2.1.0, for code scanning."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

from nginxopt import __version__
from nginxopt.text.display import printable
from nginxopt.verify.formats.model import VerifyFinding, VerifyReport

_RULES = {
    "different": ("error", "A request is answered differently."),
    "unknown": ("warning", "It is not known whether an answer changes."),
    "changed": ("note", "A server or location is not the same."),
}


def render(report: VerifyReport) -> Iterator[str]:
    """Yield what is different, in doubt or changed as results."""
    rules = [
        {"id": f"verify/{kind}", "shortDescription": {"text": text}, "defaultConfiguration": {"level": level}}
        for kind, (level, text) in _RULES.items()
    ]
    driver = {"name": "nginxopt", "version": __version__, "rules": rules}
    run = {"tool": {"driver": driver}, "results": [_result(finding) for finding in report.findings()]}
    form = {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{**run, "properties": {"verdict": report.result.verdict, "summary": report.summary}}],
    }
    yield json.dumps(form, indent=2) + "\n"


def _result(finding: VerifyFinding) -> dict[str, Any]:
    result: dict[str, Any] = {
        "ruleId": f"verify/{finding.kind}",
        "level": _RULES[finding.kind][0],
        "message": {"text": "\n".join(map(printable, (finding.title, *finding.lines)))},
    }
    if finding.place is not None:
        address = quote(finding.place.file.encode("utf-8", "surrogateescape"))
        region = {"startLine": finding.place.line}
        result["locations"] = [{"physicalLocation": {"artifactLocation": {"uri": address}, "region": region}}]
    return result
