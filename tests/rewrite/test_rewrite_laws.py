"""Laws of the compiler, over random rule lists: what is emitted can be taken away again, and nothing else changed.

Whether the emitted text does what the rules do is judged here by a small model of both, for literal rules; by the
proof everywhere; and by nginx in `tests/nginx/test_compiler.py`.
"""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nginxopt.config import Directive, load_text
from nginxopt.rewrite import Emission, Options, Readings, emit, plan, prove
from nginxopt.text import encode
from tests import rulegen
from tests.support import ROOT

pytestmark = pytest.mark.no_cover

CONTEXTS = st.sampled_from(["server", "location"])
READINGS = [reading.name for reading in fields(Readings)]
few = settings(max_examples=150, deadline=None)

# What stands around rules in a file, and has to be there afterwards.
AROUND = (b"# comment \xff\n", b"\n", b"  \t\n", b"set $around 'x';  # behind\n", b"add_header X-Y z;\n")


# Rules that stay, and a condition.
OTHERS = (
    b"rewrite ^/w%d/(.*)$ /x%d permanent;",
    b"rewrite ^/w%d/(.*)$ /x%d/$1;",
    b"rewrite ^/w%d /x%d break;",
    b"if ($arg_a%d) { return 4%02d; }",
)


@st.composite
def texts(draw: st.DrawFn) -> bytes:
    """Random rules between other things, in one of several spellings of a file."""
    rules = rulegen.generate(draw(st.integers(0, 100_000)), draw(st.integers(1, 16))).text
    shuffle = random.Random(draw(st.integers(0, 1000)))
    lines = [line + b"\n" for line in rules.splitlines() if line]
    for _ in range(shuffle.randint(0, 5)):
        lines.insert(shuffle.randrange(len(lines) + 1), shuffle.choice(AROUND))
    indent = draw(st.sampled_from([b"", b"    ", b"\t"]))
    text = b"".join(indent + line for line in lines)
    return draw(
        st.sampled_from(
            [
                text,
                text.replace(b"\n", b"\r\n"),
                text.rstrip(b"\n"),
                text.replace(b"permanent;\n", b"permanent; "),
                text.replace(b"permanent;\n", b"permanent; # why\n"),
            ]
        )
    )


def compiled(text: bytes, context: str, options: Options | None = None) -> Emission:
    """The emission for a fragment."""
    return emit(plan(load_text(text, context=context), options))


def after(emission: Emission) -> bytes:
    """The text of the fragment afterwards."""
    return emission.after(emission.plan.config.main)


@given(texts(), CONTEXTS)
@few
def test_a_second_compilation_changes_nothing(text: bytes, context: str) -> None:
    """Rules that stay, stay; the exception is below."""
    first = compiled(text, context)
    second = compiled(after(first), context)
    assert (second.changes, second.maps) == ((), b"")


@st.composite
def texts_of_all_kinds(draw: st.DrawFn) -> bytes:
    """Random rules between others that match endlessly many URIs, without a flag some of them, and conditions."""
    lines = draw(texts()).splitlines(keepends=True)
    for _ in range(draw(st.integers(0, 12))):
        kind, number = draw(st.sampled_from(OTHERS)), draw(st.integers(0, 30))
        lines.insert(draw(st.integers(0, len(lines))), kind % (number, number) + b"\n")
    return b"".join(line if line.endswith(b"\n") else line + b"\n" for line in lines)


@given(texts_of_all_kinds(), CONTEXTS)
@few
def test_a_second_compilation_changes_nothing_with_groups(text: bytes, context: str) -> None:
    """What a first one leaves alone is not behind a filter because of what now stands beside it."""
    first = compiled(text, context, Options(groups=True))
    second = compiled(after(first), context, Options(groups=True))
    assert (second.changes, second.maps) == ((), b"")


def test_what_stays_behind_targets_stays_a_second_time() -> None:
    """The first compilation puts no filter before it, as it stands behind keys; so the second does not."""
    for first_rule in (b"rewrite (?i)^/ab$ /A break;\n", b"rewrite ^/ab$ /A redirect;\n"):
        rules = first_rule + b"rewrite ^/w0/(.*)$ /x0 permanent;\nrewrite ^/a$ /s;\nrewrite ^/[0-3]$ /zz;\n"
        first = compiled(rules, "server", Options(groups=True))
        assert b"_to" in after(first)
        assert not compiled(after(first), "server", Options(groups=True)).changes


