"""Fixes that are withheld: the user declined them, or a baseline records a finding that they change.

A fix that also belongs to a suppressed or recorded finding is declined with it (`undeclined`). No fix changes lines of
a recorded finding, by which the baseline recognizes it (`beside_recorded`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from nginxopt.lint.diagnostic import Diagnostic
from nginxopt.lint.report.fingerprint import lines
from nginxopt.records import record
from nginxopt.text import Change, ChangeSet, Edit, Source, Span, apply


def undeclined(before: Iterable[Diagnostic], reported: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Return the reported diagnostics, without fixes that also belong to a hidden finding: the user declined those."""
    remaining = tuple(reported)
    kept = set(map(id, remaining))
    declined = {
        diagnostic.fix.changes: diagnostic for diagnostic in before if diagnostic.fix and id(diagnostic) not in kept
    }
    return tuple(
        _without_declined(diagnostic, declined.get(diagnostic.fix.changes)) if diagnostic.fix else diagnostic
        for diagnostic in remaining
    )


def _without_declined(diagnostic: Diagnostic, declined: Diagnostic | None) -> Diagnostic:
    if declined is None or diagnostic.fix is None:
        return diagnostic
    place = f"{declined.path}:{declined.start.line}"
    why = f"it is one fix with {declined.rule}, which is suppressed or recorded at {place}"
    return diagnostic.without_fix(f"{diagnostic.fix.title} (not by --fix: {why})")


def beside_recorded(every: Sequence[Diagnostic], new: Sequence[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Return the new diagnostics, without fixes that recorded ones share, or that change a line of a recorded one."""
    is_new = set(map(id, new))
    recorded = _Lines(diagnostic for diagnostic in every if id(diagnostic) not in is_new)
    return tuple(
        _without_recorded_line(diagnostic, recorded.changed_by(diagnostic.fix.changes))
        if diagnostic.fix
        else diagnostic
        for diagnostic in undeclined(every, new)
    )


def _without_recorded_line(diagnostic: Diagnostic, recorded: Diagnostic | None) -> Diagnostic:
    if recorded is None or diagnostic.fix is None:
        return diagnostic
    place = f"{recorded.path}:{recorded.start.line}"
    why = f"{diagnostic.fix.title} (not by --fix: that changes {place}, where the baseline records {recorded.rule})"
    return diagnostic.without_fix(why)


@record(eq=True)
class _Line:
    """A line of a recorded finding; `follows` another line of it, so that nothing may be inserted between them."""

    diagnostic: Diagnostic
    text: bytes
    follows: bool


class _Lines:
    """The lines of the recorded findings, by path and offset."""

    def __init__(self, recorded: Iterable[Diagnostic]) -> None:
        self._lines: dict[tuple[str, int], _Line] = {}
        for diagnostic in recorded:
            source = diagnostic.finding.source
            first = lines(source, diagnostic.finding.span)
            for line in _each(source, first):
                text = source.data[line.start : line.end].strip()
                new = _Line(diagnostic, text, follows=line.start > first.start)
                old = self._lines.setdefault((source.path, line.start), new)
                if new.follows and not old.follows:
                    self._lines[source.path, line.start] = new

    def changed_by(self, changes: Iterable[Change]) -> Diagnostic | None:
        """Return a finding of which the changes leave a line no longer as it is; None if there is none."""
        together = ChangeSet()
        if not self._lines or not together.take(changes):
            return None
        for source, edits in together.edits.items():
            for window, inner in _windows(source, edits):
                starts = ((source.path, line.start) for line in _each(source, window))
                touched = [self._lines[start] for start in starts if start in self._lines]
                left = Counter(_after(source, window, inner)) if touched else Counter()
                for line in touched:
                    left[line.text] -= 1
                    if line.follows or left[line.text] < 0:
                        return line.diagnostic
        return None


def _each(source: Source, whole: Span) -> Iterator[Span]:
    """Yield the lines in a span of whole lines, without their line ends."""
    start = whole.start
    for text in source.data[whole.start : whole.end].split(b"\n"):
        yield Span(start, start + len(text))
        start += len(text) + 1


def _windows(source: Source, edits: Iterable[Edit]) -> Iterator[tuple[Span, list[Edit]]]:
    """Yield the runs of whole lines that sorted edits touch, each with the edits in it."""
    window, inner = Span(0, 0), list[Edit]()
    for edit in edits:
        touched = Span(_lines_at(source, edit.span.start).start, _lines_at(source, edit.span.end).end)
        if inner and touched.start > window.end:
            yield window, inner
            window, inner = touched, []
        window = Span(window.start if inner else touched.start, max(window.end, touched.end))
        inner.append(edit)
    if inner:
        yield window, inner


def _lines_at(source: Source, offset: int) -> Span:
    return lines(source, Span(offset, offset))


def _after(source: Source, window: Span, edits: Iterable[Edit]) -> list[bytes]:
    """Return the lines that edits make of those in a window, without surrounding blanks."""
    moved = (Edit(Span(edit.span.start - window.start, edit.span.end - window.start), edit.text) for edit in edits)
    return [line.strip() for line in apply(source.data[window.start : window.end], moved).split(b"\n")]
