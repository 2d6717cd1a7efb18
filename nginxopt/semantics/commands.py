"""What nginx requires of a directive: its contexts, its number of arguments, and whether it may be repeated.

These are the checks of `ngx_conf_handler`. Directives of NGINX Plus and of other modules are not checked, nor are their
blocks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from enum import Enum
from functools import cache, lru_cache, partial

from nginxopt.config import Config, Context, Directive, Scope, has_placeholder
from nginxopt.facts import lexicon, vendors
from nginxopt.facts.table import PLACES, Declaration, declarations, names
from nginxopt.records import record
from nginxopt.semantics.inherit import Level
from nginxopt.version import Version

_PLACES = {
    ("main", ""): "main",
    ("events", "main"): "events",
    ("http", "main"): "http",
    ("server", "http"): "http/server",
    ("location", "server"): "http/location",
    ("location", "location"): "http/location",
    ("if", "server"): "http/server/if",
    ("if", "location"): "http/location/if",
    ("limit_except", "location"): "http/location/limit_except",
    ("upstream", "http"): "http/upstream",
    ("mail", "main"): "mail",
    ("server", "mail"): "mail/server",
    ("stream", "main"): "stream",
    ("server", "stream"): "stream/server",
    ("upstream", "stream"): "stream/upstream",
}
"""The place of a block by its name and that of the block around it."""

_NOT_OURS = frozenset(["include"])
"""Directives that a configuration that was read no longer contains: each `include` has been replaced by its files."""

_BACKPORTED = frozenset(["max_headers"])
"""Directives of later releases that distributions add to their packages, such as Debian to 1.22.1."""

_MOST_OF_ONE = 8
"""The number of words that a placeholder may stand for."""

TOGETHER = {"alias": "root"}
"""Directives that count as another one (`ngx_http_core_root`)."""


class FaultKind(Enum):
    """What is wrong with a directive."""

    UNKNOWN = "the release does not have it"
    PLACE = "it is not allowed in that block"
    BLOCK = "its block is missing, or it has one"
    ARGUMENTS = "the number of arguments"
    FLAG = "a value other than `on` and `off`"


@record(eq=True)
class Fault:
    """Why nginx refuses a directive.

    Attributes:
        kind: What is wrong.
        message: What nginx says.
        declaration: What the release declares of the directive in that place. If it declares nothing there, this is the
            declaration of another place or release.
    """

    kind: FaultKind
    message: str
    declaration: Declaration


def place(kind: str, around: str) -> str | None:
    """Return the place of a block of this kind, such as `http/server/if`; None if nginx has no such block.

    `around` is the kind of the block around it: `main` for the outermost blocks, empty for `main` itself.
    """
    return _PLACES.get((kind, around))


def place_of(context: Sequence[str]) -> str | None:
    """Return the place of a context, which is the names of all blocks around a directive; None if nginx has no such
    place."""
    names = ("", "main", *context)
    return place(names[-1], names[-2])


class Declared:
    """What a build of nginx declares of the directives in one place; None for a place that nginx does not have.

    `extra` are directives that the build has besides those of its version.
    """

    def __init__(self, place: str | None, target: Version, extra: frozenset[str]) -> None:
        self._place = place
        self._target = target
        self._extra = extra
        self._found: dict[str, Declaration] = {}
        # What nginx accepts: the name, whether there is a block, and the number of arguments.
        self._sound: set[tuple[str, bool, int]] = set()

    @property
    def is_known(self) -> bool:
        """Whether nginx has the place."""
        return self._place in PLACES

    def fault(self, directive: Directive) -> Fault | None:
        """Return why nginx refuses a directive; None if it does not (`ngx_conf_handler`).

        Of the values, only `on` and `off` of flags are checked.
        """
        if (directive.name, directive.block is None, len(directive.args)) in self._sound or self._place is None:
            return None
        name = str(directive.name)
        declaration = self.declaration(name)
        if declaration is None:
            return _absent(name, self._place, self._target, self._extra)
        if name.endswith("_by_lua_block"):  # whose block is read as a word
            return None
        if declaration.has_block != (directive.block is not None):
            return Fault(FaultKind.BLOCK, _without_end(directive), declaration)
        if not declaration.takes(len(directive.args)):
            if _may_have_more(directive, declaration):
                return None
            return Fault(FaultKind.ARGUMENTS, f'invalid number of arguments in "{name}" directive', declaration)
        if declaration.values != "on|off":
            self._sound.add((name, directive.block is None, len(directive.args)))
        elif directive.args[0].lower() not in ("on", "off"):
            message = f'invalid value "{directive.args[0]}" in "{name}" directive, it must be "on" or "off"'
            return Fault(FaultKind.FLAG, message, declaration)
        return None

    def is_once(self, name: str) -> bool:
        """Return whether nginx refuses a second directive of that name in one block, whatever its arguments."""
        declaration = self._found.get(name) or self.declaration(name)
        return declaration is not None and declaration.is_once

    def declaration(self, name: str) -> Declaration | None:
        """Return what the build declares of a directive; None if nothing, or if others may say more of it."""
        if self._place is None or name in _NOT_OURS:
            return None
        declaration = self._found.get(name)
        if declaration is None:
            bit = PLACES.get(self._place, 0)
            known = _known(name, self._target, self._extra)
            declaration = next((declaration for declaration in known if declaration.places & bit), None)
            if declaration is not None:
                self._found[str(name)] = declaration
        return declaration


def _may_have_more(directive: Directive, declaration: Declaration) -> bool:
    """Return whether a placeholder may stand for the missing arguments: `fastcgi_buffers $BUFFERS;` for envsubst."""
    stated = len(directive.args)
    return any(not word.quoted and has_placeholder(word) for word in directive.args) and any(
        declaration.takes(number) for number in range(stated + 1, stated + _MOST_OF_ONE)
    )


@lru_cache(maxsize=1 << 8)
def declared(place: str | None, target: Version, extra: frozenset[str] = frozenset()) -> Declared:
    """Return the declarations of a build for the directives in a place."""
    return Declared(place, target, extra)


def _absent(name: str, place: str, target: Version, extra: frozenset[str]) -> Fault | None:
    """Return why nginx refuses a name that is not declared in a place; None if another module may declare it."""
    if place not in PLACES or name in _NOT_OURS or not declarations(name):
        return None
    known = _known(name, target, extra)
    if not known and (name in _BACKPORTED or vendors.may_have(target, name)):
        return None
    if not known:
        return Fault(FaultKind.UNKNOWN, f'unknown directive "{name}"', declarations(name)[-1])
    return Fault(FaultKind.PLACE, f'"{name}" directive is not allowed here', known[0])


def faults(config: Config, target: Version) -> Iterator[tuple[Directive, Scope, Fault]]:
    """Yield each directive that nginx refuses in its place, with the reason, block by block.

    A directive of a fragment that fits several contexts is a fault only if nginx refuses it in all of them. A file that
    most likely belongs to another program, or contains rows of a `map`, has no faults.
    """
    if is_of_rows(config):
        return
    here = cache(partial(_places, config, target))  # most scopes share a context
    for scope in config.scope.tree():
        places = here(scope.context)
        for directive in scope.directives if places else ():
            reason = places[0].fault(directive)
            if reason and all(each.fault(directive) for each in places[1:]):
                yield directive, scope, reason


def duplicates(config: Config, target: Version) -> Iterator[tuple[Directive, Directive]]:
    """Yield each directive that nginx refuses because of an earlier one in its block, with the earlier one first."""
    if is_of_rows(config):
        return
    here = cache(partial(_places, config, target))
    for scope in config.scope.tree():
        stated = {node.name for node in scope.nodes}
        if len(stated) == len(scope.nodes) and stated.isdisjoint(TOGETHER):
            continue
        places = here(scope.context)
        firsts: dict[str, Directive] = {}
        for directive in scope.directives if places else ():
            name = str(directive.name)
            first = firsts.setdefault(TOGETHER.get(name, name), directive)
            if first is not directive and all(each.is_once(name) for each in places):
                yield first, directive


def allowed(name: str, target: Version) -> tuple[str, ...]:
    """Return the places where a release allows a directive, such as `http/server`, outer ones first."""
    places = 0
    for declaration in _known(name, target, frozenset()):
        places |= declaration.places
    return tuple(name for name, bit in PLACES.items() if places & bit)


def came_after(name: str, target: Version) -> Version | None:
    """Return the first release after `target` that has a directive which `target` does not have; None for any other."""
    rows = declarations(name)
    if any(row.is_in(target) for row in rows) or vendors.may_have(target, name):
        return None
    return min((row.since for row in rows if row.since and row.since > target), default=None)


def _places(config: Config, target: Version, context: Context) -> list[Declared]:
    """Return the declarations for a scope with a context, one for each context that its configuration may have; none if
    that is not known."""
    if config.candidates:
        places = [place_of(outer + context) for outer in config.candidates]
    else:
        places = [place(context[-1], context[-2])] if len(context) > 1 else []
    return [declared(here, target) for here in places] if any(places) else []


def is_of_rows(config: Config) -> bool:
    """Return whether most top-level names are unknown: rows of a `map`, or the file of another program."""
    names = [directive.name for directive in config.main.block.unfolded()]
    return sum(name in lexicon.NAMES for name in names) * 2 < len(names)


@lru_cache(maxsize=1 << 12)
def _known(name: str, target: Version, extra: frozenset[str]) -> tuple[Declaration, ...]:
    """Return what a build declares of a directive. For one that it has besides those of its version, this is the
    declaration of the first release that has it."""
    known = tuple(declaration for declaration in declarations(name) if declaration.is_in(target))
    known = known or vendors.declared(target, name)
    return known or (declarations(name)[:1] if name in extra else ())


def _without_end(directive: Directive) -> str:
    if directive.block is None:
        return f'directive "{directive.name}" has no opening "{{"'
    return f'directive "{directive.name}" is not terminated by ";"'


@cache
def _of_others() -> frozenset[str]:
    """Return the directives that only tables of vendors and modules have."""
    tables = (vendors.MODULES, vendors.FURTHER, *vendors.TABLES)
    return frozenset[str]().union(*map(vendors.names, tables)) - _names_of_nginx()


def is_plain(root: Level, target: Version) -> bool:
    """Return whether nothing in a main configuration shows more than nginx itself, so that nginx does not know a name
    that no table has.

    More shows if it loads a module, if it has a directive of a common module or of a vendor, or several of an unknown
    module, or if the target is the release of a vendor.
    """
    if root.kind != "main" or root.own("load_module") or vendors.vendor_of(target):
        return False
    if not _shows_more(root.names_anywhere):  # even in blocks that are not of nginx
        return True
    levels = (level for level in root.walk() if place(level.kind, level.parent.kind if level.parent else ""))
    used = frozenset[str]().union(*(level.names for level in levels))
    return not _shows_more(used)


def _shows_more(used: Set[str]) -> bool:
    return not _of_others().isdisjoint(used) or _is_module(used)


def _is_module(used: Iterable[str]) -> bool:
    """Return whether several unknown names have one prefix that no directive of nginx has: they are those of a module
    that is in no table."""
    prefixes = Counter(name.partition("_")[0] for name in used if name not in _names_of_nginx())
    return any(count > 1 and prefix not in _prefixes_of_nginx() for prefix, count in prefixes.items())


@cache
def _names_of_nginx() -> frozenset[str]:
    return names() | vendors.names(vendors.OLDER) | {"include"}


@cache
def _prefixes_of_nginx() -> frozenset[str]:
    return frozenset(name.partition("_")[0] for name in _names_of_nginx())
