"""Compares two texts directive by directive, for the proofs of the kinds of lists.

What a kind replaced is compared by the proof of that kind; everything else must be as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from nginxopt.config import Block, Bulk, Comment, Config, Directive, File, reread
from nginxopt.errors import InputError
from nginxopt.records import record
from nginxopt.rewrite.kinds.kind import Refutation

_Part = TypeVar("_Part")

Node = Directive | Bulk


def nodes_of(block: Block) -> list[Node]:
    """Return the directives of a block, without comments."""
    return [node for node in block.nodes if not isinstance(node, Comment)]


def block_of(node: Node) -> Block | None:
    """Return the block of a directive, if it has one."""
    return node.block if isinstance(node, Directive) else None


def words_of(node: Node) -> tuple[str, ...]:
    """Return the words of a directive without quotes, and one more that says whether it has a block."""
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


class Unproved(Exception):  # noqa: N818 - a verdict, not a failure
    """A part of a proof that does not hold, and a value for which the texts differ, if one is known."""

    def __init__(self, what: str, counterexample: bytes | None = None) -> None:
        super().__init__(what)
        self.what, self.counterexample = what, counterexample


Lengths = tuple[int, int]
"""How many of the original directives are replaced, and by how many of the emitted ones."""


@record(eq=True)
class Replacement(Generic[_Part]):
    """What is emitted in place of directives.

    Attributes:
        of: The list to which the directives belong.
        what: What they are, for the refutation.
        check: Compares the directives from the first that is replaced with the emitted ones in its place. Returns how
            many are compared; None if it was not replaced after all. Raises `Unproved`.
    """

    of: _Part
    what: str
    check: Callable[[list[Node], list[Node]], Lengths | None]


def difference_of_files(
    config: Config, texts: Mapping[File, bytes], replacements: Mapping[Directive, Replacement[_Part]]
) -> Refutation | None:
    """Return how a configuration with new texts of some files differs; None if it does not.

    `replacements` are those of directives that must begin a replaced part.
    """
    try:
        after = reread(config, {file.path: text for file, text in texts.items()})
    except InputError as error:
        return Refutation(f"the result cannot be read: {error}")
    # Where includes were not followed, they are now; the statements that include are compared.
    others = {file.path: file for file in after.files}
    pairs = [(file, others[file.path]) for file in config.files if file.path in others]
    if len(pairs) < len(config.files):
        return Refutation("a file is not included any more")
    differences = (difference(file.block, other.block, replacements) for file, other in pairs)
    return next((found for found in differences if found is not None), None)


def difference(before: Block, after: Block, replacements: Mapping[Directive, Replacement[_Part]]) -> Refutation | None:
    """Return how two blocks differ, other than by correct `replacements`; None if they do not."""
    ours, theirs = nodes_of(before), nodes_of(after)
    while ours:
        replaced = replacements.get(ours[0]) if isinstance(ours[0], Directive) else None
        try:
            lengths = None if replaced is None else replaced.check(ours, theirs)
        except Unproved as unproved:
            assert replaced is not None
            return Refutation(f"{replaced.what}: {unproved.what}", unproved.counterexample, replaced.of)
        if lengths is not None:
            ours, theirs = ours[lengths[0] :], theirs[lengths[1] :]
            continue
        if not theirs or words_of(ours[0]) != words_of(theirs[0]):
            return Refutation(f"line {ours[0].line} of {ours[0].source.path} is not as it was")
        inner, other = block_of(ours[0]), block_of(theirs[0])
        found = None if inner is None or other is None else difference(inner, other, replacements)
        if found is not None:
            return found
        ours, theirs = ours[1:], theirs[1:]
    return Refutation("there is a statement that was not there") if theirs else None
