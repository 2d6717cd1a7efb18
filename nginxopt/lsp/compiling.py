"""Lists of patterns: how many a request tries in each, and the action that compiles them like
`nginxopt rewrite-to-map`.

A lens above a list says how many patterns a request tries there, and how many it would try in the compiled list. The
lens and a code action run the command `COMMAND`. It compiles the lists of a file as the editor has it, proves the
result, and sends it to the editor as one edit, so nothing is on the disk before the user saves.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from threading import Lock

from lsprotocol import types

from nginxopt import budget
from nginxopt.errors import NginxoptError
from nginxopt.lsp.document import Document
from nginxopt.lsp.edits import text_edits, workspace_edit
from nginxopt.lsp.workspace import DocumentContext, Workspace
from nginxopt.rewrite import Emission, Options, Plan, output, plan
from nginxopt.rewrite.kinds.kind import MapCost, StatementCost
from nginxopt.rewrite.proving import proved
from nginxopt.text import Change, Span
from nginxopt.text.display import count

COMMAND = "nginxopt.compile"
"""The command that compiles the lists of a file; its argument is the URI."""

KIND = types.CodeActionKind.RefactorRewrite

_FEWEST = 5
"""The fewest patterns for which a list gets a lens: a lookup costs as much as two to five."""

_MOST_PLANS = 20


@dataclass(frozen=True)
class CompiledLists:
    """The result of the command for the editor: an edit, and a message. `edit` is None if nothing changes."""

    edit: types.WorkspaceEdit | None
    message: str


@dataclass
class Plans:
    """Plans for remarks, cached by the files of a configuration and the one whose lists are planned."""

    _plans: OrderedDict[tuple[object, ...], Plan | None] = field(default_factory=OrderedDict)
    _lock: Lock = field(default_factory=Lock)

    def of(self, reading: DocumentContext) -> Plan | None:
        """Return the plan for the lists of a document; None if nginx rejects a rewrite, or if it takes too long."""
        key = (reading.file, *reading.config.files)
        with self._lock:
            if key not in self._plans:
                self._plans[key] = _planned(reading)
            self._plans.move_to_end(key)
            if len(self._plans) > _MOST_PLANS:
                self._plans.popitem(last=False)
            return self._plans[key]


def _planned(reading: DocumentContext) -> Plan | None:
    try:
        return plan(reading.config, Options(groups=True, for_remark=True), reading.file)
    except NginxoptError:
        return None  # a diagnostic says why


def lenses(workspace: Workspace, plans: Plans, params: types.CodeLensParams) -> list[types.CodeLens]:
    """Return a lens for each list of a document that compiles, at its first line."""
    document = workspace.documents.get(params.text_document.uri)
    return [] if document is None else [_lens(document, cost) for cost in _costs(workspace, plans, document)]


def _lens(document: Document, cost: StatementCost | MapCost) -> types.CodeLens:
    start = document.lines.position(cost.span.start)
    title = f"a request tries {count(cost.before.worst, 'pattern')} here; compile: {cost.after.worst:,} at most"
    return types.CodeLens(types.Range(start, start), types.Command(title, COMMAND, arguments=[document.uri]))


def compile_actions(workspace: Workspace, plans: Plans, document: Document, wanted: Span) -> Iterator[types.CodeAction]:
    """Yield the action that compiles the lists of a document, if one of them is at a place."""
    for cost in _costs(workspace, plans, document):
        if cost.span.start <= wanted.end and wanted.start <= cost.span.end:
            before, after = count(cost.before.worst, "pattern"), f"{cost.after.worst:,}"
            title = f"Compile the lists of this file: a request tries at most {after} for {before} of this one"
            yield types.CodeAction(title, KIND, command=types.Command(title, COMMAND, arguments=[document.uri]))
            return


def _costs(workspace: Workspace, plans: Plans, document: Document) -> Iterator[StatementCost | MapCost]:
    """Yield what the lists of a document cost that compile; none while it does not parse."""
    reading = _reading(workspace, document)
    if reading is None:
        return
    with budget.stated(workspace.preferences.settings(document.path).budget):
        planned = plans.of(reading)
    if planned is None:
        return
    for lists in planned.lists.values():
        costs: Iterator[StatementCost | MapCost] = chain(lists.statement_costs(), lists.map_costs())
        for cost in costs:
            is_here = cost.source is reading.file.source
            if is_here and cost.before.worst >= _FEWEST and cost.after.worst < cost.before.worst:
                yield cost


def _reading(workspace: Workspace, document: Document) -> DocumentContext | None:
    """Return a document in its nearest configuration; None if it is a template, or does not parse now."""
    if document.error is not None or workspace.preferences.settings(document.path).excludes(document.path):
        return None
    return workspace.judged(document)


def compiled(workspace: Workspace, uri: str, capabilities: types.ClientCapabilities) -> CompiledLists:
    """Compile the lists of a document, and prove that nginx answers every request as before.

    Raises `NginxoptError` if the result cannot be checked.
    """
    document = workspace.documents.get(uri)
    reading = None if document is None or not document.is_file else _reading(workspace, document)
    if reading is None:
        return CompiledLists(
            None, "nothing is compiled: this file is not part of a configuration, or has a syntax error"
        )
    path = reading.document.path
    with budget.stated(workspace.preferences.settings(path).budget):
        emission, proof = budget.limited(lambda: proved(_in_place(workspace, reading)), path=path)
    if not proof.holds:
        return CompiledLists(None, f"nothing is compiled, as the proof does not hold: {proof.refutation}")
    if not emission.changes:
        return CompiledLists(None, "nothing is compiled: no list of this file would be faster")
    output.refuse_outside(emission)
    if emission.maps_path is not None:
        output.read_back(emission, rows=False)
    edit = _edit(workspace, emission, capabilities)
    if isinstance(edit, str):
        return CompiledLists(None, edit)
    before, after = emission.plan.cost
    notes = output.to_include(emission) if emission.maps and emission.maps_path is None else []
    said = [
        f"proved: every request is answered as before; it tries {after.worst:,} for {count(before.worst, 'pattern')}",
        *(f"provided that {premise.sentence}" for premise in proof.premises),
        *(note.strip() for note in notes),
        "save all files, and test them with nginx -t",
    ]
    return CompiledLists(edit, "\n".join(said))


def _in_place(workspace: Workspace, reading: DocumentContext) -> Plan:
    target = workspace.preferences.target(reading.document.path).version
    return plan(reading.config, Options(groups=True, in_place=True, target=target), reading.file)


def _edit(
    workspace: Workspace, emission: Emission, capabilities: types.ClientCapabilities
) -> types.WorkspaceEdit | str:
    """Return the edit that writes an emission, new files first; the reason if the editor or its texts prevent it."""
    changed = [Change(change.file.source, edit) for change in emission.changes for edit in change.edits]
    texts = workspace_edit(workspace, changed)
    if texts is None:
        return "nothing is compiled: a file has changed meanwhile"
    added = output.new(emission)
    if not added:
        return texts
    if not _creates_files(capabilities):
        return "this editor creates no files for a server: run nginxopt rewrite-to-map --write"
    changes: list[types.CreateFile | types.TextDocumentEdit] = []
    start = types.Range(types.Position(0, 0), types.Position(0, 0))
    for path, text in added.items():
        uri = Path(path).absolute().as_uri()
        changes.append(types.CreateFile(uri, options=types.CreateFileOptions(overwrite=True)))
        changes.append(_edit_of(uri, None, [types.TextEdit(start, text.decode(errors="strict"))]))
    for change in emission.changes:
        source = change.file.source
        document = workspace.document(source.path)
        version = None if document is None else document.version
        changes.append(_edit_of(workspace.uri(source.path), version, text_edits(workspace, source, change.edits)))
    return types.WorkspaceEdit(document_changes=changes)


def _edit_of(uri: str, version: int | None, edits: list[types.TextEdit]) -> types.TextDocumentEdit:
    return types.TextDocumentEdit(types.OptionalVersionedTextDocumentIdentifier(uri, version), edits)


def _creates_files(capabilities: types.ClientCapabilities) -> bool:
    """Return whether an editor creates files that an edit names."""
    edits = capabilities.workspace.workspace_edit if capabilities.workspace else None
    return edits is not None and types.ResourceOperationKind.Create in (edits.resource_operations or ())
