"""Finds the files that an `include` names, like `ngx_conf_include` and `ngx_conf_full_name` (ngx_conf_file.c)."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from nginxopt import budget, lazy

_MAGIC = lazy.pattern(r"[*?[]")

Led = Callable[[str], str | None]
"""Returns where a path leads on this machine; None for nowhere."""


def _as_it_is(path: str) -> str:
    return path


def matches(prefix: str, name: str, led: Led = _as_it_is) -> list[str]:
    """Return the paths of `include name`, in the order in which nginx reads them.

    A relative name starts from `prefix`. A name without `*`, `?` and `[` is one path, existing or not. Any other name
    is a pattern for glob(3) in the C locale, the only one that nginx uses: it matches and sorts bytes, no wildcard
    matches a leading dot, and a pattern may match nothing. One difference: here, a backslash in a pattern is a plain
    character. `led` follows the links of folders on the way.
    """
    if not is_pattern(name):
        return [_join(prefix, name)]
    # The prefix itself is not a part of the pattern.
    paths = _matching(os.fsencode(prefix) or b".", _pattern(name), led)
    return [_join(prefix, os.fsdecode(path)) for path in sorted(paths)]


def _matching(root: bytes, pattern: bytes, led: Led) -> list[bytes]:
    """Return the paths below `root` that a pattern matches, or those that an absolute pattern matches.

    As Python's `glob.glob`, which cannot be bounded: raises `budget.ExceededError` after too many directory entries.
    """
    visits = budget.meter("matches")
    *folders, last = pattern.split(b"/")
    found = [b"/" if pattern.startswith(b"/") else b""]
    for part in filter(None, folders):
        found = [path + b"/" for before in found for path in _inside(root, before, part, visits, led, of_folders=True)]
    if not last:  # `conf.d/*/`
        return found
    return [path for before in found for path in _inside(root, before, last, visits, led, of_folders=False)]


def _inside(
    root: bytes, before: bytes, part: bytes, visits: budget.Meter, led: Led, *, of_folders: bool
) -> Iterator[bytes]:
    """Yield the paths in the folder `before` that a part of a pattern matches; none if it cannot be read."""
    folder = led(os.fsdecode(os.path.join(root, before)))  # noqa: PTH118 - bytes
    if folder is None:
        return
    if not is_pattern(os.fsdecode(part)):
        visits.spend()
        path = os.path.join(folder, os.fsdecode(part))  # noqa: PTH118
        if os.path.isdir(led(path) or "") if of_folders else os.path.lexists(path):  # noqa: PTH112
            yield before + part
        return
    with suppress(OSError), os.scandir(os.fsencode(folder)) as entries:
        for entry in entries:
            visits.spend()
            if _name_fits(entry.name, part) and (not of_folders or _is_folder(entry, led)):
                yield before + entry.name


def _is_folder(entry: os.DirEntry[bytes], led: Led) -> bool:
    try:
        return os.path.isdir(led(os.fsdecode(entry.path)) or "") if entry.is_symlink() else entry.is_dir()  # noqa: PTH112
    except OSError:
        return False


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
    paths = list(paths)
    budget.meter("matches").spend(len(paths))
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
    return _name_fits(os.fsencode(part), _pattern(pattern))


def _name_fits(name: bytes, pattern: bytes) -> bool:
    is_hidden = name.startswith(b".") and not pattern.startswith(b".")
    return not is_hidden and fnmatch.fnmatchcase(name, pattern)


def _pattern(name: str) -> bytes:
    """Return a pattern in Python's syntax: glob(3) accepts `[^a]` for `[!a]`, Python's glob does not."""
    return os.fsencode(name.replace("[^", "[!"))


def _join(prefix: str, name: str) -> str:
    return str(Path(prefix, name))
