"""Fixes: all are made, in rounds if they meet, once and for all."""

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
from tests.lintrules import about, judged, made_rule, mended, texts_of


def result(text: bytes, *rules: Rule) -> bytes:
    """What the fixes of rules make of one file."""
    return texts_of({"nginx.conf": text}, mended({"nginx.conf": text}, *rules, unsafe=True))["nginx.conf"]


def becomes(old: str, new: str, safety: Safety = Safety.SAFE) -> Rule:
    """A rule that gives directives another name."""
    return about(old, lambda one: Fix(f"call it {new}", (replace(one, one.name, new),), safety), f"{old}-{new}")


DELETE = about("a", lambda one: Fix("delete it", (delete(one),)), "delete")


@given(st.lists(st.sampled_from(["a;", "a 1;", "b;", "# c\n", "\n", "  ", "x { a; }", "\r\n"]), max_size=30))
def test_fixes_come_to_an_end(pieces: list[str]) -> None:
    """All that is offered is made, counted, and gone; a second run changes nothing."""
    text = "".join(pieces).encode()
    names = [str(directive.name) for directive in load_text(text).main.block.walk()]
    fixed = mended({"nginx.conf": text}, DELETE, becomes("b", "d"))
    once = texts_of({"nginx.conf": text}, fixed)["nginx.conf"]
    wanted = {"delete": names.count("a"), "b-d": names.count("b")}
    assert fixed.made == {name: number for name, number in wanted.items() if number}
    assert fixed.remaining == Linted(())
    assert [one.name for one in load_text(once).main.block.walk() if one.name != "x"] == ["d"] * names.count("b")
    assert result(once, DELETE, becomes("b", "d")) == once


def test_neighbouring_lines_go_at_once() -> None:
    """Lines that touch are deleted in one round, as nothing depends on their order."""
    rounds = []

    def judge(config: Config) -> Linted:
        rounds.append(config)
        return judged(config, DELETE)

    fixed = fix(lambda new: load_text(new.get("nginx.conf", b"a;\n" * 9), "nginx.conf"), judge)
    assert fixed.drafts["nginx.conf"].text == b""
    assert len(rounds) == 2


def test_unsafe_fixes_are_made_on_request() -> None:
    """An unsafe fix is made only if it is asked for; otherwise its finding remains."""
    unsafe = becomes("a", "b", Safety.UNSAFE)
    fixed = mended({"nginx.conf": b"a; c;"}, unsafe, becomes("c", "d"), unsafe=False)
    assert fixed.drafts["nginx.conf"].text == b"a; d;"
    assert [one.rule for one in fixed.remaining.diagnostics] == ["a-b"]
    assert result(b"a; c;", unsafe, becomes("c", "d")) == b"b; d;"


def test_fixes_that_meet_go_in_rounds() -> None:
    """Of fixes of the same bytes the first is made, and what is left is judged anew."""
    upper = becomes("a", "b")
    whole = about("a", lambda one: Fix("write it anew", (rewrite(one, "c;"),)), "whole")
    assert result(b"a 1;", upper, whole) == b"b 1;"
    two = about("x", lambda one: Fix("both", (rewrite(one, "y;"),)), "two")
    chain = [becomes("a", "b"), becomes("b", "c"), becomes("c", "d"), two]
    fixed = mended({"nginx.conf": b"x { a; }"}, *chain)
    assert fixed.drafts["nginx.conf"].text == b"y;"
    assert fixed.made == {"two": 1}


def test_a_fix_is_made_whole_or_not_at_all() -> None:
    """If one change of a fix meets another fix, none of its changes is made in this round."""

    def check(model: Model) -> Iterator[Finding]:
        ones = [one for one, _ in model.each("a", "b")]
        if len(ones) == 2:
            changes = tuple(replace(one, one.name, f"{one.name}{one.name}") for one in ones)
            yield Finding(ones[1].source, ones[1].name.span, "two", Fix("call both otherwise", changes))

    assert result(b"a; b;", becomes("a", "c"), made_rule(check)) == b"c; b;"


def test_the_same_change_is_made_once() -> None:
    """Two findings that ask for the same line get it once, and both count as mended."""

    def check(model: Model) -> Iterator[Finding]:
        heads = [one for one, _ in model.each("head")]
        if not next(model.each("new"), None):
            for one, _ in model.each("a"):
                yield Finding(one.source, one.name.span, "found", Fix("say so", (after(heads[0], ["new;"]),)))

    fixed = mended({"nginx.conf": b"head;\na; a; a;\n"}, made_rule(check))
    assert fixed.drafts["nginx.conf"].text == b"head;\nnew;\na; a; a;\n"
    assert fixed.made == {"made": 3}


