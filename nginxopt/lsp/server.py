"""The server: passes messages of the editor to the capabilities, and sends it diagnostics."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer
from pygls.protocol import LanguageServerProtocol

from nginxopt import __version__
from nginxopt.errors import NginxoptError
from nginxopt.faults import FAULTS, internal
from nginxopt.lsp import actions, coloring, compiling, completion, formatting, hover, navigation, outline, renaming
from nginxopt.lsp.checking import Checking
from nginxopt.lsp.preferences import Preferences
from nginxopt.lsp.watching import Watching
from nginxopt.lsp.workspace import Workspace, path_of
from nginxopt.system.interrupts import end_at_once

_REQUEST_FAILED = types.LSPErrorCodes.RequestFailed.value
_NOT_BEGUN = types.ErrorCodes.ServerNotInitialized.value
_OVER = types.ErrorCodes.InvalidRequest.value
_Answer = TypeVar("_Answer")


class _Protocol(LanguageServerProtocol):
    """Answers every request with a response or an error, even one with parameters that the protocol does not allow,
    such as a negative line, and one before `initialize` or after `shutdown`.
    """

    def handle_message(self, message: Any) -> None:
        """Pass a message on, unless the session has not begun or is over."""
        method = getattr(message, "method", None)
        is_early = self._workspace is None and method not in (types.INITIALIZE, types.EXIT)
        is_late = self._shutdown and method != types.EXIT
        if not (is_early or is_late):
            super().handle_message(message)
        elif method is not None and hasattr(message, "id"):
            code, when = (_NOT_BEGUN, "before initialize") if is_early else (_OVER, "after shutdown")
            self._send_response(message.id, error=JsonRpcException(f"a request {when}", code).to_response_error())

    def structure_message(self, data: dict[str, Any]) -> Any:
        """Return the message in a JSON object. It is also called for objects inside a message."""
        try:
            return super().structure_message(data)
        except JsonRpcException as error:
            if "id" in data and "method" in data:
                self._send_response(data["id"], error=error.to_response_error())
            raise


class Server(LanguageServer):
    """The server. It has a workspace once the editor has initialised it.

    A thread of its own answers requests one by one, so that a check never delays them.
    """

    def __init__(self, preferences: Preferences) -> None:
        super().__init__("nginxopt", __version__, types.TextDocumentSyncKind.Full, protocol_cls=_Protocol)
        self._preferences = preferences
        self._thread = ThreadPoolExecutor(1, "answers")
        self.plans = compiling.Plans()
        self.files: Workspace
        self.checking: Checking
        self._watching: Watching

    def start(self, params: types.InitializeParams) -> None:
        """Make the workspace of the folders that the editor has open."""
        folders = _paths(params.workspace_folders or ())
        root = path_of(params.root_uri) if params.root_uri else None
        encoding = self.workspace.position_encoding or "utf-16"
        self._preferences.run |= _is_trusted(params.initialization_options)
        self.files = Workspace(self._preferences, folders or filter(None, [root]), encoding)
        self._watching = Watching(params.capabilities, self.client_register_capability)
        self.checking = Checking(self.files, self._publish, self._log, self._watch)

    async def ask(self, question: Callable[..., _Answer], *values: Any) -> _Answer:
        """Compute the answer of a capability in another thread."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self._thread, question, self.files, *values)
        except NginxoptError as error:
            raise JsonRpcException(error.message, _REQUEST_FAILED) from error
        except FAULTS as error:
            raise JsonRpcException(internal(error, "the answer").message, _REQUEST_FAILED) from error

    def _publish(self, uri: str, version: int | None, diagnostics: list[types.Diagnostic]) -> None:
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, diagnostics, version))

    def _watch(self) -> None:
        self._watching.add(self._preferences.files())

    def _log(self, message: str) -> None:
        self.window_log_message(types.LogMessageParams(types.MessageType.Warning, message))


def _is_trusted(options: Any) -> bool:
    """Return whether the editor says that the user trusts the workspace: `{"trusted": true}`."""
    value = options.get("trusted") if isinstance(options, Mapping) else getattr(options, "trusted", False)
    return value is True


def _paths(folders: Iterable[types.WorkspaceFolder]) -> list[str]:
    """Return the paths of folders that are on this machine."""
    return [path for folder in folders if (path := path_of(folder.uri)) is not None]


def make(preferences: Preferences) -> Server:
    """Return a server with all capabilities."""
    server = Server(preferences)
    _follow_documents(server)
    _offer_actions(server)
    _compile(server)
    _explain(server)
    _write(server)
    _navigate(server)
    _rename(server)
    return server


