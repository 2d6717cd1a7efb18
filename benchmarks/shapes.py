"""Lists with the shapes of real ones: segments, lengths, shared beginnings and endings, spellings, kinds of patterns.

    python -m benchmarks.shapes 1000 --seed 3                rows of a map, drawn
    python -m benchmarks.shapes --fit FILE FILE              a line of `SHAPES` for each file with enough patterns

`SHAPES` has a line of figures for each real list, and nothing else of it. A drawn list takes the figures of one or
several lines, so that it mixes as real lists that grew together do. All text is made up. The same seed gives the same
rows.
"""

from __future__ import annotations

import argparse
import random
import re
import statistics
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

_FEWEST = 40
"""The fewest patterns of a list from which figures are taken."""
_PATTERN = re.compile(
    rb"^\s*(?:[\"']?(?P<row>~\*?)(?P<map>(?:\\.|[^\s\"';])+)|rewrite\s+[\"']?(?P<rule>[^\s\"';]+))", re.M
)
_LETTERS = "eeeaaattoinsrhldcumfpgwybvkxjqz"
_FEW, _MANY = "bcdfgh", "abcdefghijklmnopqrstuvwxyz"

_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class Shape:
    """The figures of a list. Shares are of its rows, or of its segments if they say so."""

    segments: float
    """The mean number of segments of a path."""
    shared: float
    """The mean number of segments that a row has in common with its neighbour in byte order."""
    length: float
    """The median length of a segment, in bytes."""
    long: float
    """The length of one segment in twenty, at least."""
    capitals: float
    """The share of segments with a capital letter."""
    spellings: float
    """The share of rows whose first eight bytes other rows have in another case."""
    digits: float
    """The share of segments with a digit."""
    escaped: float
    """The share of segments with an escaped byte."""
    dots: float
    """The share of segments with a dot that is not escaped, and no star behind it."""
    floating: float
    """The share of rows without `^`."""
    caseless: float
    ends: float
    """The share that ends with a literal and `$`."""
    stars: float
    """The share that ends with `.*` or `(.*)`, with or without `$`."""
    inner: float
    """The share with `.*` or `.+` that is not at the end."""
    groups: float
    """The share with a group of alternatives."""
    options: float
    """The share with an optional part, such as `/?`."""
    classes: float
    """The share with a class or an escape such as `\\\\d`."""


