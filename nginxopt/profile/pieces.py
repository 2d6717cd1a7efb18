"""Reads logs in pieces of whole lines, whatever they are compressed with, in bounded memory."""

from __future__ import annotations

import errno
import gzip
import io
import os
import shlex
import stat
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from nginxopt.config.filesystem import STDIN
from nginxopt.errors import InputError

_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_PIECE = 1 << 24
"""Bytes that are read at once."""
_LONGEST = 1 << 20
"""Bytes of a line at most: what is longer is no line of nginx."""
_LONG = b"\x00"
"""The beginning of a line that is too long: with it, the line has no format, and its content is not kept."""
_BUFFER = 1 << 20


class _UpToTheCut(io.RawIOBase):
    """The content of a compressed file, up to where it cannot be decompressed; `reason` is then why."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.reason: str | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            data = self._stream.read1(len(buffer))
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            self.reason = str(error)
            return 0
        buffer[: len(data)] = data
        return len(data)


@dataclass(frozen=True)
class OpenLog:
    """A log that is open: `raw` is the file itself, `content` what is in it."""

    raw: io.BufferedReader
    content: io.BufferedReader
    decompressed: _UpToTheCut | None = None

    @property
    def cut(self) -> str | None:
        """Why the end cannot be read; None if all was read so far."""
        return None if self.decompressed is None else self.decompressed.reason

    def done(self) -> int:
        """Return how many bytes of the file have been read; 0 for a stream."""
        return self.raw.tell() if self.raw.seekable() else 0

    def pieces(self) -> Iterator[bytes]:
        """Yield the content in pieces of whole lines."""
        rest = b""
        while read := self.content.read(_PIECE):
            end = read.rfind(b"\n") + 1
            if end:
                yield rest + read[:end]
                rest = read[end:]
            else:
                rest += read
            if len(rest) > _LONGEST:
                rest = _LONG
        if rest:
            yield rest


def require(path: str) -> None:
    """Raise `InputError` for a log that cannot be read, without opening it: a pipe can be opened once."""
    if path == STDIN:
        return
    try:
        if stat.S_ISDIR(Path(path).stat().st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not os.access(path, os.R_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise _unreadable(path, error) from None


@contextmanager
def opened(path: str) -> Iterator[OpenLog]:
    """Open a log. Raises `InputError` for one that cannot be read, or that this Python cannot decompress."""
    try:
        if path == STDIN:
            yield _open(cast(io.BufferedReader, sys.stdin.buffer), path)
            return
        with Path(path).open("rb", _BUFFER) as file:
            yield _open(cast(io.BufferedReader, file), path)
    except OSError as error:
        raise _unreadable(path, error) from None


def _unreadable(path: str, error: OSError) -> InputError:
    return InputError(f"cannot be read: {error.strerror or error}", path=path)


def _open(raw: io.BufferedReader, path: str) -> OpenLog:
    head = raw.peek(4)[:4]
    if not head.startswith(_GZIP) and head != _ZSTD:
        return OpenLog(raw, raw)
    stream = _UpToTheCut(_zstd(raw, path) if head == _ZSTD else gzip.GzipFile(fileobj=raw))
    return OpenLog(raw, io.BufferedReader(stream, _BUFFER), stream)


def _zstd(raw: io.BufferedReader, path: str) -> Any:
    """Return the content of a file compressed with zstd, which Python can read from 3.14 on."""
    try:
        module = import_module("compression.zstd")
    except ImportError:
        hint = f"run zstd -dc {shlex.quote(path)} | nginxopt profile CONFIG -"
        raise InputError("this Python cannot read zstd (3.14 can)", path=path, hint=hint) from None
    return module.ZstdFile(raw)
