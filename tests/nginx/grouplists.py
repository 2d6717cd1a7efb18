"""Lists of rewrites that groups are made of: most match infinitely many URIs, and some PCRE may give up on."""

from __future__ import annotations

import random

from tests.fuzz.rewrites.patterns import INFINITE, Pattern, pattern
from tests.fuzz.rewrites.rules import target
from tests.rulegen import token

FLAGS = (b"permanent", b"redirect", b"last", b"break")


def random_list(draw: random.Random) -> tuple[bytes, list[bytes]]:
    """Return the text of 5 to 60 rewrites of a server, and URIs that matter to them, in random order."""
    bases = draw.sample((b"/", b"/a/", b"/b/", b"/old/", b"/a/b/", b"/shop", b"/x"), draw.randint(1, 4))
    patterns = [pattern(draw, draw.choice(bases), INFINITE) for _ in range(draw.randint(5, draw.choice((10, 20, 60))))]
    rules = b"".join(_rule(draw, each) for each in patterns)
    uris = {uri + tail for each in patterns for uri in each.uris for tail in (b"", b"\n", b"/", b"x", b"%2F")}
    return rules, draw.sample(sorted(uris | set(bases)), min(len(uris), 250))


def _rule(draw: random.Random, made: Pattern) -> bytes:
    flag = draw.choice(FLAGS)
    words = (b"rewrite", token(draw, made.regex), token(draw, target(draw, flag, made.groups, b"/a/")), flag)
    return b" ".join(words) + b";\n"
