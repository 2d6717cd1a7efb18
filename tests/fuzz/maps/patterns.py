"""Patterns of rows, with strings that matter to them (not all of them match)."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from tests.fuzz.maps.words import Style
from tests.fuzz.rewrites.patterns import CATASTROPHIC, TAILS, TRICKY
from tests.rulegen import escape


@dataclass(frozen=True, slots=True)
class Pattern:
    """A regular expression without its `~`, its number of numbered groups, its names, and strings."""

    regex: bytes
    groups: int
    strings: tuple[bytes, ...]
    names: tuple[bytes, ...] = ()
    caseless: bool = False


Make = Callable[[random.Random, Style], Pattern]

_REFUSED = (
    rb"\8", rb"(?n)(a)", rb"[a-\d]", rb"[\w-.]", rb"[a--b]", rb"\j", rb"\N{U+41}", rb"(?:a|b(?1))?", rb"\u0041", rb"\y",
    rb"\x{ 41 }", rb"[\d-z]",
)  # fmt: skip
"""Those that PCRE2 10.42 or PCRE 8 does not compile: nginx would refuse the whole map."""
_TRICKY = tuple(tail for tail in TRICKY if tail not in _REFUSED)

_OPEN = (
    (b".*$", 0), (b".*", 0), (b"(.*)$", 1), (b"/.*$", 0), (b"", 0), (b"/", 0), (b"/?", 0), (b"(/.*)?$", 1),
    (b"(?:/|$)", 0), (b"(?:/.*)?$", 0), (b"[^/]*$", 0), (b"[^/]+$", 0), (b"(\\d+)", 1), (b"\\d+.*$", 0), (b"(?!x)", 0),
    (b"(?=/)", 0), (b".+$", 0), (b".?$", 0), (b"\\b", 0), (b"[\\s\\S]*$", 0), (b"(?s).*$", 0), (b"(?s:.*)\\z", 0),
    (b"[^x]*", 0), (b"[a-z]*$", 0), (b"(?:.*)$", 0), (b".*?$", 0), (b".{0,3}$", 0), (b"(?:\\.html?)?.*$", 0),
    (b".*\\z", 0),
)  # fmt: skip
_TAILS = (b"", b"/", b"x", b"/x", b"/x/y", b"\n", b"x\n", b"\nx", b"x\ny", b"1", b"12x", b"?q", b".html", b"X", b" ")


def _plain(draw: random.Random, style: Style) -> tuple[bytes, bytes]:
    """Return a word and a pattern for it, in which dots are perhaps not escaped."""
    word = style.word(draw)
    regex = escape(word)
    return word, regex.replace(rb"\.", b".") if draw.random() < 0.5 else regex


def _open(draw: random.Random, style: Style) -> Pattern:
    word, regex = _plain(draw, style)
    tail, groups = draw.choice(_OPEN[:4] if draw.random() < 0.5 else _OPEN)
    return Pattern(b"^" + regex + tail, groups, tuple(word + tail_ for tail_ in draw.sample(_TAILS, 6)))


def _dotted(draw: random.Random, _: Style) -> Pattern:
    """Return a pattern of few segments with dots, some of which are escaped, and strings with another byte there."""
    segments = [draw.choice((b"a", b"b.c", b"v1.0", b"v1.2", b"v2", b"ab")) for _ in range(draw.randint(1, 3))]
    word = b"/" + b"/".join(segments) + draw.choice((b"", b".html", b".htm", b".b.c"))
    pieces = word.split(b".")
    regex = pieces[0] + b"".join(draw.choice((b".", b".", rb"\.", rb"[\x00-\xff]")) + piece for piece in pieces[1:])
    tail, groups = draw.choice(((b".*$", 0), (b".*$", 0), (b"$", 0), (b"$", 0), (b"", 0), (b"(.*)$", 1)))
    strings = [b"".join(draw.choice((b".", b"x", b"\n", b"a")) + piece for piece in pieces)[1:] for _ in range(6)]
    return Pattern(b"^" + regex + tail, groups, (word, word + b"\n", *(each + draw.choice(_TAILS) for each in strings)))


_ALIKE = (
    (b"/", 0), (b"/(.*)$", 1), (b"/.*$", 0), (b".html$", 0), (b".html", 0), (b".htm", 0), (b"(/.*)?$", 1),
    (b"/([0-9]+)$", 1), (b"/([^/]+)/x$", 1),
    (b".ph[pt]$", 0), (b"(?:/x)?$", 0), (b"[^a]html$", 0), (b"./x$", 0), (b".+$", 0), (b"/x?$", 0),
)  # fmt: skip
_BEHIND = (
    b"", b"/", b"/x", b"/12", b"/12\n", b"/x\ny", b".html", b"xhtml", b"/html", b"\nhtml", b".html\n", b".htmlx.html",
    b"ahtml.html", b".php", b".php\n", b".phtml", b"X.html", b"/X/x", b"/y/x", b"\n", b"//x", b"a", b"a/x",
)  # fmt: skip


def _alike(draw: random.Random, _: Style) -> Pattern:
    """Return a pattern of a literal and something that many rows have behind theirs."""
    some = (b"a", b"b", b"f.g", b"Q", b"html", b"")
    count = draw.choice((1, 2, 2, 2, 3))
    segments = [draw.choice(some) if draw.random() < 0.1 else b"p%d" % draw.randrange(40) for _ in range(count)]
    literal = b"/" + b"/".join(segments)
    behind = tuple(literal + end for end in draw.sample(_BEHIND, 8))
    if draw.random() < 0.15:
        ending = draw.choice((b"", b".php", b".php", b".htm"))
        strings = (literal + ending, literal + ending + b"\n", b"/q" + literal + ending, b"/q/" + literal[1:] + ending)
        return Pattern(escape(literal + ending) + b"$", 0, (*strings, *behind))
    tail, groups = draw.choice(_ALIKE[:5] if draw.random() < 0.8 else _ALIKE)
    return Pattern(b"^" + escape(literal) + tail, groups, behind)


def _exact(draw: random.Random, style: Style) -> Pattern:
    word, regex = _plain(draw, style)
    return Pattern(b"^" + regex + draw.choice((b"$", b"$", b"$", rb"\z", rb"\Z", b"/?$")), 0, (word, word + b"\n"))


def _finite(draw: random.Random, style: Style) -> Pattern:
    word, regex = _plain(draw, style)
    tail, strings = draw.choice(
        (
            (b"(?:a|b|ab)", (b"a", b"b", b"ab", b"A")),
            (b"(a|B)?", (b"", b"a", b"b", b"B")),
            (b"[aA]", (b"a", b"A", b"b")),
            (b"[0-9]{1,2}", (b"1", b"12", b"123")),
            (b"(?:/|/index\\.html)?", (b"", b"/", b"/index.html")),
        )
    )
    return Pattern(b"^%s%s$" % (regex, tail), tail.count(b"(") - tail.count(b"(?:"), tuple(word + s for s in strings))


def _middle(draw: random.Random, style: Style) -> Pattern:
    (first, head), (second, tail) = _plain(draw, style), _plain(draw, style)
    between = draw.choice(
        (b".*", b"[^/]+", b"\\d+", b"(.*)", b"([^/]*)", b".", b"[a-c]", b".+", b"(?:x|/y/)", b"(?:/[a-z]+)*")
    )
    strings = tuple(first + between + second for between in (b"", b"x", b"/x", b"1", b"\n", b"a/b"))
    return Pattern(
        b"^%s%s%s%s" % (head, between, tail, draw.choice((b"$", b"", b".*$"))),
        between.count(b"(") and b"?:" not in between,
        strings,
    )


def _unanchored(draw: random.Random, style: Style) -> Pattern:
    word, regex = _plain(draw, style)
    if draw.random() < 0.6:
        word = word.rpartition(style.separator)[2] or word
        regex = escape(word)
    tail, groups = draw.choice(((b"", 0), (b"$", 0), (b".*$", 0), (b"(.*)$", 1), (b"/", 0), (b"(?:x|y)?$", 0)))
    strings = (word, b"/q" + word, word + b"z", b"/q/" + word + b"/z", b"\n" + word)
    return Pattern(regex + tail, groups, strings)


def _alternatives(draw: random.Random, style: Style) -> Pattern:
    words = [style.word(draw) for _ in range(draw.randint(2, 4))]
    regexes = b"|".join(map(escape, words))
    regex, groups = draw.choice(
        (
            (b"^(?:%s)", 0),
            (b"^(%s)$", 1),
            (b"(?:%s)", 0),
            (b"^(?:%s).*$", 0),
            (b"^%s", 0),
            (b"%s$", 0),
            (b"(?:^|/)(?:%s)", 0),
        )
    )
    return Pattern(
        regex % regexes, groups, (*words, *(b"/q" + word for word in words), *(word + b"x" for word in words))
    )


def _catch_all(draw: random.Random, style: Style) -> Pattern:
    regex, groups = draw.choice(
        (
            (b"^", 0), (b".", 0), (b"^/", 0), (b".*", 0), (b"^(.*)$", 1), (b"$", 0), (b"^$", 0), (b"[A-Z]", 0),
            (b"\\n", 0), (b"^.{12}", 0), (b"^[^/]*/[^/]*$", 0), (b"^(?!/a)", 0), (b"^(?!.*x)", 0), (b"//", 0),
            (b"\\.$", 0), (b"", 0), (b"^.*$", 0), (b"^/(?!docs)", 0), (b"(?s)\\n.", 0), (b"\\z", 0),
            (b"[^a-z/]", 0), (b"^[^a]", 0),
        )
    )  # fmt: skip
    return Pattern(regex, groups, (style.word(draw), b"\n", b"\n\n", b"x"))


def _named(draw: random.Random, style: Style) -> Pattern:
    word, regex = _plain(draw, style)
    name = draw.choice((b"na", b"nb"))
    tail = draw.choice((b"(?<%s>.*)$", b"/(?<%s>[^/]+)", b"(?<%s>x)?", b"(?P<%s>.)$"))
    return Pattern(b"^" + regex + tail % name, 1, (word, word + b"x", word + b"/x"), (name,))


def _tricky(draw: random.Random, style: Style) -> Pattern:
    word, tail = style.word(draw), draw.choice(_TRICKY)
    start, end = draw.choice((b"^", b"^", b"^", b"", rb"\A", b"(?i)^")), draw.choice((b"$", b"$", b"", b".*$", rb"\z"))
    strings = tuple(word + tail for tail in draw.sample(TAILS, 10))
    return Pattern(start + escape(word) + tail + end, 0, strings)


def _catastrophic(draw: random.Random, style: Style) -> Pattern:
    word, tail = style.word(draw), draw.choice((*CATASTROPHIC, rb"(a|b|/)*$", rb".*a.*b.*c"))
    limit = b"(*LIMIT_MATCH=2000)" if draw.random() < 0.8 else b""
    regex = limit + draw.choice((b"^" + escape(word), b"^", b"")) + tail
    return Pattern(regex, 0, tuple(word + rest for rest in (b"a" * 24 + b"!", b"aaa", b"ab" * 200 + b"x")))


KINDS: tuple[tuple[float, Make], ...] = (
    (30, _open), (8, _dotted), (3, _alike), (16, _exact), (5, _finite), (6, _middle), (8, _unanchored),
    (4, _alternatives), (1, _catch_all), (2, _named), (2, _tricky), (0.15, _catastrophic),
)  # fmt: skip


def pattern(draw: random.Random, style: Style, shares: dict[str, float]) -> Pattern:
    """Return a random pattern; `shares` multiply how often a kind comes (by its name), and `caseless` is a share."""
    weights = [weight * shares.get(make.__name__[1:], 1.0) for weight, make in KINDS]
    drawn = draw.choices([make for _, make in KINDS], weights)[0](draw, style)
    if draw.random() >= shares.get("caseless", 0.05):
        return drawn
    strings = (*drawn.strings, *(string.swapcase() for string in drawn.strings))
    if draw.random() < 0.5 or drawn.regex.startswith(b"(*"):
        return Pattern(drawn.regex, drawn.groups, strings, drawn.names, caseless=True)
    return Pattern(b"(?i)" + drawn.regex, drawn.groups, strings, drawn.names)
