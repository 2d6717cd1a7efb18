"""The real server process, with the client of pytest-lsp."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException

from tests.lsp.editing import MAIN, SITE, at
from tests.lsp.session import COMMAND, Session, run, session
from tests.support import PATIENCE

pytestmark = pytest.mark.extended

_WHOLE = MAIN.replace("    include conf.d/*.conf;\n", SITE)


def test_diagnostics_come_while_typing(tmp_path: Path) -> None:
    """An opened file has its findings, each change their new state, and a closed one has none any more."""

    async def scene(editor: Session) -> None:
        uri = await editor.open("nginx.conf", _WHOLE)
        assert "upstream-keepalive-missing" in editor.codes(uri)
        editor.change(uri, _WHOLE.replace("server 192.0.2.1:8080;", "server 192.0.2.1:8080; keepalive 8;"))
        await editor.settled(uri)
        assert "upstream-keepalive-missing" not in editor.codes(uri)
        editor.change(uri, _WHOLE[:-3])
        await editor.settled(uri)
        assert editor.codes(uri)[0] == "syntax-error"
        editor.client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(uri)))
        await editor.until(lambda: not editor.diagnostics(uri))

    run(tmp_path, scene)


@pytest.mark.slow
def test_only_the_last_of_many_changes_counts(tmp_path: Path) -> None:
    """Of changes in quick succession, the diagnostics are those of the last one."""

    async def scene(editor: Session) -> None:
        uri = await editor.open("nginx.conf", _WHOLE)
        for number in range(50):
            editor.change(uri, "\n" * number + SITE.replace("listen", "lisen"))
        last = await editor.settled(uri)
        assert [one.range.start.line for one in last if one.code == "unknown-directive"] == [50]

    run(tmp_path, scene)


def test_a_change_of_one_file_reaches_the_others(tmp_path: Path) -> None:
    """The findings of a main file follow the unsaved text of a file that it includes."""
    (tmp_path / "conf.d").mkdir()
    (tmp_path / "conf.d/site.conf").write_text(SITE)

    async def scene(editor: Session) -> None:
        main = await editor.open("nginx.conf", MAIN)
        assert "upstream-keepalive-missing" in editor.codes(main)
        site = await editor.open("conf.d/site.conf", SITE)
        editor.change(site, SITE.replace("proxy_pass http://app;", "return 204;"))
        await editor.until(lambda: "upstream-keepalive-missing" not in editor.codes(main))

    run(tmp_path, scene)


@pytest.mark.slow
@pytest.mark.no_cover  # what is asked, and what is answered, is measured in the tests of its parts
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32"])
def test_the_encoding_of_positions_is_negotiated(tmp_path: Path, encoding: str) -> None:
    """The server counts in the units that the editor prefers."""
    general = types.GeneralClientCapabilities(position_encodings=[types.PositionEncodingKind(encoding)])

    async def play() -> None:
        async with session(tmp_path, types.ClientCapabilities(general=general)) as editor:
            assert editor.capabilities.position_encoding == encoding
            uri = await editor.open("a.conf", 'server { listen 80; set $a "😀é"; lisen 80; }\n')
            (error,) = [one for one in editor.diagnostics(uri) if one.code == "unknown-directive"]
            assert error.range.start.character == 31 + {"utf-8": 6, "utf-16": 3, "utf-32": 2}[encoding]

    asyncio.run(play())


def test_saved_settings_count_at_once(tmp_path: Path) -> None:
    """After a file was saved, such as the settings, everything is checked again."""
    (tmp_path / ".git").mkdir()

    async def scene(editor: Session) -> None:
        uri = await editor.open("nginx.conf", _WHOLE)
        assert "upstream-keepalive-missing" in editor.codes(uri)
        (tmp_path / "nginxopt.toml").write_text('ignore = ["all"]\n')
        editor.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([]))
        await editor.until(lambda: not editor.diagnostics(uri))

    run(tmp_path, scene)


@pytest.mark.parametrize("is_relative", [False, True])
def test_the_editor_watches_what_settings_name(tmp_path: Path, is_relative: bool) -> None:
    """It is asked to watch the settings, the baseline and the main file, also before they are there, and once."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "nginxopt.toml").write_text('baseline = "known[1].json"\n')
    files = types.DidChangeWatchedFilesClientCapabilities(
        dynamic_registration=True, relative_pattern_support=is_relative
    )
    workspace = types.WorkspaceClientCapabilities(did_change_watched_files=files)
    asked: list[types.RegistrationParams] = []

    async def play() -> None:
        async with session(tmp_path, types.ClientCapabilities(workspace=workspace)) as editor:
            editor.client.protocol.fm.features[types.CLIENT_REGISTER_CAPABILITY] = asked.append
            uri = await editor.open("nginx.conf", _WHOLE)
            assert editor.codes(uri) == ["settings"]
            (tmp_path / "known[1].json").write_text('{"version": 1, "findings": []}\n')
            editor.client.workspace_did_change_watched_files(types.DidChangeWatchedFilesParams([]))
            await editor.until(lambda: "upstream-keepalive-missing" in editor.codes(uri))

    asyncio.run(play())
    (registration,) = [one for params in asked for one in params.registrations]
    assert registration.method == types.WORKSPACE_DID_CHANGE_WATCHED_FILES
    names = ["known?1?.json", "nginxopt.toml"]
    options: Any = registration.register_options
    patterns = [watcher["globPattern"] for watcher in options["watchers"]]
    if is_relative:
        assert patterns == [{"baseUri": tmp_path.as_uri(), "pattern": name} for name in names]
    else:
        assert patterns == [f"{tmp_path}/{name}" for name in names]


