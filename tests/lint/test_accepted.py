"""Fixes beside a baseline: what it records stays as it is in all rounds, and everything else is fixed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from nginxopt.config.layout import after, before, replace
from nginxopt.lint import Finding, Fix, Model, Rule
from nginxopt.lint.baseline import Baseline, entries
from tests.lintrules import about, configuration, fix_texts, rule_of, run_rules, texts_of


def becomes(old: str, new: str) -> Rule:
    """A rule that renames a directive."""
    return about(old, lambda node: Fix(f"call it {new}", (replace(node, node.name, new),)), f"{old}-{new}")


def added(model: Model) -> Iterator[Finding]:
    """Find each a and each b, as long as there is no new line, which one fix adds for all."""
    heads = [node for node, _ in model.each("head")]
    if not next(model.each("new"), None):
        for node, _ in model.each("a", "b"):
            yield Finding(node.source, node.name.span, "found", Fix("say so", (after(heads[0], ["new;"]),)))


MORE = about("c", lambda node: Fix("add", (before(node, ["d;"]), replace(node, node.name, "e"))), "more")

# The rules, the old text, which findings of it are recorded (by number), and the new text.
CASES = {
    "all": ((becomes("a", "x"),), "a;\na 1;\n", (0, 1), "a;\na 1;\n"),
    "one": ((becomes("a", "x"),), "a;\na 1;\n", (0,), "a;\nx 1;\n"),
    "equal lines": ((becomes("a", "x"),), "a;\na;\na;\n", (0,), "a;\nx;\nx;\n"),
    "the second of equal lines": ((becomes("a", "x"),), "a;\na;\na;\n", (1,), "x;\na;\nx;\n"),
    "the same line changes": ((becomes("a", "x"), becomes("b", "y")), "a; b;\n", (0,), "a; y;\n"),
    "lines before it are added": ((becomes("a", "x"), MORE), "c; a;\n", (1,), "d;\ne; a;\n"),
    "a fix uncovers more": ((becomes("a", "b"), becomes("b", "c")), "a; b;\nb;\n", (1,), "c; b;\nc;\n"),
    "a fix for both": ((rule_of(added),), "head;\na;\nb;\n", (0,), "head;\na;\nb;\n"),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_recorded_stays_in_all_rounds(name: str) -> None:
    """A recorded finding is not fixed, whatever other fixes do to its line; the others are."""
    rules, old, recorded, new = CASES[name]
    texts = {"nginx.conf": f"events {{}}\n{old}".encode()}
    all_entries = entries(run_rules(configuration(texts), *rules).diagnostics, "")
    known = Baseline(frozenset(all_entries[number] for number in recorded), "")
    fixed = texts_of(texts, fix_texts(texts, *rules, known=known))["nginx.conf"]
    assert fixed.decode() == f"events {{}}\n{new}"
