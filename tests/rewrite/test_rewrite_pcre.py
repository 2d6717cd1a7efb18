"""Which patterns `rewrite-to-map` judges, what it does with those that it does not, and how long that takes."""

from __future__ import annotations

import os
import random
from dataclasses import replace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nginxopt.config import load_text
from nginxopt.errors import InputError
from nginxopt.rewrite import Emission, Options, emit, plan, premises, prove
from tests.rows import every_row

pytestmark = pytest.mark.no_cover

LITERALS = b"".join(b"rewrite ^/lit/%d$ /to/%d permanent;\n" % (at, at) for at in range(6))

UNPORTABLE = [
    rb"^/id/[0-9]{,3}$",
    rb"^/id/[0-9]{1, 3}$",
    rb"^/id/\p{Greek}$",
    rb"(?i)^/id/\p{Lu}$",
    rb"^/id/\x$",
    rb"^/id/\b{ 1}$",
    rb"^/id/[\w-.]+$",
    rb"^/id/\i$",
    rb"^/id/(?<%s>a)$" % (b"n" * 33),
    rb"^/id/(?>a)$",
    rb"^/id/(?R)?$",
    rb"^/id/a{1,2}?b$",
    rb"^/id/[Aa]{2}$",
    rb"^/id/(?=a)$",
    rb"^/id/\8$",
    rb"^/id/\x{41}$",
    rb"^/id/(?#c)$",
    rb"^/id/(?<=ab?)$",
    rb"^/id/(*FAIL)$",
    rb"^/id/\Qa\E$",
]


def compiled(text: bytes, options: Options | None = None) -> Emission:
    """The emission for a fragment of a server."""
    return emit(plan(load_text(text, context="server"), options))


@every_row("pattern", UNPORTABLE)
@every_row("most", [64, 1024])
def test_what_not_every_release_reads_alike_stays(pattern: bytes, most: int) -> None:
    """It is no error, and what it may match stays with it; what begins otherwise moves."""
    text = b'rewrite "%s" /x permanent;\nrewrite ^/id/42$ /y permanent;\n%s' % (pattern, LITERALS)
    emission = compiled(text, Options(bound=most))
    assert dict(emission.plan.rules.reasons()) == {"pcre-dependent": 1, "behind-pcre-dependent": 1}
    assert (emission.plan.rules.moved, list(emission.plan.rules.dead())) == (6, [])
    assert prove(emission).holds


@every_row("pattern", [b"^/[a", b"^/(a", b"^/a)", b"*a", b"^/[b-a]", b"^/a{3,2}", b"^/(?<=a*)"])
@every_row("rest", [b"/x permanent", b"/x", b"http://d/ break", b"$1 last"])
def test_what_no_release_takes_is_an_error(pattern: bytes, rest: bytes) -> None:
    """nginx does not start with it, also where the rule would stay for another reason."""
    with pytest.raises(InputError, match="PCRE2 does not compile the pattern"):
        compiled(b'rewrite "%s" %s;\n%s' % (pattern, rest, LITERALS))


def test_nothing_known_lets_nothing_move() -> None:
    """A pattern that may match any URI, in some release, holds all behind it and nothing before it."""
    emission = compiled(b"rewrite ^/before$ /b last;\nrewrite (?>a|b) /x last;\n" + LITERALS)
    assert (emission.plan.rules.moved, emission.plan.rules.reasons()["behind-pcre-dependent"]) == (1, 6)
    assert prove(emission).holds


def forged(odd: bytes, uri: bytes) -> tuple[Emission, bool]:
    """A literal moved past a rule, whatever may be known of it, and what the proof says."""
    behind = b"rewrite ^%s$ /y permanent;\n" % uri
    honest = compiled(LITERALS + behind)
    text = b'rewrite "%s" /odd permanent;\n' % odd
    whole = plan(load_text(LITERALS + text + behind, context="server"))
    (change,) = honest.changes
    change = replace(change, file=whole.config.main, after=change.after + text)
    emission = replace(honest, plan=whole, changes=(change,))
    return emission, prove(emission).holds


