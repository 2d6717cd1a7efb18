"""Fixes made: text and diagnostics to new text, until there is nothing left to mend.

Fixes that touch the same bytes cannot be made at once. The first of them is made, all is read and judged again, and
the next round begins, so that every fix is one of the text as it is then.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from nginxopt.config import Config
from nginxopt.diagnostic import Change, Diagnostic, Safety
from nginxopt.edit import Draft, Edit
from nginxopt.errors import DefectError, InputError
from nginxopt.lint import Linted
from nginxopt.source import Source

ROUNDS = 50
"""After so many rounds the fixes contradict each other: a defect."""

Read = Callable[[Mapping[str, bytes]], Config]
"""Reads the configuration, with these texts in the place of the files at their paths."""

Judge = Callable[[Config], Linted]


@dataclass(frozen=True, slots=True)
class Fixed:
    """What became of a configuration.

    Attributes:
        drafts: The files that change, by their paths.
        made: How many fixes of each rule were made.
        remaining: What is found in the new text.
    """

    drafts: dict[str, Draft]
    made: Counter[str]
    remaining: Linted


def fix(read: Read, judge: Judge, *, unsafe: bool = False) -> Fixed:
    """Make every safe fix, and with `unsafe` the others too; nothing is written.

    `DefectError` if fixes do not come to an end, or if a text that they make cannot be read.
    """
    config = read({})
    drafts: dict[str, Draft] = {}
    made: Counter[str] = Counter()
    chosen: list[Diagnostic] = []
    for _ in range(ROUNDS):
        linted = judge(config)
        chosen, changes = _choose(linted.diagnostics, unsafe=unsafe)
        if not chosen:
            return Fixed({path: draft for path, draft in drafts.items() if draft.edits}, made, linted)
        for source, edits in changes.items():
            drafts.setdefault(source.path, Draft(source.data)).change(edits)
        made.update(diagnostic.rule for diagnostic in chosen)
        config = _read_again(read, drafts, chosen)
    raise DefectError(f"the fixes of {_rules(chosen)} do not come to an end")


def _choose(
    diagnostics: Iterable[Diagnostic], *, unsafe: bool
) -> tuple[list[Diagnostic], dict[Source, tuple[Edit, ...]]]:
    """Return the diagnostics whose fixes can be made together, with the edits of each file.

    A fix that others have already made in passing, as two locations may ask for the same line, is made with them.
    """
    chosen: list[Diagnostic] = []
    taken: dict[Source, list[Edit]] = {}
    for diagnostic in diagnostics:
        offered = diagnostic.fix
        if offered is None or (offered.safety is Safety.UNSAFE and not unsafe):
            continue
        new = [change for change in offered.changes if change.edit not in _near(change, taken)]
        if any(_near(change, taken) for change in new):
            continue
        chosen.append(diagnostic)
        for change in new:
            insort(taken.setdefault(change.source, []), change.edit, key=_start)
    return chosen, {source: tuple(edits) for source, edits in taken.items()}


def _near(change: Change, taken: Mapping[Source, list[Edit]]) -> list[Edit]:
    """Return the edits taken that overlap one, or touch it, so that their order would matter."""
    edits = taken.get(change.source, [])
    span = change.edit.span
    first = max(0, bisect_left(edits, span.start, key=_start) - 1)
    last = bisect_right(edits, span.end, key=_start)
    return [edit for edit in edits[first:last] if edit.span.end >= span.start]


def _start(edit: Edit) -> int:
    return edit.span.start


def _read_again(read: Read, drafts: Mapping[str, Draft], chosen: Iterable[Diagnostic]) -> Config:
    try:
        return read({path: draft.text for path, draft in drafts.items()})
    except InputError as error:
        raise DefectError(f"after the fixes of {_rules(chosen)} this cannot be read: {error.render()}") from error


def _rules(diagnostics: Iterable[Diagnostic]) -> str:
    return ", ".join(sorted({diagnostic.rule for diagnostic in diagnostics}))
