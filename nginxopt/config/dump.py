"""Reads the output of `nginx -T`: all files of a configuration in sequence.

For each file, in the order in which nginx first opens them, `main` (src/core/nginx.c) writes the line
`# configuration file NAME:`, the bytes of the file, and a line feed. Each name occurs once (`ngx_conf_add_dump` in
src/core/ngx_conf_file.c). With `2>&1`, the messages of the test come first.
"""

from __future__ import annotations

import errno
import os
import re
from pathlib import Path
from typing import Self

from nginxopt import lazy
from nginxopt.config import includes
from nginxopt.config.filesystem import Files, Overlay
from nginxopt.errors import InputError
from nginxopt.text import Source, Span, decode

# A name is a prefix, which ends with a slash, and what follows it.
_HEADER = lazy.pattern(rb"^# configuration file (?P<name>[^\s/]*/.*):(?P<end>\r?\n)", re.MULTILINE)
_MESSAGES = lazy.pattern(rb"(?:nginx: .*\n)*")


class Dump:
    """The storage of the files in the output of `nginx -T`; an implementation of `Files` that never reads the disk.

    `main` is the path of the main file. Relative includes start from its folder, nginx's `conf_prefix`. `is_whole` is
    whether nginx printed it, so that no include reads anything else.
    """

    def __init__(self, source: Source, spans: dict[str, Span], *, is_whole: bool = True) -> None:
        self._source = source
        self._spans = spans
        self.is_whole = is_whole
        self.main = next(iter(spans))

    @classmethod
    def of(cls, name: str, data: bytes) -> Self | None:
        """Return a text as a dump; None unless it begins with the header of a file.

        A line inside a file that looks like a header counts as one, unless it repeats the name of an earlier header.
        """
        messages = _MESSAGES.match(data)
        start = messages.end() if messages else 0
        if not _HEADER.match(data, start):
            return None
        headers: dict[bytes, re.Match[bytes]] = {}
        for header in _HEADER.finditer(data, start):
            headers.setdefault(header["name"], header)
        ends = [*(header.start() for header in headers.values()), len(data)][1:]
        spans: dict[str, Span] = {}
        for (path, header), end in zip(headers.items(), ends, strict=True):
            spans.setdefault(_normal(decode(path)), _contents(header, end))
        return cls(Source(name, data), spans)

    def read(self, path: str) -> bytes:
        """Return the bytes of a file."""
        span = self._spans.get(_normal(path))
        if span is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
        return self._source.data[span.start : span.end]

    def matches(self, prefix: str, name: str) -> list[str]:
        """Return the paths of `include name`."""
        return includes.among(self._spans, prefix, name)

    def reads(self, prefix: str, name: str, path: str) -> bool:
        """Return whether `include name` would read a file at `path`."""
        return path in includes.among([path], prefix, name)

    def identity(self, path: str) -> str:
        """Return the normalised path; a file in a dump has only one."""
        return _normal(path)

    def left_over(self, read: set[str]) -> list[InputError]:
        """Return an error for each file of the dump whose path is not in `read`, the files that includes lead to.

        nginx prints only files that are included. So the dump is incomplete, or the header is a line of a file.
        """
        return [
            InputError(f"no file in this dump includes {path}", source=self._source, span=self._header(span))
            for path, span in self._spans.items()
            if path not in read
        ]

    def _header(self, span: Span) -> Span:
        """Return the place of the header before a file."""
        end = self._source.data.rindex(b":", 0, span.start) + 1
        return Span(self._source.data.rfind(b"\n", 0, end) + 1, end)


def is_dump(files: Files) -> bool:
    """Return whether files come from a dump, perhaps with an `Overlay`, and not from the disk."""
    return isinstance(files.base if isinstance(files, Overlay) else files, Dump)


def is_whole_dump(files: Files) -> bool:
    """Return whether files come from a dump that nginx printed, so that no include reads anything else."""
    dump = files.base if isinstance(files, Overlay) else files
    return isinstance(dump, Dump) and dump.is_whole


def _contents(header: re.Match[bytes], end: int) -> Span:
    """Return the content between a header and `end`, without the line end that nginx adds."""
    line_end = header["end"]
    is_added = header.string.endswith(line_end, header.end(), end)
    return Span(header.end(), end - len(line_end) * is_added)


def _normal(path: str) -> str:
    """Return a path without `./` and doubled slashes, like those of `nginxopt.config.includes`."""
    return str(Path(path))
