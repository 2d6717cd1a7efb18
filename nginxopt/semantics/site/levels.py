"""Converts the levels of a configuration, from http to the innermost `if`, to forms of the request model."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from nginxopt.config import Bulk, Config, Directive
from nginxopt.facts import script
from nginxopt.records import record
from nginxopt.semantics.inherit import Level, origin
from nginxopt.semantics.site.effects import effect
from nginxopt.semantics.site.form import LevelForm, LevelKind, Node, OpaqueForm, ServerForm, StatedForm
from nginxopt.semantics.site.nodes import Nodes
from nginxopt.semantics.site.script import Texts, latin, statement
from nginxopt.semantics.site.settings import ROWS, differing
from nginxopt.semantics.site.sockets import read_names
from nginxopt.semantics.site.unread import Opaque, in_force, missing, neutral, state
from nginxopt.semantics.site.variables import row_form

_STATEMENTS = script() - {"if"}

_BLOCKS = ("server", "location", "if", "limit_except")


@record(eq=True)
class SiteAssumption:
    """An assumption about a site: a clause, and the directive that it is about."""

    node: Node
    text: str


@record(eq=True)
class _Around:
    """The level around a level: its number, the settings that it has or may have, and its directives that are not
    simulated.
    """

    number: int | None = None
    settings: frozenset[str] = frozenset()
    unread: tuple[Opaque, ...] = ()


_NOTHING = _Around()


class Levels:
    """Collects the levels of a configuration and their forms.

    Attributes:
        all: The levels by number.
        forms: The forms of these levels.
        servers: The numbers of the levels that are servers.
        texts: The texts of folded runs.
        opaque: The parts of http that were not read and may define servers.
        directives: The directives of settings, by the numbers in `LevelForm.settings`.
    """

    def __init__(
        self, config: Config, nodes: Nodes, ignores_missing: bool = False, neutral: frozenset[str] = frozenset()
    ) -> None:
        self.all: list[Level] = []
        self.forms: list[LevelForm] = []
        self.servers: dict[Level, int] = {}
        self.texts = Texts()
        self.opaque: list[OpaqueForm] = []
        self.directives: list[StatedForm] = []
        self._config = config
        self._ignores_missing = ignores_missing
        self._neutral = neutral
        self._nodes = nodes
        self._settings: dict[Directive, int] = {}
        self._premises: dict[Node, SiteAssumption] = {}

    def add(self, level: Level, around: _Around = _NOTHING) -> int:
        """Add a level with all inner levels, and return its number."""
        number = len(self.all)
        form = _form(level, self._node(level), around.number)
        self.all.append(level)
        self.forms.append(form)
        settings = around.settings
        for name, directives in differing(level, settings):
            form["settings"][name] = self._setting(name, directives)
            settings = settings - {name} if directives == () else settings | {name}
        unread = (*in_force(level, around.unread, self._nodes), *self._missing(level), *self._neutral_of(level))
        state(form, unread)
        self._add_content(level, form, _Around(number, settings, unread))
        return number

    def server_forms(self) -> list[ServerForm]:
        """Return the servers in the order in which nginx reads them."""
        return [
            {"node": node, "level": number, "names": read_names(level, node, self._nodes)}
            for level, number in self.servers.items()
            for node in (self._node(level),)
        ]

    def premises(self) -> tuple[SiteAssumption, ...]:
        """Return the assumptions about unread files."""
        return tuple(self._premises.values())

    def _add_content(self, level: Level, form: LevelForm, around: _Around) -> None:
        inner = iter(level.levels)
        for item in level.scope.nodes if level.scope else ():
            if isinstance(item, Bulk):
                form["script"].append(self.texts.run(item, self._nodes.number(item)))
            elif item.block is not None:
                self._add_block(next(inner), form, around)
            else:
                self._add_statement(item, form)
        for block in inner:  # a level around a fragment has no scope, but has the level of the fragment
            self._add_block(block, form, around)

    def _add_statement(self, directive: Directive, form: LevelForm) -> None:
        name = directive.name
        if name in _STATEMENTS:
            form["script"].append(statement(directive, self._nodes.number(directive)))
        elif name == "include" and self._is_unread(directive):
            form["script"].append(missing(directive, self._nodes).statement)
        elif (what := effect(name, directive.args)) is not None and what.when == "in order":
            form["script"].append(Opaque(str(name), self._nodes.number(directive), what).statement)

    def _add_block(self, level: Level, form: LevelForm, around: _Around) -> None:
        if level.kind not in _BLOCKS:
            return
        number = self.add(level, around)
        if level.kind == "server":
            self.servers[level] = number
        elif level.kind == "location":
            form["locations"].append(number)
        elif level.kind == "limit_except":
            form["limit_except"] = number
        else:
            node, condition = self._node(level), [*map(latin, level.args)]
            form["script"].append({"kind": "if", "node": node, "condition": condition, "level": number})

    def _missing(self, level: Level) -> tuple[Opaque, ...]:
        """Return the unread includes of a level, without files of packages, which are assumed to be unchanged."""
        if self._ignores_missing and level.kind in ("http", "server"):
            return ()
        includes = [include for include in level.own("include") if self._config.is_missing(include)]
        for include in includes:
            if (stock := origin(include)) is not None:
                self._assume(include, f"is the file that comes with {stock}")
            elif level.kind == "server":
                self._assume(include, "has no listen and no server_name")
        unread = tuple(missing(include, self._nodes) for include in includes if origin(include) is None)
        if level.kind == "http" or (level.kind == "server" and not level.own("listen")):
            self.opaque += [item.opaque for item in unread]
        return unread

    def _neutral_of(self, level: Level) -> Iterator[Opaque]:
        """Yield what files may add to responses that change nothing else."""
        for include in level.own("include") if self._neutral else ():
            if str(include.args[0]) in self._neutral:
                yield from neutral(include, self._nodes)

    def _assume(self, include: Directive, clause: str) -> None:
        node = self._nodes.number(include)
        self._premises[node] = SiteAssumption(node, f"{include.args[0]} {clause}")

    def _is_unread(self, include: Directive) -> bool:
        return self._config.is_missing(include) and origin(include) is None

    def _setting(self, name: str, directives: tuple[Directive, ...] | None) -> list[int] | None:
        """Return the numbers of the directives of a setting."""
        return None if directives is None else [self._number(name, directive) for directive in directives]

    def _number(self, name: str, directive: Directive) -> int:
        number = self._settings.setdefault(directive, len(self._settings))
        if number == len(self.directives):
            form = row_form if name == ROWS else _stated
            self.directives.append(form(directive, self._nodes))
        return number

    def _node(self, level: Level) -> Node:
        return self._nodes.number(level.opener) if level.opener else 0


def _form(level: Level, node: Node, parent: int | None) -> LevelForm:
    is_implied = level.kind == "location" and level.opener is None
    return {
        "kind": cast(LevelKind, level.kind),
        "node": node,
        "parent": parent,
        "args": ["/"] if is_implied else [*map(latin, level.args)],
        "script": [],
        "locations": [],
        "limit_except": None,
        "settings": {},
        "opaque": [],
        "filters": [],
    }


def _stated(directive: Directive, nodes: Nodes) -> StatedForm:
    return {"node": nodes.number(directive), "args": [*map(latin, directive.args)]}
