"""docs/guide/settings.md matches the code: the table has every key, and the examples are valid."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from pathlib import Path

from nginxopt.lint import Severity, baseline
from nginxopt.lint.catalogue import catalogue
from nginxopt.lint.queries.model import Model
from nginxopt.lint.run import Selected, lint
from nginxopt.lint.suppress import FAULTY, UNUSED, SuppressionScope, suppress, suppressions
from nginxopt.settings import file as settings
from nginxopt.settings.file import Settings
from nginxopt.settings.vocabulary import CATEGORIES
from nginxopt.text import Source
from tests.lintcheck import TARGET, read

TEXT = (Path(__file__).parents[2] / "docs" / "guide" / "settings.md").read_text()
CELL = r" *((?:`[^`]*`|[^|`])*?) *\|"
KNOWN = list(catalogue())


def block(language: str) -> str:
    """The example in a language."""
    (text,) = re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.DOTALL | re.MULTILINE)
    return str(text)


def as_toml(value: object) -> str:
    """How the table shows a default."""
    if value is None:
        return "none"
    if isinstance(value, Severity):
        return f'`"{value}"`'
    return "`[]`" if isinstance(value, (tuple, frozenset)) else "`{}`"


def test_the_table_has_every_key() -> None:
    """The table of settings has each key and its default, in the order of the code."""
    rows = re.findall(rf"^\| `([a-z-]+)` \|{CELL}{CELL}{CELL}$", TEXT, re.MULTILINE)
    documented = {key: default for key, _, default, _ in rows}
    assert documented == {key: as_toml(getattr(Settings(), key.replace("-", "_"))) for key in settings.KEYS} | {
        "select": "the default rules"
    }
    assert [key.replace("-", "_") for key in documented] == [field.name for field in fields(Settings)][:-1]
    assert all(meaning for *_, meaning in rows)


def test_the_example_has_every_key() -> None:
    """The example of a file is read without an error, and sets every key."""
    example = settings.read(Source("nginxopt.toml", block("toml").encode()), KNOWN)
    plain = Settings()
    assert [field.name for field in fields(example) if getattr(example, field.name) == getattr(plain, field.name)] == []


def test_the_severities_are_documented() -> None:
    """The sentence about severities lists all of them, and its names are categories."""
    (sentence,) = re.findall(r"\*\*Severities\*\* are (.*)\.", TEXT)
    assert re.findall(r"`(\w+)`", sentence) == [str(severity) for severity in reversed(Severity)]
    (categories,) = re.findall(r"categories \((.*?), \.\.\.\)", TEXT)
    assert set(re.findall(r"`(\w+)`", categories)) <= set(CATEGORIES)


def test_every_kind_of_suppression_is_documented() -> None:
    """The table of suppressions lists each kind; the example uses each, and hides all findings."""
    assert re.findall(r"^\| `# nginxopt: ([\w-]+)\[", TEXT, re.MULTILINE) == [kind.value for kind in SuppressionScope]
    config = read(block("nginx"))
    assert {suppression.kind for suppression in suppressions(config.main.block)} == set(SuppressionScope)
    rules = {name: catalogue()[name] for name in ("gzip-level", "upstream-keepalive-missing")}
    linted = lint(Model(config, TARGET), [Selected(rule, None) for rule in rules.values()])
    active = {name: rule.severity for name, rule in rules.items()}
    result = suppress([file.block for file in config.files], linted.diagnostics, active, rules)
    assert (result.diagnostics, result.hidden) == ((), len(linted.diagnostics))
    assert {diagnostic.rule for diagnostic in linted.diagnostics} == set(rules)


def test_the_rules_about_suppressions_are_documented() -> None:
    """The reference names both rules that check suppressions."""
    assert all(f"`{name}`" in TEXT for name in (FAULTY, UNUSED))


def test_the_example_of_a_baseline_is_one() -> None:
    """The example of a baseline is valid, and is what nginxopt writes."""
    text = block("json")
    known = baseline.read(Source("nginxopt-baseline.json", text.encode()))
    assert baseline.text(known.entries) == text
    assert {entry.rule for entry in known.entries} <= set(KNOWN)
    assert all(re.fullmatch(r"[0-9a-f]{32}", item["fingerprint"]) for item in json.loads(text)["findings"])
