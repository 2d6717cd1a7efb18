"""Temporary folders that are removed after the run, or by the next run."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from nginxopt.system.interrupts import temporary_folder

_PREFIX = "nginxopt-bench-"
_YOUNG_SECONDS = 60.0  # a younger folder may not be locked yet


@contextlib.contextmanager
def private_folder() -> Iterator[Path]:
    """Yield a new folder (mode 0700) and remove it at the end; also remove folders of runs that were killed.

    A run holds a lock on its folder (flock(2)), which the kernel releases when the run ends, even if it is killed.
    """
    _sweep()
    with temporary_folder(_PREFIX) as name:
        folder = Path(name).resolve()
        with _locked(folder):
            yield folder


def _sweep() -> None:
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with contextlib.suppress(OSError):  # the folder belongs to another user, is in use, or is gone
            if time.time() - folder.stat().st_mtime > _YOUNG_SECONDS:
                with _locked(folder):
                    shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Lock a folder. Raises `BlockingIOError` if another process has locked it."""
    held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(held)
