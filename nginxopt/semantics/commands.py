"""What nginx requires of a directive: where it may stand, with how many arguments, and how often (`ngx_conf_handler`).

Of directives of NGINX Plus and of other modules nothing is required, nor of what stands in their blocks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache

from nginxopt.config import Config, Directive, Scope
from nginxopt.config.declarations import PLACES, Declaration, declarations
from nginxopt.semantics import directives
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
"""Directives that are not left in what is read: an `include` stands for its files."""


TOGETHER = {"alias": "root"}
"""Directives that count as another one (`ngx_http_core_root`)."""


class Kind(Enum):
    """What is wrong with a directive."""

    UNKNOWN = "the release does not have it"
    PLACE = "it is not allowed in that block"
    BLOCK = "its block is missing, or it has one"
    ARGUMENTS = "the number of arguments"
    FLAG = "a value other than `on` and `off`"


@dataclass(frozen=True, slots=True)
class Fault:
    """Why nginx refuses a directive.

    Attributes:
        kind: What is wrong.
        message: What nginx says.
        declaration: What the release declares of the directive there; of any place or release for one that it has not
            there, or not at all.
    """

    kind: Kind
    message: str
    declaration: Declaration


def place(kind: str, around: str) -> str | None:
    """Return the place that a block of the kind is, such as `http/server/if`; None if it is none of nginx's.

    `around` is the kind of the block around it: `main` for the outermost blocks, empty for `main` itself.
    """
    return _PLACES.get((kind, around))


def place_of(context: Sequence[str]) -> str | None:
    """Return the place that a context is, the names of all blocks around a directive; None if it is none of nginx's."""
    names = ("", "main", *context)
    return place(names[-1], names[-2])


def fault(directive: Directive, place: str | None, target: Version, extra: frozenset[str]) -> Fault | None:
    """Return why nginx refuses a directive in a place; None if it does not.

    `extra` are directives that the build has besides those of its version. Values other than `on` and `off` are not
    looked at. As `ngx_conf_handler` does.
    """
    if place is None:
        return None
    name = str(directive.name)
    declaration = _declared(name, place, target, extra)
    if declaration is None:
        return _absent(name, place, target, extra)
    if declaration.has_block != (directive.block is not None):
        return Fault(Kind.BLOCK, _without_end(directive), declaration)
    if not declaration.takes(len(directive.args)):
        return Fault(Kind.ARGUMENTS, f'invalid number of arguments in "{name}" directive', declaration)
    if declaration.values == "on|off" and directive.args[0].lower() not in ("on", "off"):
        message = f'invalid value "{directive.args[0]}" in "{name}" directive, it must be "on" or "off"'
        return Fault(Kind.FLAG, message, declaration)
    return None


def _absent(name: str, place: str, target: Version, extra: frozenset[str]) -> Fault | None:
    """Return why nginx refuses a name in a place where it declares none; None if that is not nginx's to say."""
    if place not in PLACES or name in _NOT_OURS or not declarations(name):
        return None
    known = _known(name, target, extra)
    if not known:
        return Fault(Kind.UNKNOWN, f'unknown directive "{name}"', declarations(name)[-1])
    return Fault(Kind.PLACE, f'"{name}" directive is not allowed here', known[0])


def is_once(name: str, place: str | None, target: Version, extra: frozenset[str] = frozenset()) -> bool:
    """Return whether nginx refuses a second directive of that name in one block, whatever it says."""
    declaration = None if place is None else _declared(name, place, target, extra)
    return declaration is not None and declaration.is_once


def faults(config: Config, target: Version) -> Iterator[tuple[Directive, Scope, Fault]]:
    """Yield each directive that nginx refuses where it stands, with the reason, block by block.

    Where a fragment may stand in several contexts, it is refused in all of them. Nothing is said of a file that most
    likely belongs to another program or to the inside of a `map`.
    """
    if is_of_rows(config):
        return
    for scope in config.scope.tree():
        places = _places(config, scope)
        for directive in scope.directives if any(places) else ():
            reasons = [fault(directive, here, target, frozenset()) for here in places]
            if all(reasons) and reasons[0]:
                yield directive, scope, reasons[0]


def duplicates(config: Config, target: Version) -> Iterator[tuple[Directive, Directive]]:
    """Yield each directive that nginx refuses for an earlier one of its block, after that one."""
    if is_of_rows(config):
        return
    for scope in config.scope.tree():
        places = _places(config, scope)
        if not any(places):
            continue
        firsts: dict[str, Directive] = {}
        for directive in scope.directives:
            name = str(directive.name)
            first = firsts.setdefault(TOGETHER.get(name, name), directive)
            if first is not directive and all(is_once(name, here, target) for here in places):
                yield first, directive


def allowed(name: str, target: Version) -> tuple[str, ...]:
    """Return the places where a release allows a directive, such as `http/server`, outer ones first."""
    places = 0
    for declaration in _known(name, target, frozenset()):
        places |= declaration.places
    return tuple(name for name, bit in PLACES.items() if places & bit)


def _places(config: Config, scope: Scope) -> list[str | None]:
    """Return the place of a scope for each context in which its configuration may stand."""
    if config.candidates:
        return [place_of(outer + scope.context) for outer in config.candidates]
    return [place(scope.context[-1], scope.context[-2])] if len(scope.context) > 1 else []


def is_of_rows(config: Config) -> bool:
    """Return whether most top-level names are unknown: rows of a `map`, or the file of another program."""
    names = [directive.name for directive in config.main.block.unfolded()]
    return sum(name in directives.NAMES for name in names) * 2 < len(names)


@lru_cache(maxsize=1 << 12)
def _declared(name: str, place: str, target: Version, extra: frozenset[str]) -> Declaration | None:
    """Return what a build declares of a directive in a place; None if nothing, or if others may say more of it."""
    bit = 0 if name in _NOT_OURS else PLACES.get(place, 0)
    return next((declaration for declaration in _known(name, target, extra) if declaration.places & bit), None)


@lru_cache(maxsize=1 << 12)
def _known(name: str, target: Version, extra: frozenset[str]) -> tuple[Declaration, ...]:
    """Return what a build declares of a directive; one that it has besides those of its version, as it came."""
    known = tuple(declaration for declaration in declarations(name) if declaration.is_in(target))
    return known or (declarations(name)[:1] if name in extra else ())


def _without_end(directive: Directive) -> str:
    if directive.block is None:
        return f'directive "{directive.name}" has no opening "{{"'
    return f'directive "{directive.name}" is not terminated by ";"'
