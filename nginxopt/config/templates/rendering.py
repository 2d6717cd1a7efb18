"""Renders a template in one of its readings, and maps the bytes of the result back to the template."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

from nginxopt import budget
from nginxopt.config.templates.structure import Pieces, TagBlock, TagText, Template, ValueTag
from nginxopt.records import record
from nginxopt.text import Span

_EACH = 4  # bytes that a piece counts for besides its text: loops in loops may write nothing forever


class CopiedBytes(NamedTuple):
    """`length` bytes that were copied from offset `source` of the template to offset `start` of the result."""

    start: int
    source: int
    length: int


class WrittenValue(NamedTuple):
    """The text of a value, from `start` to `end` in the result."""

    start: int
    end: int
    value: ValueTag


@record(eq=True, slots=False)
class Rendered:
    """A rendered template.

    Its lines have the numbers that they have in the template, except after the body of a loop that is repeated.

    Attributes:
        data: The result.
        runs: The parts that were copied from the template.
        values: The texts of the values.
    """

    data: bytes
    runs: tuple[CopiedBytes, ...]
    values: tuple[WrittenValue, ...]

    def origins(self, offset: int) -> tuple[int, ...]:
        """Return the offsets in the template that correspond to an offset in the result.

        There are two, before and after a tag, if a tag that wrote nothing was there, and none inside a value.
        """
        number = bisect_right(self.runs, offset, key=lambda run: run.start)
        near = self.runs[max(0, number - 2) : number]
        places = (run.source + offset - run.start for run in near if run.start <= offset <= run.start + run.length)
        return tuple(dict.fromkeys(places))

    def original(self, span: Span) -> Span | None:
        """Return the span of the template that became a span of the result; None if it begins or ends in a value."""
        start = next(iter(self.origins(span.start)[-1:]), None)
        end = next(iter(self.origins(span.end)[:1]), None)
        if start is None or end is None or end < start:
            return None
        return Span(start, end)

    def copies(self, offset: int) -> int:
        """Return how often the result contains the byte at an offset of the template."""
        number = bisect_right(self._copied, offset, key=lambda step: step[0])
        return self._copied[number - 1][1] if number else 0

    @cached_property
    def _copied(self) -> list[tuple[int, int]]:
        """The offsets of the template from which on the result contains each byte another number of times."""
        changes: dict[int, int] = {}
        for run in self.runs:
            changes[run.source] = changes.get(run.source, 0) + 1
            changes[run.source + run.length] = changes.get(run.source + run.length, 0) - 1
        offsets = sorted(changes)
        return list(zip(offsets, accumulate(changes[offset] for offset in offsets), strict=True))

    def replaced(self, parts: Iterable[tuple[int, int, bytes, ValueTag | None]]) -> Rendered:
        """Return the result with parts replaced.

        A part is a start, an end, the new bytes, and the value that they stand for (None: no value). The parts are in
        order and do not overlap.
        """
        writer = Writer()
        at = 0
        for start, end, text, value in parts:
            self._copy(writer, at, start)
            writer.add(text, value)
            at = end
        self._copy(writer, at, len(self.data))
        return writer.rendered()

    def _copy(self, writer: Writer, start: int, end: int) -> None:
        """Copy the bytes from `start` to `end` unchanged."""
        number = max(0, bisect_right(self.runs, start, key=lambda run: run.start) - 1)
        while number < len(self.runs) and self.runs[number].start < end:
            run = self.runs[number]
            first, last = max(run.start, start), min(run.start + run.length, end)
            if first < last:
                writer.fill(self.data[start:first])
                writer.copy(self.data[first:last], run.source + first - run.start)
                start = last
            number += 1
        writer.fill(self.data[start:end])


class Writer:
    """Collects the bytes of a result, and records which come from the template and which from values."""

    def __init__(self) -> None:
        self._data = bytearray()
        self._runs: list[CopiedBytes] = []
        self._values: list[WrittenValue] = []

    def copy(self, data: bytes, source: int) -> None:
        """Write bytes of the template, which begin there at offset `source`."""
        if data:
            self._runs.append(CopiedBytes(len(self._data), source, len(data)))
            self._data += data

    def fill(self, data: bytes) -> None:
        """Write bytes that are not in the template."""
        self._data += data

    def add(self, data: bytes, value: ValueTag | None) -> None:
        """Write the text of a value."""
        if value is not None:
            self._values.append(WrittenValue(len(self._data), len(self._data) + len(data), value))
        self._data += data

    @property
    def count(self) -> int:
        """The number of values so far."""
        return len(self._values)

    @property
    def data(self) -> bytearray:
        """What was written so far."""
        return self._data

    def rendered(self) -> Rendered:
        """Return all that was written."""
        return Rendered(bytes(self._data), tuple(self._runs), tuple(self._values))


def render(
    template: Template,
    choose: Callable[[TagBlock], int],
    write: Callable[[ValueTag, Writer], bytes],
    *,
    drops_newlines: bool = False,
) -> Rendered:
    """Return a template with the option of each block that `choose` names, and the text of each value."""
    rendering = _Rendering(template, choose, write, drops_newlines=drops_newlines)
    rendering.pieces(template.pieces)
    return rendering.writer.rendered()


class _Rendering:
    def __init__(
        self,
        template: Template,
        choose: Callable[[TagBlock], int],
        write: Callable[[ValueTag, Writer], bytes],
        *,
        drops_newlines: bool,
    ) -> None:
        self._template = template
        self._choose = choose
        self._write = write
        self._drops_newlines = drops_newlines
        self._lines = 0
        self._work = budget.meter("template-work")
        self.writer = Writer()

    def pieces(self, pieces: Pieces) -> None:
        """Write pieces. Raises `budget.ExceededError` if nested loops, whose bodies are repeated, would write without
        end."""
        for piece in pieces:
            if isinstance(piece, TagText):
                self._work.spend(piece.end - piece.start + _EACH, path=self._template.source.path)
                self._text(piece)
            elif isinstance(piece, ValueTag):
                self.writer.add(self._write(piece, self.writer), piece)
            else:
                for part in piece.options[self._choose(piece)]:
                    self.pieces(part)
                    self._work.spend(_EACH, source=self._template.source, span=piece.span)

    def _text(self, text: TagText) -> None:
        """Write a text, with line ends added after its first one, so that what follows keeps its line number.

        They are added at a line end, so that no line of the template is split.
        """
        source = self._template.source
        start = text.start
        if text.drops_newline and self._drops_newlines:
            start += source.data.startswith(b"\n", start) or 2 * source.data.startswith(b"\r\n", start)
        data = source.data[start : text.end]
        first = data.find(b"\n")
        if first < 0:
            self.writer.copy(data, start)
            return
        missing = max(0, source.position(start).line - 1 - self._lines)
        self._lines += missing + data.count(b"\n")
        if not missing:
            self.writer.copy(data, start)
            return
        self.writer.copy(data[: first + 1], start)
        self.writer.fill(b"\n" * missing)
        self.writer.copy(data[first + 1 :], start + first + 1)
