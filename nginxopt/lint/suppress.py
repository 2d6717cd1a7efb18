"""Applies suppression comments, and reports invalid and unused ones.

This runs on all findings, before `per-file-ignores` and the baseline, which do not make a comment unused. A comment is
reported as unused only if all findings that it could hide are known.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from nginxopt import lazy
from nginxopt.config import Block, Token
from nginxopt.lint.comments import Suppression, SuppressionScope, suppressions
from nginxopt.lint.declare import page_url
from nginxopt.lint.diagnostic import Diagnostic, Finding, Fix
from nginxopt.records import record
from nginxopt.settings.selecting import CATEGORIES, Severity
from nginxopt.text import Change, Edit, Source, Span, encode, suggestion

FAULTY = "suppression"
UNUSED = "unused-suppression"
"""The rules about suppressions. They are selected like any other, and run here after all others."""


@record(eq=True)
class Further:
    """What else is known of the findings in a configuration.

    Attributes:
        declined: The rules whose findings are not all known: what they do not find may be there.
        find: Returns the findings of these rules for other nginx versions, and the rules that declined there.
    """

    declined: Collection[str] = ()
    find: Callable[[Collection[str]], tuple[Iterable[Sequence[Diagnostic]], Collection[str]]] = lambda _: ((), ())


_NOTHING_FURTHER = Further()


@record(eq=True)
class Suppressed:
    """The findings that remain, including those about suppressions, and the number of hidden findings."""

    diagnostics: tuple[Diagnostic, ...]
    hidden: int = 0


def suppress(
    files: Sequence[Block],
    diagnostics: Iterable[Diagnostic],
    active: Mapping[str, Severity],
    known: Collection[str],
    further: Further = _NOTHING_FURTHER,
) -> Suppressed:
    """Hide the findings that comments in the files suppress.

    `active` are the rules that were run, with their severities: only their suppressions can be unused, and the two
    rules about suppressions report only if they are active. `known` are the ids of all rules. `further` is asked if a
    comment hides nothing. The result is sorted by file and place.
    """
    diagnostics = tuple(diagnostics)
    written = [suppression for file in files for suppression in suppressions(file)]
    if not written:
        return Suppressed(diagnostics)
    hiding = _Hiding(written)
    faults = _reported(FAULTY, active, (fault for suppression in written for fault in _faults(suppression, known)))
    remaining = hiding.remaining([*diagnostics, *faults])
    judged = hiding.look_further(active.keys(), further) if UNUSED in active else frozenset()
    unused = _reported(UNUSED, active, hiding.unused(judged - {UNUSED}, judged))
    remaining += hiding.remaining(unused)
    idle = _reported(UNUSED, active, hiding.unused({UNUSED} & judged, judged))
    every = len(diagnostics) + len(faults) + len(unused)
    return Suppressed(_sorted(files, [*remaining, *idle]), every - len(remaining))


def _reported(rule: str, active: Mapping[str, Severity], findings: Iterable[Finding]) -> list[Diagnostic]:
    if rule not in active:
        return []
    return [Diagnostic(rule, active[rule], finding, page_url(rule)) for finding in findings]


def _sorted(files: Sequence[Block], diagnostics: list[Diagnostic]) -> tuple[Diagnostic, ...]:
    numbers = {file.source: number for number, file in enumerate(files)}

    def order(diagnostic: Diagnostic) -> tuple[int, Span, str, str]:
        return (
            numbers.get(diagnostic.finding.source, len(files)),
            diagnostic.finding.span,
            diagnostic.rule,
            diagnostic.message,
        )

    return tuple(sorted(diagnostics, key=order))


class _Hiding:
    """Hides findings, and records which ids of the suppressions hid something."""

    def __init__(self, written: Sequence[Suppression]) -> None:
        self._suppressions = written
        self._used: set[tuple[Suppression, str]] = set()

    def remaining(self, diagnostics: Sequence[Diagnostic]) -> list[Diagnostic]:
        """Return the diagnostics that no suppression hides."""
        starts: dict[tuple[Source, str], list[tuple[int, int]]] = {}
        for number, diagnostic in enumerate(diagnostics):
            starts.setdefault((diagnostic.finding.source, diagnostic.rule), []).append(
                (diagnostic.finding.span.start, number)
            )
        for places in starts.values():
            places.sort()
        hidden: set[int] = set()
        for suppression in self._suppressions:
            for name in suppression.names:
                inside = _inside(starts.get((suppression.source, name), []), suppression.scope)
                hidden.update(inside)
                self._used |= {(suppression, name)} if inside else set()
        return [diagnostic for number, diagnostic in enumerate(diagnostics) if number not in hidden]

    def look_further(self, rules: Collection[str], further: Further) -> frozenset[str]:
        """Record what is hidden for other nginx versions; return those of `rules` whose findings are all known."""
        judged = frozenset(rules) - frozenset(further.declined)
        idle = {str(name) for _, names in self._idle(judged - {FAULTY, UNUSED}) for name in names}
        results, declined = further.find(idle) if idle else ((), ())
        for diagnostics in results:
            self.remaining(diagnostics)
        return judged - frozenset(declined)

    def unused(self, rules: Collection[str], judged: frozenset[str]) -> Iterator[Finding]:
        """Yield a finding for each suppression that names some of `rules` but hid none of their findings.

        It has a fix if all ids of the suppression are in `judged`, the rules whose findings are all known.
        """
        for suppression, names in self._idle(rules):
            finding = _unused(suppression, names)
            yield finding if judged.issuperset(suppression.names) else replace(finding, fix=None)

    def _idle(self, rules: Collection[str]) -> Iterator[tuple[Suppression, list[Token]]]:
        """Yield the suppressions with ids in `rules` that hid nothing, with these ids."""
        for suppression in self._suppressions:
            if suppression.kind is None or suppression.scope is None:
                continue
            names = [name for name in suppression.names if name in rules and (suppression, name) not in self._used]
            if names:
                yield suppression, names


def _inside(starts: Sequence[tuple[int, int]], scope: Span | None) -> list[int]:
    if scope is None:
        return []
    return [number for _, number in starts[bisect_left(starts, (scope.start,)) : bisect_left(starts, (scope.end,))]]


def _unused(suppression: Suppression, names: Sequence[Token]) -> Finding:
    """Return the finding for ids that hide nothing; its fix deletes them, or the comment if no other id is left."""
    others = [name for name in suppression.names if name not in names]
    edit = Edit(suppression.removal, b"")
    if others and suppression.listed:
        edit = Edit(suppression.listed, encode(", ".join(others)))
    listed = " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
    fix = Fix(f"delete {'the ids' if others else 'the comment'}", (Change(suppression.source, edit),))
    span = Span(names[0].start, names[-1].end)
    return Finding(suppression.source, span, f"unused suppression: no finding of {listed} here", fix)


_PLACES = {
    SuppressionScope.BLOCK: "first in a block, or on the line of its {",
    SuppressionScope.FILE: "before the first directive of a file",
}


def _faults(suppression: Suppression, known: Collection[str]) -> Iterator[Finding]:
    """Yield the faults of a suppression."""
    source, word = suppression.source, suppression.word
    if suppression.kind is None:
        meant = _meant(word)
        if suppression.listed or meant:  # otherwise it is a sentence, not a suppression
            message = f'invalid suppression: unknown keyword "{word}"'
            question = f'did you mean "{meant.value}"? ' if meant else ""
            yield Finding(source, word.span, message, help=question + _form(meant or SuppressionScope.LINE))
        return
    if not suppression.names:
        yield Finding(source, word.span, f'invalid suppression: "{word}" needs rule ids', help=_form(suppression.kind))
    elif suppression.scope is None:
        place = _PLACES[suppression.kind]
        yield Finding(source, word.span, f'invalid suppression: "{word}" must be {place}', help="move it there")
    for name in suppression.names:
        if name not in known:
            hint = "categories cannot be suppressed: name the rules" if name in CATEGORIES else suggestion(name, known)
            yield Finding(source, name.span, f'unknown rule "{name}"', help=hint or "")


_LINES = lazy.pattern(r"(?:(?:ignore|disable|off)[-_]?)?(?:next[-_]?)?line|disable|noqa|nolint")
"""Matches keywords of other linters for a line; ours are all similar to `ignore-next-line`."""


def _meant(word: str) -> SuppressionScope | None:
    """Return the keyword that is meant by another; None if none is similar."""
    if _LINES.fullmatch(word):
        return SuppressionScope.LINE
    from difflib import get_close_matches

    close = get_close_matches(word, [kind.value for kind in SuppressionScope], n=1)
    return SuppressionScope(close[0]) if close else None


_COVERS = {
    SuppressionScope.LINE: "for this line or, alone on a line, for the next one",
    SuppressionScope.BLOCK: "for a block",
    SuppressionScope.FILE: "for the file",
}


def _form(kind: SuppressionScope) -> str:
    return f"write # nginxopt: {kind.value}[rule-id] reason, {_COVERS[kind]}"
