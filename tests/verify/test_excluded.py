"""Patterns that a value does not match: as a dictionary of them, without its copies and scans."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nginxopt.verify.path_condition import Excluded, Known
from nginxopt.verify.patterns import beginning, may_begin

PATTERNS = st.sampled_from(
    [b"^/a", b"^/ab", b"^/A/b", b"^/abc$", b"^", b"x", b"^/b(?:c|d)", b"^(?i:/AB)", b"^/a?", b"/"]
)


@given(st.lists(st.tuples(st.integers(0, 9), st.lists(PATTERNS, max_size=4)), max_size=12))
def test_each_is_the_dictionary_of_its_patterns(steps: list[tuple[int, list[bytes]]]) -> None:
    """Whichever are made longer, in any order: each keeps its own patterns, in order."""
    made = [(Excluded(), dict[bytes, None]())]
    for at, more in steps:
        patterns, expected = made[at % len(made)]
        made.append((patterns.and_more(more), {**expected, **dict.fromkeys(more)}))
    for patterns, expected in made:
        assert list(patterns) == list(expected)
        assert len(patterns) == len(expected)
        assert patterns == Excluded(expected)
        assert all((pattern in patterns) == (pattern in expected) for pattern in (b"^/a", b"^/ab", b"x", b"/"))


@given(st.lists(PATTERNS), st.lists(PATTERNS), st.sampled_from([b"", b"/", b"/a", b"/ab", b"/abcd", b"/b", b"y"]))
def test_near_are_those_that_may_begin_so(first: list[bytes], rest: list[bytes], text: bytes) -> None:
    """The index finds what a look at each finds, also of a part of the log."""
    part = Excluded(first)
    whole = part.and_more(rest)
    for patterns in (part, whole):
        assert list(patterns.near(text)) == [pattern for pattern in patterns if may_begin(pattern, text)]


@given(st.lists(PATTERNS, max_size=3), st.lists(PATTERNS), PATTERNS)
def test_one_pattern_more(inside: list[bytes], outside: list[bytes], pattern: bytes) -> None:
    """One pattern that a value does not match is what it is among several."""
    known = Known(dict.fromkeys(inside)).with_known(Known(outside=Excluded(outside)))
    assert known.with_answer(pattern, False) == known.with_known(Known(outside=Excluded([pattern])))


def _looks(rules: int) -> int:
    """Return how many beginnings are looked at for a list of rules, each tried where none before matches."""
    before = beginning.cache_info()
    known = Known()
    for rule in range(rules):
        pattern = b"^/page-%d/" % rule
        assert known.answer(pattern) is None
        known.with_answer(pattern, True)
        known = known.with_answer(pattern, False)
    after = beginning.cache_info()
    return after.hits + after.misses - before.hits - before.misses


def test_a_list_costs_what_its_rules_cost() -> None:
    """Twice the rules are twice the work, not four times."""
    assert _looks(800) <= 2.2 * _looks(400)
