"""Planner and prover agree: no plan is refuted, and what is compiled may be compiled again.

The lists hold what the two judge apart: patterns that stay (those that may use up a limit of PCRE, that libraries read
differently, that match anything) before literals, in one case and in any, made of the URIs that they nearly match.
"""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nginxopt.config import load_text
from nginxopt.errors import InputError
from nginxopt.rewrite import Emission, Options, Readings, emit, plan, prove
from tests.fuzz.rewrites.patterns import KINDS
from tests.rows import every_row
from tests.rulegen import escape

CONTEXTS = st.sampled_from(["server", "location"])
SEEDS = st.integers(0, 2**40)

TARGETS = (
    b"/to permanent", b"/to/x redirect", b"/to last", b"/to break", b"/to? last", b"/to?k=v permanent", b"/a/$1 last",
    b"https://$host/to permanent", b"$scheme://$host/a? redirect", b"/x$1?k=$1 permanent", b"/to$arg_x last",
)  # fmt: skip
# Heads that a literal prefix tells apart, and that only one behind a choice does, before what libraries differ on.
STAYING = (
    rb"^/t/(a+)+$", rb"^/(?:t|u)/(a+)+$", rb"^/(?:foo|t)(?:[^x]|y)*z$", rb"^/(?:t|foo)\s", rb"^/[^\s]+/q$",
    rb"^/t/(?:a?){20}b$", rb"(a|aa)+!$", rb"^/t/(.*)/(.*)/(.*)x$", rb"(.*)(.*)(.*)y$", rb"^/([^.]*[^/])$",
    rb"^/t/(?:a|b){4,}c", rb"^/(?:t/)?(a+){3,}b", rb"\S\S$", rb"^/t/[0-9]{,3}$", rb"^/t/(?>a|ab)c", rb"^(?!/t/a).*b$",
    rb"^/t/([a-f]{1,40}){9}$", rb"(?i)^/T/(.*)A$", rb"^/t/(?:x|yy){3000}$",
)  # fmt: skip
TAILS = (b"", b"/", b"x", b"b", b"\x0b", b"\n", b"a" * 40, b"a" * 300, b"z" * 2600, b"ab" * 30 + b"!", b"/a/b/c/d")


def rules(seed: int) -> bytes:
    """Random rules, most of them near what an earlier one matches."""
    draw = random.Random(seed)
    uris = [b"/t/bx1b", b"/t/a", b"/u/aa"]
    lines = []
    for _ in range(draw.randint(2, 9)):
        kind = draw.random()
        if kind < 0.25:
            regex = draw.choice(STAYING)
        elif kind < 0.6:
            pattern = draw.choice(KINDS)[1](draw, draw.choice((b"/", b"/t/", b"/t/")))
            regex, uris = pattern.regex, uris + [uri for uri in pattern.uris if uri]
        else:
            uri = (draw.choice(uris) + draw.choice(TAILS)).replace(b"\0", b"")[:3000]
            uri = draw.choice((bytes, bytes.upper, bytes.lower, bytes.swapcase))(uri)
            regex = draw.choice((b"^%s$", b"^%s$", b"(?i)^%s$", b"(?i)^%s$", rb"^%s\z", b"^%s/?$")) % escape(uri)
        lines.append(b'rewrite "%s" %s;\n' % (quoted(regex), draw.choice(TARGETS)))
    return b"".join(line for line in lines if is_accepted(line))


def is_accepted(line: bytes) -> bool:
    """Whether PCRE compiles the pattern of a rule."""
    try:
        plan(load_text(line, context="server"))
    except InputError:
        return False
    return True


def quoted(regex: bytes) -> bytes:
    """A pattern as it is written in quotes."""
    return regex.replace(b"\\", b"\\\\").replace(b'"', b'\\"')


def compiled(text: bytes, context: str, options: Options) -> Emission:
    """The emission for a fragment, which is proved."""
    emission = emit(plan(load_text(text, context=context), options))
    proof = prove(emission)
    assert proof.holds, (text, proof.refutation, proof.counterexample)
    return emission


@pytest.mark.slow
@given(SEEDS, CONTEXTS, st.sampled_from([64, 256, 1024]), st.booleans())
def test_no_plan_is_refuted(seed: int, context: str, bound: int, ends: bool) -> None:
    """A refutation of a plan would be a defect of one of the two; a second and a third compilation are no exception."""
    text = rules(seed).replace(b"rewrite", b"  rewrite")
    options = Options(bound=bound, readings=Readings(literal_ends=ends))
    for _ in range(3):
        emission = compiled(text, context, options)
        text = emission.after(emission.plan.config.main)


def test_a_reference_to_a_group() -> None:
    """What a rule with one matches is known to neither the plan nor the proof: what is behind it stays."""
    rules = b"rewrite ^/(a|b)\\1$ /to last;\nrewrite ^/x$ /y permanent;\n"
    assert not compiled(rules, "server", Options()).plan.rules.moved


@pytest.mark.slow
@given(SEEDS, CONTEXTS)
def test_captures_that_somebody_reads(seed: int, context: str) -> None:
    """Nor is one where `$1` to `$9` are read behind the rules."""
    text = rules(seed) + b'add_header X "[$1]";\n'
    for _ in range(2):
        emission = compiled(text, context, Options())
        text = emission.after(emission.plan.config.main)


