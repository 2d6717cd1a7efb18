"""Suppression comments: the findings that they hide, and the comments that are invalid or hide nothing.

    listen 80;  # nginxopt: ignore[rule-id, other-id] reason    this line, and the whole directive that ends on it
    # nginxopt: ignore[rule-id] reason                          alone on its line: the next line without a comment
    server {  # nginxopt: ignore-block[rule-id] reason          the block; also as the first comment in it
    # nginxopt: ignore-file[rule-id] reason                     before the first directive: the file, without includes

Only text that nginx reads as a comment counts, not the same text in quotes or in Lua. Files without `nginxopt:` are
skipped, and a folded run of rewrites is expanded only around such a comment.

Comments apply to all findings, before `per-file-ignores` and the baseline, which do not make a comment unused. A
comment is reported as unused only if all findings that it could hide are known.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from enum import Enum

from nginxopt import lazy
from nginxopt.config import Block, Bulk, Comment, Directive, Token, statements
from nginxopt.config.tree import FOLD
from nginxopt.errors import InputError
from nginxopt.lint.declare import page_url
from nginxopt.lint.diagnostic import Diagnostic, Finding, Fix
from nginxopt.records import record
from nginxopt.settings.vocabulary import CATEGORIES, Severity
from nginxopt.text import Change, Edit, Source, Span, decode, encode, suggestion

_MARK = lazy.pattern(rb"nginxopt:")
_FORM = lazy.pattern(rb"#[ \t]*nginxopt:[ \t]*([\w-]*)[ \t]*(?:\[([^\]]*)\])?")
_NAME = lazy.pattern(rb"[^\s,]+(?:[ \t]+[^\s,]+)*")


class SuppressionScope(Enum):
    """The scope of a suppression."""

    LINE = "ignore"
    BLOCK = "ignore-block"
    FILE = "ignore-file"


@record()
class Suppression:
    """One suppression; a comment may have several.

    Attributes:
        word: The word after `nginxopt:`.
        kind: The kind that the word names; None for an unknown word.
        names: The rule ids in the brackets.
        listed: The span between the brackets; None without brackets.
        span: From the `#` to the end of the reason.
        removal: The span to delete, with the blanks before the comment, or its whole line if it is alone there.
        scope: It hides findings that begin in this span; None for a misplaced suppression.
    """

    source: Source
    word: Token
    kind: SuppressionScope | None
    names: tuple[Token, ...]
    listed: Span | None
    span: Span
    removal: Span
    scope: Span | None


def suppressions(file: Block) -> Iterator[Suppression]:
    """Yield the suppressions in a file, in order."""
    marks = [match.start() for match in _MARK.finditer(file.source.data)]
    if marks:
        for remark in sorted(_remarks(file, None, marks), key=lambda remark: remark.comment.span):
            yield from _read(remark)


@record(eq=True)
class _Remark:
    """A comment and its surroundings.

    Attributes:
        parent: The directive whose block contains it.
        before: The previous directive in the block; None if there is none, or if it is in a folded run.
        after: The directive that begins on the next line that is not a comment.
        within: The directive that has it between its words.
        first: Whether it precedes all directives of the block.
    """

    comment: Comment
    parent: Directive | None
    before: Directive | None = None
    after: Directive | None = None
    within: Directive | None = None
    first: bool = False

    @property
    def source(self) -> Source:
        """The source that contains it."""
        return self.comment.source


def _remarks(block: Block, parent: Directive | None, marks: Sequence[int]) -> Iterator[_Remark]:
    """Yield the comments in a block, including inner blocks, that contain one of `marks`."""
    before, first = None, True
    waiting: list[_Remark] = []  # consecutive comments on lines of their own, which apply to what follows
    last = 0
    for node in _nodes(block, marks):
        if isinstance(node, Comment):
            remark = _Remark(node, parent, before, first=first)
            alone = _is_alone(node)
            if alone and node.line != last + 1:
                yield from waiting
                waiting = []
            if _holds(marks, node.span):
                waiting += [remark] if alone else []
                yield from () if alone else (remark,)
            last = node.line if alone else last
            continue
        if waiting:
            after = next(iter(node)) if isinstance(node, Bulk) else node
            yield from (replace(comment, after=after) if node.line == last + 1 else comment for comment in waiting)
            waiting = []
        before, first = node if isinstance(node, Directive) else None, False
        if before is not None and _holds(marks, before.span):
            yield from (
                _Remark(comment, parent, within=before) for comment in before.comments if _holds(marks, comment.span)
            )
            yield from _remarks(before.block, before, marks) if before.block else ()
    yield from waiting


def _nodes(block: Block, marks: Sequence[int]) -> Iterator[Directive | Bulk | Comment]:
    """Yield the nodes of a block; for a folded run with `marks` on its lines, only the nodes near them."""
    for node in block.nodes:
        if isinstance(node, Bulk) and _holds(marks, _lines(node.source, node.span)):
            yield from _near(node, marks)
        else:
            yield node


def _near(bulk: Bulk, marks: Sequence[int]) -> Iterator[Directive | Comment]:
    """Yield the first rewrite, and for each mark the nodes on its line and the next rewrite."""
    data, lines = bulk.source.data, _lines(bulk.source, bulk.span)
    first = next(iter(bulk))
    yield first
    at, line = first.span.end, bulk.line + data.count(b"\n", first.span.start, first.span.end)
    for mark in marks[bisect_left(marks, lines.start) : bisect_left(marks, lines.end)]:
        if mark < at:
            continue
        start = _between(bulk.source, at, mark)
        line += data.count(b"\n", at, start)
        at = start
        for node in bulk.nodes(start, line):
            yield node
            at = node.span.end
            if isinstance(node, Directive) and node.span.start > mark:
                break
        line += data.count(b"\n", start, at)


def _between(source: Source, at: int, mark: int) -> int:
    """Return the last line start up to `mark` that is between two rewrites of a run, as `at` is.

    Reading folded rewrites is fast. If they can be read up to an offset, it is not inside one of them.
    """
    start = source.data.rfind(b"\n", 0, mark) + 1
    while start > at:
        try:
            deque(statements(source, fold=FOLD, start=at, end=start), maxlen=0)
        except InputError:
            start = source.data.rfind(b"\n", 0, start - 1) + 1
        else:
            return start
    return at


def _holds(marks: Sequence[int], span: Span) -> bool:
    at = bisect_left(marks, span.start)
    return at < len(marks) and marks[at] < span.end


def _lines(source: Source, span: Span) -> Span:
    """Return the lines of a span, without the last line end."""
    end = source.data.find(b"\n", span.end)
    return Span(source.data.rfind(b"\n", 0, span.start) + 1, end if end >= 0 else len(source.data))


def _is_alone(comment: Comment) -> bool:
    start = _lines(comment.source, comment.span).start
    return not comment.source.data[start : comment.span.start].strip(b" \t\r")


def _read(remark: _Remark) -> Iterator[Suppression]:
    """Yield the suppressions in a comment."""
    source, start = remark.source, remark.comment.span.start
    data = source.data[start : remark.comment.span.end].rstrip()
    matches = list(_FORM.finditer(data))
    ends = [*(match.start() for match in matches[1:]), len(data)]
    for match, end in zip(matches, ends, strict=False):
        span = Span(start + match.start(), start + len(data[:end].rstrip()))
        only = len(matches) == 1 and match.start() == 0
        listed = Span(start + match.start(2), start + match.end(2)) if match[2] is not None else None
        word = _token(source, start + match.start(1), start + match.end(1))
        kind = next((kind for kind in SuppressionScope if kind.value == word), None)
        names = _names(source, listed) if listed else ()
        removal = _removal(remark.comment, span, only=only)
        yield Suppression(source, word, kind, names, listed, span, removal, _SCOPES[kind](remark) if kind else None)


def _token(source: Source, start: int, end: int) -> Token:
    return Token(decode(source.data[start:end]), start, end)


def _names(source: Source, listed: Span) -> tuple[Token, ...]:
    return tuple(_token(source, *match.span()) for match in _NAME.finditer(source.data, listed.start, listed.end))


def _removal(comment: Comment, span: Span, *, only: bool) -> Span:
    data = comment.source.data
    if only and _is_alone(comment):
        line = _lines(comment.source, span)
        return Span(line.start, min(line.end + 1, len(data)))
    return Span(len(data[: span.start].rstrip(b" \t")), span.end)


def _line_scope(remark: _Remark) -> Span:
    """The line of a comment and the directive that ends or continues there; for a comment alone, the next line."""
    line = _lines(remark.source, remark.comment.span)
    if not _is_alone(remark.comment):
        return _around(line, remark.within or _ended(remark, line))
    if remark.within:
        return _head(remark.within)
    if remark.after:
        return _around(_lines(remark.source, Span(remark.after.span.start, remark.after.span.start)), remark.after)
    return line


def _ended(remark: _Remark, line: Span) -> Directive | None:
    """Return the directive whose `;` or `{` precedes the comment on its line."""
    last = remark.parent if remark.first else remark.before
    return last if last is not None and _head(last).end > line.start else None


def _head(directive: Directive) -> Span:
    """Return the bytes of a directive up to its `;` or `{`."""
    end = directive.block.span.start + 1 if directive.block else directive.span.end
    return Span(directive.span.start, end)


def _around(line: Span, directive: Directive | None) -> Span:
    head = line if directive is None else _head(directive)
    return Span(min(line.start, head.start), max(line.end, head.end))


def _block_scope(remark: _Remark) -> Span | None:
    """The block that begins with the comment, or whose `{` is on its line or follows it."""
    if remark.within:
        return remark.within.span if remark.within.block else None
    line = _lines(remark.source, remark.comment.span)
    for directive in (remark.before, remark.parent):
        if directive is not None and directive.block and directive.block.span.start >= line.start:
            return directive.span
    return remark.parent.span if remark.parent and remark.first else None


def _file_scope(remark: _Remark) -> Span | None:
    """The whole file, including its end, for a comment before the first directive."""
    is_top = remark.parent is None and remark.first and not remark.within
    return Span(0, len(remark.source.data) + 1) if is_top else None


_SCOPES = {SuppressionScope.LINE: _line_scope, SuppressionScope.BLOCK: _block_scope, SuppressionScope.FILE: _file_scope}


FAULTY = "suppression"
UNUSED = "unused-suppression"
"""The rules about suppressions. They are selected like any other, and run here after all others."""


@record(eq=True)
class Further:
    """What else is known about the findings in a configuration.

    Attributes:
        declined: The rules whose findings are not all known: a comment that hides none of their findings is not unused.
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
    """Return the keyword that a word is probably meant to be; None if none is similar."""
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
