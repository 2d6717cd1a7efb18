"""New files, copies of files, and texts written into files that stay the same file."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from nginxopt.system.writing import attributes
from nginxopt.system.writing.scratch import Scratch

BACKUP = "nginxopt-orig"
"""The suffix of kept files. Their names begin with a dot, so no `include` with a glob reads them."""

NOT_ALLOWED = (errno.EACCES, errno.EPERM, errno.EROFS)
NO_LINKS = (errno.EPERM, errno.EMLINK, errno.ENOTSUP, errno.ENOSYS, errno.EINVAL)
"""The errors of link(2) where a file system, or a rule of the kernel (protected_hardlinks), has no such links."""

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

Scratches = Callable[[Path], Scratch]
"""Opens the hidden names in a folder. Raises `OSError` if none can be put there."""


def make(path: Path, text: bytes, mode: int = 0o600) -> os.stat_result:
    """Write a text to a new file and flush it to disk; return its status. Raises `OSError` if that fails."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
    try:
        _write(handle, text)
        os.fsync(handle)
        return os.fstat(handle)
    finally:
        os.close(handle)


def duplicate(old: Path, new: Path) -> None:
    """Copy a file with its time and attributes; one whose owner cannot be kept is its new owner's alone."""
    status = old.stat()
    make(new, old.read_bytes())
    with contextlib.suppress(OSError):
        attributes.copy_all(old, new)
    os.utime(new, ns=(status.st_atime_ns, status.st_mtime_ns))


def keep(file: Path, scratches: Scratches, *, named: Path | None = None) -> tuple[Path, bool]:
    """Return a copy of a file, and whether it is new, as an equal one may exist. Raises `OSError` if that fails.

    It lies beside the file under the name of `named` (by default that of the file), or, where nothing can be put
    there, in a folder of its own among the temporary files.
    """
    try:
        return _kept_beside(file, scratches(file.parent), named or file)
    except OSError as error:
        if error.errno not in NOT_ALLOWED:
            raise
    import tempfile  # it takes longer to import than to write most files

    copy = Path(tempfile.mkdtemp(prefix=f"{BACKUP}-")) / file.name
    duplicate(file, copy)
    return copy, True


def _kept_beside(file: Path, scratch: Scratch, named: Path) -> tuple[Path, bool]:
    copy = scratch.name()
    duplicate(file, copy)
    for name in _names(named):
        try:
            give(copy, name)
        except FileExistsError:
            if _same(name, copy):
                return name, False
        else:
            return name, True
    raise AssertionError  # the names do not end


def give(staged: Path, name: Path) -> None:
    """Give a file a free name. Raises `FileExistsError` if it is not."""
    try:
        os.link(staged, name, follow_symlinks=False)
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        if os.path.lexists(name):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(name)) from None
        staged.rename(name)


def _names(file: Path) -> Iterator[Path]:
    """Yield the names for a copy of a file, shortened for the file system."""
    longest = 255
    with contextlib.suppress(OSError):
        longest = os.pathconf(file.parent, "PC_NAME_MAX")
    number = 1
    while True:
        end = f".{BACKUP}{number if number > 1 else ''}"
        stem = file.name
        while len(os.fsencode(f".{stem}{end}")) > longest:
            stem = stem[:-1]
        yield file.with_name(f".{stem}{end}")
        number += 1


def _same(file: Path, other: Path) -> bool:
    """Return whether two files are regular and have the same content."""
    with contextlib.suppress(OSError):
        return not file.is_symlink() and file.is_file() and file.read_bytes() == other.read_bytes()
    return False


def overwrite(file: Path, text: bytes) -> None:
    """Put a text into a file that stays the same file. Raises `OSError` if that fails, then it may hold part of it."""
    handle = os.open(file, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        _reserve(handle, len(text))
        _write(handle, text)
        os.ftruncate(handle, len(text))
        os.fsync(handle)
    finally:
        os.close(handle)


def _reserve(handle: int, size: int) -> None:
    """Take the room that a longer text needs before the old one is touched. Raises `OSError` if there is none."""
    before = os.fstat(handle).st_size
    if size <= before or not hasattr(os, "posix_fallocate"):
        return
    try:
        os.posix_fallocate(handle, 0, size)
    except OSError as error:
        os.ftruncate(handle, before)
        if error.errno in _NO_ROOM:
            raise


def _write(handle: int, text: bytes) -> None:
    rest = memoryview(text)
    while rest:
        rest = rest[os.write(handle, rest) :]
