"""Path patterns, as in `glob.glob(recursive=True, include_hidden=True)`.

`*` matches any characters of a name, `?` one character, `[abc]` one of these and `[!abc]` any other, and `**` as a
whole name matches any number of folders. There is no other syntax: no leading `!`, no braces, and a pattern without a
slash does not match in other folders. A pattern that matches a folder includes all its content.
"""

from __future__ import annotations

import glob
import os.path
from collections.abc import Iterable
from fnmatch import fnmatchcase


def matches(path: str | os.PathLike[str], patterns: Iterable[str], folder: str | os.PathLike[str]) -> bool:
    """Return whether one of the patterns, which are relative to `folder`, matches `path`.

    A relative `path` or `folder` is relative to the working directory; a pattern may be absolute. Does not use the
    disk, so links are not resolved.
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
        return True  # the remaining names are inside a matching folder
    if pattern == ["**"]:
        return bool(names)  # `a/**` matches the content of a folder, not a file of its name
    if pattern[0] == "**":
        return any(_means(pattern[1:], names[skipped:]) for skipped in range(len(names) + 1))
    return bool(names) and fnmatchcase(names[0], pattern[0]) and _means(pattern[1:], names[1:])
