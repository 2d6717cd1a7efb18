"""Reads logs in pieces, whatever they are compressed with, in bounded memory."""

from __future__ import annotations

import errno
import gzip
import io
import os
import shlex
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, cast

from nginxopt.config.filesystem import STDIN
from nginxopt.errors import InputError
from nginxopt.request.packed import Unpacked, refuse_sparse, refuse_special

_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_ZSTD_MODULES = ("compression.zstd", "backports.zstd")
_PIECE = 1 << 21
"""The number of bytes that are read at once."""
_LONGEST = 1 << 20
"""The most bytes of a line: nginx writes no longer ones."""
_BUFFER = 1 << 20
_PLACES, _LINE = 16, 400
"""The number of places in a log where some lines are read, and the usual limit for the bytes of a line."""
RANGE = 1 << 28
"""The bytes of a log that are one part."""


class _UpToTheCut(io.RawIOBase):
    """The content of a compressed file, up to where decompression fails; `reason` says why it does."""

    def __init__(self, unpacked: Unpacked) -> None:
        self._unpacked = unpacked
        self.reason: str | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            return self._unpacked.readinto(buffer)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            self.reason = str(error)
            return 0


@dataclass(frozen=True)
class OpenLog:
    """An open log: `raw` is the file itself, `content` its decompressed bytes."""

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

    def pieces(self, start: int = 0, stop: int | None = None) -> Iterator[bytes]:
        """Yield the content from byte `start` to `stop`, or all of it, in pieces, and an empty one at the end."""
        if start:
            self.content.seek(start)
        at = start
        while piece := self.content.read(_PIECE if stop is None else min(_PIECE, stop - at)):
            at += len(piece)
            yield piece
        yield b""

    def some_lines(self, most: int) -> Iterator[bytes]:
        """Yield at most `most` whole lines: spread over an uncompressed file, otherwise from the start."""
        size = self.raw.seek(0, os.SEEK_END) if self.decompressed is None and self.raw.seekable() else 0
        places = _PLACES if size > most * _LINE else 1
        for place in range(places):
            if size:
                self.content.seek(place * size // places)
            if place:
                self.content.readline(_LONGEST)
            for _ in range(most // places):
                line = self.content.readline(_LONGEST)
                if not line:
                    break
                yield line


class Range(NamedTuple):
    """A part of a log that is read alone: whole lines from byte `start` to `stop`, None for its end."""

    path: str
    start: int = 0
    stop: int | None = None


def ranges(path: str, size: int | None = None) -> list[Range]:
    """Return the parts of a log, of `size` or `RANGE` bytes and the rest of a line; a compressed one is a single part.

    Raises `InputError` as `opened` does, and `budget.ExceededError` for a sparse one.
    """
    if path == STDIN or Path(path).is_fifo():  # these can be opened only once
        return [Range(path)]
    size = size or RANGE
    with opened(path) as log:
        if log.decompressed is not None or not log.raw.seekable():
            return [Range(path)]
        refuse_sparse(path)
        end = log.raw.seek(0, os.SEEK_END)
        cuts = [0]
        while cuts[-1] + size < end:
            log.raw.seek(cuts[-1] + size - 1)
            while (line := log.raw.readline(_LONGEST)) and not line.endswith(b"\n"):
                pass
            cuts.append(log.raw.tell())
    stops = [*cuts[1:], None] if cuts[-1] < end or len(cuts) == 1 else [*cuts[1:-1], None]
    return [Range(path, start, stop) for start, stop in zip(cuts, stops, strict=False)]


def require(path: str) -> None:
    """Raise `InputError` for a log that cannot be read. Does not open it, as a pipe can be opened only once."""
    if path == STDIN:
        return
    try:
        refuse_special(path)
        if not os.access(path, os.R_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise _unreadable(path, error) from None


@contextmanager
def opened(path: str) -> Iterator[OpenLog]:
    """Open a log. Raises `InputError` for one that cannot be read, or that this Python cannot decompress.

    Reading raises `budget.ExceededError` for a compressed log that unpacks to many times its size.
    """
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
    unpack = _zstd_file(path) if head == _ZSTD else lambda below: gzip.GzipFile(fileobj=below).read1
    stream = _UpToTheCut(Unpacked(raw, path, unpack))
    return OpenLog(raw, io.BufferedReader(stream, _BUFFER), stream)


def _zstd_file(path: str) -> Callable[[Any], Callable[[int], bytes]]:
    """Return the function that decompresses a zstd file, which needs Python 3.14 or its backport."""
    module = next((found for name in _ZSTD_MODULES if (found := _imported(name)) is not None), None)
    if module is None:
        hint = f"pip install 'nginxopt[zstd]', or run zstd -dc {shlex.quote(path)} | nginxopt profile CONFIG -"
        raise InputError("this Python cannot read zstd (3.14 can)", path=path, hint=hint)

    def unpack(below: Any) -> Callable[[int], bytes]:
        file = module.ZstdFile(below)

        def read1(size: int) -> bytes:
            try:
                return cast(bytes, file.read1(size))
            except module.ZstdError as error:  # which is no `OSError`, as that of gzip is
                raise gzip.BadGzipFile(str(error)) from None

        return read1

    return unpack


def _imported(name: str) -> Any:
    """Return a module; None if it is not installed."""
    try:
        return import_module(name)
    except ImportError:
        return None
