"""Paths as reports name them."""

from __future__ import annotations

import os.path


def relative(path: str, base: str) -> str:
    """Return `path` relative to the folder `base` if it is below it, else absolute; both without `.` and `..`.

    `path` is itself relative to `base`, or absolute. The disk is not asked: links stay what they are called.
    """
    folder = os.path.normpath(base).rstrip("/") + "/"
    whole = os.path.normpath(path if path.startswith("/") else folder + path)
    return whole.removeprefix(folder)