@every_row("pattern", UNPORTABLE)
def test_the_proof_judges_no_such_pattern(pattern: bytes) -> None:
    """It refutes that a rule was moved past one that may match, or that such a rule is gone."""
    assert forged(rb"^/id/[0-9]{1,3}$", b"/id/zz")[1]
    assert forged(pattern, b"/other")[1]
    emission, holds = forged(pattern, b"/id/zz")
    assert not holds
    (change,) = emission.changes
    gone = replace(change, after=change.after[: change.after.rindex(b"rewrite")])
    assert not prove(replace(emission, changes=(gone,))).holds


@pytest.mark.parametrize(
    ("pattern", "uri"),
    [
        (rb"^/(a+)+$", b"/" + b"a" * 40 + b"b"),
        (rb"^/(?:[^x]|y)*z$", b"/" + b"a" * 2_600),
        (rb"^/\S$", rb"/\x0b"),
        (rb"^/[^\s]+$", rb"/\x0b"),
    ],
)
def test_the_proof_takes_no_limit_for_an_answer(pattern: bytes, uri: bytes) -> None:
    """Past a rule that may give up, or that depends on what a space is, nothing is moved."""
    assert not forged(pattern, uri)[1]
    assert forged(pattern.replace(b"^/", b"^/other/"), uri)[1]


# Rules that may try very much, and a subject that none of them does more with than fail at its first letters.
BACKTRACKING = [
    rb"^/(a+)+$",
    rb"^/x?(a+)+",
    rb"^/([ab]+)*c",
    rb"^/(ab|c)+z$",
    rb"^/(a|b)(?:c+)+d",
    rb"^/(?:x(a+))?zy(b+)+d",
    rb"^/(?:ab){2,}(c+)+",
    rb"^/(a{1,1000}){1,1000}$",
]
OTHER = b"/" + b"z" * 2_600


@every_row("pattern", BACKTRACKING)
def test_behind_what_fails_at_once(pattern: bytes) -> None:
    """What the planner moves past such a rule, in one spelling or in all, the proof lets pass."""
    text = b'rewrite "%s" /k permanent;\nrewrite ^%s$ /1 permanent;\nrewrite (?i)^%sx$ /2 permanent;\n'
    emission = compiled(text % (pattern, OTHER, OTHER[:50]))
    assert emission.plan.rules.moved == (0 if b"1000" in pattern else 2)  # the planner has no number for so many ways
    assert prove(emission).holds


@pytest.mark.parametrize("pattern", [rb"^/(a+)+$", rb"/(a+)+[^x]$", rb"^/(?!(a+)+$)b$", rb"^/(.*)(.*)(.*)(.*)[!?]$"])
def test_time_is_bounded(pattern: bytes) -> None:
    """A pattern that takes forever is asked a few times only, each for a short while: else this takes hours."""
    literals = b"".join(b"rewrite ^/%s%d$ /to/%d permanent;\n" % (b"a" * 26, at, at) for at in range(10_000, 15_000))
    emission = compiled(b'rewrite "%s" /x permanent;\n%s' % (pattern, literals))
    assert emission.plan.rules.moved + emission.plan.rules.reasons()["match-limit"] == 5_000
    assert prove(emission).holds


def test_a_chain_of_rules_that_stay_is_linear() -> None:
    """Each rule that stays holds the next: they are asked once each, not once for each other."""
    chain = b"".join(b"rewrite (?i)^/k(?:%06d|%06d)$ /to/%d permanent;\n" % (at, at + 1, at) for at in range(5_000))
    emission = compiled(b"rewrite ^/K000000 /x permanent;\n" + chain + LITERALS)
    assert (emission.plan.rules.moved, emission.plan.rules.reasons()["case-overlap"]) == (6, 5_000)
    assert prove(emission).holds


@pytest.mark.parametrize(
    ("before", "name"),
    [
        (b"", "pcre-interpreter"),
        (b"events {} http { server {", None),
        (b"pcre_jit off; events {} http { server {", None),
        (b"pcre_jit on; events {} http { server {", "pcre-jit"),
        (b"pcre_jit On; events {} http { server {", "pcre-jit"),
    ],
)
def test_jit_is_a_premise(before: bytes, name: str | None) -> None:
    """Where JIT is on, or may be, the result says so; where it is known to be off, nothing is said."""
    text = before + b"\n" + LITERALS + (b"}}" if before else b"")
    compilation = plan(load_text(text, context=None if before else "server"))
    stated = [premise.name for premise in premises.of(compilation) if premise.name.startswith("pcre")]
    assert stated == ([] if name is None else [name])


