"""Caches parsed files, so that a text is parsed once even if several configurations include it."""

from __future__ import annotations

import errno
import os
from collections import OrderedDict
from threading import Lock

from nginxopt.config.filesystem import DISK
from nginxopt.config.includes import File, parsed, refuse_wrong_includes
from nginxopt.config.templating import refuse_tags
from nginxopt.errors import InputError

_MOST = 1_000


class Parser:
    """Parses files, and caches the `File` or the error of recently used texts, by path and text."""

    def __init__(self) -> None:
        self._files: OrderedDict[tuple[str, bytes], File | InputError] = OrderedDict()
        self._lock = Lock()

    def __call__(self, path: str, data: bytes) -> File:
        """Parse the text of the file at `path`.

        Raises `InputError` if it cannot be parsed, or is a template, or if an include has no path.
        """
        key = path, data
        with self._lock:
            file = self._files.get(key)
            if file is None:
                file = self._files[key] = _parsed(path, data)
                if len(self._files) > _MOST:
                    self._files.popitem(last=False)
            self._files.move_to_end(key)
        if isinstance(file, InputError):
            raise file.with_traceback(None)
        return file


def _parsed(path: str, data: bytes) -> File | InputError:
    try:
        file = parsed(path, data)
        refuse_tags(file.block)
        refuse_wrong_includes(file)
    except InputError as error:
        return error
    return file


class Nothing:
    """A disk without files, on which no include can be read."""

    def read(self, path: str) -> bytes:
        """Raise `FileNotFoundError`."""
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)

    def matches(self, prefix: str, name: str) -> list[str]:  # noqa: ARG002 - the protocol's signature
        """Return the name of an include, whose file is then missing."""
        return [name]

    def reads(self, prefix: str, name: str, path: str) -> bool:
        """Return whether `include name` would read a file at `path`."""
        return DISK.reads(prefix, name, path)

    def identity(self, path: str) -> str:
        """Return the path."""
        return path
