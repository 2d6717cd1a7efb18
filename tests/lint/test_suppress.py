"""Comments that suppress findings: their scope, unused ones, and their safe deletion."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nginxopt.config import Block, Bulk, tree
from nginxopt.config.tree import parse
from nginxopt.lint import Diagnostic, Finding, Severity
from nginxopt.lint.suppress import FAULTY, UNUSED, Suppressed, suppress, suppressions
from nginxopt.text import Source, Span, apply
from tests.rows import every_row

KNOWN = ("slow", "late")
ALL = (*KNOWN, FAULTY, UNUSED)
ACTIVE = {"slow": Severity.WARNING, "late": Severity.ERROR, FAULTY: Severity.WARNING, UNUSED: Severity.INFO}


def a_file(text: str | bytes) -> Block:
    """The tree of a text."""
    return parse(Source("nginx.conf", text.encode() if isinstance(text, str) else text))


def findings(file: Block, rules: Collection[str] = KNOWN) -> Iterator[Diagnostic]:
    """A finding of a rule at each of its ids that is a word of a directive: at its name, at the whole, or at a word."""
    for directive in file.walk():
        for word in (directive.name, *directive.args):
            if word in rules:
                span = directive.span if word is directive.name else word.span
                yield Diagnostic(str(word), ACTIVE[word], Finding(file.source, span, f"{word} here"), "")


def judged(text: str | bytes, active: Collection[str] = ACTIVE) -> Suppressed:
    """What is left of the findings in a text."""
    file = a_file(text)
    return suppress([file], findings(file), {rule: ACTIVE[rule] for rule in active}, ALL)


def left(result: Suppressed) -> list[str]:
    """What is left of the findings: the line and the rule of each."""
    return [f"{diagnostic.start.line} {diagnostic.rule}" for diagnostic in result.diagnostics]


# A text; the lines and rules that are left; what is hidden. `slow` and `late` are found wherever they are a word.
PLACES = {
    "in the line": ("slow; # nginxopt: ignore[slow] because\nslow;", ["2 slow"]),
    "without blanks": ("slow;#nginxopt:ignore[slow]\n", []),
    "without a reason": ("slow; # nginxopt: ignore[slow]", []),
    "after other words": ("slow; # it is # nginxopt: ignore[slow]\n", []),
    "only the ids": ("slow; late; # nginxopt: ignore[slow]\n", ["1 late"]),
    "several ids": ("slow; late; # nginxopt: ignore[slow,  late] because\n", []),
    "several in a comment": ("slow; late; # nginxopt: ignore[slow] this # nginxopt: ignore[late] that\n", []),
    "all in the line": ("slow; a slow; # nginxopt: ignore[slow]\n", []),
    "Windows": ("a;\r\n  # nginxopt: ignore[slow]\r\nslow; # x\r\nlate; # nginxopt: ignore[late]\r\n", []),
    "alone above": ("a;\n  # nginxopt: ignore[slow] because\n  slow;\n  slow;\n", ["4 slow"]),
    "alone above all of a line": ("# nginxopt: ignore[slow]\na; slow;\n", []),
    "alone with a comment between": ("# nginxopt: ignore[slow] because\n# of this\nslow;\n", []),
    "two alone": ("# nginxopt: ignore[slow]\n# nginxopt: ignore[late]\nslow; late;\n", []),
    "not below a blank line": ("# nginxopt: ignore[slow]\n\nslow;\n", ["1 unused-suppression", "3 slow"]),
    "not above": ("slow;\n# nginxopt: ignore[slow]\n", ["1 slow", "2 unused-suppression"]),
    "not below when in a line": ("a; # nginxopt: ignore[slow]\nslow;\n", ["1 unused-suppression", "2 slow"]),
    "alone above a block": ("# nginxopt: ignore[slow]\na slow {\nslow;\n}", ["3 slow"]),
    "the head of a block": ("a slow { # nginxopt: ignore[slow]\nslow;\n}", ["2 slow"]),
    "the head of a block in lines": ("a\n slow\n{ # nginxopt: ignore[slow]\nslow; }", ["4 slow"]),
    "a block as a whole, at its head": ("slow { # nginxopt: ignore[slow]\na;\n}", []),
    "a block as a whole, not at its end": (
        "slow {\na;\n} # nginxopt: ignore[slow]",
        ["1 slow", "3 unused-suppression"],
    ),
    "a block in one line": ("a { slow; } # nginxopt: ignore[slow]", []),
    "what ends with the block": ("a {\nb; slow; } # nginxopt: ignore[slow]", []),
    "lines, at the first": ("slow # nginxopt: ignore[slow]\n x\n slow;\nslow;", ["4 slow"]),
    "lines, within": ("slow\n # nginxopt: ignore[slow]\n x\n slow;", []),
    "lines, at the last": ("slow\n x\n slow; # nginxopt: ignore[slow]\nslow;", ["4 slow"]),
    "lines, alone above": ("# nginxopt: ignore[slow]\nslow\n x\n slow;\n", []),
    "lines, not what was before": ("slow; a\n x; # nginxopt: ignore[slow]\n", ["1 slow", "2 unused-suppression"]),
    "block, first in it": ("a {\n # nginxopt: ignore-block[slow] because\n slow;\n b { slow; }\n}\nslow;", ["6 slow"]),
    "block, below a comment": ("a {\n # b\n # nginxopt: ignore-block[slow]\n\n slow;\n}", []),
    "block, in its line": ("a { # nginxopt: ignore-block[slow]\n b;\n slow;\n}", []),
    "block, in its line behind more": ("a { b; # nginxopt: ignore-block[slow]\n slow;\n}", []),
    "block, in a head of lines": ("a slow # nginxopt: ignore-block[slow]\n{\n slow; }\nslow;", ["4 slow"]),
    "block, in one line": ("slow { slow; } # nginxopt: ignore-block[slow]\nslow;", ["2 slow"]),
    "block, with its head": ("slow slow {\n # nginxopt: ignore-block[slow]\n}\n", []),
    "block, the inner one": (
        "slow; a {\n b {\n # nginxopt: ignore-block[slow]\n slow; }\n slow; }",
        ["1 slow", "5 slow"],
    ),
    "block, not in the middle": ("a {\n b;\n # nginxopt: ignore-block[slow]\n slow; }", ["3 suppression", "4 slow"]),
    "block, not outside": ("# nginxopt: ignore-block[slow]\nslow;", ["1 suppression", "2 slow"]),
    "block, not in a directive": ("a { b # nginxopt: ignore-block[slow]\n slow; }", ["1 suppression", "2 slow"]),
    "file": ("\n# x\n# nginxopt: ignore-file[slow] because\nslow; a { slow; }\nlate;", ["5 late"]),
    "file, not below a directive": ("slow;\n# nginxopt: ignore-file[slow]", ["1 slow", "2 suppression"]),
    "file, not in a block": ("a {\n# nginxopt: ignore-file[slow]\nslow; }", ["2 suppression", "3 slow"]),
    "file, not in a directive": ("slow # nginxopt: ignore-file[slow]\n;", ["1 slow", "1 suppression"]),
    "not in quotes": (
        "slow 'x # nginxopt: ignore[slow]'; # nginxopt: ignore[late]",
        ["1 slow", "1 unused-suppression"],
    ),
    "not in a word": ("slow x#nginxopt:ignore[slow];", ["1 slow"]),
    "not in quotes of lines": ("a 'x\n# nginxopt: ignore[slow]\n' slow;", ["3 slow"]),
    "not in Lua": ("content_by_lua_block {\n -- # nginxopt: ignore[slow]\n}\nslow;", ["4 slow"]),
    "no sentence": ("slow; # nginxopt: made by hand\n # see nginxopt: ignore[slow]\n", ["1 slow"]),
    "no ids": ("slow; # nginxopt: ignore because\n", ["1 slow", "1 suppression"]),
    "empty ids": ("slow; # nginxopt: ignore[ , ] because\n", ["1 slow", "1 suppression"]),
    "an unknown id": ("slow; # nginxopt: ignore[slwo, slow]\n", ["1 suppression"]),
    "an unknown word": ("slow; # nginxopt: disable[slow]\n", ["1 slow", "1 suppression"]),
    "a misspelt word": ("slow; # nginxopt: ingore slow\n", ["1 slow", "1 suppression"]),
    "unused": ("a; # nginxopt: ignore[slow]\n", ["1 unused-suppression"]),
    "unused in part": ("slow; # nginxopt: ignore[slow, late]\n", ["1 unused-suppression"]),
    "the suppression itself": ("# nginxopt: ignore-file[suppression]\nslow; # nginxopt: ignore\n", ["2 slow"]),
    "what is unused": ("# nginxopt: ignore-file[unused-suppression]\na; # nginxopt: ignore[slow]\n", []),
    "what is unused, unused": ("# nginxopt: ignore-file[unused-suppression]\na;\n", ["1 unused-suppression"]),
    "nothing": ("", []),
}


@every_row(("text", "expected"), PLACES.values(), ids=PLACES.keys())
def test_a_comment_hides_what_is_in_its_place(text: str, expected: list[str]) -> None:
    """A suppression hides findings of its rules in its line, block or file, and no others."""
    result = judged(text)
    assert left(result) == expected
    every = (
        len(list(findings(a_file(text))))
        + text.count("file[suppression]")
        + text.count("file[unused") * ("ignore[" in text)
    )
    kept = [diagnostic for diagnostic in result.diagnostics if diagnostic.rule in KNOWN]
    assert result.hidden == every - len(kept)


def test_only_what_was_asked_can_be_unused() -> None:
    """A suppression of a rule that did not run is not reported, and rules that did not run report nothing."""
    text = "a; # nginxopt: ignore[slow]\nb; # nginxopt: ignore[late, no-such-rule]\n"
    assert left(judged(text, ["late", "unused-suppression"])) == ["2 unused-suppression"]
    assert left(judged(text, ["late", "suppression"])) == ["2 suppression"]
    assert left(judged(text, ["slow"])) == []


# What is wrong, the bytes that are marked, what is said, and what helps.
FAULTS = [
    ("# nginxopt: ignore x", "ignore", 'invalid suppression: "ignore" needs rule ids', "ignore[rule-id]"),
    (
        "# nginxopt: ignore-block\n",
        "ignore-block",
        'invalid suppression: "ignore-block" needs rule ids',
        "write # nginxopt: ignore-block[",
    ),
    ("# nginxopt: ingore[slow]", "ingore", 'invalid suppression: unknown keyword "ingore"', 'mean "ignore"?'),
    (
        "# nginxopt: ignore-next-line[slow]",
        "ignore-next-line",
        "invalid suppression",
        'mean "ignore"? write # nginxopt',
    ),
    ("# nginxopt: ignore-blok[slow]", "ignore-blok", "invalid suppression", 'mean "ignore-block"? write # nginxopt'),
    ("# nginxopt: disable[slow]", "disable", 'invalid suppression: unknown keyword "disable"', "ignore[rule-id]"),
    ("# nginxopt: ignore[slov]", "slov", 'unknown rule "slov"', 'did you mean "slow"?'),
    ("# nginxopt: ignore[proxy]", "proxy", 'unknown rule "proxy"', "categories cannot be suppressed: name the rules"),
    ("# nginxopt: ignore[\u00e4, x y]", "\u00e4", 'unknown rule "\u00e4"', ""),
    (
        "a;# nginxopt: ignore-file[slow]",
        "ignore-file",
        "must be before the first directive of a file",
        "move it there",
    ),
    ("# nginxopt: ignore-block[slow]", "ignore-block", "first in a block, or on the line of its {", "move"),
]


@every_row(("text", "marked", "message", "helps"), FAULTS)
def test_an_invalid_suppression_is_reported(text: str, marked: str, message: str, helps: str) -> None:
    """A malformed or misplaced suppression is a finding at the wrong word."""
    diagnostic = next(diagnostic for diagnostic in judged(text).diagnostics if diagnostic.rule == "suppression")
    assert diagnostic.finding.source.text(diagnostic.finding.span) == marked
    assert message in diagnostic.message
    assert helps in diagnostic.finding.help
    assert (diagnostic.severity, diagnostic.fix) == (Severity.WARNING, None)


# A text, and what the fixes of unused suppressions make of it.
REMOVALS = [
    ("a; # nginxopt: ignore[slow] because\nb;", "a;\nb;"),
    ("a; \t# nginxopt: ignore[slow]", "a;"),
    ("a; # nginxopt: ignore[slow] because \r\nb;\r\n", "a; \r\nb;\r\n"),
    ("a;\n  # nginxopt: ignore[slow]\n  b;\n", "a;\n  b;\n"),
    ("a;\r\n  # nginxopt: ignore[slow]\r\n  b;\r\n", "a;\r\n  b;\r\n"),
    ("a;\n# nginxopt: ignore[slow]", "a;\n"),
    ("a {# nginxopt: ignore[slow]\n}", "a {\n}"),
    ("a # nginxopt: ignore[slow]\nb;", "a\nb;"),
    ("a\n# nginxopt: ignore[slow]\nb;", "a\nb;"),
    ("a; # nginxopt: ignore[slow, late] because\n", "a;\n"),
    ("slow; # nginxopt: ignore[late, slow] because\n", "slow; # nginxopt: ignore[slow] because\n"),
    ("slow; # nginxopt: ignore[slow ,late] because\n", "slow; # nginxopt: ignore[slow] because\n"),
    ("a; # it is # nginxopt: ignore[slow] because\n", "a; # it is\n"),
    ("slow; # nginxopt: ignore[late] b # nginxopt: ignore[slow] c\n", "slow; # nginxopt: ignore[slow] c\n"),
    ("slow; # nginxopt: ignore[slow] b # nginxopt: ignore[late] c\n", "slow; # nginxopt: ignore[slow] b\n"),
    ("# nginxopt: ignore-file[slow]\na {\n  # nginxopt: ignore-block[slow]\n}", "a {\n}"),
]


def without_unused(text: bytes) -> bytes:
    """A text after the fixes of its findings."""
    fixes = [diagnostic.fix for diagnostic in judged(text).diagnostics if diagnostic.fix]
    return apply(text, [change.edit for fix in fixes for change in fix.changes])


@every_row(("text", "expected"), REMOVALS)
def test_what_is_unused_can_be_deleted(text: str, expected: str) -> None:
    """The fix of an unused suppression deletes the comment or the id, with the blanks or the line around it."""
    assert without_unused(text.encode()).decode() == expected


def test_the_ids_that_hide_nothing_are_named() -> None:
    """One finding names all ids of a suppression that hide nothing, and marks them."""
    (diagnostic,) = judged("a; # nginxopt: ignore[slow, late] because").diagnostics
    assert diagnostic.message == "unused suppression: no finding of slow and late here"
    assert diagnostic.finding.source.text(diagnostic.finding.span) == "slow, late"
    assert diagnostic.fix is not None
    assert diagnostic.fix.title == "delete the comment"


WORDS = st.sampled_from(["slow", "late", "a", "'b # nginxopt: ignore[slow]'", '"x\ny"'])
COMMENTS = st.builds(
    "{}# {}nginxopt: {}{}{}".format,
    st.sampled_from(["", " ", "\n", "\n  "]),
    st.sampled_from(["", "", "", "see "]),
    st.sampled_from(["ignore", "ignore", "ignore-block", "ignore-file", "ingore", "made"]),
    st.sampled_from(["[slow]", "[slow]", "[late]", "[slow, late]", "[slow,unused-suppression]", "[lat]", "[]", ""]),
    st.sampled_from(["\n", " why\n", " # nginxopt: ignore[slow]\n", "\r\n"]),
)
GAPS = st.one_of(st.sampled_from([" ", " ", "\n"]), COMMENTS.map(lambda comment: f" {comment}"))
DIRECTIVES = st.lists(st.tuples(WORDS, GAPS), min_size=1, max_size=3).map(
    lambda words: "".join(word + gap for word, gap in words)
)
STATEMENTS = st.builds("{}{}{}".format, DIRECTIVES, st.just(";"), GAPS)
BODIES = st.recursive(
    st.lists(STATEMENTS, max_size=4).map("".join),
    lambda body: st.builds("{}{}{{{}{}}}{}{}".format, body, DIRECTIVES, GAPS, body, GAPS, body),
    max_leaves=4,
)
TEXTS = st.builds("{}{}".format, GAPS, BODIES)


@given(TEXTS)
def test_suppressing_is_idempotent(text: str) -> None:
    """Of the findings that are left, a second time hides none."""
    file = a_file(text)
    once = suppress([file], findings(file), ACTIVE, KNOWN)
    kept = [diagnostic for diagnostic in once.diagnostics if diagnostic.rule in KNOWN]
    again = suppress([file], kept, {rule: ACTIVE[rule] for rule in KNOWN}, KNOWN)
    assert (list(again.diagnostics), again.hidden) == (kept, 0)


@given(TEXTS, st.sampled_from(KNOWN))
def test_a_rule_is_hidden_by_its_own_id_only(text: str, other: str) -> None:
    """The hidden findings of a rule do not depend on the findings of other rules."""
    file = a_file(text)
    both = suppress([file], findings(file), ACTIVE, KNOWN)
    alone = suppress([file], findings(file, [other]), ACTIVE, KNOWN)
    assert [diagnostic.finding for diagnostic in both.diagnostics if diagnostic.rule == other] == [
        diagnostic.finding for diagnostic in alone.diagnostics if diagnostic.rule == other
    ]


@given(TEXTS)
def test_deleting_what_is_unused_changes_nothing_else(text: str) -> None:
    """The fixes keep every directive and every remaining finding; afterwards no suppression is unused."""
    before, data = judged(text), text.encode()
    for _ in range(4):  # two deletions of one comment are made one after the other
        file = a_file(data)
        result = suppress([file], findings(file), ACTIVE, KNOWN)
        edits = sorted(
            (change.edit for diagnostic in result.diagnostics if diagnostic.fix for change in diagnostic.fix.changes),
            key=str,
        )
        edits.sort(key=lambda edit: edit.span)
        apart = [edits[0]] if edits else []
        apart += [edit for last, edit in pairwise(edits) if edit.span.start >= last.span.end]
        data = apply(data, apart)
    assert [str(directive.name) for directive in a_file(data).walk()] == [
        str(diagnostic.name) for diagnostic in a_file(text).walk()
    ]
    after = judged(data)
    assert [diagnostic.message for diagnostic in after.diagnostics if diagnostic.rule in KNOWN] == [
        diagnostic.message for diagnostic in before.diagnostics if diagnostic.rule in KNOWN
    ]
    assert not [diagnostic for diagnostic in after.diagnostics if diagnostic.fix]


def outcome(text: str) -> list[tuple[str, Span]]:
    """What is left of a text, and where; each rewrite is slow, and late if its pattern says so."""
    file = a_file(text)
    diagnostics = [
        Diagnostic(rule, ACTIVE[rule], Finding(file.source, word.span, f"{rule} here"), "")
        for directive in file.walk()
        if directive.name == "rewrite"
        for rule, word in (("slow", directive.args[0]), ("late", directive.args[1]))
    ]
    result = suppress([file], diagnostics, ACTIVE, KNOWN)
    return [(diagnostic.rule, diagnostic.finding.span) for diagnostic in result.diagnostics]


REWRITES = st.builds(
    "rewrite{}'{}'{}/b;{}".format, GAPS, st.sampled_from(["^/a", "#nginxopt:ignore[slow]"]), GAPS, GAPS
)


@given(st.integers(0, 2), st.lists(REWRITES, min_size=1, max_size=4), st.integers(0, 3), st.integers(1, 2))
def test_a_folded_run_is_as_any_other(before: int, rewrites: list[str], between: int, after: int) -> None:
    """A comment in a folded run of rewrites hides the same as in one that is not folded."""
    plain = "rewrite ^/a /b;\n"
    text = "".join([plain * (before * tree.FOLD), (plain * between).join(rewrites), plain * (after * tree.FOLD)])
    assert any(isinstance(node, Bulk) for node in a_file(text).nodes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tree, "FOLD", 0)
        unfolded = outcome(text)
    assert outcome(text) == unfolded


def test_runs_without_such_comments_stay_folded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A folded run of rewrites is unfolded only if it contains a comment for nginxopt."""
    run = "rewrite ^/a /b; # plain\n" * tree.FOLD
    file = a_file(f"# nginxopt: ignore-file[slow]\na;\n{run}a; # nginxopt: ignore[slow]\n{run}")
    monkeypatch.setattr(Bulk, "nodes", lambda _: pytest.fail("the run was looked into"))
    assert len(list(suppressions(file))) == 2


def test_every_occurrence_in_the_form_is_found() -> None:
    """Each comment of a nested text is found once, in the order of the text."""
    text = "".join(
        f"# nginxopt: ignore[r{n}]\na{n} # nginxopt: ignore[s{n}]\n{{ # nginxopt: ignore[t{n}]\n" for n in range(9)
    )
    text += "}".join(f"# nginxopt: ignore[u{n}]\n" for n in range(10))
    names = [str(name) for suppression in suppressions(a_file(text)) for name in suppression.names]
    assert names == re.findall(r"\[(\w+)\]", text)
