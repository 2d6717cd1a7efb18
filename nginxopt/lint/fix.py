"""Fixes made: text and diagnostics to new text, until there is nothing left to mend.

Fixes that touch the same bytes cannot be made at once. The first of them is made, all is read and judged again, and
the next round begins, so that every fix is one of the text as it is then.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from nginxopt.config import Config
from nginxopt.errors import DefectError, InputError
from nginxopt.lint.diagnostic import Diagnostic, Grade
from nginxopt.lint.run import Linted
from nginxopt.text import ChangeSet, Draft, Edit, Source

ROUNDS = 50
"""After so many rounds more than there are fixes, they contradict each other: a defect. (Each round makes one at least;
what that leads to, as a new place to mend, is seen within these rounds.)"""

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
    """Make every fix that is safe given what is assumed, and with `unsafe` the others too; nothing is written.

    `DefectError` if fixes do not come to an end, or if a text that they make cannot be read.
    """
    config = read({})
    drafts: dict[str, Draft] = {}
    fix_counts: Counter[str] = Counter()
    recent: deque[Diagnostic] = deque(maxlen=ROUNDS)
    rounds = limit = 0
    while True:
        linted = judge(config)
        offered = [
            diagnostic
            for diagnostic in linted.diagnostics
            if diagnostic.fix and (unsafe or diagnostic.fix.safety.grade is Grade.SAFE)
        ]
        if not offered:
            return Fixed({path: draft for path, draft in drafts.items() if draft.edits}, fix_counts, linted)
        if rounds < ROUNDS:
            limit = max(limit, ROUNDS + len(offered))
        if rounds == limit:
            raise DefectError(f"the fixes of {_rules(recent)} do not terminate")
        chosen, changes = _choose(offered)
        _make(changes, drafts, chosen)
        fix_counts.update(diagnostic.rule for diagnostic in chosen)
        recent.extend(chosen)
        config = _read_again(read, drafts, chosen)
        rounds += 1


def _make(changes: Mapping[Source, Iterable[Edit]], drafts: dict[str, Draft], chosen: Iterable[Diagnostic]) -> None:
    """Make edits in the drafts of their files, which may be new."""
    try:
        for source, edits in changes.items():
            drafts.setdefault(source.path, Draft(source.data)).change(edits)
    except ValueError as error:
        raise DefectError(f"the fixes of {_rules(chosen)} cannot be applied: {error}") from error


def _choose(offered: Iterable[Diagnostic]) -> tuple[list[Diagnostic], dict[Source, list[Edit]]]:
    """Return the diagnostics whose fixes can be made together, with the edits of each file.

    A fix that others have already made in passing, as two locations may ask for the same line, is made with them.
    """
    together = ChangeSet()
    chosen = [diagnostic for diagnostic in offered if diagnostic.fix and together.take(diagnostic.fix.changes)]
    return chosen, together.edits


def _read_again(read: Read, drafts: Mapping[str, Draft], chosen: Iterable[Diagnostic]) -> Config:
    try:
        return read({path: draft.text for path, draft in drafts.items()})
    except InputError as error:
        raise DefectError(f"the fixes of {_rules(chosen)} made the file unreadable: {error.render()}") from error


def _rules(diagnostics: Iterable[Diagnostic]) -> str:
    return ", ".join(sorted({diagnostic.rule for diagnostic in diagnostics}))