def test_a_fix_may_name_a_change_twice() -> None:
    """A fix that lists the same change twice makes it once."""
    rule = about("a", lambda one: Fix("add", (before(one, ["b;"]), before(one, ["b;"]), replace(one, one.name, "c"))))
    assert result(b"a;\n", rule) == b"b;\nc;\n"


def test_many_lines_at_one_place() -> None:
    """Fixes that put different lines at one place are made one after the other, however many there are."""

    def check(model: Model) -> Iterator[Finding]:
        there = {str(one.args[0]) for one, _ in model.each("new")}
        head = next(model.each("head"))[0]
        for one, _ in model.each("a"):
            if str(one.args[0]) not in there:
                change = before(head, [f"new {one.args[0]};"])
                yield Finding(one.source, one.args[0].span, "not there", Fix("add it", (change,)))

    count = ROUNDS + 20
    fixed = mended(
        {"nginx.conf": b"head;\n" + b"".join(b"a %d;\n" % number for number in range(count))}, made_rule(check)
    )
    assert fixed.made == {"made": count}
    assert fixed.drafts["nginx.conf"].text.count(b"new ") == count


def test_rules_that_fight_are_a_defect() -> None:
    """Two rules whose fixes undo each other end in a defect that names both."""
    with pytest.raises(DefectError, match="the fixes of a-b, b-a do not terminate"):
        result(b"a;", becomes("a", "b"), becomes("b", "a"))


def test_fixes_that_grow_without_end_are_a_defect() -> None:
    """So does a fix that makes two new places to mend of each."""
    grow = about("a", lambda one: Fix("more", (after(one, ["a;"]),)) if one.span.start == 0 else None)
    with pytest.raises(DefectError, match="the fixes of made do not terminate"):
        result(b"a;\n", grow)


def test_a_fix_without_effect_is_a_defect() -> None:
    """A fix that leaves the text as it is would be made for ever."""
    with pytest.raises(DefectError, match="the fixes of a-a do not terminate"):
        result(b"a;", becomes("a", "a"))


def test_a_fix_that_breaks_the_text_is_a_defect() -> None:
    """What cannot be read after a fix is a fault of its rule."""
    rule = about("a", lambda one: Fix("break it", (Change(one.source, Edit(one.span, b"{")),)))
    with pytest.raises(
        DefectError, match=r"the fixes of made made the file unreadable: nginx\.conf:1:1: missing directive"
    ):
        result(b"a;", rule)


def test_a_fix_that_contradicts_itself_is_a_defect() -> None:
    """Changes of one fix that overlap are a fault of its rule."""

    def twice(one: Directive) -> Fix:
        return Fix("both", (delete(one), replace(one, one.name, "b")))

    with pytest.raises(DefectError, match="the fixes of made cannot be applied: edits overlap at byte 0"):
        result(b"a;", about("a", twice))


def test_files_are_changed_together() -> None:
    """A fix may change several files, and only those that change have a draft."""

    def check(model: Model) -> Iterator[Finding]:
        changes = tuple(delete(one) for one, _ in model.each("a"))
        if changes:
            one = next(model.each("a"))[0]
            yield Finding(one.source, one.name.span, "found", Fix("delete all", changes))

    texts = {"nginx.conf": b"include s; include t;\na;\n", "s": b"a;\nb;\n", "t": b"b;\n"}
    fixed = mended(texts, made_rule(check))
    assert {path: draft.text for path, draft in fixed.drafts.items()} == {
        "nginx.conf": b"include s; include t;\n",
        "s": b"b;\n",
    }


def test_what_is_undone_is_no_change() -> None:
    """A file that is in the end as it was has no draft."""
    there = about("b", lambda one: Fix("back", (replace(one, one.name, "a"),)) if one.args else None, "back")
    away = about("a", lambda one: Fix("away", (replace(one, one.name, "b"),)) if not one.args else None, "away")
    assert mended({"nginx.conf": b"a 1;"}, there, away).drafts == {}


def test_ten_thousand_fixes() -> None:
    """Ten thousand fixes are made in one round."""
    text = b"".join(b"a %d;\n" % number for number in range(10_000))
    fixed = mended({"nginx.conf": text}, becomes("a", "b"))
    assert fixed.made == {"a-b": 10_000}
    assert fixed.drafts["nginx.conf"].text == text.replace(b"a", b"b")
    assert len(fixed.drafts["nginx.conf"].edits) == 10_000
    assert Span(0, 1) == fixed.drafts["nginx.conf"].edits[0].span
