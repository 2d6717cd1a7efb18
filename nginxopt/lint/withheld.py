"""Fixes that are withheld, and texts that are not shown, though a rule offers them.

- The user declined the fix: it also belongs to a suppressed or recorded finding (`undeclined`).
- It changes lines of a finding that a baseline records, by which the baseline recognizes it (`beside_recorded`).
- It changes a file outside of the named paths (`without_fix`), of which `shown` withholds the text as well; see
  `nginxopt.config.roots`.
- It adds a statement to the outermost level of a fragment, which other files share (`SharedLevel`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from nginxopt.lint.diagnostic import Diagnostic, Fix, Grade, Related, Witness
from nginxopt.lint.queries.model import Model, once
from nginxopt.lint.report.fingerprint import lines
from nginxopt.records import record
from nginxopt.text import Change, ChangeSet, Edit, Source, Span, apply, decode
from nginxopt.text.display import hide


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
        """Return a recorded finding if the changes alter one of its lines; None if they alter none."""
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


_NOT_SHOWN = "this file is outside of the named paths: its text is neither shown nor changed without --also"
_COPIES = "the text of a file outside of the named paths would be copied"


def left(diagnostics: Iterable[Diagnostic]) -> frozenset[tuple[str, Grade]]:
    """Return the files outside that fixes would change, with the grades of these fixes."""
    return frozenset(
        (path, diagnostic.fix.safety.grade)
        for diagnostic in diagnostics
        if diagnostic.fix is not None
        for path in _paths(diagnostic)
    )


def without_fix(diagnostic: Diagnostic, withheld: frozenset[str]) -> Diagnostic:
    """Return a diagnostic. If its fix changes a file outside of the named paths, the reason replaces the whole fix.

    The same holds for a fix that would copy words of a file outside, `withheld`, into a file inside.

    """
    paths = _paths(diagnostic)
    if diagnostic.fix is None:
        return diagnostic
    if not paths:
        return (
            diagnostic.without_fix(f"{diagnostic.fix.title} (not by --fix: {_COPIES})")
            if _copies(diagnostic.fix, withheld)
            else diagnostic
        )
    why = f"{', '.join(paths)} is outside of the named paths, and left without --also"
    return diagnostic.without_fix(f"{diagnostic.fix.title}; {why}")


def _copies(fix: Fix, withheld: frozenset[str]) -> bool:
    """Return whether a fix would copy words of a file outside into one inside."""
    texts = [decode(change.edit.text) for change in fix.changes] if withheld else []
    return any(hide(text, withheld) != text for text in texts)


def _paths(diagnostic: Diagnostic) -> list[str]:
    changes = diagnostic.fix.changes if diagnostic.fix else ()
    return sorted({change.source.path for change in changes if change.source.outside})


def shown(diagnostic: Diagnostic, titles: Mapping[str, str]) -> Diagnostic:
    """Return what a report shows of a diagnostic: in a file outside its place, and the title of its rule.

    `titles` are those of the rules, by id. Of a file inside, the message leaves out words that only files outside have.
    """
    finding = diagnostic.finding
    related = tuple(_shown_related(place) for place in finding.related)
    if finding.source.outside:
        title = titles.get(diagnostic.rule, diagnostic.rule)
        told = replace(finding, message=title, fix=None, help=_NOT_SHOWN, related=related, witness=None)
    else:
        told = replace(
            finding,
            message=hide(finding.message),
            help=hide(finding.help),
            related=related,
            witness=_shown_witness(finding.witness),
        )
    return replace(diagnostic, finding=told) if told != finding else diagnostic


def _shown_witness(witness: Witness | None) -> Witness | None:
    """Return a request that shows a finding; None if it has words of a file outside."""
    texts = () if witness is None else (witness.url, witness.shows, *witness.headers, *witness.assume)
    return witness if all(hide(text) == text for text in texts) else None


def _shown_related(related: Related) -> Related:
    return replace(related, message="here" if related.source.outside else hide(related.message))


class SharedLevel:
    """The outermost level of a fragment, which it shares with the files included next to it. Empty for a main file.

    nginx refuses most statements that two files of a level make: `"sendfile" directive is duplicate`. What the other
    files state is not known: each is judged by itself, and not all of them need be read. So such a statement belongs in
    the file around them, once.
    """

    def __init__(self, model: Model) -> None:
        root = model.root
        self._spans: dict[Source, list[Span]] = {}
        if root.kind == "main":
            return
        if root.source is not None:
            self._spans[root.source] = []
        for directive in root.directives:
            self._spans.setdefault(directive.source, []).append(directive.span)
        for spans in self._spans.values():
            spans.sort()

    def gets(self, change: Change) -> bool:
        """Return whether a change adds a statement to this level: it inserts, and not within a directive of it."""
        spans, place = self._spans.get(change.source), change.edit.span
        if spans is None or place.start < place.end:
            return False
        number = bisect_left(spans, place.start, key=lambda span: span.start)
        return number == 0 or spans[number - 1].end <= place.start


@once
def shared_level(model: Model) -> SharedLevel:
    """Return the level that a fragment shares with the files included next to it."""
    return SharedLevel(model)
