"""Fixes beside a baseline: what it records stays as it is in all rounds, and everything else is fixed."""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config.layout import after, before, delete, replace
from nginxopt.lint import Finding, Fix, Model, Rule
from nginxopt.lint.baseline import Baseline, entries
from nginxopt.text import Change, Edit, Span
from tests.lintrules import about, configuration, fix_texts, rule_of, run_rules, texts_of
from tests.rows import every_row


def becomes(old: str, new: str) -> Rule:
    """A rule that renames a directive."""
    return about(old, lambda node: Fix(f"call it {new}", (replace(node, node.name, new),)), f"{old}-{new}")


def added(model: Model) -> Iterator[Finding]:
    """Find each a and each b, as long as there is no new line, which one fix adds for all."""
    heads = [node for node, _ in model.each("head")]
    if not next(model.each("new"), None):
        for node, _ in model.each("a", "b"):
            yield Finding(node.source, node.name.span, "found", Fix("say so", (after(heads[0], ["new;"]),)))


def whole(model: Model) -> Iterator[Finding]:
    """Find each a, on all of its lines."""
    for node, _ in model.each("a"):
        yield Finding(node.source, node.span, "found")


MORE = about("c", lambda node: Fix("add", (before(node, ["d;"]), replace(node, node.name, "e"))), "more")
ABOVE = about("b", lambda node: Fix("add", (after(node, ["d;"]), replace(node, node.name, "y"))), "above")
BELOW = about("b", lambda node: Fix("add", (before(node, ["d;"]), replace(node, node.name, "y"))), "below")
DELETE = about("b", lambda node: Fix("delete", (delete(node),)), "delete")
START = len("events {}\na 1\n")
WITHIN = about("b", lambda node: Fix("", (Change(node.source, Edit(Span(START, START), b"  9\n")),)), "within")

# The rules, the old text, which findings of it are recorded (by number), and the new text.
CASES = {
    "all": ((becomes("a", "x"),), "a;\na 1;\n", (0, 1), "a;\na 1;\n"),
    "one": ((becomes("a", "x"),), "a;\na 1;\n", (0,), "a;\nx 1;\n"),
    "equal lines": ((becomes("a", "x"),), "a;\na;\na;\n", (0,), "a;\nx;\nx;\n"),
    "the second of equal lines": ((becomes("a", "x"),), "a;\na;\na;\n", (1,), "x;\na;\nx;\n"),
    "the same line": ((becomes("a", "x"), becomes("b", "y")), "a; b;\nb;\n", (0,), "a; b;\ny;\n"),
    "lines before it are added": ((becomes("a", "x"), MORE), "c;\na;\n", (1,), "d;\ne;\na;\n"),
    "a fix uncovers more": ((becomes("a", "b"), becomes("b", "c")), "a 1;\nb;\nb 2;\n", (1,), "c 1;\nb;\nc 2;\n"),
    "a fix changes the line as well": ((becomes("a", "x"), MORE), "c; a;\nc;\n", (1,), "c; a;\nd;\ne;\n"),
    "a line is added before it": ((becomes("a", "x"), ABOVE), "b;\n    a;\n", (1,), "y;\nd;\n    a;\n"),
    "a line is added behind it": ((becomes("a", "x"), BELOW), "a;  # c\nb;\n", (0,), "a;  # c\nd;\ny;\n"),
    "an equal line goes": ((becomes("a", "x"), DELETE), "a;\na; b;\nb;\n", (0,), "a;\nx;\n"),
    "a finding of two lines": ((rule_of(whole), WITHIN), "a 1\n  2;\nb;\n", (0,), "a 1\n  2;\nb;\n"),
    "a fix for both": ((rule_of(added),), "head;\na;\nb;\n", (0,), "head;\na;\nb;\n"),
}


@every_row("name", CASES)
def test_what_is_recorded_stays_in_all_rounds(name: str) -> None:
    """A recorded finding is not fixed, nor is its line changed; the others are fixed. The next run knows it again."""
    rules, old, recorded, new = CASES[name]
    texts = {"nginx.conf": f"events {{}}\n{old}".encode()}
    all_entries = entries(run_rules(configuration(texts), *rules).diagnostics, "")
    known = Baseline(frozenset(all_entries[number] for number in recorded), "")
    fixed = texts_of(texts, fix_texts(texts, *rules, known=known))["nginx.conf"]
    assert fixed.decode() == f"events {{}}\n{new}"
    again = entries(run_rules(configuration({"nginx.conf": fixed}), *rules).diagnostics, "")
    assert known.entries <= set(again) or name == "the second of equal lines"  # which is the first then
