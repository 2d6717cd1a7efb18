"""Patterns of rewrites, with URIs that matter to them: what is moved into maps, what stays, and what is in between."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tests.rulegen import escape, word


@dataclass(frozen=True, slots=True)
class Pattern:
    """A regular expression, what kind it is of, its number of groups, and URIs (not all of them match)."""

    kind: str
    regex: bytes
    groups: int
    uris: tuple[bytes, ...]


Make = Callable[[random.Random, bytes], Pattern]

# Tails of patterns on which the libraries differ, or that a translator may read wrongly.
TRICKY = (
    rb"[0-9]{,3}", rb"[0-9]{1, 3}", rb"[0-9]{ 1,3 }", rb"a{,}", rb"a{2}", rb"[Aa]{2}", rb"a{0}", rb"a{0,2}",
    rb"a{1,3}?b", rb"/?x[0-9]{0,2}", rb"\p{Greek}", rb"\p{Lu}", rb"(?i)\p{Lu}", rb"\p{L}+", rb"\P{L}", rb"\x", rb"\x41",
    rb"\x{41}", rb"\x{ 41 }", rb"\o{101}", rb"\101", rb"\8", rb"\b{ 1}", rb"a\b", rb"\Ba", rb"[\w-.]", rb"[\d-z]",
    rb"[a-\d]", rb"[\w.-]", rb"\Qa.b\E", rb"a\E", rb"\R", rb"\h", rb"\v", rb"\s", rb"\S", rb"[\s]", rb"\N", rb"\X",
    rb"a\Kb", rb"(?<=/a)b", rb"(?<!a)b", rb"(?<=a|bb)b", rb"(?>a|ab)b", rb"(?>a)b", rb"a++", rb"a++a", rb"[ab]*+b",
    rb"(?i:a)b", rb"(?-i:a)", rb"(?s).", rb"(?m)a$", rb"(?x)a b", rb"(?#c)a", rb"(?J)a", rb"(?U)a+", rb"(?n)(a)",
    rb"(?|(a)|(b))", rb"(a)?(?(1)b|c)", rb"(a|b)\1", rb"(a)\g1", rb"(a)\g{1}", rb"(?<n>a)\k<n>", rb"(?P<nm>a|b)",
    rb"(?'q'a)", rb"(?:a|b(?1))?", rb"[[:alpha:]]", rb"[[:^digit:]]", rb"[[:upper:]]", rb"[^]a]", rb"[]a]", rb"[a&&b]",
    rb"[a--b]", rb"[\x41-\x43]", rb"[A-Z]", rb"[^\n]", rb"[\b]", rb"[.]", rb"[$]", rb"$", rb"a$$", rb"a\Z", rb"a\z",
    rb"a$(?!\n)", rb"a(?=$)", rb"a(?=\n)", rb"a\n", rb"\na", rb"a\r?", rb"a\e?", rb"a\t?", rb"\cA", rb"()", rb"(?:)",
    rb"(|a)", rb"(a|)", rb"a||b", rb"(a*)*", rb"(a|a)", rb"a.b", rb"a.?b", rb".", rb"\.", rb"\/a", rb"\_a", rb"\-a",
    rb"\!a", rb"\@a", rb"a\#", rb"a\ b", rb"a b", rb"a%20b", rb"a\%20b", rb"a+b", rb"a\+b", rb"\$a", rb"a\?b", rb"a?b",
    rb"a\{2\}", rb"a{", rb"a{2", rb"{a}", rb"a}", rb"\d", rb"\d{2}", rb"\w", rb"\D", rb"\W", "é".encode(), b"\xe9",
    "[éè]".encode(), "(?i)É".encode(), "(?i)é".encode(), b"[\x80-\xff]", rb"(?i)k", rb"(?i)s", rb"(?i)[k-s]",
    rb"(?i)ab|cd", rb"((?i)a)b", rb"(?i)a(?-i)b", rb"a(?i)b", rb"(?:(?i)a|b)c", rb"\y", rb"\j", rb"\u0041",
    rb"\N{U+41}", rb"(?:a|b|)(?:c|)", rb"(a(b)?)+", rb"(?:(a)|b)+", rb"[^/]+", rb".*", rb"(.*)", rb"([^/]*)/?",
    rb"(?:index\.(?:html?|php))?", rb"(?!a)b", rb"(?!ab)a.", rb"(?:a(?!b)|c)b",
)  # fmt: skip

TAILS = (
    b"", b"a", b"aa", b"aaa", b"A", b"Aa", b"ab", b"abb", b"b", b"bb", b"bab", b"c", b"ac", b"/a", b"/ab", b"1", b"12",
    b"42", b"123", b"1234", b"{,3}", b"1{,3}", b"1{1, 3}", b"1{ 1,3 }", b"a{,}", b"x", b"x1", b"x12", b"/x1", b"41",
    b"x41", b"\0", b"\x01", b"\x0b", b"\n", b"a\n", b"a\n\n", b"\na", b" ", b"a b", b"a%20b", b"a+b", b"\xe9",
    "é".encode(), "É".encode(), "\u03b1".encode(), "Ж".encode(),
    b"k", b"K", b"S", b"s", b"\xc5\xbf", b".", b"-", b"a.b",
    b"axb", b"_", b"_a", b"-a", b"$", b"$a", b"#", b"a#", b"?", b"a?b", b"{a}", b"a}", b"a{", b"a{2", b"a{2}", b"[",
    b"]", b"^", b"\\", b"\\x", b"y", b"j", b"u0041", b"index.html", b"index.php", b"cb", b"CD", b"cd", b"AB", b"!a",
    b"@a", b"Q", b"a\x1b", b"a\t", b"bc", b"ad",
)  # fmt: skip

# From configurations in use: what a WordPress, a shop, a forum or a moved site has.
WILD = (
    (rb"^{b}(.*)\.php$", 1, (b"x.php", b"a/b.php", b".php")),
    (rb"^{b}feed/(feed|rdf|rss|rss2|atom)/?$", 1, (b"feed/rss", b"feed/atom/", b"feed/RSS")),
    (rb"^{b}(\d{4})/(\d{2})/([^/]+)/?$", 3, (b"2011/03/a", b"2011/03/a/", b"11/3/a")),
    (rb"^{b}(about|contact|imprint)\.html?$", 1, (b"about.html", b"imprint.htm", b"about.HTML")),
    (rb"^{b}index\.php$", 0, (b"index.php", b"INDEX.php", b"index-php")),
    (rb"^{b}index.php$", 0, (b"index.php", b"indexxphp")),
    (rb"^{b}([a-z]{2})/?$", 1, (b"en", b"de/", b"EN")),
    (rb"^{b}sitemap(-+([a-zA-Z0-9_-]+))?\.xml(?:\.gz)?$", 2, (b"sitemap.xml", b"sitemap-a.xml", b"sitemap.xml.gz")),
    (rb"(.*)/trackback/?$", 1, (b"a/trackback", b"trackback/")),
    (rb"/wp-admin$", 0, (b"wp-admin", b"x/wp-admin")),
    (rb"^{b}files/(.+)$", 1, (b"files/a/b", b"files/")),
    (rb"^{b}(robots\.txt|favicon\.ico)$", 1, (b"robots.txt", b"favicon.ico")),
    (rb"^{b}node/([0-9]+)$", 1, (b"node/1", b"node/12", b"node/x")),
    (rb"(?i)^{b}Default\.aspx$", 0, (b"Default.aspx", b"default.ASPX")),
    (rb"^{b}([^.]*[^/])$", 1, (b"dir", b"dir/", b"dir.x")),
    (rb"^{b}old-(one|two|three)(?:/.*)?$", 1, (b"old-one", b"old-two/x", b"old-")),
)

CATASTROPHIC = (rb"(a+)+$", rb"(?:a|aa)+$", rb"(a|b|ab)*c$", rb"(?:[^x]|y)*z$", rb"(.*a){12}$")


def _literal(draw: random.Random, base: bytes) -> Pattern:
    uri = base + word(draw)
    return Pattern("literal", b"^%s$" % escape(uri), 0, (uri,))


def _plain(draw: random.Random, base: bytes) -> Pattern:
    uri = base + b"".join(
        draw.choice((b"old", b"new", b"a", b"B", b"b", b"x", b"-1", b"page", b"/s")) for _ in range(3)
    )
    return Pattern("literal", b"^%s$" % escape(uri), 0, (uri,))


def _ignoring_case(draw: random.Random, base: bytes) -> Pattern:
    uri = base + word(draw)
    return Pattern("(?i)", b"(?i)^%s$" % escape(uri), 0, (uri, uri.swapcase()))


def _very_end(draw: random.Random, base: bytes) -> Pattern:
    uri = base + word(draw)
    return Pattern(r"\z", rb"^%s\z" % escape(uri), 0, (uri,))


def _optional(draw: random.Random, base: bytes) -> Pattern:
    uri, part = base + word(draw), draw.choice((b"/", b"a", b".html", b"-b"))
    group = draw.choice((b"(?:%s)?", b"(%s)?")) % escape(part)
    return Pattern("optional", b"^%s%s$" % (escape(uri), group), 1 - (b"?:" in group), (uri, uri + part))


def _alternation(draw: random.Random, base: bytes) -> Pattern:
    words = [word(draw) for _ in range(draw.randint(2, 4))]
    group = draw.choice((b"(%s)", b"(?:%s)")) % b"|".join(map(escape, words))
    tail = draw.choice((b"", b"/a", b".html"))
    uris = tuple(base + alternative + tail for alternative in words)
    return Pattern("alternation", b"^%s%s%s$" % (escape(base), group, escape(tail)), 1 - (b"?:" in group), uris)


def _two_groups(draw: random.Random, base: bytes) -> Pattern:
    heads, tails = [word(draw), word(draw)], [word(draw), b"A", b""]
    groups = b"(%s)-(%s)?" % (b"|".join(map(escape, heads)), b"|".join(map(escape, tails)))
    uris = tuple(b"%s%s-%s" % (base, head, tail) for head in heads for tail in tails)
    return Pattern("two groups", b"^%s%s$" % (escape(base), groups), 2, uris)


def _small_class(draw: random.Random, base: bytes) -> Pattern:
    uri = base + word(draw)
    group = draw.choice((b"[ab]", b"[aA]", b"[0-3]", b"(a|[bB])", b"([0-9])", b"[^/]"))
    return Pattern(
        "class", b"^%s%s$" % (escape(uri), group), group.count(b"("), tuple(uri + x for x in (b"a", b"A", b"2"))
    )


def _top_alternation(draw: random.Random, base: bytes) -> Pattern:
    first, second = base + word(draw), base + word(draw)
    uris = (first, second, first + b"zz", base + b"zz" + second)
    return Pattern("top-level |", b"^%s|%s$" % (escape(first), escape(second)), 0, uris)


def _unescaped_dot(draw: random.Random, base: bytes) -> Pattern:
    uri = base + draw.choice((b"a.html", b"b.php", b"x.y"))
    return Pattern("unescaped dot", b"^%s$" % uri, 0, (uri, uri.replace(b".", b"-"), uri.replace(b".", b"\n")))


def _prefix(draw: random.Random, base: bytes) -> Pattern:
    uri = base + word(draw)
    tail, groups = draw.choice(((b"", 0), (b"/", 0), (b"(.*)$", 1), (b"/(.+)", 1), (rb"(?!\d)", 0)))
    return Pattern("prefix", b"^" + escape(uri) + tail, groups, (uri, uri + b"/a", uri + b"/a b/c+", uri + b"1"))


def _unanchored(draw: random.Random, base: bytes) -> Pattern:
    uri = base + word(draw)
    return Pattern("unanchored", draw.choice((b"%s", b"%s$")) % escape(uri), 0, (uri, base + uri, uri + b"/b"))


def _catch_all(draw: random.Random, base: bytes) -> Pattern:
    regex, groups = draw.choice(((b"^", 0), (b"^/(.*)$", 1), (b".*", 0), (b"^(%s.*)" % escape(base), 1), (b"$", 0)))
    return Pattern("catch-all", regex, groups, (base + b"any", base))


def _tricky(draw: random.Random, base: bytes) -> Pattern:
    stem = base + draw.choice((b"", b"a", b"t/", b"id/"))
    tail = draw.choice(TRICKY)
    options = b"(?i)" if draw.random() < 0.1 else b""
    end = draw.choice((b"$", b"$", b"$", b"", rb"\z"))
    uris = tuple(stem + ending for ending in (*draw.sample(TAILS, 14), *_literally(tail)))
    return Pattern("tricky", b"%s^%s%s%s" % (options, escape(stem), tail, end), tail.count(b"("), uris)


def _literally(tail: bytes) -> tuple[bytes, ...]:
    """What a tail would match, were its signs text, for a reader that takes them for it or not."""
    stem = tail.partition(b"{")[0].replace(b"[0-9]", b"1").replace(b"\\", b"")
    return (tail, tail.replace(b"[0-9]", b"4"), stem, stem * 2, stem + b"2", tail.replace(b"\\", b""))


def _wild(draw: random.Random, base: bytes) -> Pattern:
    regex, groups, tails = draw.choice(WILD)
    return Pattern("wild", regex.replace(b"{b}", escape(base)), groups, tuple(base + tail for tail in tails))


def _catastrophic(draw: random.Random, base: bytes) -> Pattern:
    tail = draw.choice(CATASTROPHIC)
    uris = (base + b"a" * 36 + b"!", base + b"a" * 8, base + b"ab" * 1300 + b"x")
    return Pattern("catastrophic", b"^%s%s" % (escape(base), tail), tail.count(b"("), uris)


def _repeated(draw: random.Random, base: bytes) -> Pattern:
    count = draw.choice((250, 700, 3000))
    group = draw.choice((b"(a){%d}", b"(?:a){%d}", b"a{%d}"))
    uris = (base + b"a" * count, base + b"a" * (count + 1))
    return Pattern("repeated", b"^%s%s$" % (escape(base), group % count), 0, uris)


def _long(draw: random.Random, base: bytes) -> Pattern:
    uri = base + b"l" * draw.choice((240, 255, 256, 1030, 2600, 4000, 4080))
    return Pattern("long", b"^%s$" % escape(uri), 0, (uri,))


KINDS: tuple[tuple[float, Make], ...] = (
    (30, _plain), (14, _literal),
    (6, _ignoring_case), (3, _very_end), (8, _optional), (8, _alternation), (3, _two_groups),
    (4, _small_class), (1, _top_alternation), (3, _unescaped_dot), (4, _prefix), (2, _unanchored), (0.5, _catch_all),
    (6, _tricky), (4, _wild), (0.15, _catastrophic), (0.3, _repeated), (0.5, _long),
)  # fmt: skip

# What no list of strings replaces, mostly.
INFINITE: tuple[tuple[float, Make], ...] = (
    (30, _prefix), (10, _wild), (8, _unescaped_dot), (8, _plain), (6, _unanchored), (4, _ignoring_case),
    (2, _catastrophic), (1, _repeated), (1, _catch_all), (1, _top_alternation), (1, _long),
)  # fmt: skip


def pattern(draw: random.Random, base: bytes, kinds: Sequence[tuple[float, Make]] = KINDS) -> Pattern:
    """Return a random pattern for URIs below `base`; with the usual kinds, about two of three are finite."""
    return draw.choices([make for _, make in kinds], [weight for weight, _ in kinds])[0](draw, base)
