"""Where things are, as reports tell it: paths below a folder, lines and columns."""

from __future__ import annotations

import os.path
from typing import Protocol

from nginxopt.text import Position, Source, Span


class Placed(Protocol):
    """What may have a place: a finding, what is related to it, an error, a note."""

    @property
    def source(self) -> Source | None:
        """The text, None if there is none."""

    @property
    def span(self) -> Span | None:
        """The place in it, None for no particular one."""


def ends(placed: Placed) -> tuple[Position, Position] | None:
    """Return the position of the first character and the one behind the last; None for no particular place."""
    if placed.source is None or placed.span is None:
        return None
    return placed.source.position(placed.span.start), placed.source.position(placed.span.end)


def relative(path: str, base: str) -> str:
    """Return `path` relative to the folder `base` if it is below it, else absolute; both without `.` and `..`.

    `path` is itself relative to `base`, or absolute. The disk is not asked: links stay what they are called.
    """
    folder = os.path.normpath(base).rstrip("/") + "/"
    whole = os.path.normpath(path if path.startswith("/") else folder + path)
    return whole.removeprefix(folder)
