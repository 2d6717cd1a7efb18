"""Hidden temporary names in a folder for files being written, and the removal of leftovers of killed runs.

A name is `.nginxopt-TOKEN-N`: no `include` with wildcards reads it, and it is short even if the final name is long. A
run locks the folder (flock(2)) while it uses such names, and the kernel releases the lock however the run ends. So two
runs never write in a folder at the same time, and files with such names in an unlocked folder are leftovers.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Self

from nginxopt import lazy

_NAME = lazy.pattern(r"\.nginxopt-[0-9a-f]{16}-\d+")
_PATIENCE_SECONDS = 30.0
_AGAIN_SECONDS = 0.02


class Scratch:
    """Hidden names in one folder; on exit, files that still have such names are removed.

    The constructor waits until no other run is writing in the folder. Raises `OSError` if the folder cannot be read, or
    the other run does not end.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._token = os.urandom(8).hex()
        self._names: list[Path] = []
        self._handle = _opened(folder)
        self.pinned = _pinned(self._handle, folder)
        try:
            if _lock(self._handle, _PATIENCE_SECONDS):
                _remove_left(self.pinned)
        except BaseException:
            os.close(self._handle)
            raise

    def name(self) -> Path:
        """Return an unused name for a file."""
        self._names.append(self.pinned / f".nginxopt-{self._token}-{len(self._names)}")
        return self._names[-1]

    def leave(self, name: Path) -> None:
        """Do not remove the file `name` on exit; the next run removes it."""
        self._names.remove(name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for name in self._names:
            with contextlib.suppress(OSError):
                name.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            os.fsync(self._handle)  # writes the new names to disk, too
        os.close(self._handle)


def _pinned(handle: int, folder: Path) -> Path:
    """Return the path of an open folder that leads to it wherever it is moved; the folder itself without `/proc`.

    Raises `OSError` if the path of the folder, which has no links, leads to another one by now.
    """
    pinned = Path(f"/proc/self/fd/{handle}")
    try:
        leads = pinned.readlink()
    except OSError:
        return folder
    if leads != folder.absolute():
        raise OSError(errno.ESTALE, os.strerror(errno.ESTALE), str(folder))
    return pinned


def sweep(folders: Iterable[str | Path]) -> None:
    """Remove leftovers of killed runs in these folders, as far as possible."""
    for folder in {Path(folder) for folder in folders}:
        with contextlib.suppress(OSError):
            handle = _opened(folder)
            try:
                if _lock(handle, 0.0):
                    _remove_left(folder)
            finally:
                os.close(handle)


def _opened(folder: Path) -> int:
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)


def _lock(handle: int, seconds: float) -> bool:
    """Lock a folder; return False if its file system does not support that. Raises `OSError` after a timeout."""
    until = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                raise OSError(errno.EBUSY, "another nginxopt is writing in this directory") from None
            time.sleep(_AGAIN_SECONDS)
        except OSError:
            return False
        else:
            return True


def _remove_left(folder: Path) -> None:
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):  # noqa: PTH208 - names are enough
            if _NAME.fullmatch(name):
                with contextlib.suppress(OSError):  # another user's, in a folder with the sticky bit
                    (folder / name).unlink()
