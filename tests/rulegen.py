"""Random lists of rewrite rules, for tests that compare two readings of them.

Words come from a small alphabet, so that duplicates, shadowed rules and URIs that differ only in case are
common. The same seed gives the same list, and nginx accepts every list.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

LETTERS = (b"a", b"b", b"A", b"B", b"x1", b"-", b".")
ODD = (
    "é".encode(),
    b"\xff",
    b" ",
    b"+",
    b"%",
    b'"',
    b"'",
    b"{",
    b"}",
    b";",
    b"#",
    b"\\",
    b"$",
    b"&",
    b"|",
    b"?",
)

_UNQUOTED = re.compile(rb"(?:[^\s;{}\"'\\#$]|\\[.?+*()|^$z&-]|\$(?=[a-z0-9)|]|\Z))+\Z")


@dataclass(frozen=True, slots=True)
class Pattern:
    """A regular expression, how many groups it has, and URIs that matter to it (not all of them match)."""

    regex: bytes
    groups: int
    uris: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class RuleList:
    """Rules as included in a server or a location, and the URIs that a test should ask."""

    text: bytes
    uris: tuple[bytes, ...]


def generate(seed: int, count: int = 12) -> RuleList:
    """Return `count` random rules with other directives of the rewrite module between some of them."""
    draw = random.Random(seed)
    lines: list[bytes] = []
    uris: list[bytes] = [b"/", b"/index.html", b"/a", b"/b", b"/A", b"/t/x", b"/zz"]
    for number in range(count):
        if draw.random() < 0.15:
            lines.append(_statement(draw, number))
        pattern = _pick(draw, PATTERNS)(draw)
        line = rewrite(draw, pattern)
        lines.append(line)
        uris += pattern.uris
        if draw.random() < 0.06:
            lines.append(line)
    return RuleList(b"\n".join([*lines, b""]), tuple(dict.fromkeys(uris)))


def literal_rewrites(count: int, flag: str) -> str:
    """Return so many rewrites of fixed URIs, each on its line; `flag` begins with a blank, if there is one."""
    return "".join(f"rewrite ^/{number}$ /x{number}{flag};\n" for number in range(count))


def rewrite(draw: random.Random, pattern: Pattern) -> bytes:
    """Return a rewrite directive with that pattern and a random target and flag."""
    flag = draw.choice([b"permanent", b"permanent", b"redirect", b"implicit", b"last", b"none", b"break"])
    replacement = token(draw, target(draw, flag, pattern.groups))
    written = b"" if flag in (b"implicit", b"none") else b" " + flag
    return b"rewrite %s %s%s;" % (token(draw, pattern.regex), replacement, written)


def target(draw: random.Random, flag: bytes, groups: int) -> bytes:
    """Return a replacement; an `implicit` redirect starts with a scheme."""
    paths = [
        b"/a",
        b"/b",
        b"/A",
        b"/t/x",
        b"/index.html",
        b"/zz",
        b"/p%41q",
        b"/s%20x",
        b"/e%3Fx",
        b"/" + word(draw),
    ]
    text = draw.choice(paths).replace(b"$", b"").replace(b"?", b"")
    if flag == b"implicit" or (flag in (b"permanent", b"redirect") and draw.random() < 0.6):
        text = draw.choice([b"http://ex.com", b"https://$http_host", b"$scheme://$host", b"https://ex.com"]) + text
    if draw.random() < 0.35:
        variables = [b"$arg_v", b"${arg_v}z", b"$host", b"$uri", b"$request_uri"]
        # A group that is not there gives nothing; `$3` is beyond all.
        numbered = [b"/$%d" % number for number in range(1, groups + 1)] * 3 or [b"$1"]
        text += draw.choice([*variables, *numbered])
    if draw.random() < 0.3:
        text += b"?k=" + draw.choice([b"1", b"%41", b"$arg_v", b"$1", b"a&l=$request_method"])
    if draw.random() < 0.2:
        text += b"?"
    return text


def token(draw: random.Random, text: bytes) -> bytes:
    """Return a spelling of `text` that nginx reads as `text` (ngx_conf_read_token)."""
    spellings = [_quoted(text, b'"'), _quoted(text, b"'")]
    if _UNQUOTED.match(text):
        spellings += [text] * 4
    return draw.choice(spellings)


def word(draw: random.Random, odd: float = 0.15) -> bytes:
    """Return the tail of a path: zero to three pieces, some of them odd, some after a slash."""
    pieces = [draw.choice(ODD) if draw.random() < odd else draw.choice(LETTERS) for _ in range(draw.randint(0, 3))]
    if pieces and draw.random() < 0.3:
        pieces += [b"/", draw.choice((b"a", b"A", b"b"))]
    return b"".join(pieces)


def escape(text: bytes) -> bytes:
    """Return a regular expression that matches `text` alone."""
    return re.sub(rb"([\\^$.|?*+()\[\]{}])", rb"\\\1", text)


def _literal(draw: random.Random) -> Pattern:
    uri = b"/" + word(draw)
    return Pattern(b"^%s$" % escape(uri), 0, (uri,))


def _literal_ignoring_case(draw: random.Random) -> Pattern:
    uri = b"/" + word(draw)
    return Pattern(b"(?i)^%s$" % escape(uri), 0, (uri,))


def _literal_to_the_very_end(draw: random.Random) -> Pattern:
    uri = b"/" + word(draw)
    return Pattern(rb"^%s\z" % escape(uri), 0, (uri,))


def _optional_slash(draw: random.Random) -> Pattern:
    uri = b"/" + word(draw)
    return Pattern(b"^%s/?$" % escape(uri), 0, (uri, uri + b"/"))


def _optional_part(draw: random.Random) -> Pattern:
    uri, part = b"/" + word(draw), word(draw)
    group = draw.choice([b"(?:%s)?", b"(%s)?"]) % escape(part)
    return Pattern(b"^%s%s$" % (escape(uri), group), 1 - (b"?:" in group), (uri, uri + part))


def _alternation(draw: random.Random) -> Pattern:
    words = [word(draw) for _ in range(draw.randint(2, 3))]
    group = draw.choice([b"(%s)", b"(%s)", b"(?:%s)"]) % b"|".join(map(escape, words))
    tail = draw.choice([b"", b"/a", b".html"])
    uris = tuple(b"/" + alternative + tail for alternative in words)
    return Pattern(b"^/%s%s$" % (group, escape(tail)), 1 - (b"?:" in group), uris)


def _two_groups(draw: random.Random) -> Pattern:
    heads, tails = [word(draw), word(draw)], [word(draw), b"A"]
    groups = b"(%s)-(%s)" % (b"|".join(map(escape, heads)), b"|".join(map(escape, tails)))
    return Pattern(b"^/%s$" % groups, 2, tuple(b"/%s-%s" % (head, tail) for head in heads for tail in tails))


def _top_alternation(draw: random.Random) -> Pattern:
    first, second = b"/" + word(draw), b"/" + word(draw)
    return Pattern(b"^%s|%s$" % (escape(first), escape(second)), 0, (first, second, first + b"zz", b"/zz" + second))


def _small_class(draw: random.Random) -> Pattern:
    uri = b"/" + word(draw)
    group = draw.choice([b"[ab]", b"[aA]", b"[0-3]", b"(a|[bB])"])
    members = (b"a", b"A", b"b", b"B", b"2")
    return Pattern(b"^%s%s$" % (escape(uri), group), group.count(b"("), tuple(uri + member for member in members))


def _unescaped_dot(draw: random.Random) -> Pattern:
    uri = b"/" + word(draw)
    return Pattern(b"^%s.html$" % escape(uri), 0, (uri + b".html", uri + b"xhtml", uri + b"\nhtml"))


def _prefix(draw: random.Random) -> Pattern:
    uri = b"/" + word(draw)
    tail, groups = draw.choice([(b"", 0), (b"(.*)$", 1), (b"/(.*)$", 1), (b"/([^/]+)/(.*)$", 2)])
    return Pattern(b"^" + escape(uri) + tail, groups, (uri, uri + b"/a", uri + b"/a b/c+", uri + b"/x/"))


def _unanchored(draw: random.Random) -> Pattern:
    uri = b"/" + word(draw)
    return Pattern(draw.choice([b"%s", b"%s$"]) % escape(uri), 0, (uri, b"/a" + uri, uri + b"/b"))


def _catch_all(draw: random.Random) -> Pattern:
    regex, groups = draw.choice([(b"^", 0), (b"^/(.*)$", 1), (b".*", 0), (b"^(/A.*)", 1), (b"^/[^/]*/(a|b)$", 1)])
    return Pattern(regex, groups, (b"/anything", b"/A", b"/x/b"))


def _percent_in_the_pattern(draw: random.Random) -> Pattern:
    uri = b"/" + word(draw, odd=0.0) + draw.choice([b"%20x", b"%C3%A9", b"%41"])
    return Pattern(b"^%s$" % uri.replace(b".", rb"\."), 0, (uri, uri.replace(b"%41", b"A").replace(b"%20", b" ")))


# How often each kind comes: about as in the wild, with more of what is moved into a map.
PATTERNS: tuple[tuple[int, Callable[[random.Random], Pattern]], ...] = (
    (30, _literal),
    (6, _literal_ignoring_case),
    (4, _literal_to_the_very_end),
    (10, _optional_slash),
    (6, _optional_part),
    (10, _alternation),
    (3, _two_groups),
    (2, _top_alternation),
    (6, _small_class),
    (5, _unescaped_dot),
    (6, _prefix),
    (3, _unanchored),
    (1, _catch_all),
    (4, _percent_in_the_pattern),
)


def _statement(draw: random.Random, number: int) -> bytes:
    """Something of the rewrite module that is not a rewrite, or a comment."""
    return draw.choice(
        [
            b"# rewrite ^/a$ /commented permanent;",
            b"set $seen%d $uri;" % number,
            b'set $seen%d "$1";' % number,
            b"if ($arg_w = 1) { set $seen%d yes; }" % number,
            b"if ($request_method = POST) { rewrite ^/a$ /from-post redirect; }",
            b"if ($uri ~ ^/b(.*)$) { set $seen%d $1; }" % number,
            b'if ($uri = "/x1") { return 403; }',
            b'if ($uri = "/A") { break; }',
            b'if ($http_host ~* "^h") { return 410 "host"; }',
        ]
    )


def _quoted(text: bytes, mark: bytes) -> bytes:
    escaped = text.replace(b"\\", b"\\\\").replace(mark, b"\\" + mark)
    for byte, letter in ((b"\n", b"n"), (b"\t", b"t"), (b"\r", b"r")):
        escaped = escaped.replace(byte, b"\\" + letter)
    return mark + escaped + mark


def _pick(
    draw: random.Random, weighted: Sequence[tuple[int, Callable[[random.Random], Pattern]]]
) -> Callable[[random.Random], Pattern]:
    weights = [weight for weight, _ in weighted]
    return draw.choices([make for _, make in weighted], weights)[0]
