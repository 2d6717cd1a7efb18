"""Blocks as nginx reads them, with included files in the place of each `include`.

All other code walks a configuration through scopes. They cross files, and leave runs of rewrites folded: see
`nginxopt.config.tree`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import field

from nginxopt.config.context import Context
from nginxopt.config.tokens import Comment
from nginxopt.config.tree import Block, Bulk, Directive
from nginxopt.records import record

IncludedBlocks = Callable[[Directive], Iterable[Block]]
"""A function that returns the top-level blocks of the files that an `include` names, in nginx's order."""


@record(frozen=False)
class Scope:
    """The content of a block or of the main file, including its includes.

    Attributes:
        block: The block in which the scope begins.
        parents: The directives of the enclosing blocks, outermost first, across files; the last one opens the scope.
            Empty for the outermost scope.
        context: The names of `parents`.
        nodes: The nodes directly in the scope, in the order in which nginx reads them, without comments. An `include`
            is followed by the nodes of its files.
        scopes: The scopes directly in this one, one for each directive of `nodes` with a block, in the same order.
    """

    block: Block
    parents: tuple[Directive, ...] = ()
    context: Context = ()
    nodes: list[Directive | Bulk] = field(default_factory=list)
    scopes: list[Scope] = field(default_factory=list)

    @property
    def opener(self) -> Directive | None:
        """The directive whose block this is; None for the outermost scope."""
        return self.parents[-1] if self.parents else None

    @property
    def directives(self) -> Iterator[Directive]:
        """The directives directly in the scope, without folded runs."""
        return (node for node in self.nodes if isinstance(node, Directive))

    def tree(self) -> Iterator[Scope]:
        """Yield this scope and all inner scopes, in the order in which nginx reads them."""
        waiting = [self]
        while waiting:
            scope = waiting.pop()
            yield scope
            waiting += reversed(scope.scopes)

    def walk(self) -> Iterator[tuple[Directive, Scope]]:
        """Yield every directive of this scope and its inner scopes, with its scope, in the order in which nginx reads
        them. Skips folded runs.
        """
        open_scopes = [(self, self.directives, iter(self.scopes))]
        while open_scopes:
            scope, directives, scopes = open_scopes[-1]
            for directive in directives:
                yield directive, scope
                if directive.block is not None:
                    inner = next(scopes)
                    open_scopes.append((inner, inner.directives, iter(inner.scopes)))
                    break
            else:
                open_scopes.pop()


def read_scope(block: Block, included: IncludedBlocks) -> Scope:
    """Return the outermost scope, that of the main file. Linear in the size of the text outside folded runs."""
    scope = Scope(block)
    _read(scope, block, included)
    return scope


def _read(scope: Scope, block: Block, included: IncludedBlocks) -> None:
    """Add the content of a block or file, including its includes, to a scope."""
    for node in block.nodes:
        if isinstance(node, Comment):
            continue
        scope.nodes.append(node)
        if isinstance(node, Bulk):
            continue
        if node.block is not None:
            inner = Scope(node.block, (*scope.parents, node), (*scope.context, str(node.name)))
            scope.scopes.append(inner)
            _read(inner, node.block, included)
        elif node.name == "include":
            for file in included(node):
                _read(scope, file, included)
