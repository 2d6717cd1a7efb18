"""Finds the files that an `include` names, like `ngx_conf_include` and `ngx_conf_full_name` (ngx_conf_file.c)."""

from __future__ import annotations

import fnmatch
import glob
import os
import re
from collections.abc import Iterable
from pathlib import Path

_MAGIC = re.compile(r"[*?[]")


def matches(prefix: str, name: str) -> list[str]:
    """Return the paths of `include name`, in the order in which nginx reads them.

    A relative name starts from `prefix`. A name without `*`, `?` and `[` is one path, existing or not. Any other name
    is a pattern for glob(3) in the C locale, the only one that nginx uses: it matches and sorts bytes, no wildcard
    matches a leading dot, and a pattern may match nothing. One difference: here, a backslash in a pattern is a plain
    character.
    """
    if not is_pattern(name):
        return [_join(prefix, name)]
    # The prefix itself is not a part of the pattern.
    paths = glob.glob(_pattern(name), root_dir=os.fsencode(prefix) or None)  # noqa: PTH207 - Path.glob finds dotfiles
    return [_join(prefix, os.fsdecode(path)) for path in sorted(paths)]


def has_folder(prefix: str, name: str) -> bool:
    """Return whether the folder before the first wildcard of a name exists."""
    fixed = _MAGIC.split(name, maxsplit=1)[0]
    return os.path.isdir(_join(prefix, os.path.dirname(fixed)))  # noqa: PTH112, PTH120 - no folder for any error


def among(paths: Iterable[str], prefix: str, name: str) -> list[str]:
    """Return the paths of `include name` among `paths`, like `matches`."""
    if not is_pattern(name):
        return [_join(prefix, name)]
    root = Path(prefix)
    pattern = Path(name).parts
    fitting = [path for path in paths if _fits(Path(path) if Path(name).is_absolute() else _below(root, path), pattern)]
    return sorted(fitting, key=os.fsencode)


def reads(prefix: str, name: str, path: str) -> bool:
    """Return whether `include name` reads the file at `path`, or would if it were there.

    Folders are compared after resolving `..`, double slashes and links.
    """
    inside, last = os.path.split(name)
    file = Path(path)
    if not (_part_fits(file.name, last) if is_pattern(last) else file.name == last):
        return False
    folders = matches(prefix, inside) if is_pattern(inside) else [_join(prefix, inside)]
    there = os.path.realpath(file.parent)
    return any(os.path.realpath(folder) == there for folder in folders)


def is_pattern(name: str) -> bool:
    """Return whether a name contains wildcards."""
    return bool(_MAGIC.search(name))


def _below(root: Path, path: str) -> Path:
    """Return a path relative to `root`; for a path outside `root`, one that matches no pattern."""
    return Path(path).relative_to(root) if Path(path).is_relative_to(root) else Path()


def _fits(path: Path, pattern: tuple[str, ...]) -> bool:
    """Return whether each part of a path matches its part of a pattern."""
    return len(path.parts) == len(pattern) and all(map(_part_fits, path.parts, pattern))


def _part_fits(part: str, pattern: str) -> bool:
    is_hidden = part.startswith(".") and not pattern.startswith(".")
    return not is_hidden and fnmatch.fnmatchcase(os.fsencode(part), _pattern(pattern))


def _pattern(name: str) -> bytes:
    """Return a pattern in Python's syntax: glob(3) accepts `[^a]` for `[!a]`, Python's glob does not."""
    return os.fsencode(name.replace("[^", "[!"))


def _join(prefix: str, name: str) -> str:
    return str(Path(prefix, name))
