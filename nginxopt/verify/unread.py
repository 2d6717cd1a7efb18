"""What is known of files that were not read.

An unread file may add to a list, or set what the block around its include does not set, so what is in force there is
unknown. Such a setting is kept as what stands around the include, with the include in its place (`interleaved`): it is
equal on both sides only if the same words surround the same include. A single value for "unknown" would be wrong, as
it would be equal to any other unknown.

Some settings are known all the same (`Silent`). nginx refuses most directives twice in a block, whether they are in its
text or in a file that it includes. So if it accepts a configuration that states one of them next to an include, the
file does not state it, and the same file does not state it on the other side either. Premises that were asked for may
say more.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator

from nginxopt.config import Directive
from nginxopt.facts.table import declarations
from nginxopt.records import record
from nginxopt.semantics import Level
from nginxopt.semantics.inherit import DISPLACED, origin, packaged_names
from nginxopt.semantics.site import LoweredSite
from nginxopt.verify.premises import BOTH_START, Asked, Premises
from nginxopt.version import Version

Words = tuple[str, ...]
"""The arguments of a directive."""


@record(eq=True)
class Unread:
    """Something unread among the directives of a setting, which may set it or add to it.

    Attributes:
        what: The path of an include that was not read, as written.
        around: What is otherwise in force, if the block itself does not set the setting.
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
    """Return what a block says of a setting, with its unread includes in their places.

    Directives that interact with the setting count, too, such as an `allow` between two `deny`.
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
    if not any(isinstance(part, Unread) for part in parts):  # not a file, but a directive that is not understood
        parts.append(Unread("", rest))
    return tuple(parts)


def is_only_unread(value: Value) -> bool:
    """Return whether the only thing known of a setting is that an unread file may set it."""
    return bool(value) and all(isinstance(part, Unread) and part.what for part in value)


def is_stated_once(name: str, version: Version) -> bool:
    """Return whether nginx refuses a directive twice in a block, so that an unread file cannot state it again."""
    rows = [row for row in declarations(name) if row.is_in(version)]
    return bool(rows) and all(row.is_once for row in rows)


Place = tuple[str, ...]
"""The blocks around an include, by their names and arguments, and the path of the include."""


def places(http: Level, unread: Callable[[Level], tuple[Directive, ...]], names: Collection[str]) -> Places:
    """Return the places of unread includes, with the preceding directives whose order counts.

    The first server of an address is its default, the first regular expression that matches is chosen, and of several
    variables with one of `names`, the last counts.
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
            elif (what := _ordered(directive, names)) is not None and (what, *before[-1:]) != ("server_name",) * 2:
                before.append(what)
    return found


def beside(level: Level, name: str, unread: tuple[Directive, ...]) -> Place:
    """Return the place of a setting among unread includes."""
    counted = (each for each in level.directives if each.name == name or each in unread)
    return (*_path(level), *(name if each.name == name else f"include {each.args[0]}" for each in counted))


Places = dict[Place, list[tuple[str, ...]]]


def _path(level: Level) -> Place:
    names = [word for name in level.own("server_name") for word in name.args] if level.kind == "server" else level.args
    around = () if level.parent is None else _path(level.parent)
    return (*around, level.kind, *map(str, names))


def _pattern(location: Directive) -> str | None:
    """Return the pattern of a location in one spelling; None for one with a plain name."""
    args = [str(word) for word in location.args]
    if len(args) == 1:
        sign = "~*" if args[0].startswith("~*") else "~"
        args = [sign, args[0].removeprefix(sign)] if args[0].startswith("~") else args
    if not args[0].startswith("~"):
        return None
    return f"~ (?i){args[1]}" if args[0] == "~*" else " ".join(args)


def _ordered(directive: Directive, names: Collection[str]) -> str | None:
    """Return a text for a directive whose order among others counts; None for any other directive."""
    if directive.name in ("server", "server_name"):  # the first name of a server is `$server_name`
        return str(directive.name)
    if directive.name == "location":
        return _pattern(directive)
    named = directive.args[-1:] if directive.block is not None else directive.args[:1]
    variable = next((str(word) for word in named if word.startswith("$")), None)
    return variable if variable is not None and variable.removeprefix("$").lower() in names else None


class Silent:
    """Knows which settings unread files do not state, by the paths as they are written.

    `used` has the path and the setting of each such fact that was needed, `asked` the premises of the comparison.
    """

    def __init__(self, sites: Iterable[LoweredSite] = (), asked: Asked | None = None) -> None:
        self.asked = Asked(Premises()) if asked is None else asked
        self._names: dict[str, set[str]] = {}
        self.used: set[tuple[str, str]] = set()
        for site in sites:
            for level in site.levels:
                includes = [each for each in level.own("include") if site.nodes.is_missing(each)]
                if includes:
                    once = {str(name) for name in level.names if is_stated_once(str(name), level.target)}
                    for include in includes:
                        self._names.setdefault(str(include.args[0]), set()).update(once)

    def about(self, include: Directive, name: str) -> bool:
        """Return whether a file that was not read does not state a setting."""
        if origin(include) is not None:
            return name not in packaged_names(include)
        is_given = self.asked.premises.holds(BOTH_START)
        is_silent = is_given and name in self._names.get(str(include.args[0]), ())
        if is_silent:
            self.used.add((str(include.args[0]), name))
        return is_silent or self.asked.is_silent(str(include.args[0]), name)
