"""Code actions: the fixes of findings, comments that suppress them, all safe fixes at once, and compiled lists."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from lsprotocol import types

from nginxopt.config import reread
from nginxopt.lint.baseline import unaccepted
from nginxopt.lint.diagnostic import Diagnostic, Fix, Grade
from nginxopt.lint.fix import Wanted, fix
from nginxopt.lint.suppress import FAULTY, UNUSED
from nginxopt.lsp import compiling
from nginxopt.lsp.compiling import Plans
from nginxopt.lsp.diagnostics import SOURCE, Judgement, Judges
from nginxopt.lsp.document import Document
from nginxopt.lsp.edits import text_edits, workspace_edit
from nginxopt.lsp.suppressing import file_edit, line_edit
from nginxopt.lsp.workspace import Workspace
from nginxopt.text import Change, Edit, Span

FIX_ALL = types.CodeActionKind.SourceFixAll
FIX_ALL_OURS = f"{FIX_ALL.value}.nginxopt"

KINDS: list[types.CodeActionKind | str] = [types.CodeActionKind.QuickFix, compiling.KIND, FIX_ALL, FIX_ALL_OURS]


def actions(
    workspace: Workspace, judges: Judges, plans: Plans, params: types.CodeActionParams
) -> list[types.CodeAction]:
    """Return the actions for a range of a document; none while the document does not parse.

    The action for all safe fixes is offered only if the editor requests its kind, as it needs a check for each round of
    fixes.
    """
    document = workspace.documents.get(params.text_document.uri)
    judgement = judges.judgement(document) if document and document.error is None else None
    if document is None or judgement is None:
        return []
    only = params.context.only
    offered: list[types.CodeAction] = []
    if only is None or _is_wanted(types.CodeActionKind.QuickFix.value, only):
        offered += _quick_fixes(workspace, document, judgement, params)
    if only is None or _is_wanted(compiling.KIND.value, only):
        start, end = document.lines.offset(params.range.start), document.lines.offset(params.range.end)
        offered += compiling.compile_actions(workspace, plans, document, Span(start, end))
    if only is not None and _is_wanted(FIX_ALL_OURS, only):
        offered += _fix_all(workspace, document, judgement, FIX_ALL if FIX_ALL in only else FIX_ALL_OURS)
    return offered


def _is_wanted(kind: str, only: Iterable[types.CodeActionKind | str]) -> bool:
    """Return whether a kind is one of the requested kinds or a sub-kind of one: `source` includes `source.fixAll`."""
    wanted = [str(getattr(one, "value", one)) for one in only]
    return any(kind == one or kind.startswith(f"{one}.") for one in wanted)


def _quick_fixes(
    workspace: Workspace, document: Document, judgement: Judgement, params: types.CodeActionParams
) -> Iterator[types.CodeAction]:
    start, end = document.lines.offset(params.range.start), document.lines.offset(params.range.end)
    here = [
        finding
        for finding in judgement.findings
        if finding.finding.span.start <= end and start <= finding.finding.span.end
    ]
    for finding in here:
        if finding.fix is not None:
            yield from _fixing(workspace, document, finding, finding.fix, params)
    for finding in here:
        if finding.rule not in (FAULTY, UNUSED):
            yield from _suppressing(workspace, document, finding, params)


def _fixing(
    workspace: Workspace, document: Document, finding: Diagnostic, offered: Fix, params: types.CodeActionParams
) -> Iterator[types.CodeAction]:
    edit = workspace_edit(workspace, offered.changes)
    if edit is not None:
        yield types.CodeAction(
            _title(offered),
            types.CodeActionKind.QuickFix,
            _meant(document, finding, params),
            is_preferred=offered.safety.grade is Grade.SAFE,
            edit=edit,
        )


def _title(offered: Fix) -> str:
    """Return the title of a fix, with its premises, or with `(unsafe)`."""
    title = offered.title[:1].upper() + offered.title[1:]
    if offered.safety.grade is Grade.CONDITIONAL:
        names = ", ".join(premise.name for premise in sorted(offered.safety.premises or ()))
        return f"{title} (safe if {names})"
    return f"{title} (unsafe)" if offered.safety.grade is Grade.UNSAFE else title


def _suppressing(
    workspace: Workspace, document: Document, finding: Diagnostic, params: types.CodeActionParams
) -> Iterator[types.CodeAction]:
    source, span = finding.finding.source, finding.finding.span
    for title, edit in (
        (f"Suppress {finding.rule} here", line_edit(source, span, finding.rule)),
        (f"Suppress {finding.rule} in this file", file_edit(source, span, finding.rule)),
    ):
        change = workspace_edit(workspace, [Change(source, edit)]) if edit else None
        if change is not None:
            meant = _meant(document, finding, params)
            yield types.CodeAction(title, types.CodeActionKind.QuickFix, meant, edit=change)


def _meant(document: Document, finding: Diagnostic, params: types.CodeActionParams) -> list[types.Diagnostic] | None:
    """Return the diagnostics of the editor that show a finding."""
    range_ = document.lines.range(finding.finding.span)
    shown = [
        diagnostic
        for diagnostic in params.context.diagnostics
        if diagnostic.source == SOURCE and diagnostic.code == finding.rule and diagnostic.range == range_
    ]
    return shown or None


def _fix_all(workspace: Workspace, document: Document, judgement: Judgement, kind: str) -> Iterator[types.CodeAction]:
    """Yield the action that applies every safe fix that changes only this file, like `lint --fix`."""
    if len(judgement.reading.configs) > 1:  # fixes do not change files that several configurations include
        return
    config, path = judgement.reading.config, judgement.reading.file.path
    judge = workspace.preferences.judge(document.path, judgement.reading.configs)
    fixed = fix(lambda texts: reread(config, texts), judge, wanted=_of_file(unaccepted(judge.known), path))
    edits: tuple[Edit, ...] = fixed.drafts[path].edits if path in fixed.drafts else ()
    if edits:
        change = types.WorkspaceEdit({document.uri: text_edits(workspace, judgement.reading.file.source, edits)})
        yield types.CodeAction("Apply all safe fixes of nginxopt", kind, edit=change)


def _of_file(wanted: Wanted, path: str) -> Wanted:
    """Return a filter for those `wanted` findings whose fixes change only the file at `path`."""
    return lambda diagnostics, drafts: (
        one for one in wanted(diagnostics, drafts) if one.fix and _changes_only(one.fix, path)
    )


def _changes_only(offered: Fix, path: str) -> bool:
    return all(change.source.path == path for change in offered.changes)