def test_a_rule_may_overlap_by_case_with_one_before_the_maps() -> None:
    """A map would ignore the case of its keys, but the rule before it takes what it matches in any case.

    Rules of a location: the first matches `/ab`, and the last `/Ab`. So none is left for a second compilation.
    """
    rules = b"rewrite ^/a(.*)$ /x?k=$arg_v break;\nrewrite ^/b$ /y break;\nrewrite (?i)^/ab$ /z break;\n"
    first = compiled(rules, "location")
    assert dict(first.plan.rules.reasons()) == {"wildcard": 1}
    assert prove(first).holds
    assert not compiled(after(first), "location").changes
    behind = compiled(b"rewrite ^/b$ /y break;\n" + rules, "location")
    assert dict(behind.plan.rules.reasons()) == {"wildcard": 1, "case-overlap": 1}
    assert not compiled(after(behind), "location").changes


def test_any_number_of_rules_may_differ_by_case() -> None:
    """Each spelling of a path has a tier; only a rule that needs many for itself stays, and stays a second time."""
    names = ["case", "Case", "cAse", "caSe", "casE", "CASE", "CaSe"]
    rules = "".join(f"rewrite ^/{name}$ /to/{at} last;\n" for at, name in enumerate(names))
    first = compiled(f"{rules}rewrite ^/[aA][bB][cC]x$ /many last;\n".encode(), "server")
    assert (first.plan.rules.moved, dict(first.plan.rules.reasons())) == (len(names), {"case-tiers": 1})
    assert prove(first).holds
    assert not compiled(after(first), "server").changes


@pytest.mark.slow
@given(texts(), CONTEXTS)
@few
def test_a_plan_can_be_written_again(text: bytes, context: str) -> None:
    """A plan is not used up by what is written of it: the second emission is the first, sizes of tables included."""
    first = compiled(text, context)
    assert emit(first.plan) == first
    assert prove(emit(first.plan)).holds


@given(texts(), CONTEXTS)
@few
def test_all_is_proved(text: bytes, context: str) -> None:
    """What is emitted is proved, and counts as many rules as were read."""
    emission = compiled(text, context)
    proof = prove(emission)
    assert proof.holds, (proof.refutation, proof.counterexample)
    assert emission.plan.rules.moved + sum(emission.plan.rules.reasons().values()) <= emission.plan.rules.total


@given(texts(), CONTEXTS)
@few
def test_what_is_no_rule_survives(text: bytes, context: str) -> None:
    """Without what was put in, the text is the original without the rules that are gone, byte for byte."""
    emission = compiled(text, context)
    for change in emission.changes:
        assert all(len(edit.span) == 0 or not edit.text for edit in change.edits)
        gone = sorted(edit.span for edit in change.edits if len(edit.span))
        for span in gone:
            rule = load_text(text[span.start : span.end], context=context).main.block
            assert {directive.name for directive in rule.directives()} == {"rewrite"}
            assert not rule.nodes or not rule.nodes[0].span.start or text[span.start : span.end].strip()
        rest, at = b"", 0
        for span in gone:
            rest, at = rest + text[at : span.start], span.end
        stripped = change.after
        for edit in change.edits:
            assert stripped.count(edit.text) >= 1
            stripped = stripped.replace(edit.text, b"", 1) if edit.text else stripped
        assert stripped == rest + text[at:]
    if not emission.changes:
        assert after(emission) == text


@given(texts(), CONTEXTS)
@few
def test_line_ends_and_bytes_survive(text: bytes, context: str) -> None:
    """A file of CRLF stays one; bytes that are not UTF-8 stay what they are."""
    changed = after(compiled(text, context))
    if b"\n" in text and text.count(b"\n") == text.count(b"\r\n"):
        assert changed.count(b"\n") == changed.count(b"\r\n")
    assert changed.count(b"# comment \xff") == text.count(b"# comment \xff")


