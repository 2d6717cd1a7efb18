"""Applies fixes until none is left.

Fixes of the same bytes cannot be applied together. Each round applies those that do not overlap, then reads and checks
the new text, so that every fix applies to the current text.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping

from nginxopt.config import Config
from nginxopt.errors import DefectError, InputError
from nginxopt.lint.diagnostic import Diagnostic, Grade
from nginxopt.lint.run import Linted
from nginxopt.records import record
from nginxopt.text import ChangeSet, Draft, Edit, Source

ROUNDS = 50
"""After this many rounds more than fixes, fixes contradict each other, which is a defect. (Each round applies at least
one fix; findings that only a fix uncovers appear within these rounds.)"""


class FixError(DefectError):
    """Fixes that cannot be applied, or that do not terminate; `rules` are the ids of their rules."""

    def __init__(self, message: str, diagnostics: Iterable[Diagnostic]) -> None:
        self.rules = sorted({diagnostic.rule for diagnostic in diagnostics})
        super().__init__(f"the fixes of {', '.join(self.rules)} {message}")


Read = Callable[[Mapping[str, bytes]], Config]
"""Reads the configuration, with these texts instead of the files at their paths."""

Judge = Callable[[Config], Linted]

Wanted = Callable[[tuple[Diagnostic, ...], Mapping[str, Draft]], Iterable[Diagnostic]]
"""Returns the findings of a round that are to be fixed, given the files that changed so far, by path."""


def everything(diagnostics: tuple[Diagnostic, ...], _: Mapping[str, Draft]) -> Iterable[Diagnostic]:
    """Return all findings."""
    return diagnostics


@record(eq=True)
class Fixed:
    """A fixed configuration.

    Attributes:
        drafts: The files that change, by path.
        made: The number of fixes applied, by rule.
        causes: The rules and causes of the findings that they fixed.
        config: The configuration with these changes.
        remaining: The findings in it.
    """

    drafts: dict[str, Draft]
    made: Counter[str]
    causes: frozenset[tuple[str, str]]
    config: Config
    remaining: Linted


def fix(read: Read, judge: Judge, *, unsafe: bool = False, wanted: Wanted = everything) -> Fixed:
    """Apply every wanted fix that is safe under the assumed premises, with `unsafe` all of these; write nothing.

    Raises `FixError` if the fixes do not terminate, or if a fixed text cannot be read.
    """
    config = read({})
    drafts: dict[str, Draft] = {}
    fix_counts: Counter[str] = Counter()
    causes: set[tuple[str, str]] = set()
    recent: deque[Diagnostic] = deque(maxlen=ROUNDS)
    rounds = limit = 0
    while True:
        linted = judge(config)
        offered = [
            diagnostic
            for diagnostic in wanted(linted.diagnostics, drafts)
            if diagnostic.fix and (unsafe or diagnostic.fix.safety.grade is Grade.SAFE)
        ]
        if not offered:
            changed = {path: draft for path, draft in drafts.items() if draft.edits}
            return Fixed(changed, fix_counts, frozenset(causes), config, linted)
        if rounds < ROUNDS:
            limit = max(limit, ROUNDS + len(offered))
        if rounds == limit:
            raise FixError("do not terminate", recent)
        chosen, changes = _choose(offered)
        _make(changes, drafts, chosen)
        fix_counts.update(diagnostic.rule for diagnostic in chosen)
        causes.update((diagnostic.rule, diagnostic.cause) for diagnostic in chosen)
        recent.extend(chosen)
        config = _read_again(read, drafts, chosen)
        rounds += 1


def _make(changes: Mapping[Source, Iterable[Edit]], drafts: dict[str, Draft], chosen: Iterable[Diagnostic]) -> None:
    """Apply edits to the drafts of their files, and add drafts that do not exist yet."""
    try:
        for source, edits in changes.items():
            drafts.setdefault(source.path, Draft(source.data)).change(edits)
    except ValueError as error:
        raise FixError(f"cannot be applied: {error}", chosen) from error


def _choose(offered: Iterable[Diagnostic]) -> tuple[list[Diagnostic], dict[Source, list[Edit]]]:
    """Return the diagnostics whose fixes can be applied together, with the edits of each file.

    That includes fixes that others already cover, as two locations may need the same line.
    """
    together = ChangeSet()
    chosen = [diagnostic for diagnostic in offered if diagnostic.fix and together.take(diagnostic.fix.changes)]
    return chosen, together.edits


def _read_again(read: Read, drafts: Mapping[str, Draft], chosen: Iterable[Diagnostic]) -> Config:
    try:
        return read({path: draft.text for path, draft in drafts.items()})
    except InputError as error:
        raise FixError(f"made the file unreadable: {error.render()}", chosen) from error
