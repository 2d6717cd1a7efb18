"""System calls that fail: the n-th that a piece of code makes, or all from there on."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from typing import Any

import pytest

CALLS = (
    *("open", "write", "fsync", "ftruncate", "posix_fallocate", "link", "rename", "unlink", "chown", "chmod"),
    *("setxattr", "removexattr", "listxattr", "getxattr", "utime", "fstat", "listdir", "pathconf"),
)
"""The calls of `os` that fail; those that only ask for what is there and cannot change, such as stat, do not."""


class Faults:
    """Counts the calls and has one fail, or, if `forever`, all calls of its name from then on."""

    def __init__(self, at: int | None = None, error: int = 0, *, forever: bool = False) -> None:
        self.count = 0
        self.failed: str | None = None
        self._at, self._error, self._forever = at, error, forever

    def _wrapped(self, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def wrapped(*args: Any, **named: Any) -> Any:
            number = self.count
            self.count += 1
            if number == self._at or (self._forever and self.failed == name):
                self.failed = name
                raise OSError(self._error, os.strerror(self._error))
            return call(*args, **named)

        return wrapped

    def __enter__(self) -> Faults:
        self._patch = pytest.MonkeyPatch()
        for name in CALLS:
            call = getattr(os, name) if name != "fsync" else lambda _: None  # it takes long
            self._patch.setattr(os, name, self._wrapped(name, call))
        self._patch.setattr(fcntl, "flock", self._wrapped("flock", fcntl.flock))
        return self

    def __exit__(self, *_: object) -> None:
        self._patch.undo()
