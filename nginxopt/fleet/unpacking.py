"""Limits for archives, whose headers and compression may demand any amount of memory and time."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
from collections.abc import Callable
from typing import IO, Any, cast

from nginxopt import budget

_PACKED: tuple[tuple[bytes, Callable[[IO[bytes]], IO[bytes]]], ...] = (
    (b"\x1f\x8b", lambda file: cast("IO[bytes]", gzip.GzipFile(fileobj=file))),
    (b"BZh", lambda file: cast("IO[bytes]", bz2.BZ2File(file))),
    (b"\xfd7zXZ\0", lambda file: cast("IO[bytes]", lzma.LZMAFile(file))),  # noqa: SIM115 - closed by `UnpackedTar`
)
"""How compressed files begin, and what unpacks them."""

_STEP = 1 << 20  # bytes that are skipped at once
_ENTRY = 46  # bytes of the smallest entry of a zip's directory
_TAIL = 22 + 65_535 + 20 + 56  # bytes of the records at the end of a zip, with the longest comment


def unpacked(file: IO[bytes], url: str) -> UnpackedTar:
    """Return what a compressed file unpacks to, or the file itself if it is not compressed."""
    start = file.read(6)
    file.seek(0)
    unpack = next((unpack for magic, unpack in _PACKED if start.startswith(magic)), None)
    return UnpackedTar(file if unpack is None else unpack(file), url, file)


class UnpackedTar(io.RawIOBase):
    """A file for `tarfile` that is read only forwards, and within the budgets `archive-bytes` and `host-bytes`.

    `tarfile` reads headers of any size at once, such as a name of a gigabyte.
    """

    def __init__(self, file: IO[bytes], url: str, below: IO[bytes]) -> None:
        super().__init__()
        self._file = file
        self._url = url
        self._at = 0
        self._is_packed = file is not below
        self._left = budget.Meter("archive-bytes")

    def readable(self) -> bool:
        """Return that it can be read."""
        return True

    def seekable(self) -> bool:
        """Return that bytes can be skipped."""
        return True

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes. Raises `budget.ExceededError` for more than the files of one host."""
        most = budget.limit("host-bytes")
        if size < 0 or size > most:
            raise budget.ExceededError("host-bytes", most, path=self._url)
        data = self._file.read(size)
        self._at += len(data)
        self._left.spend(len(data) if self._is_packed else 0, path=self._url)
        return data

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Go to an offset from the beginning: forwards by unpacking up to it, backwards by unpacking from the start."""
        if whence != io.SEEK_SET:
            raise io.UnsupportedOperation("only from the beginning")
        if not self._is_packed or offset < self._at:
            self._at = self._file.seek(offset)
        while self._at < offset and self.read(min(_STEP, offset - self._at)):
            pass
        return self._at

    def tell(self) -> int:
        """Return the offset."""
        return self._at

    def close(self) -> None:
        """Close the decompressor; whoever opened the file below closes that."""
        if self._is_packed and not self.closed:
            self._file.close()
        super().close()


def refuse_large_directory(file: Any, url: str) -> None:
    """Raise `budget.ExceededError` if the directory of a zip is too large, which `zipfile` reads at once."""
    end = file.seek(0, io.SEEK_END)
    file.seek(max(0, end - _TAIL))
    tail = file.read()
    file.seek(0)
    at = tail.rfind(b"PK\5\6")
    size = int.from_bytes(tail[at + 12 : at + 16], "little") if at >= 0 else 0
    wide = tail.rfind(b"PK\6\6")
    if wide >= 0:
        size = max(size if size != 0xFFFF_FFFF else 0, int.from_bytes(tail[wide + 40 : wide + 48], "little"))
    budget.check("archive-members", size // _ENTRY, path=url)