AGAIN = rb"""rewrite "^/([^.]*[^/])$" /re/x? permanent;
rewrite ^/x-1/s$ "/.a/a${uri}?k=$arg_v" break;
rewrite (?i)^/BA/A$ $scheme://$host/a?;
rewrite "^/\\.#/b$" https://$http_host/re/x permanent;
"""


@pytest.mark.parametrize("context", ["server", "location"])
def test_keys_of_any_byte(context: str) -> None:
    """No byte of a key ends a line but a newline, whatever stands before the rules on theirs."""
    text = b'    rewrite "^/-[^/$a-z]$" /to permanent;\n\trewrite ^/(a+)+$ /b last;\n'
    emission = compiled(text, context, Options(bound=1024))
    assert emission.plan.rules.moved == 1
    assert not compiled(emission.after(emission.plan.config.main), context, Options(bound=1024)).changes


def test_a_rule_behind_listed_keys() -> None:
    """Behind keys that a pattern lists, a rule is compiled as if no other stood before; those still come first."""
    first = compiled(AGAIN, "location", Options())
    assert dict(first.plan.rules.reasons()) == {"wildcard": 1}
    assert not compiled(first.after(first.plan.config.main), "location", Options()).changes


@every_row("context", ["server", "location"])
@every_row(
    ("stays", "literal"),
    [
        (rb"^/t/(a+)+$", rb"(?i)^/t/Bx1b$"),
        (rb"^/(?:t|foo)\s$", rb"^/x\x0b$"),
        (rb"^/(?:foo|t)(?:[^x]|y)*z$", b"^/x%s$" % (b"a" * 2_600)),
    ],
)
def test_what_stands_behind_a_choice(context: str, stays: bytes, literal: bytes) -> None:
    """Past a pattern that fails before it gets to what takes long, or differs, a literal moves by both or by none."""
    text = b'rewrite "%s" /1 last;\nrewrite "%s" /2 redirect;\n' % (quoted(stays), quoted(literal))
    assert sum(compiled(text, context, Options()).plan.rules.reasons().values()) >= 1


@every_row("context", ["server", "location"])
@every_row(
    ("stays", "literal"),
    [
        (b"^/id/[0-9]{,3}$", b"^/id/42$"),
        (rb"^/id\p{Lu}*$", b"^/id$"),
        (b"^/(a+)+$", b"^/%s!$" % (b"a" * 40)),
        (b"^/(?:[^x]|y)*z$", b"^/%s$" % (b"a" * 2_600)),
    ],
)
@every_row("before", [b"", b"rewrite ^/0$ /0 permanent;\n"])
def test_no_rule_goes_behind_one_that_may_match(context: str, stays: bytes, literal: bytes, before: bytes) -> None:
    """A rule behind one that may match its strings, or not, is not dead: the proof refutes a text without it."""
    gone = b"rewrite %s /2 redirect;\n" % literal
    text = before + b'rewrite "%s" /1 last;\n' % quoted(stays) + gone + b"rewrite ^/other$ /3 permanent;\n"
    emission = compiled(text, context, Options())
    (change,) = emission.changes
    assert gone in change.after
    damaged = replace(emission, changes=(replace(change, after=change.after.replace(gone, b"")),))
    assert not prove(damaged).holds


SEPARATORS = (
    b"if ($host = x) { return 403; }\n", b"if ($arg_z = 1) { rewrite ^/1/(.*)$ /to/1/$1 permanent; }\n",
    b"set $z 1;\n", b"rewrite ^/zz/(.*) /yy/$1;\n", b'rewrite "^a(?!)" /;\n',
)  # fmt: skip
UNBOUNDED = b"rewrite ^/q/(a+)+$ /q permanent;\n"


@st.composite
def repeated(draw: st.DrawFn) -> bytes:
    """A list of so many rules that they share rewrites behind a lookup, once more behind an `if`, nearly the same.

    Some rules repeat an earlier one, or match only what an earlier one does; some cannot be in a lookup.
    """
    count = draw(st.integers(100, 104))
    pool = [b"rewrite ^/%d/(.*)$ /to/%d/$1 permanent;\n" % (number, number) for number in range(count)]
    behind = b"rewrite ^/%d/z/(.*)$ /to/z permanent;\n"
    extra = st.one_of(st.sampled_from(pool), st.integers(0, count - 1).map(behind.__mod__), st.just(UNBOUNDED))
    places = st.one_of(st.just(0), st.just(count), st.integers(0, count))
    text = b""
    for _ in range(draw(st.integers(1, 2))):
        rules = list(pool)
        for place, rule in draw(st.lists(st.tuples(places, extra), max_size=4)):
            rules.insert(place, rule)
        text += b"".join(rules) + draw(st.sampled_from(SEPARATORS))
    return text + draw(st.sampled_from([b"", b'add_header X "[$1]";\n']))


@given(repeated())
@settings(max_examples=25, deadline=None)
def test_equal_rules_on_both_sides_of_an_if(text: bytes) -> None:
    """What is planned for them comes true: each lookup stands for the rules at its place, not for others like them."""
    compiled(text, "server", Options(groups=True))


def test_a_rule_before_a_lookup_that_holds_it_too() -> None:
    """The first of two equal rules stays alone, the second belongs to the lookup, which never finds it."""
    rules = [b"rewrite ^/%d/(.*)$ /to/%d/$1 permanent;\n" % (number, number) for number in range(105)]
    text = b"".join([rules[0], UNBOUNDED, *rules[1:90], rules[0], *rules[90:]])
    assert compiled(text, "server", Options(groups=True)).plan.rules.grouped > 100