def fit(patterns: Sequence[tuple[str, bool]]) -> Shape:
    """Return the figures of a list of patterns, each with whether it ignores case."""
    texts = sorted(text for text, _ in patterns)
    paths = [_literal(text).split("/")[1:] or [""] for text in texts]
    segments = [segment for path in paths for segment in path if segment]
    raw = [segment for text in texts for segment in text.strip("^$").split("/") if segment]
    common = [_common(one, other) for one, other in pairwise(paths)]
    starts: Counter[str] = Counter(path.lower() for path in {_literal(text)[:8] for text in texts})

    def share(test: Callable[[_Item], object], of: Sequence[_Item]) -> float:
        return round(sum(1 for each in of if test(each)) / max(len(of), 1), 3)

    def found(pattern: str) -> float:
        return share(re.compile(pattern).search, texts)

    lengths = sorted(map(len, segments)) or [0]
    return Shape(
        segments=round(statistics.mean(map(len, paths)), 1),
        shared=round(statistics.mean(common or [0]), 1),
        length=lengths[len(lengths) // 2],
        long=lengths[len(lengths) * 19 // 20],
        capitals=share(lambda segment: segment != segment.lower(), segments),
        spellings=share(lambda text: starts[_literal(text)[:8].lower()] > 1, texts),
        digits=share(re.compile(r"\d").search, segments),
        escaped=share(re.compile(r"\\[^dwsDWSbB]").search, raw),
        dots=share(re.compile(r"(?<!\\)\.(?![*+?{])").search, raw),
        floating=share(lambda text: not text.startswith("^"), texts),
        caseless=share(lambda pattern: pattern[1], patterns),
        ends=found(r"[\w/-]\$$"),
        stars=found(r"\.\*\)?\$?$"),
        inner=found(r"\.[*+](?!\)?\$?$)"),
        groups=found(r"\([^)]*\|"),
        options=found(r"(?<![*+(])\?"),
        classes=found(r"\[|\\[dw]"),
    )


def _literal(text: str) -> str:
    """The text before the first operator."""
    return re.split(r"[.*+?()\[\]{}|$]", re.sub(r"\\(.)", r"\1", text.removeprefix("^")), maxsplit=1)[0]


def _common(one: Sequence[str], other: Sequence[str]) -> int:
    return next(
        (at for at, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]), min(len(one), len(other))
    )


def patterns(data: bytes) -> list[tuple[str, bool]]:
    """Return the patterns of map rows and rewrites, each with whether it ignores case."""
    found = _PATTERN.finditer(data)
    return [((match["map"] or match["rule"]).decode("latin-1"), match["row"] == b"~*") for match in found]


SHAPES: tuple[Shape, ...] = tuple(
    Shape(*map(float, line.split()))
    for line in """\
2.1 1.1 7 26 0.093 0.257 0.243 0.137 0.164 0 0 0.382 0.611 0.039 0 0.021 0.015
3.5 2.5 6 53 0.023 0.017 0.224 0.003 0.267 0 0 0.175 0.804 0 0 0 0
1.4 0.9 6 18 0 0 0.013 0.044 0.026 0.871 0.194 0.016 0.694 0.032 0.065 0.081 0.032
2.9 1.5 11 15 0.144 0 0.509 0 0 0 0 0 0 0.02 0 0 0.02
3.2 2.1 6 29 0.107 0.021 0.269 0 0.285 0 0 0 0.07 0.018 0 0.001 0.031
5.7 4.3 5 22 0.009 0 0.004 0 0.171 1 0 0 0.01 0 0 0 0.01
1.9 1.9 4 12 0 0 0 0.302 0 0 0 0.706 0 0 0.005 0.955 0.94
1.6 1.3 4 15 0 0 0 0.079 0 0 0 0.109 0 0 0.022 0.087 0.022
3 1.8 9 27 0.058 0.006 0.203 0 0.251 0 0 0.002 0.203 0.027 0 0.004 0.117
2.2 0.9 7 14 0.057 0 0.013 0 0.44 0 0 0 0 0 0 0.014 0
1.4 0.9 5 10 0 0 0 0 0.182 0 0 0.224 0 0.245 0 0.776 0.837
2.4 1.7 7 15 0.777 0.021 0.116 0.144 0 0 0 0.99 0 0 0 0 0
2.3 1.4 6 19 0.002 0 0.102 0.089 0.342 0.683 0 0.137 0.081 0.011 0.244 0.015 0.133
3.3 3.1 4 7 0 0 0.291 0 0.125 0 0 0.001 0.001 0 0 0.999 0
3.6 2.5 7 24 0.002 0 0.011 0 0.001 0.004 0 0.611 0.328 0.008 0.077 0.158 0.004
""".splitlines()
)


class Drawer:
    """Draws rows of a shape. Paths share beginnings as in a list that grew: most go on from an earlier one."""

    def __init__(self, shape: Shape, draw: random.Random) -> None:
        """Prepare to draw; `draw` decides everything."""
        self.shape, self.draw = shape, draw
        self.paths: list[list[str]] = []
        self.letters = draw.choice((_LETTERS, _MANY, _FEW))

    def _segment(self) -> str:
        draw, shape = self.draw, self.shape
        long = draw.random() < 0.1
        length = max(
            1, round(draw.uniform(shape.length, shape.long) if long else draw.gauss(shape.length, shape.length / 3))
        )
        text = "".join(draw.choices(self.letters, k=length))
        if draw.random() < shape.digits:
            text = text[: length // 2] + str(draw.randrange(3_000))
        if draw.random() < shape.capitals:
            text = text.title() if draw.random() < 0.8 else text.upper()
        if draw.random() < shape.escaped:
            text += draw.choice((r"\.html", r"\.", r"\?", r"\+", r"\(x\)"))
        if draw.random() < shape.dots:
            text += draw.choice((".html", ".", ".com", "."))
        return text

    def _path(self) -> list[str]:
        draw, shape = self.draw, self.shape
        count = max(1, round(draw.gauss(shape.segments, 1)))
        kept: list[str] = []
        if self.paths and draw.random() < 0.95:
            before = draw.choice(self.paths[-50:] if draw.random() < 0.5 else self.paths)
            kept = before[: min(len(before), max(0, round(draw.gauss(shape.shared, 0.7))))]
        path = kept + [self._segment() for _ in range(max(1, count - len(kept)))]
        if draw.random() < shape.spellings:
            at = draw.randrange(len(path))
            path[at] = path[at].swapcase() if draw.random() < 0.3 else path[at][:1].swapcase() + path[at][1:]
        self.paths.append(path)
        return path

    def row(self, number: int) -> bytes:
        """Return a row."""
        draw, shape = self.draw, self.shape
        text = "/" + "/".join(self._path())
        if draw.random() < shape.groups:
            text += f"/({self._segment()}|{self._segment()}|{self._segment()})"
        if draw.random() < shape.classes:
            text += draw.choice((r"/[0-9]+", "/[a-z-]+", r"/\d+", "/[^/]+", "[Aa]"))
        if draw.random() < shape.inner:
            text += draw.choice((".*", ".+", "/.*/", "/(.+)/")) + self._segment()
            if draw.random() < 0.3:
                text += ".*" + self._segment()
        options = draw.random() < shape.options
        if options:
            text += (
                "/?"
                if draw.random() < 0.7
                else "".join(f"{letter}?" for letter in draw.sample(_MANY, draw.randint(1, 8)))
            )
        end, value = draw.random(), f"/to/{number}"
        if end < shape.ends:
            text += "$"
        elif end < shape.ends + shape.stars:
            text += draw.choice((".*$", ".*", "(.*)$"))
            value += draw.choice(("", "", "/$1")) if text.endswith("(.*)$") else ""
        if draw.random() < shape.floating:
            text = text[draw.randrange(len(text) // 2 + 1) :].lstrip("?*+)|") or "/x"
            text = text if _is_whole(text) else self._segment()
            value = value.removesuffix("/$1")
        else:
            text = "^" + text
        return f'"~{"*" if draw.random() < shape.caseless else ""}{text}" "{value}";\n'.replace("\\", "\\\\").encode()


def _is_whole(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except re.error:
        return False
    return True


def rows(most: int, seed: int) -> Iterator[bytes]:
    """Yield up to `most` rows of a list: of one shape, or of parts with a shape each, sorted, shuffled or as drawn."""
    draw = random.Random(seed)
    count = round(most ** draw.uniform(0.6, 1.0)) if seed % 4 else most
    shapes = draw.sample(SHAPES, draw.choice((1, 1, 1, 2, 3)))
    parts = [Drawer(shape, draw) for shape in shapes]
    drawn = [parts[number * len(parts) // count].row(number) for number in range(count)]
    order = draw.choice(("grown", "sorted", "shuffled"))
    if order == "sorted":
        drawn.sort()
    elif order == "shuffled":
        draw.shuffle(drawn)
    yield from drawn


def main(arguments: Sequence[str] | None = None) -> int:
    """Print rows, or figures."""
    parser = argparse.ArgumentParser(prog="benchmarks.shapes", description="Draw lists with the shapes of real ones.")
    parser.add_argument("rows", nargs="?", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--fit", nargs="+", type=Path, metavar="FILE")
    options = parser.parse_args(arguments)
    if not options.fit:
        sys.stdout.buffer.writelines(rows(options.rows, options.seed))
        return 0
    known = set()
    for path in options.fit:
        found = patterns(path.read_bytes())
        if len(found) >= _FEWEST and tuple(found) not in known:
            known.add(tuple(found))
            shape = fit(found)
            print(*(f"{getattr(shape, field.name):g}" for field in fields(Shape)))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
