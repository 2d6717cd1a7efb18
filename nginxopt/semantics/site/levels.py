"""Converts the levels of a configuration, from http to the innermost `if`, to forms of the request model.

Directives are numbered in the order in which nginx reads them. A level has its script, its settings, and what it states
that the model does not simulate. Some of that has no effect; for the rest, the model reports that it does not know the
outcome from a certain point on. Directives that no table lists may do anything and do it first, as an unknown module
may answer in any phase.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, cached_property
from typing import TYPE_CHECKING, Literal, cast

from nginxopt._native import request_settings, statement_spans
from nginxopt.config import Bulk, Config, Directive, Scope, Source, Span, directive_at
from nginxopt.facts import fact, having, known, script
from nginxopt.facts.lexicon import NAMES
from nginxopt.records import record
from nginxopt.semantics.inherit import DISPLACED, HOST_ALWAYS, Level, origin
from nginxopt.semantics.site.form import (
    Changes,
    LevelForm,
    LevelKind,
    NameForm,
    Node,
    OpaqueForm,
    OpaqueStatementForm,
    OpaqueVariableForm,
    RewritesForm,
    ServerForm,
    SetForm,
    StatedForm,
    StatementForm,
)
from nginxopt.text import encode
from nginxopt.text.display import unicode

if TYPE_CHECKING:
    from nginxopt.semantics.site.lua import LuaStatements


@record(eq=True)
class DirectivePlace:
    """The place of a directive: its file, its line from 1, and its span without its `;` or block."""

    source: Source
    line: int
    span: Span

    @property
    def path(self) -> str:
        """The name of the file."""
        return self.source.path

    @property
    def text(self) -> str:
        """The directive on one line, without its `;` or block."""
        return " ".join(self.source.text(self.span).split())


class Nodes:
    """The directives of a configuration by number. Rules of folded runs have numbers, too, and are created on demand.

    Number 0 is the main file itself. It stands for the implied blocks around a fragment.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        self._starts = array("Q", [0])
        self._items: list[Directive | Bulk | None] = [None]
        self._numbers: dict[Directive | Bulk, Node] = {}
        self._runs: dict[Bulk, _Run] = {}
        self._next = 1
        for item in _reading(config.readings):
            self._numbers[item] = self._next
            self._starts.append(self._next)
            self._items.append(item)
            self._next += item.count if isinstance(item, Bulk) else 1

    def __len__(self) -> int:
        return self._next

    def number(self, item: Directive | Bulk) -> Node:
        """Return the number of a directive, or that of the first rule of a folded run."""
        return self._numbers[item]

    def is_missing(self, include: Directive) -> bool:
        """Return whether an include names a file that could not be read."""
        return self._config.is_missing(include)

    def place(self, node: Node) -> DirectivePlace:
        """Return the place of a node. The first request for a rule of a folded run reads the whole run."""
        item, rule = self._item(node)
        if isinstance(item, Bulk):
            span = self._run(item).span(rule)
            head = Span(span.start, span.end - 1)
            return DirectivePlace(item.source, item.source.position(span.start).line, head)
        if item is None:
            return DirectivePlace(self._config.main.source, 1, Span(0, 0))
        return DirectivePlace(item.source, item.line, _head(item))

    def statement(self, node: Node) -> tuple[Source, Span]:
        """Return the file and the span of a directive with its `;`, or of the part of a directive before its block."""
        item, rule = self._item(node)
        if item is None:
            return self._config.main.source, Span(0, 0)
        if isinstance(item, Bulk):
            return item.source, self._run(item).span(rule)
        return item.source, _head(item) if item.block else item.span

    def directive(self, node: Node) -> Directive | None:
        """Return the directive of a node; None for the main file."""
        item, rule = self._item(node)
        return directive_at(item.source, self._run(item).span(rule)) if isinstance(item, Bulk) else item

    def _item(self, node: Node) -> tuple[Directive | Bulk | None, int]:
        """Return the directive or folded run with a number, and the index of the number in the run."""
        if not 0 <= node < self._next:
            raise IndexError(node)
        index = bisect_right(self._starts, node) - 1
        return self._items[index], node - self._starts[index]

    def _run(self, bulk: Bulk) -> _Run:
        return self._runs.setdefault(bulk, _Run(bulk))


