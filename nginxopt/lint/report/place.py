"""Positions in reports: relative paths, lines and columns."""

from __future__ import annotations

import os.path
from typing import Protocol

from nginxopt.text import Position, Source, Span


class Locatable(Protocol):
    """Anything that may have a position: a finding, a related place, an error, a note."""

    @property
    def source(self) -> Source | None:
        """The text, None if there is none."""

    @property
    def span(self) -> Span | None:
        """The place in it, None for no particular one."""


def ends(placed: Locatable) -> tuple[Position, Position] | None:
    """Return the positions of the first character and after the last; None without a position."""
    if placed.source is None or placed.span is None:
        return None
    return placed.source.position(placed.span.start), placed.source.position(placed.span.end)


def relative(path: str, base: str) -> str:
    """Return `path` relative to the folder `base` if it is below it, else absolute; both without `.` and `..`.

    `path` is itself relative to `base`, or absolute. Does not use the disk, so links are not resolved.
    """
    folder = os.path.normpath(base).rstrip("/") + "/"
    whole = os.path.normpath(path if path.startswith("/") else folder + path)
    return whole.removeprefix(folder)
