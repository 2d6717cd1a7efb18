"""Whether files are the user's own, or whether somebody else could have written or placed them.

Examines what OpenSSH (StrictModes) and git (safe.directory) examine: the file, and every directory and link on the way
to it. Each must belong to the user or to root, and nobody else may write to it. Under sudo, files of the user who
called it are fine, too.
"""

from __future__ import annotations

import grp
import os
import pwd
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from nginxopt import budget

MOST_LINKS = 40
"""How many links Linux follows in a path (path_resolution(7))."""

_ROOT = Path("/")
"""Anybody may own it, such as a user outside of a container's user namespace: its owner could replace every program."""


def foreign(path: str | os.PathLike[str]) -> str | None:
    """Return why a file or directory may be somebody else's; None if it is the user's own.

    Raises `OSError` for a path that cannot be followed.
    """
    return next((reason for part, has in _way(path) if (reason := _reason(part, has))), None)


def foreign_below(folder: str | os.PathLike[str]) -> str | None:
    """Return why a directory or anything in it may be somebody else's, as `foreign` does; links in it are followed."""
    entries = (Path(at, name) for at, folders, files in os.walk(folder) for name in (*folders, *files))
    return foreign(folder) or next((reason for entry in entries if (reason := foreign(entry))), None)


def read(path: str | os.PathLike[str]) -> tuple[bytes, str | None]:
    """Return the content of a regular file, and why the file may be somebody else's. Both are of the same open file.

    Reads nothing of a file of `/proc`, whose size is 0. Raises `OSError` for anything that cannot be read or is not a
    regular file, and `budget.ExceededError` for a large one.
    """
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)  # does not wait for the writer of a pipe
    with os.fdopen(descriptor, "rb") as file:
        opened = os.fstat(descriptor)
        if not stat.S_ISREG(opened.st_mode):
            raise OSError(0, "not a regular file")
        reason, last = None, None
        for part, last in _way(path):
            reason = reason or _reason(part, last)
        if last is None or not os.path.samestat(opened, last):
            reason = f"{path} was replaced while it was looked at"
        budget.check("bytes", opened.st_size, path=os.fspath(path))
        return file.read(opened.st_size), reason


def _way(path: str | os.PathLike[str]) -> Iterator[tuple[Path, os.stat_result]]:
    """Yield each directory and link on the way to a file, from the root on, and last the file itself."""
    at, links = _ROOT, 0
    left = [*Path(Path.cwd(), path).parts[:0:-1]]
    yield at, at.lstat()
    while left:
        name = left.pop()
        part = at.parent if name == ".." else at / name
        has = part.lstat()
        yield part, has
        if not stat.S_ISLNK(has.st_mode):
            at = part
            continue
        links += 1
        if links > MOST_LINKS:
            raise OSError(0, "too many links")
        target = part.readlink()
        at = _ROOT if target.is_absolute() else at
        left += target.relative_to(target.anchor).parts[::-1]


def _reason(path: Path, has: os.stat_result) -> str | None:
    if has.st_uid not in _owners() and path != _ROOT:
        return f"{path} belongs to another user"
    if stat.S_ISLNK(has.st_mode) or (has.st_mode & stat.S_ISVTX and stat.S_ISDIR(has.st_mode)):
        return None  # links have no mode; in a sticky directory, only the owner can replace a file
    if has.st_mode & stat.S_IWOTH or (has.st_mode & stat.S_IWGRP and not _is_private(has)):
        return f"other users may write to {path}"
    return None


def _owners() -> set[int]:
    """Return the users whose files count as the user's own: the user, root, and the one who called sudo."""
    user = os.geteuid()
    owners = {user, 0}
    if user == 0:
        with suppress(KeyError, ValueError):
            owners.add(int(os.environ["SUDO_UID"]))
    return owners


def _is_private(has: os.stat_result) -> bool:
    """Return whether the group of a file has its owner as its only member, as if each user has a group (umask 002)."""
    if has.st_gid == 0:
        return True
    try:
        owner, group = pwd.getpwuid(has.st_uid), grp.getgrgid(has.st_gid)
    except KeyError:  # as in a container
        return has.st_gid == has.st_uid
    return owner.pw_gid == has.st_gid and group.gr_name == owner.pw_name and {*group.gr_mem} <= {owner.pw_name}