def _follow_documents(server: Server) -> None:
    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        server.start(params)

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def did_open(params: types.DidOpenTextDocumentParams) -> None:
        document = params.text_document
        server.files.open(document.uri, document.text, document.version)
        server.checking.request(document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def did_change(params: types.DidChangeTextDocumentParams) -> None:
        document = params.text_document
        server.files.change(document.uri, params.content_changes[-1].text, document.version)
        server.checking.request(document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    def did_save(params: types.DidSaveTextDocumentParams) -> None:
        server.files.forget()
        server.checking.request(params.text_document.uri)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def did_close(params: types.DidCloseTextDocumentParams) -> None:
        server.files.close(params.text_document.uri)
        server.checking.close(params.text_document.uri)

    @server.feature(types.WORKSPACE_DID_CHANGE_WORKSPACE_FOLDERS)
    def did_change_workspace_folders(params: types.DidChangeWorkspaceFoldersParams) -> None:
        event = params.event
        server.files.change_folders(_paths(event.added), _paths(event.removed))
        server.checking.request_all()

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def did_change_watched_files(_params: types.DidChangeWatchedFilesParams) -> None:
        server.files.forget()
        server.checking.request_all()


def _offer_actions(server: Server) -> None:
    @server.feature(types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(code_action_kinds=actions.KINDS))
    async def code_action(params: types.CodeActionParams) -> list[types.CodeAction]:
        return await server.ask(actions.actions, server.checking.judges, server.plans, params)


def _compile(server: Server) -> None:
    @server.feature(types.TEXT_DOCUMENT_CODE_LENS)
    async def code_lens(params: types.CodeLensParams) -> list[types.CodeLens]:
        return await server.ask(compiling.lenses, server.plans, params)

    @server.command(compiling.COMMAND)
    async def compile_lists(uri: str) -> None:
        lists = await server.ask(compiling.compiled, uri, server.client_capabilities)
        if lists.edit is not None:
            edit = types.ApplyWorkspaceEditParams(lists.edit, "Compile lists of patterns")
            applied = await server.workspace_apply_edit_async(edit)
            if not applied.applied:
                reason = applied.failure_reason or "the editor does not say why"
                lists = compiling.CompiledLists(None, f"the editor made no changes: {reason}")
        server.window_show_message(types.ShowMessageParams(types.MessageType.Info, lists.message))


def _explain(server: Server) -> None:
    @server.feature(types.TEXT_DOCUMENT_HOVER)
    async def show_hover(params: types.HoverParams) -> types.Hover | None:
        return await server.ask(hover.hover, server.checking.judges, params)

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    async def document_symbol(params: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
        return await server.ask(outline.document_symbols, params)

    @server.feature(types.TEXT_DOCUMENT_FOLDING_RANGE)
    async def folding_range(params: types.FoldingRangeParams) -> list[types.FoldingRange]:
        return await server.ask(outline.folding_ranges, params)

    legend = types.SemanticTokensLegend(coloring.KINDS, [])

    @server.feature(types.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, legend)
    async def semantic_tokens(params: types.SemanticTokensParams) -> types.SemanticTokens:
        return await server.ask(coloring.semantic_tokens, params)

    @server.feature(types.TEXT_DOCUMENT_SEMANTIC_TOKENS_RANGE, legend)
    async def semantic_tokens_of_range(params: types.SemanticTokensRangeParams) -> types.SemanticTokens:
        return await server.ask(coloring.semantic_tokens_of_range, params)


def _write(server: Server) -> None:
    @server.feature(types.TEXT_DOCUMENT_COMPLETION, types.CompletionOptions(trigger_characters=completion.TRIGGERS))
    async def complete(params: types.CompletionParams) -> types.CompletionList:
        return await server.ask(completion.complete, params)

    @server.feature(types.TEXT_DOCUMENT_FORMATTING)
    async def format_document(params: types.DocumentFormattingParams) -> list[types.TextEdit] | None:
        return await server.ask(formatting.format_document, params)


def _navigate(server: Server) -> None:
    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    async def definition(params: types.DefinitionParams) -> list[types.Location]:
        return await server.ask(navigation.definition, params)

    @server.feature(types.TEXT_DOCUMENT_REFERENCES)
    async def references(params: types.ReferenceParams) -> list[types.Location]:
        return await server.ask(navigation.references, params)

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT)
    async def document_highlight(params: types.DocumentHighlightParams) -> list[types.DocumentHighlight]:
        return await server.ask(navigation.highlights, params)


def _rename(server: Server) -> None:
    @server.feature(types.TEXT_DOCUMENT_PREPARE_RENAME)
    async def prepare_rename(params: types.PrepareRenameParams) -> types.Range | None:
        return await server.ask(renaming.prepare, params)

    @server.feature(types.TEXT_DOCUMENT_RENAME, types.RenameOptions(prepare_provider=True))
    async def rename(params: types.RenameParams) -> types.WorkspaceEdit | None:
        return await server.ask(renaming.rename, params)


def start(preferences: Preferences) -> None:
    """Serve an editor on standard input and output until it ends the session.

    pygls closes the stream that it writes to, so it gets a duplicate of standard output. After a signal, pygls would
    wait for the thread that reads standard input, and Python for the checks.
    """
    end_at_once()
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as output:
        make(preferences).start_io(stdout=output)
