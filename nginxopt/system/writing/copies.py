"""Makes files beside the one that is written, under hidden names and as backup copies, and overwrites files in place.

A hidden name is `.nginxopt-TOKEN-N`: no `include` with wildcards reads it, and it is short even if the final name is
long. A run locks the folder (flock(2)) while it uses such names, and the kernel releases the lock however the run ends.
So two runs never write in a folder at the same time, and files with such names in an unlocked folder are leftovers.

A copy has the owner, mode and extended attributes of the file, including access control lists and SELinux labels.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Self

from nginxopt import lazy

BACKUP = "nginxopt-orig"
"""The suffix of backup copies. Their names begin with a dot, so that no `include` with wildcards reads them."""

NOT_ALLOWED = (errno.EACCES, errno.EPERM, errno.EROFS)
NO_LINKS = (errno.EPERM, errno.EMLINK, errno.ENOTSUP, errno.ENOSYS, errno.EINVAL)
"""The errors of link(2) if the file system does not support hard links, or protected_hardlinks forbids one."""

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

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


Scratches = Callable[[Path], Scratch]
"""A function that returns the hidden names in a folder. Raises `OSError` if no file can be created there."""


# Files and their copies


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
    """Copy a file with its times and attributes. If its owner cannot be kept, only the new owner may read the copy."""
    status = old.stat()
    make(new, old.read_bytes())
    with contextlib.suppress(OSError):
        copy_all(old, new)
    os.utime(new, ns=(status.st_atime_ns, status.st_mtime_ns))


def keep(file: Path, scratches: Scratches, *, named: Path | None = None) -> tuple[Path, bool]:
    """Make a backup copy of a file, unless an equal one exists. Return its path, and whether it is new.

    The copy is beside the file and named after `named` (by default the file itself). If no file can be created there,
    the copy is in a new temporary folder. Raises `OSError` if copying fails.
    """
    try:
        return _kept_beside(file, scratches(file.parent), named or file)
    except OSError as error:
        if error.errno not in NOT_ALLOWED:
            raise
    import tempfile  # the import takes longer than writing most files

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
    """Give a file another name, in addition or instead. Raises `FileExistsError` if the name is taken."""
    try:
        os.link(staged, name, follow_symlinks=False)
    except OSError as error:
        if error.errno not in NO_LINKS:
            raise
        if os.path.lexists(name):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(name)) from None
        staged.rename(name)


def _names(file: Path) -> Iterator[Path]:
    """Yield candidate names for a copy of a file, shortened to the limit of the file system."""
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
    """Return whether a file is regular and has the same content as another one."""
    with contextlib.suppress(OSError):
        return not os.path.islink(file) and os.path.isfile(file) and file.read_bytes() == other.read_bytes()
    return False


def overwrite(file: Path, text: bytes, expected: os.stat_result | None = None) -> None:
    """Overwrite the content of a file. Raises `OSError` if that fails; the file may then have part of the new text.

    Nothing is written if it is another file than the one with the status `expected`.
    """
    handle = os.open(file, os.O_WRONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        if expected is not None and not os.path.samestat(os.fstat(handle), expected):
            raise OSError(errno.ESTALE, os.strerror(errno.ESTALE), str(file))
        _reserve(handle, len(text))
        _write(handle, text)
        os.ftruncate(handle, len(text))
        os.fsync(handle)
    finally:
        os.close(handle)


def _reserve(handle: int, size: int) -> None:
    """Allocate the space for a longer text before the old one is overwritten. Raises `OSError` if the disk is full."""
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


# Attributes

_ACL, _LABEL = "system.posix_acl_access", "security.selinux"
_OF_THE_TEXT = frozenset({"security.ima", "security.evm"})
"""Attributes with digests of the text, which the kernel maintains. Those of the old text are wrong for the new one."""


def copy_all(old: Path, new: Path) -> None:
    """Give a new file all attributes of an old one. Raises `OSError` if that is not possible."""
    old_stat, has = old.stat(), new.stat()
    if (old_stat.st_uid, old_stat.st_gid) != (has.st_uid, has.st_gid):
        os.chown(new, old_stat.st_uid, old_stat.st_gid)
    before, after = _extended(new), _extended(old)
    for name in before.keys() - after.keys():  # such as the folder's default access control list
        os.removexattr(new, name)
    for name, value in after.items():
        if before.get(name) != value:
            os.setxattr(new, name, value)
    new.chmod(stat.S_IMODE(old_stat.st_mode))


def copy_access(old: Path, new: Path) -> None:
    """Give a new file the read permissions of an old one, as far as possible; its owner may also write it."""
    old_stat = old.stat()
    with contextlib.suppress(OSError):
        os.chown(new, old_stat.st_uid, old_stat.st_gid)
    before, after = _extended(new), _extended(old)
    if _ACL in before and _ACL not in after:
        os.removexattr(new, _ACL)
    for name in {_ACL, _LABEL} & after.keys():
        with contextlib.suppress(OSError):
            os.setxattr(new, name, after[name])
    new.chmod(old_stat.st_mode & 0o777 | stat.S_IWUSR)


def _extended(file: Path) -> dict[str, bytes]:
    """Return the extended attributes of a file; none if the system or the file system does not support them."""
    if not hasattr(os, "listxattr"):
        return {}
    values = {}
    for name in _attributes(file):
        try:
            values[name] = os.getxattr(file, name)
        except OSError as error:
            if error.errno != errno.ENODATA:  # removed in the meantime
                raise
    return values


def _attributes(file: Path) -> set[str]:
    try:
        return set(os.listxattr(file)) - _OF_THE_TEXT
    except OSError as error:
        if error.errno in (errno.ENOTSUP, errno.ENOSYS):
            return set()
        raise
