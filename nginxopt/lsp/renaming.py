"""Renames upstreams and variables in all files of their configurations; refuses if it might miss an occurrence."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lsprotocol import types

from nginxopt import lazy
from nginxopt.config import Config, Directive, Source
from nginxopt.errors import UsageError
from nginxopt.facts.table import HTTP_VARIABLES, STREAM_VARIABLES
from nginxopt.lsp.edits import workspace_edit
from nginxopt.lsp.navigation import placed, same, symbol_at
from nginxopt.lsp.symbols import Occurrence, Symbol, SymbolKind, occurrences
from nginxopt.lsp.workspace import DocumentContext, Workspace
from nginxopt.semantics import inherit
from nginxopt.text import Change, Edit

_VALID = {
    SymbolKind.UPSTREAM: lazy.pattern(r"[A-Za-z0-9_][A-Za-z0-9_.-]*"),
    SymbolKind.VARIABLE: lazy.pattern(r"[A-Za-z_][A-Za-z0-9_]*"),
}
_PREFIXES = ("arg_", "cookie_", "http_", "sent_http_", "sent_trailer_", "upstream_cookie_", "upstream_http_")
_CODE = lazy.pattern(r".*_by_lua.*|js_.*|perl.*")
_BACKWARD = lazy.pattern(rb"\\[kg]|\(\?P=|\(\?&|\(\?P>")
_PASSES = lazy.pattern(r"(?:proxy|fastcgi|uwsgi|scgi|grpc|memcached)_pass")


def prepare(workspace: Workspace, params: types.PrepareRenameParams) -> types.Range | None:
    """Return the range of the name at a position; None if there is no name that can be renamed."""
    reading, offset = placed(workspace, params)
    found = symbol_at(reading, offset) if reading else None
    if reading is None or found is None or found.symbol.kind not in _VALID or not _is_defined(reading, found.symbol):
        return None
    return reading.document.lines.range(found.span)


def rename(workspace: Workspace, params: types.RenameParams) -> types.WorkspaceEdit | None:
    """Return the edit that renames the upstream or variable at a position.

    Raises `UsageError` if the new name is invalid or taken, or if not all occurrences of the old name may be known.
    """
    reading, offset = placed(workspace, params)
    found = symbol_at(reading, offset) if reading else None
    if reading is None or found is None:
        return None
    symbol = found.symbol
    if symbol.kind not in _VALID or not _is_defined(reading, symbol):
        raise UsageError("only upstreams and variables that the configuration defines can be renamed")
    name = params.new_name.removeprefix("$") if symbol.kind is SymbolKind.VARIABLE else params.new_name
    _refuse_name(reading, symbol, name)
    for config in reading.configs:
        for reason in _doubts(config, symbol):
            raise UsageError(reason)
    places = same(reading, offset)
    for one in places:
        if one.source.outside:
            raise UsageError(f"{one.source.path} uses it, outside of the directory of the main file")
    edit = workspace_edit(workspace, [Change(one.source, Edit(one.span, name.encode())) for one in places])
    if edit is None:
        raise UsageError("a file of the configuration does not parse")
    return edit


def _is_defined(reading: DocumentContext, symbol: Symbol) -> bool:
    return any(one.symbol == symbol and one.definition for config in reading.configs for one in occurrences(config))


def _refuse_name(reading: DocumentContext, symbol: Symbol, name: str) -> None:
    if not _VALID[symbol.kind].fullmatch(name):
        raise UsageError(f'"{name}" is not a name of {_article(symbol.kind)}')
    if symbol.kind is SymbolKind.VARIABLE and name.lower().startswith(_PREFIXES):
        raise UsageError(f"nginx itself defines variables that begin as ${name} does")
    if symbol.kind is SymbolKind.VARIABLE and name.lower() in HTTP_VARIABLES | STREAM_VARIABLES:
        raise UsageError(f"nginx itself defines ${name}")
    new = Symbol(symbol.kind, name.lower(), symbol.owner)
    if new != symbol and any(one.symbol == new for config in reading.configs for one in occurrences(config)):
        raise UsageError(f'"{name}" is used already')


def _article(kind: SymbolKind) -> str:
    return "an upstream" if kind is SymbolKind.UPSTREAM else "a variable"


def _doubts(config: Config, symbol: Symbol) -> Iterator[str]:
    """Yield the reasons why not all occurrences of a name may be known."""
    for include in config.elsewhere:
        if inherit.origin(include) is None:
            reason = "cannot be read" if config.is_missing(include) else "may read other files where it is installed"
            yield f"{include.args[0]} {reason}, and may use {symbol.name}"
    if () not in config.candidates:
        yield f"what includes {config.main.path} was not read, and may use {symbol.name}"
    directives = [directive for directive, _ in config.walk()]
    if symbol.kind is SymbolKind.VARIABLE:
        yield from _code(directives, symbol)
        yield from _groups(config, symbol)
    else:
        yield from _computed(config, directives, symbol)


def _code(directives: list[Directive], symbol: Symbol) -> Iterator[str]:
    for directive in directives:
        is_ssi = directive.name == "ssi" and directive.args != ("off",)
        if is_ssi or _CODE.fullmatch(directive.name):
            yield f"code may use ${symbol.name}: {directive.name} in {_place(directive)}"


def _groups(config: Config, symbol: Symbol) -> Iterator[str]:
    """Yield a reason for each pattern that defines the name as a group and contains a reference to a group."""
    for one in occurrences(config):
        if one.symbol == symbol and one.definition and _refers_back(one):
            yield f"a pattern refers to its group {symbol.name}: {_place(one.definition)}"


def _refers_back(occurrence: Occurrence) -> bool:
    directive, start = occurrence.definition, occurrence.span.start
    words = (directive.name, *directive.args) if directive else ()
    return any(
        word.start <= start < word.end and _BACKWARD.search(occurrence.source.data, word.start, word.end)
        for word in words
    )


def _computed(config: Config, directives: list[Directive], symbol: Symbol) -> Iterator[str]:
    """Yield a reason for each word equal to the name of an upstream, if a `*_pass` gets its target from a variable."""
    upstreams = [one for one in occurrences(config) if one.symbol.kind is SymbolKind.UPSTREAM]
    places = {(one.source, one.span.start) for one in upstreams}
    computed = [one for one in directives if _PASSES.fullmatch(one.name) and _is_computed(one, places)]
    word = re.compile(rf"(?<![\w.-]){re.escape(symbol.name)}(?![\w.-])", re.IGNORECASE)
    for directive in directives if computed else ():
        is_known = directive.name == "upstream" or (_PASSES.fullmatch(directive.name) and directive not in computed)
        if not is_known and any(map(word.search, directive.args)):
            yield f"a variable may name {symbol.name}: {_place(directive)} and {_place(computed[0])}"


def _is_computed(directive: Directive, places: set[tuple[Source, int]]) -> bool:
    """Return whether the target of a `*_pass` has variables, and does not name an upstream at one of `places`."""
    source = directive.source.original or directive.source
    return any(
        "$" in word and not any((source, start) in places for start in range(word.start, word.end))
        for word in directive.args[:1]
    )


def _place(directive: Directive) -> str:
    return f"{directive.source.path}:{directive.line}"
