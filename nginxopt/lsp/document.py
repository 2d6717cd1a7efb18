"""An open file: its text in the editor, and the last text that parses."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

from lsprotocol.types import PositionEncodingKind

from nginxopt.config.filesystem import DISK
from nginxopt.config.includes import File
from nginxopt.config.templating import refused
from nginxopt.errors import InputError
from nginxopt.lsp.lines import Lines
from nginxopt.lsp.reading import Parser
from nginxopt.lsp.recovery import recovered
from nginxopt.text import Span

_MARK = "\ufeff".encode()


@dataclass(frozen=True)
class Document:
    """One version of an open file. Instances are immutable.

    Attributes:
        uri: The URI in the protocol.
        path: The path of the file; for a text without a file, a name for messages.
        is_file: Whether the text belongs to a file of this machine.
        version: The version number of the editor.
        data: The text in UTF-8, including a byte order mark that the editor hides.
        encoding: The encoding of positions in the protocol.
        hidden: The number of bytes of the hidden mark.
        before: The last version that parses, if this one does not; None if there is none.
    """

    uri: str
    path: str
    is_file: bool
    version: int | None
    data: bytes
    parser: Parser = field(repr=False)
    encoding: str = PositionEncodingKind.Utf16
    hidden: int = 0
    before: Document | None = field(default=None, repr=False)

    @cached_property
    def lines(self) -> Lines:
        """The lines of the text."""
        return Lines(self.data, self.encoding, hidden=self.hidden)

    @cached_property
    def _parsed(self) -> File | InputError:
        try:
            return self.parser(self.path, self.data)
        except InputError as error:
            return refused(error)

    @cached_property
    def shape(self) -> File | None:
        """The text as a file, with unreadable parts blanked out, so that offsets are the same as in the text."""
        return recovered(self.path, self.data) if isinstance(self._parsed, InputError) else self._parsed

    @property
    def file(self) -> File | None:
        """The text as a file of a configuration; None if it does not parse."""
        return None if isinstance(self._parsed, InputError) else self._parsed

    @property
    def error(self) -> InputError | None:
        """The error for which the text does not parse; None if it does."""
        return self._parsed if isinstance(self._parsed, InputError) else None

    @property
    def good(self) -> Document | None:
        """The last version that parses, which may be this one."""
        return self.before if self.error else self

    def changed(self, text: str, version: int | None) -> Self:
        """Return the document with another text."""
        good = self.good
        data = self.data[: self.hidden] + _bytes(text)
        return replace(self, version=version, data=data, before=good and replace(good, before=None))

    def span_of(self, span: Span, old: Document) -> Span | None:
        """Return where a span of an `old` version is in this one; None if its lines or the adjacent ones changed."""
        if old.data == self.data:
            return span
        start, end = _difference(old.data, self.data)
        if span.end <= old.data.rfind(b"\n", 0, start):
            return span
        line_end = old.data.find(b"\n", end)
        if line_end == -1 or span.start <= line_end:
            return None
        shift = len(self.data) - len(old.data)
        return Span(span.start + shift, span.end + shift)


def opened(
    uri: str, path: str, text: str, version: int | None, parser: Parser, encoding: str, *, is_file: bool
) -> Document:
    """Return a file that an editor opened, with the byte order mark of the file on disk, which editors hide."""
    mark = b"" if text.startswith("\ufeff") or not is_file else _mark_of(path)
    return Document(uri, path, is_file, version, mark + _bytes(text), parser, encoding, len(mark))


def _mark_of(path: str) -> bytes:
    try:
        return _MARK if DISK.read(path).startswith(_MARK) else b""
    except (OSError, ValueError, InputError):
        return b""


def _bytes(text: str) -> bytes:
    """Return a text of the protocol as UTF-8. It may contain halves of surrogate pairs, which become U+FFFD."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace").encode()


def _difference(old: bytes, new: bytes) -> tuple[int, int]:
    """Return the span of `old` that differs from `new`."""
    start = _common(lambda count: old.startswith(new[:count]), min(len(old), len(new)))
    most = min(len(old), len(new)) - start
    return start, len(old) - _common(lambda count: old.endswith(new[len(new) - count :]), most)


def _common(is_same: Callable[[int], bool], most: int) -> int:
    """Return the largest number up to `most` for which `is_same` is true, by bisection."""
    return bisect_left(range(1, most + 1), True, key=lambda count: not is_same(count))
