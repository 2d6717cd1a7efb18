"""A text of `map` blocks, read again: the variable, the place and the plain keys of each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from nginxopt.config import Directive, load_text
from nginxopt.text import encode

_VARIABLE = re.compile(rb"\$\{?(\w+)")


@dataclass(frozen=True, slots=True)
class MapBlock:
    """A `map`: the name of its variable without `$`, its text, and the keys that its hash holds."""

    variable: bytes
    text: bytes
    keys: list[bytes]

    @property
    def names(self) -> set[bytes]:
        """What may be a variable in its text, in small letters."""
        return {name.lower() for name in _VARIABLE.findall(self.text)}


def read(text: bytes) -> list[MapBlock]:
    """Return the blocks of a text. Linear in it."""
    directives = load_text(text, context="http", includes=False).main.block.directives()
    return [_block(directive, text) for directive in directives if directive.name == "map"]


def reachable(text: bytes, blocks: Iterable[MapBlock]) -> Iterator[MapBlock]:
    """Yield those of `blocks` whose variables a text evaluates, and those that they evaluate, in the order given."""
    blocks = list(blocks)
    by_name = {block.variable.lower(): block for block in blocks}
    reached: set[bytes] = set()
    names = {name.lower() for name in _VARIABLE.findall(text)}
    while names := (names & by_name.keys()) - reached:
        reached |= names
        names = {name for each in names for name in by_name[each].names}
    return (block for block in blocks if block.variable.lower() in reached)


def _block(directive: Directive, text: bytes) -> MapBlock:
    assert directive.block is not None
    rows = list(directive.block.directives())
    keys = [encode(row.name.removeprefix("\\")) for row in rows if _is_plain(row)]
    variable = encode(directive.args[-1]).removeprefix(b"$")
    return MapBlock(variable, text[directive.span.start : directive.span.end], keys)


def _is_plain(row: Directive) -> bool:
    return len(row.args) == 1 and row.name != "default" and not row.name.startswith("~")
