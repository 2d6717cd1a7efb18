"""The variables that a configuration defines outside of scripts, and its upstreams."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from nginxopt.config import Config, Directive
from nginxopt.semantics.inherit import Level
from nginxopt.semantics.site.form import GeoForm, MapForm, OpaqueVariableForm, StatedForm, UpstreamForm
from nginxopt.semantics.site.nodes import Nodes
from nginxopt.semantics.site.script import latin
from nginxopt.semantics.tables import MIXED_VALUES, VOLATILE, is_mixed
from nginxopt.text.display import unicode
from nginxopt.version import Version

DefinedForm = MapForm | GeoForm | OpaqueVariableForm

TABLES = ("map", "split_clients", "geo")
"""Blocks with the values of a variable, which is their last argument."""

_VALUES = {
    "auth_request_set": "the response to auth_request sets it",
    "js_set": "JavaScript (js_set)",
    "js_var": "JavaScript (js_var)",
    "keyval": "keyval is not modelled",
    "num_map": "num_map is not modelled",
    "perl_set": "Perl (perl_set)",
}
"""Directives that define a variable with a value that is not known."""

_GEOIP = "geoip2"
"""A block whose rows define such variables."""

DEFINING = frozenset([*TABLES, *_VALUES, _GEOIP])
"""The directives that define variables."""


def defined(http: Level, nodes: Nodes, config: Config, target: Version) -> Iterator[DefinedForm]:
    """Yield the variables of maps and modules. Raises `InputError` for a table with a block or without a variable."""
    for level in http.walk():
        if level.kind in TABLES:
            _check_volatile(level, target)
            yield _table(level, nodes, config, target)
        elif level.kind == _GEOIP:
            for row in level.directives:
                if row.name.startswith("$"):
                    content = [*_words(level.opener), *_words(row)]
                    yield _opaque(row, str(row.name), "geoip2 is not modelled", content, nodes)
        else:
            yield from _values(level, nodes)


def upstreams(http: Level, nodes: Nodes) -> Iterator[UpstreamForm]:
    """Yield the upstreams of http."""
    for level in http.levels:
        if level.kind == "upstream" and level.opener and level.args:
            servers = [latin(server.args[0]) for server in level.own("server") if server.args]
            yield {"node": nodes.number(level.opener), "name": latin(level.args[0]), "servers": servers}


def _values(level: Level, nodes: Nodes) -> Iterator[DefinedForm]:
    for name in level.names & _VALUES.keys():
        for directive in level.own(name):
            variable = next((arg for arg in directive.args if arg.startswith("$")), None)
            if variable is not None:
                yield _opaque(directive, variable, _VALUES[name], _words(directive), nodes)


def _check_volatile(level: Level, target: Version) -> None:
    """Raise `InputError` for a table with `volatile` in a version that does not have the parameter."""
    if target < VOLATILE.get(level.kind, target):
        for row in level.own("volatile"):
            if not row.args:
                message = f"invalid number of the {level.kind} parameters"
                raise row.error(message, nginx=row.located(message))


def _table(level: Level, nodes: Nodes, config: Config, target: Version) -> DefinedForm:
    opener = level.opener
    assert opener is not None  # a block of the text
    variable = str(opener.args[-1])
    for word in opener.args if level.kind == "geo" else opener.args[-1:]:
        if not word.startswith("$") or word == "$":
            message = f'invalid variable name "{word}"'
            raise opener.error(message, nginx=opener.located(message))
    unread = _unread(level, config, target)
    if unread is not None:
        row, reason = unread
        content = [*_words(opener), *(word for row in level.directives for word in _words(row))]
        return _opaque(row, variable, reason, content, nodes)
    node, rows = nodes.number(opener), [row_form(row, nodes) for row in level.directives if not _is_include(row)]
    source = latin(opener.args[0]) if len(opener.args) > 1 else None
    if level.kind == "geo":
        return {"kind": "geo", "node": node, "source": source, "variable": latin(variable), "rows": rows}
    kind: Literal["map", "split_clients"] = "map" if level.kind == "map" else "split_clients"
    return {"kind": kind, "node": node, "source": source or "", "variable": latin(variable), "rows": rows}


def _unread(level: Level, config: Config, target: Version) -> tuple[Directive, str] | None:
    """Return the first row of a table that makes its values unknown, and why."""
    for row in level.own("include"):
        if config.is_missing(row):
            return row, f"{unicode(row.args[0])} is missing"
    if level.kind == "map" and target < MIXED_VALUES:
        for row in level.directives:
            for value in row.args[:1]:
                if is_mixed(value):
                    return row, f"how nginx before {MIXED_VALUES} reads {unicode(value)} in a map"
    return None


def row_form(row: Directive, nodes: Nodes) -> StatedForm:
    """Return the row of a table: its name is the first of its arguments. Raises `InputError` for a block."""
    if row.block is not None:
        raise row.error('unexpected "{"', nginx=row.located('unexpected "{"'))
    return {"node": nodes.number(row), "args": [latin(row.name), *map(latin, row.args)]}


def _is_include(row: Directive) -> bool:
    return row.name == "include" and len(row.args) == 1


def _words(directive: Directive | None) -> list[str]:
    """Return the words of a directive, and the text of its block unless that is a table."""
    if directive is None:
        return []
    words = [latin(directive.name), *map(latin, directive.args), ";"]
    if directive.block is not None and directive.name not in TABLES and directive.name != _GEOIP:
        span = directive.block.span
        words.append(directive.source.data[span.start : span.end].decode("latin-1"))
    return words


def _opaque(directive: Directive, variable: str, reason: str, content: list[str], nodes: Nodes) -> OpaqueVariableForm:
    return {
        "kind": "opaque",
        "node": nodes.number(directive),
        "variable": latin(variable),
        "reason": reason,
        "content": content,
    }
