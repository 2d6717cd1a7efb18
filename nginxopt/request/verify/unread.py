"""What a block says where a file that it includes was not read: its own words and the include, in their order.

The file may add to a list, or state what the block does not. So what is in force is not known, and equal on both sides
only where the same words stand around the same include. There is no value for "not known" by itself, as that would be
equal to another one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from nginxopt.config import Directive
from nginxopt.config.declarations import declarations
from nginxopt.semantics import Level
from nginxopt.semantics.inherit import DISPLACED

Words = tuple[str, ...]
"""The arguments of a directive."""


@dataclass(frozen=True, slots=True)
class Unread:
    """Something unread among the directives of a setting: it may state the setting, or add to it.

    Attributes:
        what: What was not read: the path of an include as it is written.
        around: What is in force otherwise, if the block itself does not state the setting.
    """

    what: str
    around: Value = ()

    def __iter__(self) -> Iterator[str]:
        """Yield the words that may be in force, as those of a directive that was read."""
        return (word for directive in self.around for word in directive)


Value = tuple[Words | Unread, ...]
"""The directives of a setting, as far as they were read."""


def interleaved(
    level: Level, name: str, words: Callable[[Directive], Words], unread: tuple[Directive, ...], around: Value
) -> Value:
    """Return what a block says of a setting, with the includes of it that were not read at their places.

    What displaces the setting counts, too: an `allow` between two `deny`.
    """
    rivals = DISPLACED.get(name, ())
    parts: list[Words | Unread] = []
    is_stated = any(directive.name == name or directive.name in rivals for directive in level.directives)
    rest = () if is_stated else around
    for directive in level.directives:
        if directive.name == name:
            parts.append(words(directive))
        elif directive.name in rivals:
            parts.append((str(directive.name), *words(directive)))
        elif directive in unread:
            parts.append(Unread(str(directive.args[0]), rest))
    if not any(isinstance(part, Unread) for part in parts):  # what is not understood opens a block, too
        parts.append(Unread("", rest))
    return tuple(parts)


def is_stated_once(name: str) -> bool:
    """Return whether nginx refuses a directive twice in a block, so that an unread file cannot state it again."""
    rows = declarations(name)
    return bool(rows) and all(row.is_once for row in rows)
