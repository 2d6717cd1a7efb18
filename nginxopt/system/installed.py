"""Finds installed packages that extend nginxopt with modules, by their entry points."""

from __future__ import annotations

import os
import sys
from typing import NamedTuple

_METADATA = (".dist-info", ".egg-info")


class EntryPoint(NamedTuple):
    """An entry point: its name, its module, and the package with its version, such as `acme 1.0`."""

    name: str
    module: str
    package: str


def entry_points(group: str) -> list[EntryPoint]:
    """Return the entry points of a group, sorted, each module once.

    Importing `importlib.metadata` takes longer than linting a small site. So the metadata files are first searched for
    the name of the group, which takes 1 ms for 100 packages.
    """
    if not any(_may_have(entry or os.curdir, group.encode()) for entry in sys.path):
        return []
    from importlib.metadata import entry_points as installed

    found = {
        EntryPoint(point.name, point.value, f"{point.dist.name} {point.dist.version}" if point.dist else "?")
        for point in installed(group=group)
    }
    return sorted(found)


def _may_have(entry: str, group: bytes) -> bool:
    """Return whether an entry of `sys.path` is an archive, or has a package whose metadata contains `group`."""
    try:
        names = os.listdir(entry)  # noqa: PTH208 - several times as fast as paths
    except NotADirectoryError:
        return True
    except OSError:
        return False
    return any(group in _bytes(f"{entry}/{name}/entry_points.txt") for name in names if name.endswith(_METADATA))


def _bytes(path: str) -> bytes:
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - as above
            return file.read()
    except OSError:
        return b""
