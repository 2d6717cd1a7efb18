"""Numbers the directives of a configuration, in the order in which nginx reads them."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property

from nginxopt._native import statement_spans
from nginxopt.config import Bulk, Config, Directive, Scope, Source, Span, directive_at
from nginxopt.records import record
from nginxopt.semantics.site.form import Node


@record(eq=True)
class DirectivePlace:
    """The place of a directive: its file, its line from 1, and its span without its `;` or block."""

    source: Source
    line: int
    span: Span

    @property
    def path(self) -> str:
        """The name of the file."""
        return self.source.path

    @property
    def text(self) -> str:
        """The directive on one line, without its `;` or block."""
        return " ".join(self.source.text(self.span).split())


class Nodes:
    """The directives of a configuration by number. Rules of folded runs have numbers, too, and are created on demand.

    Number 0 is the main file itself. It stands for the implied blocks around a fragment.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        self._starts = array("Q", [0])
        self._items: list[Directive | Bulk | None] = [None]
        self._numbers: dict[Directive | Bulk, Node] = {}
        self._runs: dict[Bulk, _Run] = {}
        self._next = 1
        for item in _reading(config.readings):
            self._numbers[item] = self._next
            self._starts.append(self._next)
            self._items.append(item)
            self._next += item.count if isinstance(item, Bulk) else 1

    def __len__(self) -> int:
        return self._next

    def number(self, item: Directive | Bulk) -> Node:
        """Return the number of a directive, or that of the first rule of a folded run."""
        return self._numbers[item]

    def is_missing(self, include: Directive) -> bool:
        """Return whether an include names a file that could not be read."""
        return self._config.is_missing(include)

    def place(self, node: Node) -> DirectivePlace:
        """Return the place of a node. The first request for a rule of a folded run reads the whole run."""
        item, rule = self._item(node)
        if isinstance(item, Bulk):
            span = self._run(item).span(rule)
            head = Span(span.start, span.end - 1)
            return DirectivePlace(item.source, item.source.position(span.start).line, head)
        if item is None:
            return DirectivePlace(self._config.main.source, 1, Span(0, 0))
        return DirectivePlace(item.source, item.line, _head(item))

    def statement(self, node: Node) -> tuple[Source, Span]:
        """Return the file and the span of a directive with its `;`, or of the part of a directive before its block."""
        item, rule = self._item(node)
        if item is None:
            return self._config.main.source, Span(0, 0)
        if isinstance(item, Bulk):
            return item.source, self._run(item).span(rule)
        return item.source, _head(item) if item.block else item.span

    def directive(self, node: Node) -> Directive | None:
        """Return the directive of a node; None for the main file."""
        item, rule = self._item(node)
        return directive_at(item.source, self._run(item).span(rule)) if isinstance(item, Bulk) else item

    def _item(self, node: Node) -> tuple[Directive | Bulk | None, int]:
        """Return the directive or folded run with a number, and the index of the number in the run."""
        if not 0 <= node < self._next:
            raise IndexError(node)
        index = bisect_right(self._starts, node) - 1
        return self._items[index], node - self._starts[index]

    def _run(self, bulk: Bulk) -> _Run:
        return self._runs.setdefault(bulk, _Run(bulk))


class _Run:
    """The spans of the rules of a folded run."""

    def __init__(self, bulk: Bulk) -> None:
        self._bulk = bulk

    def span(self, rule: int) -> Span:
        """Return the span of a rule, with its `;`."""
        return Span(*self._spans[2 * rule : 2 * rule + 2])

    @cached_property
    def _spans(self) -> array[int]:
        """The start and end of each rule."""
        span = self._bulk.span
        return array("Q", statement_spans(self._bulk.source.data, span.start, span.end))


def _reading(scope: Scope) -> Iterator[Directive | Bulk]:
    """Yield all directives and folded runs, in the order in which nginx reads them."""
    open_scopes = [(iter(scope.nodes), iter(scope.scopes))]
    while open_scopes:
        nodes, scopes = open_scopes[-1]
        for node in nodes:
            yield node
            if isinstance(node, Directive) and node.block is not None:
                inner = next(scopes)
                open_scopes.append((iter(inner.nodes), iter(inner.scopes)))
                break
        else:
            open_scopes.pop()


def _head(directive: Directive) -> Span:
    """Return the span of a directive without its `;` or block."""
    end = directive.block.span.start if directive.block else directive.span.end - 1
    return Span(directive.span.start, end)