@pytest.mark.slow
def test_a_broken_setting_ends_nothing(tmp_path: Path) -> None:
    """What keeps files from being checked is logged, and the server goes on."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "nginxopt.toml").write_text('main = "fragment.conf"\n')
    (tmp_path / "fragment.conf").write_text("listen 80;\n")

    async def scene(editor: Session) -> None:
        uri = (tmp_path / "a.conf").as_uri()
        item = types.TextDocumentItem(uri, "nginx", 1, SITE)
        editor.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        await asyncio.wait_for(editor.client.wait_for_notification("window/logMessage"), PATIENCE)
        assert "has no http block" in editor.client.log_messages[0].message

    run(tmp_path, scene)


def test_it_ends_with_the_status_of_success(tmp_path: Path) -> None:
    """An editor that goes away without a word ends the server."""
    done = subprocess.run(COMMAND, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE)
    assert (done.returncode, done.stdout) == (0, b""), done.stderr.decode()


def test_without_its_packages_the_command_says_what_to_install(tmp_path: Path) -> None:
    """Without pygls, the command names the extra and has the status of something missing."""
    code = "import sys; sys.modules['pygls'] = None; from nginxopt.cli import main; main(['lsp'])"
    blocked = "import importlib.util as u; f = u.find_spec; u.find_spec = lambda n: None if n == 'pygls' else f(n); "
    done = subprocess.run([sys.executable, "-c", blocked + code], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 4
    assert "pip install 'nginxopt[lsp]'" in done.stderr


def test_the_capabilities_answer_over_the_wire(tmp_path: Path) -> None:
    """Each capability is offered, and answers a question of an editor."""
    text = _WHOLE.replace("upstream", "map $uri $kind { default 1; }\n    upstream")

    async def scene(editor: Session) -> None:
        uri = await editor.open("nginx.conf", text)
        client, document = editor.client, types.TextDocumentIdentifier(uri)
        place, everywhere = at(text, "http://app", 8), types.Range(types.Position(0, 0), types.Position(99, 0))
        offered = editor.capabilities
        assert isinstance(offered.code_action_provider, types.CodeActionOptions)
        assert "source.fixAll.nginxopt" in (offered.code_action_provider.code_action_kinds or ())
        shown = await client.text_document_hover_async(types.HoverParams(document, place))
        assert shown is not None
        assert isinstance(shown.contents, types.MarkupContent)
        assert "upstream app" in shown.contents.value
        found = await client.text_document_definition_async(types.DefinitionParams(document, place))
        assert isinstance(found, Sequence)
        assert len(found) == 1
        context = types.ReferenceContext(include_declaration=True)
        used = await client.text_document_references_async(types.ReferenceParams(context, document, place))
        assert len(used or ()) == 2
        marks = await client.text_document_document_highlight_async(types.DocumentHighlightParams(document, place))
        assert len(marks or ()) == 2
        completed = await client.text_document_completion_async(types.CompletionParams(document, place))
        assert isinstance(completed, types.CompletionList)
        assert "http://app" in {item.label for item in completed.items}
        assert await client.text_document_document_symbol_async(types.DocumentSymbolParams(document))
        assert await client.text_document_folding_range_async(types.FoldingRangeParams(document))
        options = types.FormattingOptions(2, insert_spaces=True)
        assert await client.text_document_formatting_async(types.DocumentFormattingParams(document, options))
        asked = types.CodeActionContext([], [types.CodeActionKind.QuickFix])
        assert await client.text_document_code_action_async(types.CodeActionParams(document, everywhere, asked))
        assert await client.text_document_prepare_rename_async(types.PrepareRenameParams(document, place))
        edit = await client.text_document_rename_async(types.RenameParams(document, place, "backend"))
        assert edit is not None
        assert len((edit.changes or {})[uri]) == 2
        with pytest.raises(JsonRpcException, match="is not a name of an upstream"):
            await client.text_document_rename_async(types.RenameParams(document, place, "a b"))

    run(tmp_path, scene)


@pytest.mark.parametrize("before", [True, False])
def test_a_request_outside_of_the_session_is_answered(before: bool) -> None:
    """A request before `initialize` or after `shutdown` gets an error, and `exit` still ends the server."""
    asked = {"textDocument": {"uri": "file:///a"}, "position": {"line": 0, "character": 0}}
    start: dict[str, object] = {"processId": None, "rootUri": None, "capabilities": {}}
    session: list[tuple[str, object]] = [("initialize", start), ("shutdown", None)]
    order = [("textDocument/hover", asked), *session] if before else [*session, ("textDocument/hover", asked)]
    messages = [{"jsonrpc": "2.0", "id": n, "method": name, "params": params} for n, (name, params) in enumerate(order)]
    sent = [json.dumps(message).encode() for message in [*messages, {"jsonrpc": "2.0", "method": "exit"}]]
    stream = b"".join(b"Content-Length: %d\r\n\r\n%s" % (len(one), one) for one in sent)
    ended = subprocess.run(COMMAND, input=stream, capture_output=True, timeout=PATIENCE, check=True)
    code = b"-32002" if before else b"-32600"
    assert re.findall(rb'"code": ?(-[0-9]+)', ended.stdout) == [code]
    assert b"Traceback" not in ended.stdout + ended.stderr


def test_a_request_of_the_wrong_form_is_answered(tmp_path: Path) -> None:
    """A negative line is an error of the request; the next one is answered as usual."""

    async def scene(editor: Session) -> None:
        uri = await editor.open("nginx.conf", _WHOLE)
        for line, character in ((-1, 0), (0, -1), ("a", 0), (None, None)):
            position = types.Position(0, 0)
            object.__setattr__(position, "line", line)  # the client's own checks are left out
            object.__setattr__(position, "character", character)
            with pytest.raises(JsonRpcException, match="Invalid Params"):
                await editor.client.text_document_hover_async(
                    types.HoverParams(types.TextDocumentIdentifier(uri), position)
                )
        params = types.HoverParams(types.TextDocumentIdentifier(uri), at(_WHOLE, "events"))
        assert await editor.client.text_document_hover_async(params)

    run(tmp_path, scene)
