"""What `verify` reads off a pattern holds for whatever PCRE matches with it."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from nginxopt._native import captures
from nginxopt.verify.executor import ProgramIndex
from nginxopt.verify.path_condition import is_empty
from nginxopt.verify.patterns import (
    beginning,
    beginnings,
    branches,
    equal_to,
    escaped,
    few_values,
    group,
    group_names,
    in_any_case,
    matches,
    may_begin,
    may_give_up,
    only_value,
    starts_with,
    without,
)
from nginxopt.verify.program import Operation
from tests.rows import every_row

SUBJECTS = st.text("/abA-.\n", max_size=7).map(str.encode)

_PIECES = (
    "a",
    "b",
    "/",
    "-",
    r"\.",
    ".",
    "[ab]",
    "[^/]",
    "a?",
    "b*",
    "(?:a|b)",
    "(?:ab|a|)",
    "(a|b)",
    "(?<k>ab|a|/a)",
    "(?<k>/[^/b]*/)",
    "(?<k>.*)",
    "|",
)


@st.composite
def patterns(draw: st.DrawFn) -> bytes:
    """Patterns of a few pieces."""
    pieces = draw(st.lists(st.sampled_from(_PIECES), min_size=1, max_size=4))
    named = sum("?<k>" in piece for piece in pieces)
    text = "".join(pieces) if named < 2 else "a"
    return "".join(
        [draw(st.sampled_from(("", "(?i)", "(?s)"))), "^", text, draw(st.sampled_from(("", "$", r"\z")))]
    ).encode()


@given(patterns(), SUBJECTS)
def test_what_a_group_holds(pattern: bytes, subject: bytes) -> None:
    """A group holds one of its strings, and none that is tried before; where it holds a text, `holding` matches."""
    found = captures(pattern, subject)
    own = group(pattern, "1")
    if found is None or own is None:
        return
    held = found[0][1]
    assert held is not None
    assert captures(own.holding(escaped(held)), subject) is not None
    if own.strings is not None:
        assert held in own.strings
        assert held in own.near(subject.lower())
        assert not any(captures(own.holding(escaped(text)), subject) for text in own.tried_before(held, own.strings))
    others = (text for text in (b"", b"a", b"A", b"ab", b"/a", b"/a/", b"/A/", b"//", b"/a/a/") if text != held)
    for text in others:
        if own.determines(text):
            assert captures(own.holding(escaped(text)), subject) is None


@every_row(
    ("pattern", "text", "determines"),
    [
        (rb"^(.*)\z", b"/a", True),
        (rb"(?s)^(.*)\n\z", b"/a", True),
        (rb"(?i)^(.*)\z", b"/a", False),
        (rb"^(.*)$", b"/a", False),
        (rb"^(/[^/A-Z\x0a]*/x/)(.*)$", b"/a/x/", True),
        (rb"^(/[^/A-Z\x0a]*/x/)(.*)$", b"/A/x/", False),
        (rb"^(/[^/]*/)(.*)$", b"/a/b/", False),
        (rb"^(/[^/]*/)(.*)$", b"", False),
        (rb"^(/[^a]*/)(.*)$", b"/b/", False),
        (rb"^(/[^/]*)(.*)$", b"/a", False),
        (rb"(?i)^(/[^/]*/)(.*)$", b"/a/", False),
    ],
)
def test_a_group_that_the_subject_determines(pattern: bytes, text: bytes, determines: bool) -> None:
    """Whatever ignores case, may end elsewhere, or cannot hold a text is not."""
    own = group(pattern, "1")
    assert own is not None
    assert own.determines(text) == determines


@pytest.mark.parametrize("pattern", ["^(?i:/a)(?#)*/b", "^/\\x61(?#)*b", "^/a(?#c)*b", r"^/a\E*b", r"^/a\Q\E?b"])
def test_what_stands_before_a_quantifier(pattern: str) -> None:
    """PCRE passes over a comment and an empty quotation: the quantifier is that of what stands before."""
    assert beginning(pattern.encode()) in (b"", b"/")


@given(patterns(), SUBJECTS)
def test_what_a_pattern_begins_with(pattern: bytes, subject: bytes) -> None:
    """What a pattern matches starts with its beginning, and is matched by one of its beginnings."""
    is_match = captures(pattern, subject) is not None
    own, first = beginning(pattern), beginnings(pattern)
    if is_match:
        assert own is None or subject.lower().startswith(own)
        assert all(may_begin(pattern, subject[:end].lower()) for end in range(len(subject) + 1))
    if first is not None:
        assert first.strings is not None
        assert is_match == any(map(subject.startswith, first.strings))


@given(patterns(), SUBJECTS)
def test_the_negation_of_a_look_ahead(pattern: bytes, subject: bytes) -> None:
    """A pattern that is a negative look-ahead matches what the pattern inside does not."""
    inside = without(b"^(?!" + pattern.removeprefix(b"^") + b")")
    if inside is not None and not pattern.startswith(b"(?"):
        negated = captures(b"^(?!" + pattern.removeprefix(b"^") + b")", subject)
        assert (negated is None) == (captures(inside, subject) is not None)


@given(st.binary(max_size=5), st.binary(max_size=5))
def test_plain_text(text: bytes, subject: bytes) -> None:
    """A text as a pattern matches that text, wherever it is asked to."""
    assert only_value(equal_to(text)) == text
    assert (captures(equal_to(text), subject) is not None) == (text == subject)
    assert (captures(starts_with(text), subject) is not None) == subject.startswith(text)


@every_row(
    "pattern",
    [
        "^/(a)*", "^/(a|b)?", "^/((a)b)", "^(?:/(a))", "^/(a)|b", "^/(?=a)(b)", r"^/(a)\1", "^/(?>a)(b)", "^/a++(b)",
        r"^/\Qa\E(b)", "^/(?i)(a)", "^/[(a)", "^/(a", "^/a)", "^/(?#(a))", r"^/\K(a)", "^/(*SKIP)(a)",
    ],
)  # fmt: skip
def test_a_group_that_is_not_clear(pattern: str) -> None:
    """Of a group that may take no part, or in a pattern with anything unusual, nothing is said."""
    assert group(pattern.encode(), "1") is None


def test_strings_in_their_order() -> None:
    """The strings are those of nested alternatives, the first that is tried first."""
    own = group(rb"^(?<k>/(?:b(?:log|)|a\.b|))/x$", "k")
    assert own is not None
    assert own.strings == (b"/blog", b"/b", b"/a.b", b"/")
    short = group(b"^(/a/b|/a|/)", "1")
    assert short is not None
    assert short.strings is not None
    assert short.tried_before(b"/a", short.strings) == (b"/a/b",)
    assert set(short.tried_before(b"/", short.strings)) == {b"/a/b", b"/a"}


def _program(tests: list[bytes | None]) -> tuple[Operation, ...]:
    """A program of rewrites with these patterns; None for another operation."""
    return tuple(
        Operation("set", ("$x", "1"), None, (), None, at, None)
        if text is None
        else Operation("rewrite", (text.decode(), "/", None), None, (), None, at, None)
        for at, text in enumerate(tests)
    )


@given(st.lists(st.one_of(st.none(), patterns()), max_size=8), SUBJECTS, st.integers(0, 8), st.integers(0, 7))
def test_nothing_is_passed_over_that_matches(tests: list[bytes | None], subject: bytes, at: int, length: int) -> None:
    """From a place on, the index leads to no operation behind one that a URI may meet."""
    at = min(at, len(tests))
    behind = ProgramIndex(_program(tests)).first(at, subject[:length].lower())
    assert at <= behind <= len(tests)
    for text in tests[at:behind]:
        assert text is not None
        assert captures(text, subject) is None


_LOOKS = (*_PIECES, "^", "$", "(?!a)", "(?<=/)", "((?!b)a|b)", r"\b", "(?:a|(?!/)b)*")


@given(st.lists(st.sampled_from(_LOOKS), min_size=1, max_size=7).map("".join), SUBJECTS)
def test_branches(pattern: str, subject: bytes) -> None:
    """A subject matches a pattern just if it matches one of its branches."""
    text = (pattern if pattern.count("?<k>") < 2 else "a|b").encode()
    found = branches(text)
    assert len(found) > 1 or "|" not in _outside_groups(text.decode())
    assert (captures(text, subject) is not None) is any(captures(branch, subject) is not None for branch in found)


def _outside_groups(pattern: str) -> str:
    depth, outside = 0, ""
    for byte in pattern:
        depth += {"(": 1, ")": -1}.get(byte, 0)
        outside += byte if depth == 0 else ""
    return outside


def test_patterns_that_are_not_divided() -> None:
    """What reaches from one branch to another keeps a pattern whole."""
    for pattern in (
        *(b"(?i)a|b", rb"(a)|\1b", rb"a\|b", b"[|]a", b"(?|a|b)|c", rb"a\Q|\Eb", b"(*COMMIT)a|b", b"a|(?>b)c"),
        *(rb"a|b\Kc", b"(?i:a)|b", b"a|(?R)b", b"(a)|(?1)b", b"a|(b", b"a|b)", rb"a|\xAB", rb"(?<n>a)|\k<n>"),
    ):
        assert branches(pattern) == (pattern,)


def test_regions_of_patterns_with_look_arounds() -> None:
    """A pattern for several, of which some have a look-around, and none of these have no value in common."""
    inner = (b"^/a/(.*)$", rb"^/x(/((?!(7\.6|6\.2)).*))?$", b"^/b(?<!c)")
    union = rb"^/a/.*$|^/x(?:/(?:(?!(?:7\.6|6\.2)).*))?$|^/b(?<!c)"
    assert is_empty((union,), inner)
    assert all(is_empty((pattern,), (union,)) for pattern in inner)
    for at in range(3):
        assert not is_empty((union,), inner[:at] + inner[at + 1 :])
        assert not is_empty((inner[at],), (union.replace(b"/" + b"axb"[at : at + 1], b"/q"),))


def test_groups_of_groups_of_many_with_look_arounds() -> None:
    """A pattern for many, inside one for more, has no value that none of the many matches."""
    inner = tuple(rb"^/%c(/(?!\d).*)?$" % letter for letter in b"abcdefghijklmnopqrstuvwxyz")
    union, part = (b"|".join(pattern.replace(b"(/", b"(?:/") for pattern in inner[:most]) for most in (26, 8))
    assert is_empty((union, part), inner)
    assert not is_empty((union, part), inner[1:])


def test_a_pattern_for_many_that_match_anywhere() -> None:
    """All of the many have no value in common with the rest of it, and each but one leaves a value; more patterns than
    a search excludes at first take no automaton of all of them."""
    inner = tuple(rb"/%c.x%s" % (letter, end) for letter in b"abcdefghijkl" for end in (b"", b"$"))
    union = b"/(?:" + b"|".join(pattern[1:] for pattern in inner) + b")"
    others = tuple(rb"^/q%d\.html$" % number for number in range(300))
    assert is_empty((union,), (*others, *inner))
    assert is_empty((union, b"^/z"), (*others, *inner[::2]))
    assert not is_empty((union,), (*others, *inner[2:]))


_SHORT = [bytes(text) for length in range(6) for text in product(b"/aA\n", repeat=length)]
_OF_FEW = (
    rb"^/a$",
    rb"^/a\z",
    rb"^/\a?$",
    b"^/a?$",
    b"^/A/?\\z",
    b"(?s)^/a\n\\z",
    b"(?s)^/a?\\n$",
    b"^$",
    rb"^/\x61\Z",
)
_OF_MORE = (rb"(?i)^/a\z", b"(?s)^(?i:/a)\n\\z", b"^/a*$", b"^/(?:a|A)", b"^", b"A", b"(?i)^/a/?$", rb"^[^A-Z]*\z")


def test_patterns_with_few_values() -> None:
    """The values are all that the pattern matches."""
    for pattern in _OF_FEW[:2] + _OF_FEW[3:]:
        assert set(few_values(pattern)) == {text for text in _SHORT if matches(pattern, text)}, pattern
    assert not any(map(few_values, (*_OF_MORE, _OF_FEW[2], b"^?$", b"^/a??$", b"^/a?+$", b"/a$", b"^/.a$", b"^/a")))


@given(st.lists(st.sampled_from(_OF_FEW + _OF_MORE), max_size=3), st.lists(st.sampled_from(_OF_FEW + _OF_MORE)))
def test_regions_of_few_values(inside: list[bytes], outside: list[bytes]) -> None:
    """A region is empty if no value is in it; where its values are few, the reverse holds too."""
    left = [
        text
        for text in _SHORT
        if all(matches(pattern, text) for pattern in inside) and not any(matches(pattern, text) for pattern in outside)
    ]
    is_nothing = is_empty(tuple(inside), tuple(outside))
    assert not (is_nothing and left)
    assert is_nothing or left or not any(map(few_values, inside))


def test_names_of_groups() -> None:
    """The names of groups are in lower case; what is escaped, quoted, a comment or in a class is no group."""
    assert group_names(rb"^/(?<k>a)(?P<Q>[^]/]+)(?'z'c)$") == ("k", "q", "z")
    for text in (rb"\(?<k>a", rb"\Q(?<k>a\E", rb"(?#(?<k>)", rb"[(?<k>]", rb"(?<=a)"):
        assert group_names(text) == ()


@given(
    st.lists(patterns(), min_size=1, max_size=3),
    st.lists(patterns(), min_size=1, max_size=3),
    st.lists(SUBJECTS, min_size=5),
)
def test_no_value_is_in_a_region_that_is_empty(
    inside: list[bytes], outside: list[bytes], subjects: list[bytes]
) -> None:
    """However a region is found to be empty: by texts, by values found before, by parts of patterns or by automata."""
    if is_empty(tuple(inside), tuple(outside)):
        for subject in subjects:
            is_inside = all(matches(pattern, subject) for pattern in inside)
            assert not is_inside or any(matches(pattern, subject) is not False for pattern in outside)


@every_row(
    ("pattern", "may"),
    [
        (b"^/(a+)+$", True),
        (b"^/(.*)/(.*)$", True),
        (b"(?:a|a)(?:a|a)(?!)", True),
        (b"^/(?=a).*$", True),
        (b"(a?(?R))", True),
        (b"^a(?!)", False),
        (b"^/a/(.*)", False),
        (rb"\.(?:png|gif)\z", False),
    ],
)
def test_patterns_on_which_pcre_may_give_up(pattern: bytes, may: bool) -> None:
    """All but those that automata know, and those that can match in one way only."""
    assert may_give_up(pattern) == may


@pytest.mark.parametrize(
    "pattern",
    [
        *(
            rb"^/[^/]+",
            b"^/a++B",
            b"^/(?!a)B",
            rb"(a)\1",
            b"^/[[:upper:]]",
            b"(?-i)a",
            b"a{2}+A",
            rb"\Qa\E",
            b"a(*SKIP)B",
        ),
        *(b"(?>a|ab)C", b"[^]a]", b"a?+A", rb"\p{Lu}", b"(?i:a)", b"(?<n>a)"),
    ],
)
def test_patterns_that_another_case_may_not_match(pattern: bytes) -> None:
    """Where a part excludes something or keeps what it took, other cases may not match."""
    assert in_any_case(pattern) is None


@given(
    st.lists(
        st.sampled_from(
            [b"a", b"B", b"(a|Bc)", b"(?:c)?", b"[a-cX]*", rb"\w", rb"[\d]b]", b".+", rb"\x41", b"{1,2}", b"$"]
        )
    ),
    st.sampled_from([b"", b"(?i)", b"(?s)", b"(?is)"]),
    st.text("aAbBcCxX1]\n", max_size=6),
)
def test_a_pattern_in_any_case_matches_all_cases(parts: list[bytes], flags: bytes, subject: str) -> None:
    """What a pattern matches, it does not fail to match in any case, however the text is spelled."""
    pattern = flags + b"^" + b"".join(parts)
    wider = in_any_case(pattern)
    assume(wider is not None and matches(pattern, subject.encode()))
    assert wider is not None
    spellings = (subject, subject.lower(), subject.upper(), subject.swapcase())
    assert all(matches(wider, each.encode()) is not False for each in spellings)
