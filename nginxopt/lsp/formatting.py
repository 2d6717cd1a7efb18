"""Formats a document like `nginxopt format`."""

from __future__ import annotations

from lsprotocol import types

from nginxopt.errors import InputError
from nginxopt.format import IndentStyle, edits
from nginxopt.format.style import WIDTHS
from nginxopt.lsp.workspace import Workspace
from nginxopt.text import Source


def format_document(workspace: Workspace, params: types.DocumentFormattingParams) -> list[types.TextEdit] | None:
    """Return the edits that format a document; None if it does not parse or is not an nginx configuration.

    The indentation is that of the settings file, or that of the editor if there is none.
    """
    document = workspace.documents.get(params.text_document.uri)
    if document is None or not workspace.is_of_nginx(document):
        return None
    settings = workspace.preferences.settings(document.path)
    style = settings.format if settings.origin is not None else _style(params.options)
    try:
        changes = edits(Source(document.path, document.data), style)
    except InputError:
        return None
    return [types.TextEdit(document.lines.range(edit.span), edit.text.decode()) for edit in changes]


def _style(options: types.FormattingOptions) -> IndentStyle:
    width = options.tab_size if options.tab_size in WIDTHS else IndentStyle().width
    return IndentStyle(width, not options.insert_spaces)
