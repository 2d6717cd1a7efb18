"""Intentions that a configuration states, for rules that do not report what is meant.

What looks wrong may be intended, and a comment or a name may say so. Each rule lists words that state such an
intention, and `says` looks for them, in upper or lower case, in

- the comments in the directive, behind it, and on the lines right above it and above the blocks around it;
- the parameters of the blocks around it: paths of locations and names of servers;
- the name of its file and those of the two folders above.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePath

from nginxopt.config import Comment, Directive, layout
from nginxopt.semantics import Level

_NAMED = ("server", "location")


def says(directive: Directive, level: Level, words: re.Pattern[str]) -> bool:
    """Return whether anything around a directive of a level has one of the words."""
    return any(words.search(text) for text in _texts(directive, level))


def names(level: Level) -> Iterator[str]:
    """Yield the parameters of the locations and the names of the server around a level, its own among them."""
    outer: Level | None = level
    while outer is not None and outer.kind != "http":
        if outer.kind == "location":
            yield " ".join(outer.args)
        elif outer.kind == "server":
            yield from (word for named in outer.own("server_name") for word in named.args)
        outer = outer.parent


def comments(level: Level) -> Iterator[str]:
    """Yield the comments in a level."""
    nodes = level.block.nodes if level.block else ()
    yield from (node.text for node in nodes if isinstance(node, Comment))


def remarks(directive: Directive, level: Level) -> Iterator[str]:
    """Yield the comments in a directive, behind it, and above it and the blocks around it."""
    yield from layout.remarks(directive)
    yield from layout.above(directive)
    outer: Level | None = level
    while outer is not None:
        if outer.opener is not None and outer.kind in _NAMED:
            yield from layout.above(outer.opener)
        outer = outer.parent


def _texts(directive: Directive, level: Level) -> Iterator[str]:
    yield from remarks(directive, level)
    yield from names(level)
    yield from PurePath(directive.source.path).parts[-3:]