class _Run:
    """The spans of the rules of a folded run."""

    def __init__(self, bulk: Bulk) -> None:
        self._bulk = bulk

    def span(self, rule: int) -> Span:
        """Return the span of a rule, with its `;`."""
        return Span(*self._spans[2 * rule : 2 * rule + 2])

    @cached_property
    def _spans(self) -> array[int]:
        """The start and end of each rule."""
        span = self._bulk.span
        return array("Q", statement_spans(self._bulk.source.data, span.start, span.end))


def _reading(scope: Scope) -> Iterator[Directive | Bulk]:
    """Yield all directives and folded runs, in the order in which nginx reads them."""
    open_scopes = [(iter(scope.nodes), iter(scope.scopes))]
    while open_scopes:
        nodes, scopes = open_scopes[-1]
        for node in nodes:
            yield node
            if isinstance(node, Directive) and node.block is not None:
                inner = next(scopes)
                open_scopes.append((iter(inner.nodes), iter(inner.scopes)))
                break
        else:
            open_scopes.pop()


def _head(directive: Directive) -> Span:
    """Return the span of a directive without its `;` or block. A block of Lua is one of its words, and stays."""
    end = directive.span.end
    if directive.block:
        end = directive.block.span.start
    elif directive.source.data[end - 1 : end] == b";":
        end -= 1
    return Span(directive.span.start, end)


def latin(text: str) -> str:
    """Return the bytes of a word decoded as Latin-1, as in all forms."""
    return text if text.isascii() else encode(text).decode("latin-1")


def statement(directive: Directive, node: Node) -> StatementForm:
    """Return the form of a `rewrite`, `set`, `return` or `break`."""
    args = [*map(latin, directive.args)]
    match directive.name:
        case "rewrite":
            flag = args[2] if len(args) > 2 else None
            return {"kind": "rewrite", "node": node, "pattern": args[0], "replacement": args[1], "flag": flag}
        case "set":
            return {"kind": "set", "node": node, "variable": args[0], "value": args[1]}
        case "return":
            return {"kind": "return", "node": node, "args": args}
        case _:
            return {"kind": "break", "node": node}


class FoldedTexts:
    """The texts of the files with folded runs, each once."""

    def __init__(self) -> None:
        self._numbers: dict[Source, int] = {}

    def run(self, bulk: Bulk, node: Node) -> RewritesForm:
        """Return the form of a folded run, and keep the text of its file."""
        source = bulk.source.original or bulk.source
        text = self._numbers.setdefault(source, len(self._numbers))
        start, end = bulk.span.start, bulk.span.end
        return {"kind": "rewrites", "node": node, "count": bulk.count, "text": text, "start": start, "end": end}

    def data(self) -> tuple[bytes, ...]:
        """Return the texts, by number."""
        return tuple(source.data for source in self._numbers)


# Settings that differ from those of the level around it.

ROWS = "types"
"""The setting whose value is the rows of blocks."""


@cache
def names() -> frozenset[str]:
    """Return the directives that the model reads as settings."""
    return frozenset(request_settings())


def differing(level: Level, in_force: frozenset[str]) -> Iterator[tuple[str, tuple[Directive, ...] | None]]:
    """Yield the settings that differ from those of the level around it, with their directives, or None if unknown.

    `in_force` are the settings that the level around it has, or may have.
    """
    for name in sorted(_candidates(level, in_force)):
        setting = level.setting(name)
        if setting.level not in (level, None):
            continue
        directives = _directives(level, name, setting.directives) if setting.known else None
        if directives != () or name in in_force:
            yield name, directives


def _candidates(level: Level, in_force: frozenset[str]) -> frozenset[str]:
    """Return the settings that may differ from those of the level around it, so that not all need to be compared."""
    if level.is_open or level.parent is None:
        return names()
    own = names().intersection((*level.names, *level.unread))
    dropped = {name for name in in_force if not level.inherits(name) or not own.isdisjoint(DISPLACED.get(name, ()))}
    return own | dropped


def _directives(level: Level, name: str, directives: tuple[Directive, ...]) -> tuple[Directive, ...] | None:
    """Return the directives of a setting, or the rows of its blocks; None for rows of a file that was not read."""
    if name != ROWS:
        return directives
    blocks = [inner for inner in level.levels if inner.opener in directives]
    if any(block.is_open or block.unread for block in blocks):
        return None
    return tuple(row for block in blocks for row in block.directives if row.name != "include")


# Directives that are not simulated.

When = Literal["first", "in order", "after", "body", "headers", "response"]
"""When a directive that is not simulated takes effect.

- `first`: before the rewrite script of a level.
- `in order`: at its place in the script.
- `after`: after the script, before or as the handler.
- `body`, `headers`, `response`: on the outgoing response: its body, its headers except `Location`, or all of it.
"""


