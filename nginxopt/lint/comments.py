"""The comments that speak to nginxopt, and the part of the text that each of them speaks of.

    listen 80;  # nginxopt: ignore[rule-id, other-id] reason    this line, and all of the directive that ends in it
    # nginxopt: ignore[rule-id] reason                          alone: the line below, other comments between them
    server {  # nginxopt: ignore-block[rule-id] reason          the block; also as the first thing in it
    # nginxopt: ignore-file[rule-id] reason                     before the first directive: the file, without includes

Only what nginx reads as a comment is one: the same text in quotes or in Lua is not. Texts without `nginxopt:` are not
looked into, and of a folded run of rewrites objects are made only if it has such a comment.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from nginxopt.config import Block, Bulk, Comment, Directive, Token, statements
from nginxopt.config.tree import FOLD
from nginxopt.errors import InputError
from nginxopt.text import Source, Span, decode

_MARK = re.compile(rb"nginxopt:")
_FORM = re.compile(rb"#[ \t]*nginxopt:[ \t]*([\w-]*)[ \t]*(?:\[([^\]]*)\])?")
_NAME = re.compile(rb"[^\s,]+(?:[ \t]+[^\s,]+)*")


class Kind(Enum):
    """What a suppression hides findings in."""

    LINE = "ignore"
    BLOCK = "ignore-block"
    FILE = "ignore-file"


@dataclass(frozen=True, slots=True, eq=False)
class Suppression:
    """One suppression; a comment may have several.

    Attributes:
        word: The word behind `nginxopt:`.
        kind: What the word means; None if it means nothing.
        names: The ids in brackets.
        listed: What is between the brackets; None without brackets.
        span: From the `#` to the end of the reason.
        removal: What to delete with it: the blanks before it, or the whole line if it is alone there.
        scope: The bytes in which findings begin that it hides; None if it stands where it hides nothing.
    """

    source: Source
    word: Token
    kind: Kind | None
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


@dataclass(frozen=True, slots=True)
class _Remark:
    """A comment and what is around it.

    Attributes:
        parent: The directive whose block it stands in.
        before: The directive before it in this block, None too if that is in a folded run.
        after: The directive that begins in the line below it and other comments.
        within: The directive between whose words it stands.
        first: Whether no directive is before it in this block.
    """

    comment: Comment
    parent: Directive | None
    before: Directive | None = None
    after: Directive | None = None
    within: Directive | None = None
    first: bool = False

    @property
    def source(self) -> Source:
        """The text it stands in."""
        return self.comment.source


def _remarks(block: Block, parent: Directive | None, marks: Sequence[int]) -> Iterator[_Remark]:
    """Yield the comments in a block and those within that hold one of `marks`."""
    before, first = None, True
    waiting: list[_Remark] = []  # comments that are alone in their lines, one below the other, for what is below them
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
    """Yield what stands in a block; a folded run only if there is none of `marks` in its lines, else what is near."""
    for node in block.nodes:
        if isinstance(node, Bulk) and _holds(marks, _lines(node.source, node.span)):
            yield from _near(node, marks)
        else:
            yield node


def _near(bulk: Bulk, marks: Sequence[int]) -> Iterator[Directive | Comment]:
    """Yield the first rewrite; what is in the lines of `marks`, with all of a rewrite that ends there; and the next."""
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
    """Return the last start of a line up to `mark` that is between two rewrites of a run; `at` is, too.

    Folded rewrites are read fast; that they can be read up to a place shows that it is in none of them.
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
    """Return the lines that a span touches, without the last line end."""
    end = source.data.find(b"\n", span.end)
    return Span(source.data.rfind(b"\n", 0, span.start) + 1, end if end >= 0 else len(source.data))


def _is_alone(comment: Comment) -> bool:
    start = _lines(comment.source, comment.span).start
    return not comment.source.data[start : comment.span.start].strip()


def _read(remark: _Remark) -> Iterator[Suppression]:
    """Yield the suppressions that a comment has."""
    source, start = remark.source, remark.comment.span.start
    data = source.data[start : remark.comment.span.end].rstrip()
    matches = list(_FORM.finditer(data))
    ends = [*(match.start() for match in matches[1:]), len(data)]
    for match, end in zip(matches, ends, strict=False):
        span = Span(start + match.start(), start + len(data[:end].rstrip()))
        only = len(matches) == 1 and match.start() == 0
        listed = Span(start + match.start(2), start + match.end(2)) if match[2] is not None else None
        word = _token(source, start + match.start(1), start + match.end(1))
        kind = next((kind for kind in Kind if kind.value == word), None)
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
    """The line of a comment with the directive that ends or goes on there; the line below one that is alone."""
    line = _lines(remark.source, remark.comment.span)
    if not _is_alone(remark.comment):
        return _around(line, remark.within or _ended(remark, line))
    if remark.within:
        return _head(remark.within)
    if remark.after:
        return _around(_lines(remark.source, Span(remark.after.span.start, remark.after.span.start)), remark.after)
    return line


def _ended(remark: _Remark, line: Span) -> Directive | None:
    """Return the directive whose `;` or `{` is in the line before the comment."""
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
    """The block that a comment is the first thing in, or whose `{` is in its line or behind it."""
    if remark.within:
        return remark.within.span if remark.within.block else None
    line = _lines(remark.source, remark.comment.span)
    for directive in (remark.before, remark.parent):
        if directive is not None and directive.block and directive.block.span.start >= line.start:
            return directive.span
    return remark.parent.span if remark.parent and remark.first else None


def _file_scope(remark: _Remark) -> Span | None:
    """The whole file, its end too, below a comment before its first directive."""
    is_top = remark.parent is None and remark.first and not remark.within
    return Span(0, len(remark.source.data) + 1) if is_top else None


_SCOPES = {Kind.LINE: _line_scope, Kind.BLOCK: _block_scope, Kind.FILE: _file_scope}