@given(texts(), CONTEXTS)
@few
def test_the_same_rules_give_the_same_text(text: bytes, context: str) -> None:
    """Nothing but the text decides what is emitted."""
    first, second = compiled(text, context), compiled(text, context)
    assert (first.maps, after(first)) == (second.maps, after(second))


def test_the_same_text_in_another_process() -> None:
    """No order of a set or a hash, which differ from process to process, shows in the emitted text."""
    program = (
        "import sys; from nginxopt import load_text; from nginxopt.rewrite import emit, plan\n"
        "from tests import rulegen\n"
        "made = emit(plan(load_text(rulegen.generate(5, 40).text, context='server')))\n"
        "sys.stdout.buffer.write(made.maps + made.changes[0].after)"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            cwd=ROOT,
            env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(outputs) == 1
    assert b"map $uri" in outputs.pop()


@given(texts(), CONTEXTS)
@few
def test_nothing_moved_emits_nothing(text: bytes, context: str) -> None:
    """There are maps if and only if there are keys, and changes if and only if there are maps."""
    emission = compiled(text, context)
    assert (
        bool(emission.plan.rules.keys)
        == bool(emission.maps)
        == bool(emission.changes)
        == bool(emission.plan.rules.moved)
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", READINGS)
@given(text=texts(), context=CONTEXTS)
@few
def test_declared_readings_move_more(name: str, text: bytes, context: str) -> None:
    """A reading keeps no rule more, but for those that letters of any case get in the way of; what it changes, the
    emitted text names.
    """
    without, declared = compiled(text, context), compiled(text, context, Options(replace(Readings(), **{name: True})))
    assert prove(declared).holds
    any_case = ("capture-case", "case-overlap", "case-tiers")
    was, is_now = without.plan.rules.reasons(), declared.plan.rules.reasons()
    more = sum(is_now.values()) - sum(was.values())
    assert more <= sum(is_now[reason] for reason in any_case)
    named = encode(Readings.sentences()[name]) in declared.maps
    assert named or not (declared.plan.rules.changed[name] and declared.maps)
    assert b"Declared difference" not in without.maps


# --- a model, for literal rules ---


@dataclass(frozen=True)
class Literal:
    """A rule that matches `uri` alone, in the way of a pattern; its target says which rule it is."""

    uri: bytes
    any_case: bool
    slash: bool
    very_end: bool
    flag: bytes
    number: int

    @property
    def text(self) -> bytes:
        """The directive."""
        pattern = b"%s^%s%s%s" % (
            b"(?i)" if self.any_case else b"",
            rulegen.escape(self.uri),
            b"/?" if self.slash else b"",
            rb"\\z" if self.very_end else b"$",
        )
        return b'rewrite "%s" /to/%d %s;\n' % (pattern, self.number, self.flag)

    def matches(self, uri: bytes) -> bool:
        """Whether it fires: with no regular expression, by what its pattern was made of."""
        fold: Callable[[bytes], bytes] = bytes.lower if self.any_case else bytes
        ends = [b"", b"/"] if self.slash else [b""]
        tails = [b""] if self.very_end else [b"", b"\n"]
        return any(fold(uri) == fold(self.uri + end + tail) for end in ends for tail in tails)


WORDS = st.lists(st.sampled_from([b"a", b"A", b"b", b"/", b"-", b"."]), min_size=1, max_size=4).map(b"".join)
LITERALS = st.lists(
    st.tuples(
        WORDS,
        st.booleans(),
        st.booleans(),
        st.booleans(),
        st.sampled_from([b"permanent", b"redirect", b"last"]),
    ),
    min_size=1,
    max_size=12,
)


NO_CAPITAL = r"^[^A-Z]*\z"
REST = re.compile(r"\(\?s\)\^\(\?<(\w+)>\.\+\)")


class Emitted:
    """The emitted text as nginx would run it: maps that do not mind case, guards, classes, rewrites that stay."""

    def __init__(self, emission: Emission, rules: list[Literal]) -> None:
        self.rules = {rule.text.rstrip(): rule for rule in rules}
        self.maps: dict[str, tuple[str, dict[bytes, str]]] = {}
        for directive in load_text(emission.maps, context="http").main.block.directives():
            if directive.name == "map" and directive.block:
                rows = {str(row.name): str(row.args[0]) for row in directive.block.directives() if row.args}
                default = rows.pop("default", "")
                self.maps[directive.args[1]] = (
                    default,
                    {encode(key).lower(): value for key, value in rows.items()},
                )
        self.script = list(load_text(after(emission), context="server").main.block.directives())

    def run(self, uri: bytes) -> tuple[bytes, bytes] | None:
        """The target and flag for a URI, or None."""
        variables: dict[str, bytes] = {}
        for directive in self.script:
            fired = self._fires(directive, uri, variables)
            if fired:
                return fired
        return None

    def _value(self, word: str, uri: bytes, variables: dict[str, bytes]) -> bytes:
        if word == "$uri":
            return uri
        if word in self.maps:
            default, rows = self.maps[word]
            return self._value(rows.get(uri.lower(), default), uri, variables)
        return variables.get(word, encode(word))

    def _holds(self, condition: list[str], uri: bytes, variables: dict[str, bytes]) -> bool:
        value = self._value(condition[0], uri, variables)
        if len(condition) == 1:
            return value not in {b"", b"0"}
        if condition[1] == "~":
            [name] = REST.fullmatch(condition[2]).groups()  # type: ignore[union-attr]
            variables[f"${name}"] = value
            return value != b""
        return value == self._value(condition[2], uri, variables)

    def _fires(self, directive: Directive, uri: bytes, variables: dict[str, bytes]) -> tuple[bytes, bytes] | None:
        arguments = [str(argument) for argument in directive.args]
        if directive.name == "set":
            variables[arguments[0]] = self._value(arguments[1], uri, variables)
        elif directive.name == "if" and directive.block:
            if self._holds(arguments, uri, variables):
                inner = (self._fires(inside, uri, variables) for inside in directive.block.directives())
                return next((fired for fired in inner if fired), None)
        elif arguments[0] == "^" or (arguments[0] == NO_CAPITAL and uri == uri.lower()):
            return self._value(arguments[1], uri, variables), encode(arguments[2])
        elif len(arguments) == 3 and arguments[0] != NO_CAPITAL:
            source = directive.source.data[directive.span.start : directive.span.end]
            if self.rules[source].matches(uri):
                return encode(arguments[1]), encode(arguments[2])
        return None


def spellings(rules: list[Literal]) -> Iterator[bytes]:
    """URIs around those of the rules: other cases, ends, and neighbours."""
    for rule in rules:
        for uri in (rule.uri, rule.uri.lower(), rule.uri.upper(), rule.uri.swapcase()):
            for end in (b"", b"/", b"\n", b"/\n", b"\n\n", b"x", b"//"):
                yield uri + end
    yield from (b"", b"/", b"\n")


@given(LITERALS)
@few
def test_the_emitted_text_does_what_the_rules_do(drawn: list[tuple[bytes, bool, bool, bool, bytes]]) -> None:
    """On every URI the first rule that matches fires, in the model of the rules and in that of the emitted text."""
    rules = [
        Literal(b"/" + uri, any_case, slash, very_end, flag, number)
        for number, (uri, any_case, slash, very_end, flag) in enumerate(drawn)
    ]
    emission = compiled(b"".join(rule.text for rule in rules), "server")
    emitted = Emitted(emission, rules)
    for uri in spellings(rules):
        first = next((rule for rule in rules if rule.matches(uri)), None)
        expected = (b"/to/%d" % first.number, first.flag) if first else None
        outcome = emitted.run(uri)
        # The constant part of a target stands in the directive, before the variable of a map.
        assert outcome == expected, uri


def test_a_second_compilation_of_many_patterns_changes_nothing() -> None:
    """Patterns that list keys are no rules to compile, however many stand in a row."""
    draw = random.Random(1)
    rules = b"".join(b"rewrite ^/%032x$ /to/%d last;\n" % (draw.getrandbits(128), number) for number in range(8_000))
    first = compiled(rules + b"rewrite ^/kept/(.*)$ /$1 last;\n", "location")
    assert after(first).count(b"_listed_to") >= 64
    assert prove(first).holds
    second = compiled(after(first), "location")
    assert (second.plan.rules.total, second.plan.rules.moved, second.changes) == (1, 0, ())
