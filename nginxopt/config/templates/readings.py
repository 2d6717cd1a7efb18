"""Chooses the readings of templates: the option of each block, and the scheme of values for the tags.

All combinations of options would be too many. The readings are:

- the n-th option of every block;
- each option of each block, combined with the first or the last options of all others, and with the options of the
  blocks around it that make it visible;
- a few with random options.

`structures` yields these with the first scheme of values. `loading` repeats some with further schemes until each tag
has had each of its values.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from random import Random

from nginxopt.config.templates.structure import TagBlock, Template
from nginxopt.records import record

_RANDOM = 12
"""The number of readings with options at random."""

_MOST_ALONE = 60
"""With more options than this, only random readings combine an option with the last options of other blocks."""


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
    for options in _alone(templates):
        if any(options.values()):
            yield TemplateReading(options=options)
    if sum(len(template.blocks[number].options) for template in templates for number in template.chains) <= _MOST_ALONE:
        for options in _alone(templates):
            yield TemplateReading(LAST, options)
    yield from _at_random(templates)


def _alone(templates: Iterable[Template]) -> Iterator[dict[tuple[str, int], int]]:
    """Yield, for each option of each block, that option and the options of outer blocks that make it visible."""
    for template in templates:
        path = template.source.path
        for number, chain in template.chains.items():
            around = {(path, block): option for block, option in chain}
            for option in range(len(template.blocks[number].options)):
                yield {**around, (path, number): option}


def _at_random(templates: Iterable[Template]) -> Iterator[TemplateReading]:
    random = Random(12)
    blocks = [(template.source.path, block) for template in templates for block in template.blocks]
    for _ in range(_RANDOM):
        options = {(path, block.number): random.randrange(len(block.options)) for path, block in blocks}
        yield TemplateReading(0, options)
