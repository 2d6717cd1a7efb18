"""Pairs of small sites around captures: one of them is the other after edits.

Most are answered differently, as far as the model tells, so `verify` is wrong if it calls them equivalent. With
`--unaided` it says so of all in which it sees no difference by itself, whatever request it might have tried otherwise.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator
from itertools import islice

from tests.fuzz.sites.messages import request
from tests.fuzz.verify.by_model import answers
from tests.fuzz.verify.captures_edits import edits as edits_of
from tests.fuzz.verify.captures_sites import Sites
from tests.fuzz.verify.case import Case, Edited
from tests.fuzz.verify.words import LETTERS, Words

_REQUESTS = 110
_TRIED = 4
"""How many edits are drawn for each that is compared."""

_ALIKE = 0.3
"""The share of the edits without effect that are compared."""

_NAME = re.compile(r"(\$|\?<)([kgvwmnh])\b")
_NEAR = "abpqx0_/y1A"


def case(seed: int, number: int, edits: int) -> Case:
    """Return a site around captures and the same after edits, several times; its variables are named by its number."""
    words = Words(random.Random(f"captures {seed}-{number}"))
    sites = Sites(words)
    before = sites.site()

    def named(text: str) -> str:
        return _NAME.sub(rf"\1\2_{number}", text)

    text, requests = named(before.text()), list(_requests(words))
    drawn = islice(edits_of(sites, before), edits * _TRIED)
    sides = (Edited(named(after.text()), told) for after, told in drawn)
    return Case(
        f"captures {seed}-{number}", text, list(islice(_telling(words, text, sides, requests), edits)), requests
    )


def _telling(words: Words, text: str, sides: Iterable[Edited], requests: list[tuple[int, bytes]]) -> Iterator[Edited]:
    """Yield the sides that the model answers otherwise than a site, or does not know, and some of the others."""
    before = answers(text, "", requests)
    for side in sides if before is not None else ():
        after = answers(side.text, "", requests)
        if after is not None and (after != before or words.chance(_ALIKE)):
            yield side


def _requests(words: Words) -> Iterator[tuple[int, bytes]]:
    """Yield requests for what the patterns match, what is nearly that, and short paths."""
    draw = words.draw
    paths = list(dict.fromkeys(path if path.startswith("/") else f"/{path}" for path in words.paths))
    near = [_near(draw, draw.choice(paths)) for _ in range(len(paths))] if paths else []
    short = ["/" + "".join(draw.choices(LETTERS, k=draw.choice((1, 2, 2, 2, 3, 3)))) for _ in range(_REQUESTS - 20)]
    chosen = short + near + paths
    for path in dict.fromkeys(["/", *draw.sample(chosen, min(len(chosen), _REQUESTS))]):
        args = draw.choice(("", "", "?y=a", "?y=/b", "?y=", "?x=1&y=0", "?/a/b"))
        yield 0, request((path + args).encode(), host=draw.choice((b"h1", b"h1", b"ha")))


def _near(draw: random.Random, path: str) -> str:
    """Return a path in which one byte is another, is missing, or was put in."""
    at = draw.randrange(1, len(path) + 1)
    byte: str = draw.choice((*_NEAR, ""))
    return path[:at] + byte + path[at + draw.randrange(2) :]