@record(eq=True)
class UnmodelledEffect:
    """The effect of a directive that is not simulated.

    `reason` is a phrase that names the cause in messages. `is_inherited`: whether inner locations inherit it.
    """

    when: When
    reason: str
    is_inherited: bool = True


_WHEN: Mapping[str, When] = {
    "first": "first",
    "in order": "in order",
    "after": "after",
    "content": "after",
    "body": "body",
    "headers": "headers",
    "response": "response",
}
"""When directives take effect, by the column `model` of their facts."""

_SIMULATED = ("read", "structure", "opaque")

_MODULES = {"_by_lua": "Lua", "js_": "JavaScript", "perl": "Perl"}


def effect(name: str, args: tuple[str, ...] = ()) -> UnmodelledEffect | None:
    """Return the effect of a directive; None if it changes no outcome.

    Must not be called for directives that the model reads.
    """
    model = _model(name)
    if is_off(name, args) or not (model in _WHEN or model in ("", *_SIMULATED)):
        return None
    when = _WHEN.get(model, "first")
    if when == "headers" and any("location" in arg.lower() for arg in args):
        when = "response"
    return UnmodelledEffect(when, _reason(name), is_inherited=model != "content")


def is_off(name: str, args: tuple[str, ...]) -> bool:
    """Return whether the arguments of a directive are those with which it has no effect.

    For `ssl_verify_client optional`, this assumes a client without a certificate.
    """
    row = fact(name)
    return bool(args) and row is not None and args[0] in row.off.split()


@cache
def listed() -> frozenset[str]:
    """Return the directives that are not simulated and whose effect is known, be it one or none."""
    return frozenset(name for name in known() if _model(name) not in ("", *_SIMULATED))


def _model(name: str) -> str:
    row = fact(name)
    return row.model if row else ""


def _reason(name: str) -> str:
    for part, language in _MODULES.items():
        if part in name:
            return f"{language} ({name})"
    return f"{name} is not modelled" if name in NAMES or _model(name) else f'unknown directive "{unicode(name)}"'


STRUCTURE = having("model", "structure", "opaque")
"""The directives that other modules of this package convert."""

_FILTERS: dict[When, Changes] = {"body": "body", "headers": "headers", "response": "response", "first": "response"}


_NEEDED = {"ssi": "<!--#"}
"""The text without which a directive changes no body (`ngx_http_ssi_parse`)."""


@record(eq=True)
class Opaque:
    """A directive that is not simulated, and its effect."""

    name: str
    node: Node
    effect: UnmodelledEffect

    @property
    def opaque(self) -> OpaqueForm:
        """Its form outside the script."""
        return {"node": self.node, "reason": self.effect.reason}

    @property
    def statement(self) -> OpaqueStatementForm:
        """Its form as a statement of the script."""
        return {"kind": "opaque", "node": self.node, "reason": self.effect.reason}


def missing(include: Directive, nodes: Nodes) -> Opaque:
    """Return the include of a missing file, which may contain any directives."""
    missing_file = UnmodelledEffect("in order", f"{unicode(include.args[0])} is missing")
    return Opaque("include", nodes.number(include), missing_file)


def neutral(include: Directive, nodes: Nodes) -> tuple[Opaque, ...]:
    """Return the effects of a missing file that is assumed to change nothing but headers and bodies."""
    reason = f"what {unicode(include.args[0])} adds"
    return tuple(Opaque("", nodes.number(include), UnmodelledEffect(when, reason)) for when in ("headers", "body"))


def in_force(level: Level, outer: Iterable[Opaque], nodes: Nodes) -> tuple[Opaque, ...]:
    """Return the directives in force at a level, except statements of the script. `outer` are those around it."""
    return (*_inherited(level, outer), *_own(level, nodes))


def _inherited(level: Level, outer: Iterable[Opaque]) -> Iterator[Opaque]:
    for unread in outer:
        is_replaced = unread.name in NAMES and unread.name in level.names and unread.name != "include"
        if not is_replaced and (unread.effect.is_inherited or level.kind == "if"):
            yield unread


def _own(level: Level, nodes: Nodes) -> Iterator[Opaque]:
    for directive in level.directives:
        name = str(directive.name)
        if name in STRUCTURE or name in names():
            continue
        what = effect(name, directive.args)
        if what is not None and what.when != "in order":
            yield Opaque(name, nodes.number(directive), what)


