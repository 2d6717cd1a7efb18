"""Finds the names of a configuration: upstreams, variables, zones, log formats and named locations.

Words are searched in the source text, so that an occurrence is the exact place of a name in a word.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum

from nginxopt import lazy
from nginxopt.config import Bulk, Config, Directive, Scope, Source, Span, Token
from nginxopt.facts import group
from nginxopt.facts.lexicon import BLOCKS
from nginxopt.records import record
from nginxopt.text import decode


class SymbolKind(Enum):
    """The kind of thing that a name refers to."""

    UPSTREAM = "upstream"
    VARIABLE = "variable"
    ZONE = "zone"
    LOG_FORMAT = "log format"
    LOCATION = "named location"


@record(eq=True)
class Symbol:
    """A name in its namespace.

    Upstreams and log formats belong to http or stream, and named locations to a server. `owner` is that protocol, or
    the place of the server.
    """

    kind: SymbolKind
    name: str
    owner: object = None


@record(eq=True)
class Occurrence:
    """A place where a name occurs. `definition` is the directive, if it defines the name there."""

    symbol: Symbol
    source: Source
    span: Span
    definition: Directive | None = None


_VARIABLE = lazy.pattern(rb"\$(?:\{(\w+)\}|(\w+))")
_GROUP = lazy.pattern(rb"\(\?P?[<'](\w+)[>']")
_PASS = lazy.pattern(rb"""['"]?(?:\w+://)?([^/:$\s'"]+)(?=[/'"]|\$(?:request_uri|(?:document_)?uri)\b|\Z)""")
_ZONE = lazy.pattern(rb"""(?:\A['"]?|:)(?:keys_)?zone=([^:\s'"]+)""")
_SHARED = lazy.pattern(rb"shared:([^:\s'\"]+)")
_WHOLE = lazy.pattern(rb"""\A['"]?([^\s'"]+)""")

_PASSES = group("pass")
_CACHES = group("cache")
_CACHE_PATHS = frozenset(f"{name}_path" for name in _CACHES)
_ZONES = frozenset(["limit_req_zone", "limit_conn_zone", "keyval_zone", *_CACHE_PATHS])
_TO_NAMED = frozenset(["try_files", "error_page", "post_action"])

TABLES = frozenset(["map", "geo", "split_clients"])
"""The blocks that define their last argument, and whose rows have no directives."""

_SETTERS = frozenset(["set", "auth_request_set", "perl_set", "js_set", "js_var"])
"""The directives whose first argument is the variable that they define."""


def occurrences(config: Config) -> Iterator[Occurrence]:
    """Yield the occurrences of names in a configuration, without duplicates. Code, such as Lua, is not searched."""
    seen: set[tuple[Source, int]] = set()
    for scope in config.scope.tree():
        for node in scope.nodes:
            if isinstance(node, Bulk):
                yield from _of_bulk(node, seen)
            elif node.origin not in seen:
                seen.add(node.origin)
                yield from _of_directive(node, scope)


def _of_bulk(bulk: Bulk, seen: set[tuple[Source, int]]) -> Iterator[Occurrence]:
    place = bulk.source, bulk.span.start
    if place in seen or not _VARIABLE.search(bulk.source.data, bulk.span.start, bulk.span.end):
        return
    seen.add(place)
    for rewrite in bulk:
        yield from _variables(rewrite, ("http",))


def _of_directive(directive: Directive, scope: Scope) -> Iterator[Occurrence]:
    if _is_code(directive):
        return
    yield from _variables(directive, scope.context)
    if BLOCKS.issuperset(scope.context):
        owner = "stream" if scope.context[:1] == ("stream",) else "http"
        yield from _upstreams(directive, owner)
        yield from _zones(directive, scope)
        yield from _log_formats(directive, owner)
        yield from _locations(directive, scope)


def _is_code(directive: Directive) -> bool:
    return "_by_lua" in directive.name


def _upstreams(directive: Directive, owner: str) -> Iterator[Occurrence]:
    if not directive.args:
        return
    if directive.name == "upstream" and directive.block:
        yield from _found(_WHOLE, directive, directive.args[0], SymbolKind.UPSTREAM, owner, directive)
    elif directive.name in _PASSES:
        match = _PASS.match(_written(directive, directive.args[0]))
        if match is not None:
            yield _occurrence(match, 1, directive, directive.args[0], SymbolKind.UPSTREAM, owner)


def _zones(directive: Directive, scope: Scope) -> Iterator[Occurrence]:
    name, args = directive.name, directive.args
    if (name in _CACHES and args[:1] != ("off",) and args) or (name in ("limit_conn",) and args):
        yield from _found(_WHOLE, directive, args[0], SymbolKind.ZONE)
    elif name == "zone" and scope.context[-1:] == ("upstream",) and args:
        yield from _found(_WHOLE, directive, args[0], SymbolKind.ZONE, definition=directive)
    elif name == "ssl_session_cache":
        for arg in args:
            yield from _found(_SHARED, directive, arg, SymbolKind.ZONE, definition=directive)
    elif name in _ZONES or name in ("limit_req", "keyval"):
        for arg in args:
            yield from _found(_ZONE, directive, arg, SymbolKind.ZONE, definition=directive if name in _ZONES else None)


def _log_formats(directive: Directive, owner: str) -> Iterator[Occurrence]:
    if directive.name == "log_format" and directive.args:
        yield from _found(_WHOLE, directive, directive.args[0], SymbolKind.LOG_FORMAT, owner, directive)
    elif directive.name == "access_log" and len(directive.args) > 1 and "=" not in directive.args[1]:
        yield from _found(_WHOLE, directive, directive.args[1], SymbolKind.LOG_FORMAT, owner)


def _locations(directive: Directive, scope: Scope) -> Iterator[Occurrence]:
    servers = [parent for parent in (*scope.parents, directive) if parent.name == "server" and parent.block]
    owner = servers[-1].origin if servers else (directive.source.original or directive.source)
    if directive.name == "location" and len(directive.args) == 1 and directive.args[0].startswith("@"):
        yield from _found(_WHOLE, directive, directive.args[0], SymbolKind.LOCATION, owner, directive)
    elif directive.name in _TO_NAMED and directive.args and directive.args[-1].startswith("@"):
        yield from _found(_WHOLE, directive, directive.args[-1], SymbolKind.LOCATION, owner)


def _variables(directive: Directive, context: tuple[str, ...]) -> Iterator[Occurrence]:
    """Yield the variables in the words of a directive, including named groups of its patterns."""
    defined = _defined(directive, context)
    for word in (directive.name, *directive.args):
        written = _written(directive, word)
        if word is directive.name and context[-1:] != ("geoip2",) and not word.startswith("~"):
            continue
        if _is_pattern(directive, word, context):
            for match in _GROUP.finditer(written):
                yield _occurrence(match, 1, directive, word, SymbolKind.VARIABLE, None, directive)
            continue
        for match in _VARIABLE.finditer(written):
            if (match[1] or match[2]).isdigit():
                continue  # a capture of the last pattern that matched
            definition = directive if word is defined else None
            yield _occurrence(match, 1 if match[1] else 2, directive, word, SymbolKind.VARIABLE, None, definition)


def _defined(directive: Directive, context: tuple[str, ...]) -> Token | None:
    """Return the word of a directive that is the variable which it defines; None if it defines none."""
    args = directive.args
    if directive.name in TABLES and directive.block and args:
        return args[-1]
    if directive.name in _SETTERS and args:
        return args[0]
    if directive.name == "keyval" and len(args) > 1:
        return args[1]
    return directive.name if context[-1:] == ("geoip2",) and directive.name.startswith("$") else None


def _is_pattern(directive: Directive, word: Token, context: tuple[str, ...]) -> bool:
    """Return whether a word is a regular expression, in which `$` matches the end."""
    args = directive.args
    if context and context[-1] in TABLES:
        return word is directive.name
    if directive.name == "rewrite":
        return bool(args) and word is args[0]
    if directive.name == "location":
        return word.startswith("~") or (len(args) > 1 and args[0] in ("~", "~*") and word is args[1])
    if directive.name == "if":
        return len(args) == 3 and args[1] in ("~", "~*", "!~", "!~*") and word is args[2]
    return word.startswith("~") or directive.name == "fastcgi_split_path_info"


def _found(
    pattern: re.Pattern[bytes],
    directive: Directive,
    word: Token,
    kind: SymbolKind,
    owner: object = None,
    definition: Directive | None = None,
) -> Iterator[Occurrence]:
    match = pattern.search(_written(directive, word))
    if match is not None and b"$" not in match[1]:
        yield _occurrence(match, 1, directive, word, kind, owner, definition)


def _occurrence(
    match: re.Match[bytes],
    group: int,
    directive: Directive,
    word: Token,
    kind: SymbolKind,
    owner: object = None,
    definition: Directive | None = None,
) -> Occurrence:
    name = decode(match[group])
    folded = (
        name.lower() if kind in (SymbolKind.UPSTREAM, SymbolKind.VARIABLE) else name
    )  # nginx compares these without case
    span = Span(word.start + match.start(group), word.start + match.end(group))
    source = directive.source.original or directive.source
    return Occurrence(Symbol(kind, folded, owner), source, span, definition)


def _written(directive: Directive, word: Token) -> bytes:
    return directive.source.data[word.start : word.end]
