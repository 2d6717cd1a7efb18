"""Finds the directives in force at a level that the request model does not simulate."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from nginxopt.config import Directive
from nginxopt.facts import having
from nginxopt.records import record
from nginxopt.semantics.directives import NAMES
from nginxopt.semantics.inherit import Level
from nginxopt.semantics.site.effects import Effect, When, effect
from nginxopt.semantics.site.form import Changes, LevelForm, Node, OpaqueForm, OpaqueStatementForm
from nginxopt.semantics.site.nodes import Nodes
from nginxopt.semantics.site.settings import names
from nginxopt.text.display import unicode

STRUCTURE = having("model", "structure", "opaque")
"""The directives that other modules of this package convert."""

_FILTERS: dict[When, Changes] = {"body": "body", "headers": "headers", "response": "response", "first": "response"}


@record(eq=True)
class Opaque:
    """A directive that is not simulated, and its effect."""

    name: str
    node: Node
    effect: Effect

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
    return Opaque("include", nodes.number(include), Effect("in order", f"{unicode(include.args[0])} is missing"))


def neutral(include: Directive, nodes: Nodes) -> tuple[Opaque, ...]:
    """Return what a missing file may do that changes headers and bodies at most."""
    reason = f"what {unicode(include.args[0])} adds"
    return tuple(Opaque("", nodes.number(include), Effect(when, reason)) for when in ("headers", "body"))


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
            form["filters"].append({"node": item.node, "reason": item.effect.reason, "changes": changes})
