"""Writes edits as a unified diff. The changes are known, so long files need not be compared."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from nginxopt.text.source import Edit, Span, apply, encode

CONTEXT = 3
"""The number of context lines around a change."""


_SEARCHED = 10_000
"""The maximum number of line pairs that are compared to find unchanged lines in a hunk."""

_LETTERS = {'"': '"', "\\": "\\", "\a": "a", "\b": "b", "\t": "t", "\n": "n", "\v": "v", "\f": "f", "\r": "r"}
"""The escapes of a quoted name, without their backslash; other special characters are written in octal."""


@dataclass(slots=True)
class _Hunk:
    """The lines from `start` to `end` of the old text, from 0, and their replacement."""

    start: int
    end: int
    new: list[bytes]


def unified(old: bytes, edits: Iterable[Edit], name: str) -> bytes:
    """Return the unified diff of the edits of a text; empty if nothing changes. Linear in the size of the text."""
    lines = _lines(old)
    hunks = [part for hunk in _hunks(old, list(edits)) for part in _minimal(hunk, lines)]
    if not hunks:
        return b""
    out = [b"--- %s\n" % _name(name), b"+++ %s\n" % _name(name)]
    shift = 0
    for group in _groups(hunks):
        shift = _write(group, lines, shift, out)
    return b"".join(out)


def added(text: bytes, name: str) -> bytes:
    """Return the diff that creates a file with `text`."""
    lines = _lines(text)
    head = [b"--- /dev/null\n", b"+++ %s\n" % _name(name), b"@@ -0,0 +1,%d @@\n" % len(lines)]
    return b"".join([*head, *(_line(b"+", line) for line in lines)])


def _name(name: str) -> bytes:
    """Return a name for the head of a diff, in a form that `patch` and `git apply` read back.

    GNU diff and git use the same form: a name with a space is followed by a tab, as a date may follow a space. A name
    with special characters, or with white space at its start or end, is quoted like a C string.
    """
    if not name.isprintable() or not _LETTERS.keys().isdisjoint(name) or name != name.strip():
        return b'"%s"' % b"".join(map(_quoted, name))
    return encode(f"{name}\t" if " " in name else name)


def _quoted(char: str) -> bytes:
    if char in _LETTERS:
        return encode(f"\\{_LETTERS[char]}")
    return encode(char) if char.isprintable() else b"".join(b"\\%03o" % byte for byte in encode(char))


def _hunks(old: bytes, edits: list[Edit]) -> Iterator[_Hunk]:
    """Yield the lines that edits touch, with their replacement; edits of the same or adjacent lines form one hunk."""
    starts = [0, *(match.end() for match in re.finditer(rb"\n", old))]
    if starts[-1] != len(old):
        starts.append(len(old))
    count = len(starts) - 1
    group: list[Edit] = []
    start = end = at = 0
    fresh = True  # whether the new text up to `at` ends with a line end
    for edit in sorted(edits, key=lambda edit: (edit.span.start, len(edit.span) > 0)):
        first = min(bisect_right(starts, edit.span.start) - 1, count)
        last = max(bisect_left(starts, edit.span.end), first)
        if first == count and old and not old.endswith(b"\n"):
            first -= 1  # text inserted after a last line without a line end extends that line
        if at < edit.span.start:
            fresh = old.endswith(b"\n", 0, edit.span.start)
        fresh, at = edit.text.endswith(b"\n") if edit.text else fresh, edit.span.end
        if not fresh and starts[last] == edit.span.end:
            last = min(last + 1, count)  # the edit joins the next line to the text before it
        if group and first > end:
            yield _hunk(old, starts, start, end, group)
            group = []
        if not group:
            start, end = first, last
        group.append(edit)
        end = max(end, last)
    if group:
        yield _hunk(old, starts, start, end, group)


def _hunk(old: bytes, starts: list[int], start: int, end: int, edits: list[Edit]) -> _Hunk:
    base = starts[start]
    moved = [Edit(Span(edit.span.start - base, edit.span.end - base), edit.text) for edit in edits]
    new = apply(old[base : starts[end]], moved)
    return _Hunk(start, end, _lines(new))


def _minimal(hunk: _Hunk, lines: list[bytes]) -> Iterator[_Hunk]:
    """Yield the parts of a hunk that change. An insertion at the end of a line, for example, leaves the line as is."""
    from difflib import SequenceMatcher

    old = lines[hunk.start : hunk.end]
    if len(old) * len(hunk.new) > _SEARCHED:
        yield hunk
        return
    for tag, start, end, first, last in SequenceMatcher(None, old, hunk.new, autojunk=False).get_opcodes():
        if tag != "equal":
            yield _Hunk(hunk.start + start, hunk.start + end, hunk.new[first:last])


def _groups(hunks: list[_Hunk]) -> Iterator[list[_Hunk]]:
    """Merge hunks whose context lines overlap."""
    group = [hunks[0]]
    for hunk in hunks[1:]:
        if hunk.start - group[-1].end > 2 * CONTEXT:
            yield group
            group = []
        group.append(hunk)
    yield group


def _write(group: list[_Hunk], lines: list[bytes], shift: int, out: list[bytes]) -> int:
    """Append a group of hunks with its context; return by how many lines the following ones have moved."""
    start = max(0, group[0].start - CONTEXT)
    end = min(len(lines), group[-1].end + CONTEXT)
    growth = sum(len(hunk.new) - (hunk.end - hunk.start) for hunk in group)
    sizes = (end - start, end - start + growth)
    out.append(b"@@ -%s +%s @@\n" % (_range(start, sizes[0]), _range(start + shift, sizes[1])))
    at = start
    for hunk in group:
        out += [_line(b" ", line) for line in lines[at : hunk.start]]
        out += [_line(b"-", line) for line in lines[hunk.start : hunk.end]]
        out += [_line(b"+", line) for line in hunk.new]
        at = hunk.end
    out += [_line(b" ", line) for line in lines[at:end]]
    return shift + growth


def _range(start: int, size: int) -> bytes:
    """Return a line range in the format of `diff -u`: an empty range has the number of the line before it."""
    return b"%d,%d" % (start + 1 if size else start, size)


def _line(mark: bytes, line: bytes) -> bytes:
    return mark + line if line.endswith(b"\n") else mark + line + b"\n\\ No newline at end of file\n"


def _lines(text: bytes) -> list[bytes]:
    """Split at LF only, like `diff` and `patch`."""
    return re.findall(rb"[^\n]*\n|[^\n]+", text)
