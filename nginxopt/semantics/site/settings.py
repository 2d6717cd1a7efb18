"""Finds the settings of a level that differ from those of the level around it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from nginxopt._native import request_settings
from nginxopt.config import Directive
from nginxopt.semantics.inherit import DISPLACED, Level

ROWS = "types"
"""The setting whose value is the rows of blocks."""


@cache
def names() -> frozenset[str]:
    """Return the directives that the model reads as settings."""
    return frozenset(request_settings())


def differing(level: Level, in_force: frozenset[str]) -> Iterator[tuple[str, tuple[Directive, ...] | None]]:
    """Yield the settings that differ from those of the level around it, with their directives, or None if unknown.

    `in_force` are the settings that the level around it has, or may have.
    """
    for name in sorted(_candidates(level, in_force)):
        setting = level.setting(name)
        if setting.level not in (level, None):
            continue
        directives = _directives(level, name, setting.directives) if setting.known else None
        if directives != () or name in in_force:
            yield name, directives


def _candidates(level: Level, in_force: frozenset[str]) -> frozenset[str]:
    """Return the settings that may differ from those of the level around it, so that not all need to be compared."""
    if level.is_open or level.parent is None:
        return names()
    own = names().intersection((*level.names, *level.unread))
    dropped = {name for name in in_force if not level.inherits(name) or not own.isdisjoint(DISPLACED.get(name, ()))}
    return own | dropped


def _directives(level: Level, name: str, directives: tuple[Directive, ...]) -> tuple[Directive, ...] | None:
    """Return the directives of a setting, or the rows of its blocks; None for rows of a file that was not read."""
    if name != ROWS:
        return directives
    blocks = [inner for inner in level.levels if inner.opener in directives]
    if any(block.is_open or block.unread for block in blocks):
        return None
    return tuple(row for block in blocks for row in block.directives if row.name != "include")
