"""The outline of a document and its folds."""

from __future__ import annotations

from lsprotocol import types

from nginxopt.lsp.outline import document_symbols, folding_ranges
from tests.lsp.editing import MAIN, SITE, Editor, over

_TEXT = f"""\
# one
# two
# three
{MAIN.replace("include conf.d/*.conf;", SITE.replace("listen 80;", "server_name a.example b.example;"))}
"""


def test_the_blocks_of_a_document_are_its_symbols(editor: Editor) -> None:
    """Blocks are a tree of symbols; a server has its names."""
    document = editor.open("nginx.conf", _TEXT)
    params = types.DocumentSymbolParams(types.TextDocumentIdentifier(document.uri))
    events, http = document_symbols(editor.workspace, params)
    assert (events.name, http.name) == ("events", "http")
    upstream, server = http.children or ()
    assert (upstream.name, upstream.kind) == ("upstream app", types.SymbolKind.Interface)
    assert server.name == "server a.example b.example"
    assert server.selection_range.start == over(_TEXT, "server {\n").start
    (location,) = server.children or ()
    assert location.name == "location /"


def test_blocks_and_comments_can_be_folded(editor: Editor) -> None:
    """A block folds up to the line before its `}`, and comments in a row fold together."""
    document = editor.open("nginx.conf", _TEXT)
    params = types.FoldingRangeParams(types.TextDocumentIdentifier(document.uri))
    folds = {(one.start_line + 1, one.end_line + 1, one.kind) for one in folding_ranges(editor.workspace, params)}
    lines = _TEXT.splitlines()
    http = lines.index("http {") + 1
    server = lines.index("    server {") + 1
    assert (1, 3, types.FoldingRangeKind.Comment) in folds
    assert (http, len(lines) - 2, None) in folds
    assert (server, server + 4, None) in folds
    assert all(start < end for start, end, _ in folds)


def test_a_broken_text_keeps_its_outline(editor: Editor) -> None:
    """While a block is not closed, the others stay in the outline."""
    document = editor.open("nginx.conf", _TEXT[:-6])
    params = types.DocumentSymbolParams(types.TextDocumentIdentifier(document.uri))
    assert [one.name for one in document_symbols(editor.workspace, params)] == ["events", "http"]


def test_other_files_have_no_outline(editor: Editor) -> None:
    """Nothing is said of what is not nginx's."""
    document = editor.open("other.conf", "[Unit]\nDescription=x\n")
    assert (
        document_symbols(editor.workspace, types.DocumentSymbolParams(types.TextDocumentIdentifier(document.uri))) == []
    )
    assert folding_ranges(editor.workspace, types.FoldingRangeParams(types.TextDocumentIdentifier("file:///x"))) == []
