"""Compares the directives of two texts, for proofs."""

from __future__ import annotations

from nginxopt.config import Block, Bulk, Comment, Directive

Node = Directive | Bulk


def nodes_of(block: Block) -> list[Node]:
    """Return the directives of a block, without comments."""
    return [node for node in block.nodes if not isinstance(node, Comment)]


def block_of(node: Node) -> Block | None:
    """Return the block of a directive, if it has one."""
    return node.block if isinstance(node, Directive) else None


def words_of(node: Node) -> tuple[str, ...]:
    """Return the words of a directive without quotes, and a last one that tells whether it has a block."""
    if isinstance(node, Bulk):
        return (node.source.data[node.span.start : node.span.end].decode("latin-1"),)
    return (str(node.name), *map(str, node.args), *([] if node.block is None else ["{"]))


def is_same(node: Node, other: Node) -> bool:
    """Return whether two directives are the same, including their blocks."""
    if words_of(node) != words_of(other):
        return False
    block, other_block = block_of(node), block_of(other)
    if block is None or other_block is None:
        return block is other_block
    pairs = nodes_of(block), nodes_of(other_block)
    return len(pairs[0]) == len(pairs[1]) and all(map(is_same, *pairs))
