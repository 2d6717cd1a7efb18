"""The storage from which configurations are read: the disk, or the disk with some files replaced by texts."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

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
        """Return the bytes of a file. A device is empty, as nginx reads as many bytes as its size, which is 0.

        Raises `NotRegular` for a pipe: nginx would wait for a writer and then read nothing.
        """
        opened = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # without waiting for a writer
        try:
            mode = os.fstat(opened).st_mode
            if stat.S_ISFIFO(mode):
                raise NotRegular("not a regular file")
            if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
                return b""
            with os.fdopen(opened, "rb", closefd=False) as file:
                return file.read()
        finally:
            os.close(opened)

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


def is_descriptor(path: str) -> bool:
    """Return whether a path is that of an open file of this process: standard input, or `<(command)` of a shell."""
    return path == "/dev/stdin" or path.startswith(("/dev/fd/", "/proc/self/fd/"))


class Moved(Disk):
    """The files of this machine, with `folder` in place of the folder `installed`, such as `/etc/nginx`.

    This resolves absolute includes of a configuration that is not installed yet: in a repository, or for an image.
    """

    def __init__(self, folder: str, installed: str) -> None:
        self._folder = Path(folder).absolute()
        self._installed = Path(installed)

    def matches(self, prefix: str, name: str) -> list[str]:
        """Return the paths of `include name`, with `folder` in place of `installed`."""
        return includes.matches(*self._here(prefix, name))

    def reads(self, prefix: str, name: str, path: str) -> bool:
        """Return whether `include name` would read a file at `path`, with `folder` in place of `installed`."""
        prefix, name = self._here(prefix, name)
        return includes.reads(prefix, name, path)

    def _here(self, prefix: str, name: str) -> tuple[str, str]:
        path = Path(os.path.normpath(name))
        if not path.is_relative_to(self._installed):
            return prefix, name
        return str(self._folder), str(path.relative_to(self._installed))


class Overlay:
    """The files of `base`, some of them with other texts, whichever of its names a file is read by.

    This checks a changed text before it is written. If `base` has no file at the path of a text, an include with that
    path finds the text; wildcards do not.
    """

    def __init__(self, texts: Mapping[str, bytes], base: Files = DISK) -> None:
        self._texts = {base.identity(path): text for path, text in texts.items()}
        self.base = base

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
