"""Fixes that add a statement to the outermost level of a fragment, which it shares with the files included beside it.

nginx refuses most statements that two files of a level make: `"sendfile" directive is duplicate`. What the other files
state is not known: each is judged by itself, and not all of them need be read. So such a statement belongs in the
file around them, once.
"""

from __future__ import annotations

from bisect import bisect_left

from nginxopt.lint.queries.model import Model, once
from nginxopt.text import Change, Source, Span


class SharedLevel:
    """The outermost level of a fragment; of another configuration, whose outermost level is its own, nothing."""

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
    """Return the level that a fragment shares with the files beside it."""
    return SharedLevel(model)
