"""The storage from which configurations are read: the disk, or the disk with some files replaced by texts."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping
from typing import IO, Protocol

from nginxopt import budget
from nginxopt.config import includes

STDIN = "-"
"""The name of standard input as a file."""


class NotRegular(OSError):  # noqa: N818 - a kind of file, beside those of OSError
    """The file is a pipe."""


class Files(Protocol):
    """The storage of the files of a configuration. Paths are as nginx builds them: a prefix and an included name."""

    def read(self, path: str) -> bytes:
        """Return the bytes of a file. Raises `OSError` if it cannot be read, `ValueError` for an invalid path."""

    def matches(self, prefix: str, name: str) -> list[str]:
        """Return the paths of `include name` in nginx's order: see `nginxopt.config.includes.matches`."""

    def reads(self, prefix: str, name: str, path: str) -> bool:
        """Return whether `include name` would read a file at `path`: see `nginxopt.config.includes.reads`."""

    def identity(self, path: str) -> str:
        """Return a string that is the same for all names of a file."""


class Disk:
    """The files of this machine."""

    def read(self, path: str) -> bytes:
        """Return the bytes of a file: as many as its size says, as nginx does. So a device and a file of /proc are
        empty; a device is not even opened, as that may do something.

        Raises `NotRegular` for a pipe, as nginx would wait for a writer and then read nothing, and
        `budget.ExceededError` for a large file.
        """
        mode = os.stat(path).st_mode  # noqa: PTH116 - as the text it is
        if stat.S_ISFIFO(mode):
            raise NotRegular("not a regular file")
        if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
            if not os.access(path, os.R_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
            return b""
        opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
        with os.fdopen(opened, "rb") as file:
            size = os.fstat(opened).st_size
            budget.check("bytes", size, path=path)
            return file.read(size)

    def matches(self, prefix: str, name: str) -> list[str]:
        """Return the paths of `include name`."""
        return includes.matches(prefix, name)

    def reads(self, prefix: str, name: str, path: str) -> bool:
        """Return whether `include name` would read a file at `path`."""
        return includes.reads(prefix, name, path)

    def identity(self, path: str) -> str:
        """Return the path without symbolic links."""
        return path if path == STDIN else os.path.realpath(path)


DISK = Disk()


def bounded(file: IO[bytes], path: str) -> bytes:
    """Return all bytes of an open file, whose size is not known. Raises `budget.ExceededError` for too many."""
    data = file.read(budget.limit("bytes") + 1)
    budget.check("bytes", len(data), path=path)
    return data


def is_descriptor(path: str) -> bool:
    """Return whether a path is that of an open file of this process: standard input, or `<(command)` of a shell."""
    return path == "/dev/stdin" or path.startswith(("/dev/fd/", "/proc/self/fd/"))


class Overlay:
    """The files of `base`, some of them with other texts, whichever of its names a file is read by.

    This checks a changed text before it is written. If `base` has no file at the path of a text, an include with that
    path finds the text; wildcards do not.
    """

    def __init__(self, texts: Mapping[str, bytes], base: Files = DISK) -> None:
        self._given = texts
        self._texts = {base.identity(path): text for path, text in texts.items()}
        self.base = base

    def on(self, base: Files) -> Overlay:
        """Return these texts in place of files of another storage."""
        return Overlay(self._given, base)

    def read(self, path: str) -> bytes:
        """Return the text that replaces a file, otherwise its bytes in `base`."""
        text = self._texts.get(self.identity(path))
        return self.base.read(path) if text is None else text

    def matches(self, prefix: str, name: str) -> list[str]:
        """Return the paths of `include name` in `base`."""
        return self.base.matches(prefix, name)

    def reads(self, prefix: str, name: str, path: str) -> bool:
        """Return whether `include name` would read a file at `path` in `base`."""
        return self.base.reads(prefix, name, path)

    def identity(self, path: str) -> str:
        """Return the identity of a file in `base`."""
        return self.base.identity(path)
