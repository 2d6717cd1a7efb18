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
    """Return whether a pattern matches names, each step once for each place that the steps before it lead to."""
    places = {0}
    for number, step in enumerate(pattern, 1):
        if step != "**":
            places = {at + 1 for at in places if at < len(names) and fnmatchcase(names[at], step)}
        elif number == len(pattern):
            return any(at < len(names) for at in places)  # `a/**` matches the content of a folder, not its own name
        else:
            places = {at for at in range(len(names) + 1) if at >= min(places, default=at + 1)}
    return bool(places)  # the remaining names are inside a matching folder
