"""Reads logs in pieces of whole lines, whatever they are compressed with, in bounded memory."""

from __future__ import annotations

import gzip
import io
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from nginxopt.config.filesystem import STDIN
from nginxopt.errors import InputError

_GZIP, _ZSTD = b"\x1f\x8b", b"\x28\xb5\x2f\xfd"
_PIECE = 1 << 24
"""Bytes that are read at once."""
_LONGEST = 1 << 20
"""Bytes of a line at most; what is longer is no line of nginx, and is left out."""
_BUFFER = 1 << 20


@contextmanager
def opened(path: str) -> Iterator[tuple[io.BufferedReader, Callable[[], int]]]:
    """Open a log, and yield its content with a function that returns how many bytes of the file have been read.

    Raises `InputError` for a file that cannot be read, and for one that this Python cannot decompress.
    """
    try:
        if path == STDIN:
            raw = cast(io.BufferedReader, sys.stdin.buffer)
            yield _decompressed(raw, path), lambda: 0
            return
        with Path(path).open("rb", _BUFFER) as file:
            yield _decompressed(file, path), file.tell
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", path=path) from None


def _decompressed(raw: io.BufferedReader, path: str) -> io.BufferedReader:
    head = raw.peek(4)[:4]
    if head.startswith(_GZIP):
        return io.BufferedReader(cast(io.RawIOBase, gzip.GzipFile(fileobj=raw)), _BUFFER)
    if head == _ZSTD:
        return io.BufferedReader(_zstd(raw, path), _BUFFER)
    return raw


def _zstd(raw: io.BufferedReader, path: str) -> Any:
    """Return the content of a file compressed with zstd, which Python can read from 3.14 on."""
    try:
        module = import_module("compression.zstd")
    except ImportError:
        hint = f"run zstd -dc {path} | nginxopt profile CONFIG -"
        raise InputError("this Python cannot read zstd (3.14 can)", path=path, hint=hint) from None
    return module.ZstdFile(raw)


def pieces(file: io.BufferedReader, cut: Callable[[str], object]) -> Iterator[bytes]:
    """Yield the content in pieces of whole lines; `cut` is told why the end cannot be read."""
    rest = b""
    for read in _read(file, cut):
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


_LONG = b"\x00"
"""The beginning of a line that is too long: with it, the line has no format, and its content is not kept."""


def _read(file: io.BufferedReader, cut: Callable[[str], object]) -> Iterator[bytes]:
    """Yield the content in parts of some size, up to where it cannot be read."""
    while True:
        parts: list[bytes] = []
        size = 0
        try:
            while size < _PIECE and (part := file.read1(_PIECE)):
                parts.append(part)
                size += len(part)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            cut(str(error) or type(error).__name__)
            yield b"".join(parts)
            return
        if not parts:
            return
        yield b"".join(parts)
