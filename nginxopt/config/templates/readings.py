"""Chooses the readings of templates: the option of each block, and the scheme of values for the tags.

All combinations of options would be too many. The readings are:

- the n-th option of every block;
- each option of each block, combined with the first or the last options of all others, and with the options of the
  blocks around it that make it visible;
- of many blocks, an option of half of them at a time, by the bits of their numbers: two blocks differ in a bit, so any
  two options of two blocks are read with and without each other, in twice as many readings as the number of blocks has
  digits;
- a few with random options.

`structures` yields these with the first scheme of values. `loading` repeats some with further schemes until each tag
has had each of its values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import islice
from random import Random

from nginxopt.config.templates.structure import TagBlock, Template
from nginxopt.records import record

_RANDOM = 12
"""The number of readings with options at random."""

_MOST_ALONE = 60
"""With more options than this, blocks are read by halves, if that takes fewer readings."""


@record(eq=True)
class TemplateReading:
    """A reading of templates.

    Attributes:
        usual: The number of the option of all blocks that are not in `options`; the last one if a block has fewer.
        options: The number of an option, by the path of the file and the number of the block.
        scheme: The number of the scheme of values, which determines the value of each tag (`values.value`).
        schemes: The number of schemes.
        lines: What replaces tags for whole directives: 0 for an unreadable include, n for the text n - 1 of `lines`.
        is_veiled: Whether directives with values in their words count as unread.
        drops_newlines: Whether line ends after control tags are dropped, as some engines do.
    """

    usual: int = 0
    options: Mapping[tuple[str, int], int] = field(default_factory=dict)
    scheme: int = 0
    schemes: int = 1
    lines: int = 0
    is_veiled: bool = False
    drops_newlines: bool = False

    def option(self, path: str, block: TagBlock) -> int:
        """Return the number of the option that this reading chooses for a block."""
        return min(self.options.get((path, block.number), self.usual), len(block.options) - 1)


LAST = 1_000_000
"""A number above that of any option: it selects the last option of each block."""


def structures(templates: Iterable[Template]) -> Iterator[TemplateReading]:
    """Yield the readings of some templates, all with the first scheme of values. The first has the first options."""
    templates = list(templates)
    most = max((len(block.options) for template in templates for block in template.blocks), default=1)
    yield TemplateReading()
    if most == 1:
        return
    yield TemplateReading(drops_newlines=True)
    for usual in range(1, most):
        yield TemplateReading(usual=usual)
    blocks = list(_alone(templates))
    alone = [options for block in blocks for options in block]
    others = [options for options in alone if any(options.values())]
    by_halves = list(islice(_by_halves(blocks, most), len(others))) if len(alone) > _MOST_ALONE else others
    for options in by_halves if len(by_halves) < len(others) else others:
        yield TemplateReading(options=options)
    if len(alone) <= _MOST_ALONE:
        for options in alone:
            yield TemplateReading(LAST, options)
    yield from _at_random(templates)


_Options = dict[tuple[str, int], int]
"""The numbers of options, by the paths of templates and the numbers of blocks."""


def _alone(templates: Iterable[Template]) -> Iterator[list[_Options]]:
    """Yield, for each block, each of its options with the options of outer blocks that make it visible."""
    for template in templates:
        path = template.source.path
        for number, chain in template.chains.items():
            around = {(path, block): option for block, option in chain}
            yield [{**around, (path, number): option} for option in range(len(template.blocks[number].options))]


def _by_halves(blocks: Sequence[Sequence[_Options]], most: int) -> Iterator[_Options]:
    """Yield options of half of the blocks at a time: several sets if they need different options of a block around."""
    known: set[frozenset[tuple[tuple[str, int], int]]] = set()
    for option in range(1, most):
        for bit in range(len(blocks).bit_length()):
            for side in (0, 1):
                half = (
                    each[option]
                    for number, each in enumerate(blocks)
                    if number >> bit & 1 == side and option < len(each)
                )
                for together in _together(half):
                    key = frozenset(together.items())
                    if key not in known:
                        known.add(key)
                        yield together


_LAST_SETS = 8
"""How many sets are asked whether they take some options: the last ones, as blocks of one branch follow each other."""


def _together(wanted: Iterable[_Options]) -> list[_Options]:
    """Return sets of options of which each of the wanted ones is part, few if few contradict each other."""
    sets: list[_Options] = []
    for options in wanted:
        for each in sets[-_LAST_SETS:]:
            if all(each.get(block, option) == option for block, option in options.items()):
                each.update(options)
                break
        else:
            sets.append(dict(options))
    return sets


def _at_random(templates: Iterable[Template]) -> Iterator[TemplateReading]:
    random = Random(12)
    blocks = [(template.source.path, block) for template in templates for block in template.blocks]
    for _ in range(_RANDOM):
        options = {(path, block.number): random.randrange(len(block.options)) for path, block in blocks}
        yield TemplateReading(0, options)
