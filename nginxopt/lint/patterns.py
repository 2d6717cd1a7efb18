"""Patterns for paths, as `glob.glob(recursive=True, include_hidden=True)` reads them.

`*` stands for any characters of one name, `?` for one of them, `[abc]` for one of those and `[!abc]` for one of
all others, `**` as a whole name for any folders or none. There is nothing else: no `!` in front, no braces, and a
pattern without a slash is not looked for in other folders. A pattern that names a folder means all that is in it.
"""

from __future__ import annotations

import glob
import os.path
from collections.abc import Iterable
from fnmatch import fnmatchcase


def matches(path: str | os.PathLike[str], patterns: Iterable[str], folder: str | os.PathLike[str]) -> bool:
    """Return whether one of the patterns, which are relative to `folder`, means `path`.

    A relative `path` or `folder` is relative to the working directory, and a pattern may be absolute. The disk is not
    asked: links stay what they are called.
    """
    names = _absolute(path).split("/")
    base = glob.escape(_absolute(folder))
    return any(_means(_joined(base, pattern).split("/"), names) for pattern in patterns)


def _absolute(path: str | os.PathLike[str]) -> str:
    return os.path.abspath(path)  # noqa: PTH100 - Path.resolve follows links


def _joined(base: str, pattern: str) -> str:
    return os.path.normpath(os.path.join(base, pattern))  # noqa: PTH118 - Path keeps `..`, and no pattern is a path


def _means(pattern: list[str], names: list[str]) -> bool:
    if not pattern:
        return True  # what remains of the names is in the folder that is meant
    if pattern == ["**"]:
        return bool(names)  # `a/**` is what is in a folder, not a file of its name
    if pattern[0] == "**":
        return any(_means(pattern[1:], names[skipped:]) for skipped in range(len(names) + 1))
    return bool(names) and fnmatchcase(names[0], pattern[0]) and _means(pattern[1:], names[1:])
