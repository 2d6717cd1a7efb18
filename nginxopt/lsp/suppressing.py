"""Inserts comments that suppress findings, with a placeholder for the reason."""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt import lazy
from nginxopt.config.includes import parsed
from nginxopt.errors import InputError
from nginxopt.lint.suppress import SuppressionScope, suppressions
from nginxopt.text import Edit, Source, Span, apply

REASON = "TODO: the reason"

_INDENT = lazy.pattern(rb"[ \t]*")


def line_edit(source: Source, span: Span, rule: str) -> Edit | None:
    """Return the edit that suppresses a finding in its line; None if no comment can.

    Tries a comment above the line, and one at its end, because the line may be inside quotes or Lua.
    """
    comment = f"# nginxopt: {SuppressionScope.LINE.value}[{rule}] {REASON}".encode()
    return next(
        (edit for edit in _line_edits(source.data, span, comment) if _suppresses(source, edit, span, rule)), None
    )


def file_edit(source: Source, span: Span, rule: str) -> Edit | None:
    """Return the edit that suppresses the findings of a rule in a file; None if no comment can."""
    comment = f"# nginxopt: {SuppressionScope.FILE.value}[{rule}] {REASON}".encode()
    edit = Edit(Span(0, 0), comment + _line_end(source.data))
    return edit if _suppresses(source, edit, span, rule) else None


def _line_edits(data: bytes, span: Span, comment: bytes) -> Iterator[Edit]:
    start = data.rfind(b"\n", 0, span.start) + 1
    indent = _INDENT.match(data, start)
    yield Edit(Span(start, start), (indent[0] if indent else b"") + comment + _line_end(data))
    line_end = data.find(b"\n", span.start)
    end = len(data[: line_end if line_end >= 0 else len(data)].rstrip(b"\r"))
    yield Edit(Span(end, end), b"  " + comment)


def _line_end(data: bytes) -> bytes:
    at = data.find(b"\n")
    return b"\r\n" if at > 0 and data[at - 1 : at] == b"\r" else b"\n"


def _suppresses(source: Source, edit: Edit, span: Span, rule: str) -> bool:
    """Return whether a comment hides the findings of a rule that begin where `span` does."""
    try:
        file = parsed(source.path, apply(source.data, [edit]))
    except InputError:
        return False
    start = span.start + (len(edit.text) if edit.span.start <= span.start else 0)
    return any(
        rule in suppression.names and suppression.scope is not None and _holds(suppression.scope, start)
        for suppression in suppressions(file.block)
    )


def _holds(scope: Span, offset: int) -> bool:
    return scope.start <= offset < scope.end
