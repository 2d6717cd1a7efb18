"""Random maps with regular expressions: a seed and a number make one."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from tests.fuzz.maps.patterns import Pattern, pattern
from tests.fuzz.maps.sources import SOURCES, Source
from tests.fuzz.maps.words import Style, mutated
from tests.rulegen import token

PROFILES: dict[str, dict[str, float]] = {
    "as in the wild": {
        "unanchored": 0.1,
        "tricky": 0,
        "catastrophic": 0,
        "catch_all": 0.1,
        "named": 0.1,
        "caseless": 0.01,
    },
    "anchored": {"unanchored": 0, "alternatives": 0.3, "catch_all": 0, "catastrophic": 0, "tricky": 0.3, "named": 0},
    "mixed": {"catastrophic": 0, "named": 0},
    "everything": {"catastrophic": 3, "named": 3, "tricky": 2},
    "caseless": {"caseless": 0.9, "catastrophic": 0},
    "without anchors": {"unanchored": 8, "open": 0.3, "catastrophic": 0.3},
    "exact": {"exact": 8, "finite": 8, "named": 0.3, "catch_all": 0.3, "catastrophic": 0},
    "names": {"named": 20, "catastrophic": 0},
    "alike": {"alike": 300, "catastrophic": 0, "catch_all": 0, "tricky": 0.2, "named": 0.1, "caseless": 0.005},
    "dotted": {"dotted": 40, "catastrophic": 0, "catch_all": 0.1, "tricky": 0.2},
}
"""How often each kind of pattern comes, by the kind of list."""

_SIZES = (((2, 12), 25), ((13, 60), 45), ((61, 300), 25), ((400, 1500), 4))
_SPECIAL = re.compile(rb"(?:default|include|volatile|hostnames)\Z|[~\\]")


class Kind(Enum):
    """What a statement of a map is."""

    FLAG, DEFAULT, EXACT, REGEX, COMMENT = range(5)


@dataclass(frozen=True, slots=True)
class Row:
    """A statement of a map as it is written, and strings that matter to it."""

    kind: Kind
    text: bytes
    strings: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class Case:
    """A map: what it looks up, its statements in the order of the text, and whether it is compiled as a large list."""

    name: str
    profile: str
    source: Source
    rows: tuple[Row, ...]
    as_large: bool

    @property
    def regexes(self) -> int:
        """How many rows are regular expressions."""
        return sum(row.kind is Kind.REGEX for row in self.rows)

    def block(self, variable: bytes) -> bytes:
        """Return the map."""
        return self._block(variable, [row.text for row in self.rows])

    def compiled(self, variable: bytes, maps: bytes, default: bytes, guard: bytes | None) -> bytes:
        """Return the map as it becomes: a guard before its rows, or another default in their place; and other maps."""
        if guard is not None:
            first = next(number for number, row in enumerate(self.rows) if row.kind is Kind.REGEX)
            texts = [row.text for row in self.rows]
            return self._block(variable, [*texts[:first], guard, *texts[first:]]) + maps
        kept = [row.text for row in self.rows if row.kind not in (Kind.REGEX, Kind.DEFAULT)]
        return self._block(variable, [*kept, b"default %s;" % default]) + maps

    def _block(self, variable: bytes, lines: Sequence[bytes]) -> bytes:
        return b"map %s $%s {\n%s}\n" % (self.source.text, variable, b"".join(b"    %s\n" % line for line in lines))

    def subjects(self, draw: random.Random, count: int, emitted: bytes = b"") -> list[bytes]:
        """Return strings to look up: those of the rows and of what is emitted, strings next to them, and others."""
        known = [string for row in self.rows for string in row.strings]
        known += _words_in(emitted)
        chosen = dict.fromkeys([b"", *draw.sample(known, min(len(known), count // 3))])
        while len(chosen) < count:
            string = draw.choice(known) if known and draw.random() < 0.9 else self.source.style.word(draw)
            for _ in range(draw.choice((1, 1, 1, 2, 3))):
                string = mutated(draw, string)
            if draw.random() < 0.002:
                string += string * (2_000 // (len(string) + 1))
            chosen[string] = None
            if draw.random() < 0.001:
                break  # there may be no more
        return list(chosen)


def _words_in(emitted: bytes) -> list[bytes]:
    """Return the quoted keys of maps: where buckets begin and end."""
    keys = re.findall(rb'^\s*"([^~"][^"\\]*)" ', emitted, re.MULTILINE)
    return [*keys, *(key[:-1] for key in keys), *(key + b"x" for key in keys)]


def generate(seed: int, number: int) -> Case:
    """Return the case of that number."""
    draw = random.Random(f"{seed}-{number}")
    profile = draw.choice(list(PROFILES))
    source = draw.choices([each for each, _ in SOURCES], [weight for _, weight in SOURCES])[0]
    low, high = draw.choices([size for size, _ in _SIZES], [weight for _, weight in _SIZES])[0]
    patterns = [_pattern(draw, source.style, profile) for _ in range(draw.randint(low, high))]
    # What is short matches much: most of it stands near the end, so that other rows are reached.
    patterns.sort(key=lambda each: draw.random() ** (0.1 if len(each.regex) < 11 else 1))
    hostnames = draw.random() < (0.5 if source.style.separator == b"." else 0.04)
    values = _Values(draw, patterns)
    regexes = [Row(Kind.REGEX, _regex(draw, each, values.of(each)), each.strings) for each in patterns]
    others = _exact(draw, patterns, source.style, values, hostnames=hostnames)
    others += [Row(Kind.FLAG, draw.choice((b"hostnames;", b'"hostnames";')))] * hostnames
    others += [Row(Kind.FLAG, b"volatile;")] * (draw.random() < 0.2)
    if draw.random() < 0.7:
        key = draw.choice((b"default ", b"default ", b'"default" ', b"default\n"))
        others.append(Row(Kind.DEFAULT, key + token(draw, values.default()) + b";"))
    if draw.random() < 0.1:
        others.append(Row(Kind.COMMENT, draw.choice((b"# ~^/a a;", b'# "', b"# }"))))
    as_large = draw.random() < 0.5
    if draw.random() < 0.5:  # as most are written
        others.sort(key=lambda row: row.kind.value)
        return Case(f"{seed}-{number}", profile, source, (*others, *regexes), as_large)
    rows: list[Row] = list(regexes)
    for row in others:
        rows.insert(draw.randint(0, len(rows)), row)
    return Case(f"{seed}-{number}", profile, source, tuple(rows), as_large)


def _pattern(draw: random.Random, style: Style, profile: str) -> Pattern:
    while len((drawn := pattern(draw, style, PROFILES[profile])).regex) > 3_000:
        pass
    return drawn


def _regex(draw: random.Random, pattern_: Pattern, value: bytes) -> bytes:
    mark = b"~*" if pattern_.caseless else b"~"
    return token(draw, mark + pattern_.regex) + b" " + token(draw, value) + b";"


def _exact(
    draw: random.Random, patterns: Sequence[Pattern], style: Style, values: _Values, *, hostnames: bool
) -> list[Row]:
    """Return rows with exact keys, of which there are often none."""
    rows: dict[bytes, Row] = {}
    for _ in range(draw.choice((0, 0, 0, 1, 2, 5, 12))):
        word, strings = style.word(draw), draw.choice(patterns).strings
        key = draw.choice((word, draw.choice(strings), b"", b"default", b"~x", b"\\y"))
        if hostnames:
            name = style.word(draw).strip(b".").replace(b"*", b"")
            key = draw.choice((b"*." + name, b"." + name, name + b".*", name, name + b"."))
        written = b"\\" + key if _SPECIAL.match(key) else key
        if key.lower().strip(b".*") not in rows and b"\0" not in key:
            text = token(draw, written) + b" " + token(draw, values.constant()) + b";"
            rows[key.lower().strip(b".*")] = Row(Kind.EXACT, text, (key, key.swapcase(), key + b"x"))
    return list(rows.values())


class _Values:
    """Values of rows, some of them the same."""

    def __init__(self, draw: random.Random, patterns: Sequence[Pattern]) -> None:
        self._draw = draw
        self._count = 0
        self._captures = draw.random() < 0.5
        self._variables = draw.random() < 0.4
        self._names = sorted({name for each in patterns for name in each.names})

    def constant(self) -> bytes:
        self._count += 1
        odd = (b"", b"0", b"000001|x", b"1|", b"x y", b"a;b{}", b"\n", b"~x", b"\\", b"default", b"/same", b"/same")
        return self._draw.choice(odd) if self._draw.random() < 0.15 else b"v%d" % self._count

    def of(self, pattern_: Pattern) -> bytes:
        value = self.constant()
        if self._captures and pattern_.groups and self._draw.random() < 0.5:
            value += self._draw.choice([b"<$1>", b"$1", b"$1-z", *(b"<$%s>" % name for name in pattern_.names)])
        if self._variables and self._draw.random() < 0.2:
            value += self._draw.choice((b"$http_z", b"-$other", b"$host", b"$loop"))
        if self._names and self._draw.random() < 0.02:
            value += b"$" + self._draw.choice(self._names)
        return value

    def default(self) -> bytes:
        if self._draw.random() < 0.3:
            return self._draw.choice((b"$other", b"$http_z", b"d$host", b"$http_z-$other", b"$x", b"$na", b"$1"))
        return self._draw.choice((b"", b"none", b"d", b"0"))
