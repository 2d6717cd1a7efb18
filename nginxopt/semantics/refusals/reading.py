"""What nginx knows while it reads a configuration from top to bottom, and what the setter of a directive gets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field

from nginxopt.config import Directive, Token
from nginxopt.facts.declarations import Declaration
from nginxopt.records import record
from nginxopt.semantics.addresses import Address
from nginxopt.semantics.inherit import Level
from nginxopt.version import Version

PAGE = 4096
"""`ngx_pagesize` of most machines: zones must have a multiple of it at least."""


@record(eq=True, frozen=False)
class Zone:
    """A shared memory zone: the module that it belongs to, its size (0 if none was given yet), and what uses it."""

    module: str
    size: int
    user: str | None = None


@record(eq=True, frozen=False)
class Listened:
    """An address of `listen`: the servers that use it, and whether one sets its options or is its default server."""

    servers: set[Level] = field(default_factory=set)
    is_set: bool = False
    has_default: bool = False


@record(eq=True, frozen=False)
class ReadState:
    """The state of nginx while it reads: what earlier directives have declared.

    Attributes:
        target: The release that reads.
        is_whole: Whether all text was read, so that a name that nothing declares is not declared elsewhere.
        is_of_nginx: Whether every directive is of a module that comes with nginx.
        is_part: Whether it is a fragment that is taken as given, so that what is around it may set anything.
        zones: The zones of shared memory by name (`ngx_shared_memory_add`).
        formats: The log formats of each protocol, in lower case where nginx compares them so.
        paths: The levels, places and managers of the directories that nginx makes, by path (`ngx_add_path`).
        buffers: The parameters of buffered logs by path.
        pools: The thread pools, and those that were only named, by name.
        charsets: The pair of the first `charset_map`.
        listens: The addresses of each protocol.
        is_plain: Whether nothing shows a build with more than nginx, so that a name that no table has is unknown.
        is_late: Whether a block was read after which nginx loads no more modules.
    """

    target: Version
    is_whole: bool
    is_of_nginx: bool
    is_part: bool
    zones: dict[str, Zone] = field(default_factory=dict)
    formats: dict[str, set[str]] = field(default_factory=dict)
    paths: dict[str, tuple[str, str, str]] = field(default_factory=dict)
    buffers: dict[str, tuple[int, int, int]] = field(default_factory=dict)
    pools: dict[str, Directive | None] = field(default_factory=dict)
    charsets: tuple[str, str] | None = None
    listens: dict[tuple[str, Address], Listened] = field(default_factory=dict)
    is_late: bool = False
    is_plain: bool = False

    def add_zone(self, name: str, size: int, module: str) -> Iterator[str]:
        """Declare or use a zone, and yield what `ngx_shared_memory_add` refuses. A size of 0 stands for any."""
        zone = self.zones.get(name)
        if zone is None:
            self.zones[name] = Zone(module, size)
        elif zone.module != module:
            yield f'the shared memory zone "{name}" is already declared for a different use'
        elif zone.size == 0:
            zone.size = size
        elif size and size != zone.size:
            yield (f'the size {size} of shared memory zone "{name}" conflicts with already declared size {zone.size}')


@record(eq=True)
class Stated:
    """A directive as its setter gets it.

    Attributes:
        directive: The directive.
        args: Its arguments.
        declaration: What the release declares of it.
        level: The level in which it stands.
        block: The level of its block; None if it has none.
        protocol: `http`, `stream` or `mail`; empty outside of these.
        reading: What was read before.
    """

    directive: Directive
    args: tuple[Token, ...]
    declaration: Declaration
    level: Level
    block: Level | None
    protocol: str
    reading: ReadState

    @property
    def name(self) -> str:
        """The name of the directive."""
        return self.declaration.name

    @property
    def module(self) -> str:
        """The module that declares it."""
        return self.declaration.module

    def says(self, words: str) -> str:
        """Return a message that nginx puts behind the name of the directive: `"root" directive is duplicate`."""
        return f'"{self.name}" directive {words}'


Setter = Callable[[Stated], Iterator[str]]
"""Yields what nginx says of a directive that it refuses; mostly at most one message, as nginx stops at the first."""


def register(setters: dict[str, Setter], *names: str) -> Callable[[Setter], Setter]:
    """Return a decorator that enters a function for setters of nginx."""

    def enter(function: Setter) -> Setter:
        setters.update(dict.fromkeys(names, function))
        return function

    return enter


def before(stated: Stated) -> Iterator[Directive]:
    """Yield the directives of the same name before one in its level."""
    for other in stated.level.own(stated.name):
        if other is stated.directive:
            return
        yield other


def parameter(word: str, names: Mapping[str, object] | tuple[str, ...]) -> tuple[str, str] | None:
    """Split `name=value` if the name is known; None otherwise."""
    name, equals, value = word.partition("=")
    return (name, value) if equals and name in names else None
