"""Completion: the directives that are allowed at the cursor in the target version, and their arguments."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

from lsprotocol import types

from nginxopt.config.configuration import Context
from nginxopt.facts import group
from nginxopt.facts.parameters import BEFORE, PARAMETERS
from nginxopt.facts.table import HTTP_VARIABLES, PLACES, STREAM_VARIABLES, Declaration, declarations, names
from nginxopt.lsp.cursor import Cursor, cursor
from nginxopt.lsp.document import Document
from nginxopt.lsp.facts import Facts, description
from nginxopt.lsp.symbols import Occurrence, SymbolKind, occurrences
from nginxopt.lsp.workspace import DocumentContext, Workspace
from nginxopt.semantics import commands
from nginxopt.version import Version

TRIGGERS = ["$", "/", "=", "@", ":", "{"]

_PASSES = {
    **dict.fromkeys(group("pass"), ("",)),
    "proxy_pass": ("http://", "https://"),
    "grpc_pass": ("grpc://", "grpcs://"),
}
_CACHES = {name: f"{name}_path" for name in group("cache")}
_NAMED = frozenset(["try_files", "error_page", "post_action"])

_MOST_FILES = 1_000
"""The most entries of a folder that are examined."""

_Item = types.CompletionItem
_Kind = types.CompletionItemKind


def complete(workspace: Workspace, params: types.CompletionParams) -> types.CompletionList:
    """Return the completions at a position."""
    document = workspace.documents.get(params.text_document.uri)
    items = [] if document is None else list(_items(workspace, document, document.lines.offset(params.position)))
    return types.CompletionList(is_incomplete=False, items=items)


def _items(workspace: Workspace, document: Document, offset: int) -> Iterator[types.CompletionItem]:
    place = cursor(document.data, offset)
    if place is None:
        return
    reading = workspace.shown(document) or workspace.shown(_without(document, place.start, offset))
    if reading is None and place.start > 0 and document.data[: place.start].strip():
        return  # the document is not an nginx configuration
    for text, item in _offers(workspace, reading, document, place):
        if text.lower().startswith(place.word[: len(text)].lower()) or place.word.lower() in text.lower():
            item.text_edit = types.TextEdit(
                types.Range(document.lines.position(place.start), document.lines.position(offset)), text
            )
            item.filter_text = text
            yield item


def _without(document: Document, start: int, end: int) -> Document:
    """Return a document without the word that is being typed, which alone may make it look like another format."""
    return replace(document, data=document.data[:start] + b" " * (end - start) + document.data[end:])


def _offers(
    workspace: Workspace, reading: DocumentContext | None, document: Document, place: Cursor
) -> Iterator[tuple[str, types.CompletionItem]]:
    """Yield completions for the word at the cursor, each with its text."""
    target = workspace.preferences.target(document.path, () if reading is None else reading.configs).version
    contexts = _contexts(reading, place)
    if not place.words:
        for item in _directives(contexts, target):
            yield item.label, item
        return
    found = [] if reading is None else [one for config in reading.configs for one in occurrences(config)]
    before, dollar, _ = place.word.rpartition("$")
    if dollar:
        for item in _variables(found, contexts):
            yield before + item.label, item
        return
    if place.words == ("include",) and reading is not None:
        for item in _files(place.word, reading):
            yield item.label, item
    seen: set[str] = set()
    for item in (*_names(found, place, reading), *_parameters(contexts, place, target)):
        if item.label not in seen and item.label not in place.words[1:]:
            seen.add(item.label)
            yield item.label, item


def _contexts(reading: DocumentContext | None, place: Cursor) -> list[Context]:
    """Return the possible contexts of a place; empty if they are not known."""
    if reading is None:
        return []
    outer = {context for config in reading.configs for context in config.contexts(reading.document.path)}
    return [context + place.blocks for context in sorted(outer)]


def _places(contexts: Iterable[Context]) -> int:
    """Return the places of `nginxopt.facts.table.PLACES` for contexts, as bits; all places if no context is known."""
    bits = [PLACES.get(commands.place_of(context) or "", 0) for context in contexts]
    return sum(set(bits)) if bits else sum(PLACES.values())


def _directives(contexts: list[Context], target: Version) -> Iterator[types.CompletionItem]:
    places = _places(contexts)
    for name in sorted(names()):
        rows = [row for row in declarations(name) if row.is_in(target) and row.places & places]
        if rows and rows[0].values != "obsolete":
            yield _directive(rows[0], target)


def _directive(declaration: Declaration, target: Version) -> types.CompletionItem:
    facts = Facts.at(declaration.name, None, target)
    default = f"default {declaration.default}" if declaration.default else ""
    return _Item(
        declaration.name,
        kind=_Kind.Module if declaration.has_block else _Kind.Property,
        detail=default or None,
        documentation=description(declaration.name) or (", ".join(facts.places) if facts else None),
    )


def _variables(found: Iterable[Occurrence], contexts: list[Context]) -> Iterator[types.CompletionItem]:
    own = {one.symbol.name for one in found if one.symbol.kind is SymbolKind.VARIABLE and one.definition}
    for name in sorted(own):
        yield _Item(f"${name}", kind=_Kind.Variable, detail="defined in this configuration", sort_text=f"0{name}")
    is_stream = bool(contexts) and all(context[:1] == ("stream",) for context in contexts)
    for name in sorted((STREAM_VARIABLES if is_stream else HTTP_VARIABLES) - own):
        yield _Item(f"${name}", kind=_Kind.Constant, sort_text=f"1{name}")


def _names(
    found: Iterable[Occurrence], place: Cursor, reading: DocumentContext | None
) -> Iterator[types.CompletionItem]:
    """Yield the names that the configuration defines and that the directive at the cursor accepts."""
    directive = place.words[0]
    definitions = {one.symbol: one for one in found if one.definition}
    for symbol, one in definitions.items():
        name = one.source.data[one.span.start : one.span.end].decode(errors="replace")
        definer = str(one.definition.name) if one.definition else ""
        if symbol.kind is SymbolKind.UPSTREAM and directive in _PASSES:
            for scheme in _PASSES[directive]:
                yield _Item(f"{scheme}{name}", kind=_Kind.Interface, detail="upstream")
        elif symbol.kind is SymbolKind.LOG_FORMAT and directive == "access_log" and len(place.words) > 1:
            yield _Item(name, kind=_Kind.Reference, detail="log_format")
        elif symbol.kind is SymbolKind.LOCATION and directive in _NAMED and symbol.owner == _server(place, reading):
            yield _Item(name, kind=_Kind.Reference, detail="named location")
        elif symbol.kind is SymbolKind.ZONE and _takes(directive, definer):
            yield _Item(f"zone={name}" if directive == "limit_req" else name, kind=_Kind.Reference, detail=definer)


def _files(word: str, reading: DocumentContext) -> Iterator[types.CompletionItem]:
    """Yield the files and folders whose paths begin with a word."""
    folder = word[: word.rfind("/") + 1]
    for prefix in sorted({config.prefix for config in reading.configs}):
        try:
            with os.scandir(Path(prefix, folder)) as entries:
                found = sorted((entry.name, entry.is_dir()) for entry in islice(entries, _MOST_FILES))
        except (OSError, ValueError):  # no such folder
            continue
        for name, is_folder in found:
            if not name.startswith(".") and name.isprintable():
                kind = _Kind.Folder if is_folder else _Kind.File
                yield _Item(f"{folder}{name}{'/' if is_folder else ''}", kind=kind)


def _takes(directive: str, definer: str) -> bool:
    """Return whether a directive accepts a zone that the directive `definer` defines."""
    if directive in ("limit_req", "limit_conn"):
        return definer == f"{directive}_zone"
    return _CACHES.get(directive) == definer


def _server(place: Cursor, reading: DocumentContext | None) -> object:
    if reading is None:
        return None
    source = reading.file.source
    return source if place.server is None else (source, place.server)


def _parameters(contexts: list[Context], place: Cursor, target: Version) -> Iterator[types.CompletionItem]:
    directive = place.words[0]
    here = _places(contexts)
    at = [commands.place_of(context) for context in contexts]
    for key in (directive, *(f"{one}/{directive}" for one in at if one)):
        for word in PARAMETERS.get(key, ()) if len(place.words) > BEFORE.get(key, 0) else ():
            yield _Item(word, kind=_Kind.EnumMember if word[-1] not in "=:" else _Kind.Field)
    rows = [row for row in declarations(directive) if row.is_in(target) and row.places & here]
    for row in rows[:1]:
        if len(place.words) == 1 or row.arguments.endswith("+"):
            for word in ("on|off" if row.arguments == "flag" else row.values).split("|"):
                if word and ("|" in row.values or row.arguments == "flag"):
                    yield _Item(word, kind=_Kind.EnumMember)
