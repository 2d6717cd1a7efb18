"""Finds definitions and references of names, and the files of includes."""

from __future__ import annotations

from typing import Protocol

from lsprotocol import types

from nginxopt.config import Directive, Source, Span
from nginxopt.lsp.symbols import Occurrence, occurrences
from nginxopt.lsp.workspace import DocumentContext, Workspace


def definition(workspace: Workspace, params: types.DefinitionParams) -> list[types.Location]:
    """Return the places that define the name at a position, or the files of the include there."""
    reading, offset = placed(workspace, params)
    if reading is None:
        return []
    include = _include_at(reading, offset)
    if include is not None:
        files = [file for config in reading.configs for file in config.included(include)]
        return [location(workspace, file.source, Span(0, 0)) for file in dict.fromkeys(files)]
    return [_location(workspace, one) for one in same(reading, offset) if one.definition]


def references(workspace: Workspace, params: types.ReferenceParams) -> list[types.Location]:
    """Return the places of the name at a position in all files of its configurations."""
    reading, offset = placed(workspace, params)
    is_wanted = params.context.include_declaration
    found = [] if reading is None else same(reading, offset)
    return [_location(workspace, one) for one in found if is_wanted or not one.definition]


def highlights(workspace: Workspace, params: types.DocumentHighlightParams) -> list[types.DocumentHighlight]:
    """Return the places of the name at a position in its document."""
    reading, offset = placed(workspace, params)
    if reading is None:
        return []
    lines = reading.document.lines
    sources = {config.file(reading.document.path).source for config in reading.configs}
    kinds = types.DocumentHighlightKind
    return [
        types.DocumentHighlight(lines.range(one.span), kinds.Write if one.definition else kinds.Read)
        for one in same(reading, offset)
        if one.source in sources
    ]


class PositionParams(Protocol):
    """The parameters of a request about a position."""

    text_document: types.TextDocumentIdentifier
    position: types.Position


def placed(workspace: Workspace, params: PositionParams) -> tuple[DocumentContext | None, int]:
    """Return the current document of a request in its configurations, and the byte offset of the position."""
    document = workspace.documents.get(params.text_document.uri)
    reading = workspace.shown(document) if document else None
    return reading, document.lines.offset(params.position) if document else 0


def symbol_at(reading: DocumentContext, offset: int) -> Occurrence | None:
    """Return the name at an offset of a document, which may be the end of the name; None if there is none."""
    source = reading.file.source
    here = (one for one in occurrences(reading.config) if one.source is source)
    return next((one for one in here if one.span.start <= offset <= one.span.end), None)


def same(reading: DocumentContext, offset: int) -> list[Occurrence]:
    """Return the occurrences of the name at an offset, in all configurations of the document."""
    found = symbol_at(reading, offset)
    if found is None:
        return []
    every = (one for config in reading.configs for one in occurrences(config) if one.symbol == found.symbol)
    return list({(one.source.path, one.span): one for one in every}.values())


def location(workspace: Workspace, source: Source, span: Span) -> types.Location:
    """Return a span of a file as a location of the protocol."""
    return types.Location(workspace.uri(source.path), workspace.lines(source.path, source.data).range(span))


def _location(workspace: Workspace, occurrence: Occurrence) -> types.Location:
    return location(workspace, occurrence.source, occurrence.span)


def _include_at(reading: DocumentContext, offset: int) -> Directive | None:
    source = reading.file.source
    includes = (include for config in reading.configs for include in config.includes)
    return next((one for one in includes if one.source is source and one.span.start <= offset < one.span.end), None)
