"""Applying fixes: every fix is applied, in several rounds where edits overlap, and a second run changes nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nginxopt.config import Config, Directive, load_text
from nginxopt.config.layout import after, before, delete, replace, rewrite
from nginxopt.errors import DefectError
from nginxopt.lint import Finding, Fix, Model, Rule, Safety
from nginxopt.lint.fix import ROUNDS, fix
from nginxopt.lint.run import Linted
from nginxopt.text import Change, Edit, Span
from tests.lintrules import about, fix_texts, rule_of, run_rules, texts_of

pytestmark = pytest.mark.no_cover


def result(text: bytes, *rules: Rule) -> bytes:
    """A text after the fixes of some rules."""
    return texts_of({"nginx.conf": text}, fix_texts({"nginx.conf": text}, *rules, unsafe=True))["nginx.conf"]


def becomes(old: str, new: str, safety: Safety = Safety.SAFE) -> Rule:
    """A rule that renames a directive."""
    return about(old, lambda node: Fix(f"call it {new}", (replace(node, node.name, new),), safety), f"{old}-{new}")


DELETE = about("a", lambda node: Fix("delete it", (delete(node),)), "delete")


@given(st.lists(st.sampled_from(["a;", "a 1;", "b;", "# c\n", "\n", "  ", "x { a; }", "\r\n"]), max_size=30))
def test_fixes_come_to_an_end(pieces: list[str]) -> None:
    """Every offered fix is applied and counted, and a second run changes nothing."""
    text = "".join(pieces).encode()
    names = [str(directive.name) for directive in load_text(text).main.block.walk()]
    fixed = fix_texts({"nginx.conf": text}, DELETE, becomes("b", "d"))
    once = texts_of({"nginx.conf": text}, fixed)["nginx.conf"]
    wanted = {"delete": names.count("a"), "b-d": names.count("b")}
    assert fixed.made == {name: number for name, number in wanted.items() if number}
    assert fixed.remaining == Linted(())
    assert [node.name for node in load_text(once).main.block.walk() if node.name != "x"] == ["d"] * names.count("b")
    assert result(once, DELETE, becomes("b", "d")) == once


def test_neighbouring_lines_go_at_once() -> None:
    """Lines that touch are deleted in one round, as nothing depends on their order."""
    rounds = []

    def judge(config: Config) -> Linted:
        rounds.append(config)
        return run_rules(config, DELETE)

    text = b"http {\n" + b"a;\n" * 9 + b"}\n"
    fixed = fix(lambda new: load_text(new.get("nginx.conf", text), "nginx.conf"), judge)
    assert fixed.drafts["nginx.conf"].text == b"http {\n}\n"
    assert len(rounds) == 2


def test_unsafe_fixes_are_made_on_request() -> None:
    """An unsafe fix is applied only on request; otherwise its finding remains."""
    unsafe = becomes("a", "b", Safety.UNSAFE)
    fixed = fix_texts({"nginx.conf": b"http { a; c; }"}, unsafe, becomes("c", "d"), unsafe=False)
    assert fixed.drafts["nginx.conf"].text == b"http { a; d; }"
    assert [node.rule for node in fixed.remaining.diagnostics] == ["a-b"]
    assert result(b"a; c;", unsafe, becomes("c", "d")) == b"b; d;"


def test_overlapping_fixes_take_several_rounds() -> None:
    """Of overlapping fixes the first is applied, then the rules run again."""
    upper = becomes("a", "b")
    whole = about("a", lambda node: Fix("write it anew", (rewrite(node, "c;"),)), "whole")
    assert result(b"a 1;", upper, whole) == b"b 1;"
    two = about("x", lambda node: Fix("both", (rewrite(node, "y;"),)), "two")
    chain = [becomes("a", "b"), becomes("b", "c"), becomes("c", "d"), two]
    fixed = fix_texts({"nginx.conf": b"x { a; }"}, *chain)
    assert fixed.drafts["nginx.conf"].text == b"y;"
    assert fixed.made == {"two": 1}


def test_a_fix_is_made_whole_or_not_at_all() -> None:
    """If one change of a fix overlaps another fix, none of its changes is applied in this round."""

    def check(model: Model) -> Iterator[Finding]:
        ones = [node for node, _ in model.each("a", "b")]
        if len(ones) == 2:
            changes = tuple(replace(node, node.name, f"{node.name}{node.name}") for node in ones)
            yield Finding(ones[1].source, ones[1].name.span, "two", Fix("call both otherwise", changes))

    assert result(b"a; b;", becomes("a", "c"), rule_of(check)) == b"c; b;"


def test_the_same_change_is_made_once() -> None:
    """A line that two findings add is added once, and both count as fixed."""

    def check(model: Model) -> Iterator[Finding]:
        heads = [node for node, _ in model.each("head")]
        if not next(model.each("new"), None):
            for node, _ in model.each("a"):
                yield Finding(node.source, node.name.span, "found", Fix("say so", (after(heads[0], ["new;"]),)))

    fixed = fix_texts({"nginx.conf": b"events {}\nhead;\na; a; a;\n"}, rule_of(check))
    assert fixed.drafts["nginx.conf"].text == b"events {}\nhead;\nnew;\na; a; a;\n"
    assert fixed.made == {"test-rule": 3}


def test_a_fix_may_name_a_change_twice() -> None:
    """A fix that lists the same change twice makes it once."""
    rule = about(
        "a", lambda node: Fix("add", (before(node, ["b;"]), before(node, ["b;"]), replace(node, node.name, "c")))
    )
    assert result(b"events {}\na;\n", rule) == b"events {}\nb;\nc;\n"


def test_many_lines_at_one_place() -> None:
    """Fixes that insert different lines at one place are all applied, though there are more of them than rounds."""

    def check(model: Model) -> Iterator[Finding]:
        there = {str(node.args[0]) for node, _ in model.each("new")}
        head = next(model.each("head"))[0]
        for node, _ in model.each("a"):
            if str(node.args[0]) not in there:
                change = before(head, [f"new {node.args[0]};"])
                yield Finding(node.source, node.args[0].span, "not there", Fix("add it", (change,)))

    count = ROUNDS + 20
    fixed = fix_texts(
        {"nginx.conf": b"events {}\nhead;\n" + b"".join(b"a %d;\n" % number for number in range(count))}, rule_of(check)
    )
    assert fixed.made == {"test-rule": count}
    assert fixed.drafts["nginx.conf"].text.count(b"new ") == count


def test_rules_that_fight_are_a_defect() -> None:
    """Two rules that undo each other's fixes raise a defect that names both."""
    with pytest.raises(DefectError, match="the fixes of a-b, b-a do not terminate"):
        result(b"a;", becomes("a", "b"), becomes("b", "a"))