# Pieces of patterns that list many strings, in few or very many ways, with anchors where they can and cannot hold.
PIECES = (
    "a", "b", "[ab]", "[a-d]", "[0-9]", "(a|b|ab)", "(?:a|A)", "(?:a|)", "a?", "b??", "a{0,3}", "[ab]{1,3}",
    "(?:ab?){2}", "$", "^", "(a$|b)", "(/|$)", "(?:^|a)", r"\z", r"(\zb|c)", "[0-9][0-9]", "(?:[0-9][0-9]^|x)",
    "(?:a{9}^|b)", "(?:a?){8}", "(a|a){3}", "()", "(|a)*", r"\b", r"\B", "(?!a)", "(?<!b)", "(?i:a)", "[aA]",
    "(?i:ab)", r"\s", r"\n", "(?:(?:[a-h]|i)|j)", "(a|A)(b|B)", "(?:aa|aA|Aa|AA)",
)  # fmt: skip


@st.composite
def nested(draw: st.DrawFn) -> str:
    """A pattern of a few pieces, some of them in groups."""
    shuffle = random.Random(draw(st.integers(0, 2**32)))

    def part(depth: int) -> str:
        pieces = [
            shuffle.choice(PIECES) if depth == 0 or shuffle.random() < 0.7 else part(depth - 1)
            for _ in range(shuffle.randint(1, 4))
        ]
        text = "".join(pieces)
        kind = shuffle.randrange(5) if depth < 3 else 0
        return {1: f"(?:{text}|x)", 2: f"({text})?", 3: f"(?:{text}){{1,2}}"}.get(kind, text)

    return f"{shuffle.choice(['^/', '(?i)^/'])}{part(3)}{shuffle.choice(['$', '$', chr(92) + 'z'])}"


@pytest.mark.slow
@given(st.lists(nested(), min_size=1, max_size=5), st.sampled_from([8, 64, 1024]))
@example([r"^/((a$|b))?(a$|b)(a$|b)\z", r"(?i)^/(a|a){3}$"], 64)
@settings(max_examples=int(os.environ.get("NGINXOPT_PLANS", "200")), deadline=None)
def test_every_plan_is_proved(patterns: list[str], most: int) -> None:
    """The planner lists no pattern that the proof does not list as well, and both know the same ends and cases."""
    rules = "".join(f'rewrite "{pattern}" /to/{at} permanent;\n' for at, pattern in enumerate(patterns))
    emission = compiled(rules.encode() + LITERALS, Options(bound=most))
    proof = prove(emission)
    assert proof.holds, (proof.refutation, proof.counterexample)


@every_row(
    "pattern",
    [
        rb"^/[0-9a-f][0-9a-f](?:[0-9][0-9]^|x)\z",
        rb"^/(?:[a-z][0-9])(?:[0-9][0-9]^|x)\z",
        rb"^/(?:a|A)(?:b|B)(?:c|C)(?:d|D)(?:e|E)(?:f|F)(?:g|G)(?:h|H)(?:i|I)\z",
        rb"^/(?:[a-p]|[q-z])(?:[0-9]|[a-z])\z",
        rb"^/(?:a?){18}\z",
        rb"^/a{0,1000}\z",
        rb"^/(%s)$" % b"|".join(b"w%d" % at for at in range(512)),
        rb"^/%s$" % (b"(" * 150 + b"a" + b")" * 150),
    ],
)
def test_bounds_are_the_same(pattern: bytes) -> None:
    """At the extremes, too: what the planner takes for listed the proof lists."""
    emission = compiled(b'rewrite "%s" /to permanent;\n%s' % (pattern, LITERALS), Options(bound=1024))
    proof = prove(emission)
    assert proof.holds, (proof.refutation, proof.counterexample)
