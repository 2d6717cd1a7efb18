"""Makes text of a given size and compression ratio that takes gzip as long as the text of real sites.

The time depends on how much of a text gzip has seen before, and how it repeats. Words with the frequencies of a
language, in sentences and in the markup of pages, take about as long as documents, scripts and pages that shrink as
much: of nine kinds of files that the constants were not chosen by, at levels 5 and 6, between 10 % less and 16 % more,
3 % more on average. Real texts that shrink alike differ as much.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import accumulate
from random import Random

_SYLLABLES = (
    *(
        "a",
        "e",
        "i",
        "o",
        "u",
        "an",
        "en",
        "in",
        "on",
        "er",
        "st",
        "th",
        "re",
        "al",
        "or",
        "ti",
        "at",
        "es",
        "le",
        "ne",
    ),
    *("co", "de", "se", "me", "ma", "ta", "ro", "li", "ri", "la", "no", "si", "to", "ra", "te", "ve", "di", "ca", "ch"),
    *("pe", "po", "mi", "su", "tr"),
)
_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_WORDS = 3_000
_STEPS = range(-40, 41)
"""How similar lines are. Steps below 0 add noise, steps above 0 repeat earlier lines."""
_NOISE, _MARKUP = 0.04, 0.3
"""The share of noise lines in any text, and the share of the others that are markup and not sentences."""
_AROUND = 4
"""How many steps around the one that was found are compared: short texts do not always shrink more with each step."""
_GOLDEN = 0.6180339887498949
_PIECE, _PIECES = 32_768, 8


@lru_cache(maxsize=256)
def text(size: int, ratio: float) -> bytes:
    """Return `size` bytes of text that gzip shrinks to about one part in `ratio`. The same arguments give the same
    text.
    """
    if not size:
        return b""
    least = min(size, _PIECE)
    low, high = _STEPS.start, _STEPS.stop - 1
    while low < high:  # it shrinks more with each step
        middle = (low + high) // 2
        low, high = (low, middle) if _ratio(middle, least) >= ratio else (middle + 1, high)
    around = range(max(low - _AROUND, _STEPS.start), min(low + _AROUND + 1, _STEPS.stop))
    step = min(around, key=lambda one: abs(_ratio(one, least) - ratio))
    pieces = b"\n".join(_piece(step, least, seed) for seed in range(min(_PIECES, -(-size // least))))
    return (pieces * -(-size // len(pieces)))[:size]


@lru_cache(maxsize=256)
def _ratio(step: int, size: int) -> float:
    return size / len(zlib.compress(_piece(step, size, 0), 6))


@lru_cache(maxsize=256)
def _piece(step: int, size: int, seed: int) -> bytes:
    draw, lines, length = Random(seed), [""], 0
    while length < size:
        line = _line(draw, step, lines)
        lines.append(line)
        length += len(line) + 1
    return "\n".join(lines[1:]).encode()[:size]


def _line(draw: Random, step: int, lines: list[str]) -> str:
    noise = max(_NOISE, step / _STEPS.start)
    repeated = max(0.0, step / _STEPS.stop)
    drawn = len(lines) * _GOLDEN % 1  # noise is spread evenly, so that pieces shrink alike
    if drawn < noise:
        return "".join(draw.choices(_LETTERS, k=80))
    if drawn < noise + repeated and len(lines) > 1:
        return draw.choice(lines[-40:])
    if draw.random() < _MARKUP:
        names = _drawn(draw, 5)
        link = f"/{names[1]}/{names[2]}-{draw.randrange(1000)}.html"
        return f'<div class="{names[0]} item-row"><a href="{link}" class="link">{names[3]} {names[4]}</a></div>'
    return " ".join(_drawn(draw, draw.randint(6, 16))).capitalize() + "."


def _drawn(draw: Random, number: int) -> list[str]:
    words, weights = _vocabulary()
    return draw.choices(words, cum_weights=weights, k=number)


@cache
def _vocabulary() -> tuple[list[str], list[float]]:
    """Return words, short ones first, and their cumulative frequencies, which fall like those of a language."""
    words = sorted(_made(Random(7)), key=lambda word: len(word) // 3)
    return words, list(accumulate(1 / (rank + 2.7) for rank in range(len(words))))


def _made(draw: Random) -> Iterator[str]:
    seen: set[str] = set()
    while len(seen) < _WORDS:
        word = "".join(draw.choices(_SYLLABLES, k=1 + min(4, int(draw.expovariate(0.6)))))
        if word not in seen:
            seen.add(word)
            yield word
