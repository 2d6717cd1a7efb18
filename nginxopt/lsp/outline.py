"""The outline of a document: its blocks as symbols, and what can be folded."""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol import types

from nginxopt.config import Block, Comment, Directive
from nginxopt.config.includes import File
from nginxopt.lsp.document import Document
from nginxopt.lsp.workspace import Workspace
from nginxopt.text import Span

_KINDS = {
    "server": types.SymbolKind.Class,
    "location": types.SymbolKind.Method,
    "upstream": types.SymbolKind.Interface,
    "map": types.SymbolKind.Variable,
    "geo": types.SymbolKind.Variable,
    "split_clients": types.SymbolKind.Variable,
    "if": types.SymbolKind.Event,
    "types": types.SymbolKind.Constant,
}

_LEAVES = frozenset(["include", "log_format", "limit_req_zone", "limit_conn_zone", "proxy_cache_path", "set"])
"""Directives without a block that are shown in the outline."""


def document_symbols(workspace: Workspace, params: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
    """Return the blocks of a document and what it defines, as a tree."""
    document = workspace.documents.get(params.text_document.uri)
    file = _file(workspace, document)
    return [] if document is None or file is None else list(_symbols(document, file.block))


def folding_ranges(workspace: Workspace, params: types.FoldingRangeParams) -> list[types.FoldingRange]:
    """Return the blocks and the runs of comments of a document that span several lines."""
    document = workspace.documents.get(params.text_document.uri)
    file = _file(workspace, document)
    return [] if document is None or file is None else list(_folds(document, file.block))


def _file(workspace: Workspace, document: Document | None) -> File | None:
    return document.shape if document is not None and workspace.is_of_nginx(document) else None


def _symbols(document: Document, block: Block) -> Iterator[types.DocumentSymbol]:
    for directive in block.unfolded():
        if directive.block is None and directive.name not in _LEAVES:
            continue
        inner = directive.block
        is_directives = inner is not None and "_by_lua" not in directive.name
        yield types.DocumentSymbol(
            _title(directive),
            _KINDS.get(directive.name, types.SymbolKind.Namespace if inner else types.SymbolKind.Property),
            _range(document, directive.span),
            _range(document, directive.name.span),
            children=list(_symbols(document, inner)) if inner is not None and is_directives else None,
        )


def _range(document: Document, span: Span) -> types.Range:
    end = len(document.data)
    return document.lines.range(Span(min(span.start, end), min(span.end, end)))


def _title(directive: Directive) -> str:
    """Return the name of a directive with its arguments; for a server, with its names."""
    if directive.name == "server" and directive.block:
        names = [str(word) for own in directive.block.unfolded() if own.name == "server_name" for word in own.args]
        return " ".join(["server", *names])
    words = directive.args[:1] if directive.name in ("log_format", "set") else directive.args
    return " ".join([directive.name, *words]) if "_by_lua" not in directive.name else str(directive.name)


def _folds(document: Document, block: Block) -> Iterator[types.FoldingRange]:
    for directive in block.unfolded():
        if directive.block is None:
            continue
        range_ = _range(document, directive.block.span)
        if range_.end.line > range_.start.line + 1:
            yield types.FoldingRange(range_.start.line, range_.end.line - 1)
        yield from _folds(document, directive.block)
    yield from _comments(document, block)


def _comments(document: Document, block: Block) -> Iterator[types.FoldingRange]:
    """Yield the runs of comments on consecutive lines without other text."""
    first = last = -2
    for node in (*block.nodes, None):
        if not isinstance(node, Comment):
            line = -2
        else:
            line = document.lines.position(node.span.start).line
            if line == last + 1:
                last = line
                continue
        if last > first:
            yield types.FoldingRange(first, last, kind=types.FoldingRangeKind.Comment)
        first = last = line
