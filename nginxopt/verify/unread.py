"""What a block says where a file that it includes was not read: its own words and the include, in their order.

The file may add to a list, or state what the block does not. So what is in force is not known, and equal on both sides
only where the same words stand around the same include. There is no value for "not known" by itself, as that would be
equal to another one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass

from nginxopt.config import Directive
from nginxopt.facts.declarations import declarations
from nginxopt.semantics import Level
from nginxopt.semantics.inherit import DISPLACED
from nginxopt.version import Version

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


def is_only_unread(value: Value) -> bool:
    """Return whether nothing is known of a setting but a file that may state it."""
    return bool(value) and all(isinstance(part, Unread) and part.what for part in value)


def is_stated_once(name: str, version: Version) -> bool:
    """Return whether nginx refuses a directive twice in a block, so that an unread file cannot state it again."""
    rows = [row for row in declarations(name) if row.is_in(version)]
    return bool(rows) and all(row.is_once for row in rows)


Place = tuple[str, ...]
"""What leads to an include, and its path."""


def places(http: Level, unread: Callable[[Level], tuple[Directive, ...]], names: Collection[str]) -> Places:
    """Return where files that were not read are included, with what stands before them and counts by its order.

    Of servers, the first of an address is its default; of regular expressions, the first that matches is chosen; of
    variables with one name, those in `names`, the last counts.
    """
    found: Places = {}
    for level in http.walk():
        includes = unread(level)
        if not includes:
            continue
        before: list[str] = []
        for directive in level.directives:
            if directive in includes:
                found.setdefault((*_path(level), str(directive.args[0])), []).append(tuple(before))
            elif (what := _ordered(directive, names)) is not None:
                before.append(what)
    return found


Places = dict[Place, list[tuple[str, ...]]]


def _path(level: Level) -> Place:
    names = [word for name in level.own("server_name") for word in name.args] if level.kind == "server" else level.args
    around = () if level.parent is None else _path(level.parent)
    return (*around, level.kind, *map(str, names))


def _ordered(directive: Directive, names: Collection[str]) -> str | None:
    """Return what counts by its order among others; None for a directive that does not."""
    if directive.name == "server":
        return "server"
    if directive.name == "location":
        return " ".join(directive.args) if directive.args[0].startswith("~") else None
    named = directive.args[-1:] if directive.block is not None else directive.args[:1]
    variable = next((str(word) for word in named if word.startswith("$")), None)
    return variable if variable is not None and variable.removeprefix("$").lower() in names else None