def test_fixes_that_grow_without_end_are_a_defect() -> None:
    """A fix that creates two new findings each time raises a defect."""
    grow = about("a", lambda node: Fix("more", (after(node, ["a;"]),)) if node.span.start == 10 else None)
    with pytest.raises(DefectError, match="the fixes of test-rule do not terminate"):
        result(b"events {}\na;\n", grow)


def test_a_fix_without_effect_is_a_defect() -> None:
    """A fix that does not change the text raises a defect."""
    with pytest.raises(DefectError, match="the fixes of a-a do not terminate"):
        result(b"a;", becomes("a", "a"))


def test_a_fix_that_breaks_the_text_is_a_defect() -> None:
    """A fix after which the text cannot be parsed raises a defect that names its rule."""
    rule = about("a", lambda node: Fix("break it", (Change(node.source, Edit(node.span, b"{")),)))
    with pytest.raises(
        DefectError, match=r"the fixes of test-rule made the file unreadable: nginx\.conf:1:1: missing directive"
    ):
        result(b"a;", rule)


def test_a_fix_that_contradicts_itself_is_a_defect() -> None:
    """Overlapping changes of one fix raise a defect that names its rule."""

    def twice(node: Directive) -> Fix:
        return Fix("both", (delete(node), replace(node, node.name, "b")))

    with pytest.raises(DefectError, match="the fixes of test-rule cannot be applied: edits overlap at byte 0"):
        result(b"a;", about("a", twice))


def test_files_are_changed_together() -> None:
    """A fix may change several files; only changed files have a draft."""

    def check(model: Model) -> Iterator[Finding]:
        changes = tuple(delete(node) for node, _ in model.each("a"))
        if changes:
            node = next(model.each("a"))[0]
            yield Finding(node.source, node.name.span, "found", Fix("delete all", changes))

    texts = {"nginx.conf": b"include s; include t;\na;\n", "s": b"a;\nb;\n", "t": b"b;\n"}
    fixed = fix_texts(texts, rule_of(check))
    assert {path: draft.text for path, draft in fixed.drafts.items()} == {
        "nginx.conf": b"include s; include t;\n",
        "s": b"b;\n",
    }


def test_what_is_undone_is_no_change() -> None:
    """A file that ends as it began has no draft."""
    there = about("b", lambda node: Fix("back", (replace(node, node.name, "a"),)) if node.args else None, "back")
    away = about("a", lambda node: Fix("away", (replace(node, node.name, "b"),)) if not node.args else None, "away")
    assert fix_texts({"nginx.conf": b"a 1;"}, there, away).drafts == {}


def test_ten_thousand_fixes() -> None:
    """Ten thousand fixes are applied in one round."""
    text = b"".join(b"a %d;\n" % number for number in range(10_000))
    fixed = fix_texts({"nginx.conf": text}, becomes("a", "b"))
    assert fixed.made == {"a-b": 10_000}
    assert fixed.drafts["nginx.conf"].text == text.replace(b"a", b"b")
    assert len(fixed.drafts["nginx.conf"].edits) == 10_000
    assert Span(0, 1) == fixed.drafts["nginx.conf"].edits[0].span
