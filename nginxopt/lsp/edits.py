"""Converts edits to those of the protocol."""

from __future__ import annotations

from collections.abc import Iterable

from lsprotocol import types

from nginxopt.lsp.workspace import Workspace
from nginxopt.text import Change, Edit, Source


def workspace_edit(workspace: Workspace, changes: Iterable[Change]) -> types.WorkspaceEdit | None:
    """Return changes as a workspace edit; None if the text of a file in the editor is not the one that was checked."""
    by_source: dict[Source, list[Edit]] = {}
    for change in changes:
        by_source.setdefault(change.source.original or change.source, []).append(change.edit)
    if not all(_is_current(workspace, source) for source in by_source):
        return None
    return types.WorkspaceEdit(
        {workspace.uri(source.path): text_edits(workspace, source, edits) for source, edits in by_source.items()}
    )


def text_edits(workspace: Workspace, source: Source, edits: Iterable[Edit]) -> list[types.TextEdit]:
    """Return the edits of one file."""
    lines = workspace.lines(source.path, source.data)
    return [types.TextEdit(lines.range(edit.span), edit.text.decode(errors="replace")) for edit in edits]


def _is_current(workspace: Workspace, source: Source) -> bool:
    document = workspace.document(source.path)
    return document is None or document.data == source.data
