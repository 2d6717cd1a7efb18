"""The report as JSON: it follows its schema, and its edits are those of the fix."""

from __future__ import annotations

import json
from base64 import b64decode
from collections.abc import Iterator
from typing import Any

from hypothesis import given

from nginxopt.errors import InputError
from nginxopt.lint import Diagnostic, Related
from nginxopt.lint.report import json as reports_json
from nginxopt.lint.report.model import LintReport, Note
from nginxopt.text import Edit, Source, Span, apply
from nginxopt.text.display import unicode
from tests.diagnostics import diagnostic, fix, report, reports, rule, span
from tests.rows import every_row
from tests.schemas import is_valid, schema, validate

SCHEMA = schema("lint-report")
SOURCE = Source("a.conf", b"gzip_comp_level 9;\n")
AT = span(SOURCE, b"9")


def read(report_: LintReport) -> dict[str, Any]:
    """The report as its reader parses it."""
    text = "".join(reports_json.render(report_))
    assert text.isascii()
    value: dict[str, Any] = json.loads(text)
    return value


def full() -> LintReport:
    """A report with every part."""
    finding = diagnostic(
        SOURCE, AT, fix=fix(SOURCE, AT, b"5"), help="h", related=(Related(SOURCE, AT, "m"),), scenario="keepalive"
    )
    error = InputError("bad", source=SOURCE, span=AT, expected="e", nginx="n", hint="h")
    return report(finding, rules=(rule(),), errors=(error,), notes=(Note("n", SOURCE, AT),), fixed=1)


def a_report_is_valid(report_: LintReport) -> None:
    """Reports and statistics follow the schema."""
    validate(read(report_), "lint-report")
    validate(json.loads("".join(reports_json.statistics(report_))), "lint-report")


def objects(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], dict[str, Any]]]:
    """Every object in a value, and the way to it."""
    if isinstance(value, dict):
        yield path, value
        for name, inner in value.items():
            yield from objects(inner, (*path, name))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from objects(inner, (*path, number))


WAYS = [path for path, _ in objects(read(full()))]


@every_row("way", WAYS, ids=str)
def test_the_schema_refuses_what_is_unknown_or_missing(way: tuple[str | int, ...]) -> None:
    """In no object of a report may a key be added or left out."""
    keys = list(dict(objects(read(full())))[way])
    for key in [None, *keys]:
        value = read(full())
        target = dict(objects(value))[way]
        if key is None:
            target["more"] = 1
        else:
            del target[key]
        assert not is_valid(value, "lint-report"), key


def test_the_schema_describes_every_property() -> None:
    """A reader of the schema finds a sentence at every property, or at what it refers to."""
    for path, value in objects(SCHEMA):
        if path and path[-1] == "properties" and "oneOf" not in path:
            for name, property_ in value.items():
                described = SCHEMA["$defs"].get(property_.get("$ref", "").rpartition("/")[2], property_)
                assert "description" in described or "const" in described or name == "edits", (path, name)


def edits(diagnostic_: dict[str, Any], path: str) -> Iterator[Edit]:
    """The edits of a fix in one file, built from the JSON."""
    for edit in diagnostic_["fix"]["edits"]:
        if edit["file"] == path:
            text = b64decode(edit["base64"]) if edit["text"] is None else edit["text"].encode()
            yield Edit(Span(edit["start"], edit["end"]), text)


def fixed_by(diagnostic_: Diagnostic, source: Source) -> bytes:
    """What a fix makes of a file."""
    assert diagnostic_.fix is not None
    return apply(source.data, [change.edit for change in diagnostic_.fix.changes if change.source is source])


def the_edits_are_the_fix(report_: LintReport) -> None:
    """Applying the edits of the JSON at their byte offsets gives the fixed file."""
    for diagnostic_, value in zip(report_.diagnostics, read(report_)["diagnostics"], strict=True):
        if diagnostic_.fix is None:
            assert value["fix"] is None
            continue
        for source in {change.source for change in diagnostic_.fix.changes}:
            name = unicode(source.path)
            assert apply(source.data, edits(value, name)) == fixed_by(diagnostic_, source)


@given(reports())
def test_every_report_is_valid_and_has_its_fixes(report_: LintReport) -> None:
    """Each of the laws above holds; they are put to the same reports, which take longer to draw than to check."""
    a_report_is_valid(report_)
    the_edits_are_the_fix(report_)


def test_a_finding_has_its_values() -> None:
    """Each key of a finding has the value that its name promises."""
    (diagnostic_,) = read(full())["diagnostics"]
    assert diagnostic_ == {
        "rule": "gzip-level",
        "severity": "warning",
        "file": "a.conf",
        "line": 1,
        "column": 17,
        "end_line": 1,
        "end_column": 18,
        "message": "gzip_comp_level 9 costs more than it saves",
        "help": "h",
        "url": "https://github.com/nginxopt/nginxopt/blob/main/docs/rules/gzip-level.md",
        "scenario": "keepalive",
        "witness": None,
        "places": [],
        "related": [{"file": "a.conf", "line": 1, "column": 17, "end_line": 1, "end_column": 18, "message": "m"}],
        "fix": {
            "title": "write 5",
            "safety": "safe",
            "premises": [],
            "edits": [
                {
                    "file": "a.conf",
                    "start": 16,
                    "end": 17,
                    "line": 1,
                    "column": 17,
                    "end_line": 1,
                    "end_column": 18,
                    "text": "5",
                    "base64": None,
                }
            ],
        },
    }


def test_the_summary_counts() -> None:
    """The summary has the counts by severity and by fix, of files and of errors."""
    assert read(full())["summary"] == {
        "files": 1,
        "places": 1,
        "findings": {"info": 0, "warning": 1, "error": 0},
        "fixable": {"safe": 1, "conditional": 0, "unsafe": 0},
        "lacking": [],
        "fixed": 1,
        "changed": [],
        "left": [],
        "errors": 1,
    }
