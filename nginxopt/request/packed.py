"""Bounds for logs that are larger than the space that they take on a disk: compressed and sparse ones.

The work on a log is in proportion to what is read of it. So it is bounded by what a stranger had to send for it: the
budget `log-growth`. Logs shrink to a fiftieth; the same request over and over again, in the same second, to a 380th.
A file that is made only to cause work shrinks to a thousandth with gzip, and further with zstd.
"""

from __future__ import annotations

import errno
import io
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nginxopt import budget
from nginxopt.config.filesystem import is_descriptor

_BUDGET = "log-growth"
_SMALL = 64 << 20
"""The bytes that any log may unpack to, however small it is."""


class Unpacked(io.RawIOBase):
    """The content of a compressed log. Raises `budget.ExceededError` once that is more than the budget allows.

    `unpack` is called with the compressed file, and returns the method that reads its content. That is `read1` if what
    comes before damaged data is to be read, and `read` if damaged data makes the whole log an error. Content that must
    be in memory as a whole may grow to a `share` of the budget only, as it takes much more memory than its bytes.
    """

    def __init__(self, raw: Any, path: str, unpack: Callable[[Any], Callable[[int], bytes]], share: float = 1) -> None:
        super().__init__()
        self._below = _Counted(raw)
        self._read = unpack(self._below)
        self._path = path
        self._limit = budget.limit(_BUDGET)
        self._share = share
        self._size = 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read the next bytes."""
        data = self._read(len(buffer))
        self._size += len(data)
        if self._size > self._share * max(_SMALL, self._limit * self._below.size):
            raise budget.ExceededError(_BUDGET, self._limit, path=self._path)
        buffer[: len(data)] = data
        return len(data)


class _Counted:
    """A file that is only read forwards, with the number of bytes read so far."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self.size = 0

    def read(self, size: int = -1) -> bytes:
        data: bytes = self._file.read(size)
        self.size += len(data)
        return data


def refuse_special(path: str) -> None:
    """Raise `OSError` for a folder, a device, and a file of `/proc`: a reader may wait there forever.

    A pipe may be a log, and so may what a shell or a service has opened, such as /dev/stdin.
    """
    status = Path(path).stat()
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if stat.S_ISFIFO(status.st_mode):
        return
    is_device = stat.S_ISCHR(status.st_mode) or stat.S_ISBLK(status.st_mode)
    is_of_kernel = not status.st_size and os.path.realpath(path).startswith(("/proc/", "/sys/"))
    if (is_device or is_of_kernel) and not is_descriptor(path):
        raise OSError(errno.EINVAL, "not a regular file")


def refuse_sparse(path: str) -> None:
    """Raise `budget.ExceededError` if a file has more holes than the budget allows. Raises `OSError`."""
    limit = budget.limit(_BUDGET)
    with Path(path).open("rb", buffering=0) as file:
        size = os.fstat(file.fileno()).st_size
        if size > max(_SMALL, limit * _data(file.fileno(), size, size // limit)):
            raise budget.ExceededError(_BUDGET, limit, path=path)


def _data(file: int, size: int, enough: int) -> int:
    """Return the number of bytes of a file outside of holes, up to about `enough`; all if the system cannot tell."""
    found, at = 0, 0
    while at < size and found <= enough:
        try:
            start = os.lseek(file, at, os.SEEK_DATA)
            at = os.lseek(file, start, os.SEEK_HOLE)
        except OSError as error:
            return found if error.errno == errno.ENXIO else size
        if at <= start:
            return size
        found += at - start
    return found
