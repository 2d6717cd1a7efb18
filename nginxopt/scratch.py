"""Hidden names in a folder for files that are on their way, and the removal of those that a killed run has left.

A name is `.nginxopt-TOKEN-N`: no `include` with a glob picks it up, and it fits beside a name of any length. While a
run uses such names it holds a lock (flock(2)) on `.nginxopt-TOKEN.lock` in the same folder, which the kernel releases
however the run ends. The next run that writes in the folder removes the names whose lock nobody holds.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import Self

_NAME = re.compile(r"\.nginxopt-([0-9a-f]{16})(?:-\d+|\.lock)")
_OPEN = os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC


class Scratch:
    """Hidden names in one folder. Leaving it removes what still has one; `OSError` if nothing can be put there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        sweep([folder])
        self._token, self._lock = _locked(folder)
        self._names: list[Path] = []

    def name(self) -> Path:
        """Return a new name, for a file that is yet to be made."""
        self._names.append(self.folder / f".nginxopt-{self._token}-{len(self._names)}")
        return self._names[-1]

    def leave(self, name: Path) -> None:
        """Leave what has a name where it is, until the next run."""
        self._names.remove(name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for path in (*self._names, _lock_path(self.folder, self._token)):
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
        os.close(self._lock)
        _sync(self.folder)


def sweep(folders: Iterable[str | Path]) -> None:
    """Remove what runs that were killed have left in these folders. What cannot be removed stays."""
    for folder in {Path(folder) for folder in folders}:
        left: dict[str, list[Path]] = {}
        with contextlib.suppress(OSError):
            for name in os.listdir(folder):  # noqa: PTH208 - names are enough
                match = _NAME.fullmatch(name)
                if match:
                    left.setdefault(match[1], []).append(folder / name)
        for token, paths in left.items():
            with contextlib.suppress(OSError):  # in use, another user's, or on a file system without locks
                _remove(_lock_path(folder, token), paths)


def _remove(lock: Path, paths: Iterable[Path]) -> None:
    """Remove the files of a run, its lock last; `OSError` if the run still holds it."""
    with contextlib.ExitStack() as held:
        with contextlib.suppress(FileNotFoundError):  # a run makes its lock first and removes it last
            handle = os.open(lock, _OPEN | os.O_NONBLOCK)
            held.callback(os.close, handle)
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        for path in sorted(paths, key=lambda path: path == lock):
            path.unlink(missing_ok=True)


def _locked(folder: Path) -> tuple[str, int]:
    """Return a new token and the open lock on it."""
    while True:
        token = secrets.token_hex(8)
        path = _lock_path(folder, token)
        lock = os.open(path, _OPEN | os.O_CREAT | os.O_EXCL, 0o600)
        if _lock(lock) and path.exists():
            return token, lock
        os.close(lock)  # a sweep took it for an old one before it was locked


def _lock(handle: int) -> bool:
    """Lock a new file; return whether no sweep holds it."""
    with contextlib.suppress(OSError):  # no locks on this file system, and so no sweeps
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def _sync(folder: Path) -> None:
    """Have the names in a folder on the disk, as far as it can be asked for that."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _lock_path(folder: Path, token: str) -> Path:
    return folder / f".nginxopt-{token}.lock"
