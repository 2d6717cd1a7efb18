"""Parses a text of `map` blocks: the variable, the text and the plain keys of each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from nginxopt import _native
from nginxopt.records import record

_VARIABLE = re.compile(rb"\$\{?(\w+)")


@record(eq=True)
class MapBlock:
    """A `map`: the name of its variable without `$`, its text, and the keys in its hash table."""

    variable: bytes
    text: bytes
    keys: list[bytes]

    @property
    def names(self) -> set[bytes]:
        """All words in its text that may be names of variables, in lower case."""
        return {name.lower() for name in _VARIABLE.findall(self.text)}


def read(text: bytes) -> list[MapBlock]:
    """Return the blocks of a text. Raises `ValueError` if it contains anything else. Linear in the size of the text."""
    return [MapBlock(name, text[start:end], keys) for name, start, end, keys in _native.map_blocks(text)]


def around(text: bytes) -> bytes:
    """Return the comments between the blocks of a text. Raises `ValueError` like `read`."""
    pieces, at = [], 0
    for start, end in _native.map_spans(text):
        pieces.append(text[at:start])
        at = end
    return b"".join([*pieces, text[at:]])


def reachable(text: bytes, blocks: Iterable[MapBlock]) -> Iterator[MapBlock]:
    """Yield those `blocks` whose variables a text evaluates directly or through other blocks, in the given order."""
    blocks = list(blocks)
    by_name = {block.variable.lower(): block for block in blocks}
    reached: set[bytes] = set()
    names = {name.lower() for name in _VARIABLE.findall(text)}
    while names := (names & by_name.keys()) - reached:
        reached |= names
        names = {name for each in names for name in by_name[each].names}
    return (block for block in blocks if block.variable.lower() in reached)
