"""The readings of templates: which option of each block is there, and which values stand for the tags.

What holds in all of them is taken to hold whatever the blocks and values are. There are readings with the n-th option
everywhere; with each option of each block alone, where it can be seen, beside the first and beside the last options of
all others; and with several options at random. These are read with further schemes of values until each tag was read
with each of its values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from random import Random

from nginxopt.config.templates.structure import Block, Template
from nginxopt.records import record

_RANDOM = 12
"""The number of readings with options at random."""

_MOST_ALONE = 60
"""The number of options up to which each is read alone beside the last ones; with more, those at random do."""


@record(eq=True)
class Reading:
    """A reading of templates.

    Attributes:
        usual: The number of the option of all blocks but those of `options`; the last one if a block has fewer.
        options: The options of blocks, by the path of their file and their number.
        scheme: The scheme of values.
        schemes: The number of schemes.
        lines: What stands in the place of directives: 0 for what is not read, or the number of a text.
        is_veiled: Whether directives that have values are taken to be unread.
        drops_newlines: Whether line ends behind control tags are dropped, as some engines do.
    """

    usual: int = 0
    options: Mapping[tuple[str, int], int] = field(default_factory=dict)
    scheme: int = 0
    schemes: int = 1
    lines: int = 0
    is_veiled: bool = False
    drops_newlines: bool = False

    def option(self, path: str, block: Block) -> int:
        """Return the number of the option of a block."""
        return min(self.options.get((path, block.number), self.usual), len(block.options) - 1)


LAST = 1_000_000
"""More options than a block has."""


def structures(templates: Iterable[Template]) -> Iterator[Reading]:
    """Yield the readings of some templates with the first scheme of values; the first one has the first options."""
    templates = list(templates)
    most = max((len(block.options) for template in templates for block in template.blocks), default=1)
    yield Reading()
    if most == 1:
        return
    yield Reading(drops_newlines=True)
    for usual in range(1, most):
        yield Reading(usual=usual)
    alone = list(_alone(templates))
    for options in alone:
        if any(options.values()):
            yield Reading(options=options)
    if len(alone) <= _MOST_ALONE:
        for options in alone:
            yield Reading(LAST, options)
    yield from _at_random(templates)


def _alone(templates: Iterable[Template]) -> Iterator[dict[tuple[str, int], int]]:
    """Yield the options that show each option of each block: its own, and those of the blocks around it."""
    for template in templates:
        path = template.source.path
        for number, chain in template.chains.items():
            around = {(path, block): option for block, option in chain}
            for option in range(len(template.blocks[number].options)):
                yield {**around, (path, number): option}


def _at_random(templates: Iterable[Template]) -> Iterator[Reading]:
    random = Random(12)
    blocks = [(template.source.path, block) for template in templates for block in template.blocks]
    for _ in range(_RANDOM):
        options = {(path, block.number): random.randrange(len(block.options)) for path, block in blocks}
        yield Reading(0, options)