def state(form: LevelForm, unread: Iterable[Opaque]) -> None:
    """Add the directives in force at a level to its form."""
    for item in unread:
        when = item.effect.when
        if when == "first" and form["kind"] != "http":
            form["script"].append(item.statement)
        elif when == "after" or item.name == "include":
            form["opaque"].append(item.opaque)
        changes = "response" if item.name == "include" else _FILTERS.get(when)
        if changes is not None:
            needs = _NEEDED.get(item.name)
            form["filters"].append(
                {"node": item.node, "reason": item.effect.reason, "changes": changes, "needs": needs}
            )


# The levels.

_STATEMENTS = script() - {"if"}

_BLOCKS = ("server", "location", "if", "limit_except")

_SETS_BY_LUA = ("set_by_lua", "set_by_lua_block")


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
        environment: The variables of the environment that Lua reads, by name.
    """

    def __init__(
        self,
        config: Config,
        nodes: Nodes,
        ignores_missing: bool = False,
        neutral: frozenset[str] = frozenset(),
        reads_lua: bool = False,
    ) -> None:
        self.all: list[Level] = []
        self.forms: list[LevelForm] = []
        self.servers: dict[Level, int] = {}
        self.texts = FoldedTexts()
        self.opaque: list[OpaqueForm] = []
        self.directives: list[StatedForm] = []
        self.environment: dict[str, OpaqueVariableForm] = {}
        self._config = config
        self._reads_lua = reads_lua
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
        if self._reads_lua and level.kind == "location":
            self._add_answer(level, form, settings)
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
            unread = Opaque(str(name), self._nodes.number(directive), what)
            form["script"].append((self._set_by_lua(directive) if self._reads_lua else None) or unread.statement)

    def _set_by_lua(self, directive: Directive) -> SetForm | None:
        """Return the `set` that is equivalent to a `set_by_lua`; None for other directives, and for code that is not
        understood.
        """
        if directive.name not in _SETS_BY_LUA or len(directive.args) != 2:
            return None
        variable, code = map(latin, directive.args)
        return self._lua.set(variable, code, self._nodes.number(directive))

    def _add_answer(self, level: Level, form: LevelForm, settings: frozenset[str]) -> None:
        """Replace a handler of Lua by the `return` at the end of the script that answers alike, if there is one."""
        handler = self._nodes.directive(form["opaque"][0]["node"]) if len(form["opaque"]) == 1 else None
        phase, by_lua, rest = str(handler.name if handler else "").partition("_by_lua")
        if handler is None or not by_lua or rest not in ("", "_block") or len(handler.args) != 1:
            return
        args = self._lua.answer(phase, latin(handler.args[0]), form, settings, level.names)
        if args is not None:
            form["script"].append({"kind": "return", "node": form["opaque"].pop()["node"], "args": [*args]})

    @cached_property
    def _lua(self) -> LuaStatements:
        from nginxopt.semantics.site.lua import LuaStatements  # few configurations have code

        return LuaStatements(self._config, self.environment)

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
        """Yield the effects of unread files that are assumed to change nothing but headers and bodies (`neutral`)."""
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
            stated = form(directive, self._nodes)
            if name == "proxy_set_header" and self._is_host_of_upstream(*stated["args"]):
                stated["args"] = [stated["args"][0], "$proxy_host"]
            self.directives.append(stated)
        return number

    def _is_host_of_upstream(self, header: str, value: str) -> bool:
        """Return whether a stated header is an empty Host for which nginx sends the name of the upstream."""
        if value or header.lower() != "host" or self.all[0].target < HOST_ALWAYS:
            return False
        return not any(each.name == "proxy_http_version" and "1.0" in each.args for each, _ in self._config.walk())

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


def read_names(server: Level, node: Node, nodes: Nodes) -> list[NameForm]:
    """Return the names of a server; without `server_name`, this is the empty name (`ngx_http_core_merge_srv_conf`)."""
    named = _names(server.own("server_name"), nodes)
    return named or [{"node": node, "text": ""}]


def _names(directives: Iterable[Directive], nodes: Nodes) -> list[NameForm]:
    return [
        {"node": nodes.number(directive), "text": latin(name)} for directive in directives for name in directive.args
    ]


def row_form(row: Directive, nodes: Nodes) -> StatedForm:
    """Return the row of a table: its name is the first of its arguments. Raises `InputError` for a block."""
    if row.block is not None:
        raise row.error('unexpected "{"', nginx=row.located('unexpected "{"'))
    return {"node": nodes.number(row), "args": [latin(row.name), *map(latin, row.args)]}
