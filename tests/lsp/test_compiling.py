"""Lenses say what a request tries in a list, and the command compiles the lists as `rewrite-to-map` does."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from lsprotocol import types

from nginxopt.lsp.compiling import COMMAND, KIND, Plans, compile_actions, compiled, lenses
from nginxopt.lsp.document import Document
from nginxopt.text import Span
from tests.lsp.editing import Editor, edited
from tests.lsp.session import session
from tests.support import PATIENCE

RULES = "".join(f"    rewrite ^/old/{number}$ /new/{number} permanent;\n" for number in range(40))
ROWS = "".join(
    f"        ~^/{name}(/|$) {name};\n" for name in ("a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l")
)
MAP = f"    map $uri $part {{\n        default none;\n{ROWS}    }}\n"
SERVER = f"server {{\n    listen 80;\n{RULES}    return 200 $part;\n}}\n"
MAIN = f"events {{}}\nhttp {{\n{MAP}    include conf.d/*.conf;\n}}\n"

ABLE = types.ClientCapabilities(
    workspace=types.WorkspaceClientCapabilities(
        apply_edit=True,
        workspace_edit=types.WorkspaceEditClientCapabilities(
            document_changes=True, resource_operations=[types.ResourceOperationKind.Create]
        ),
    )
)


def seen(editor: Editor, document: Document) -> list[tuple[int, str]]:
    """The lines, from 0, and titles of the lenses of a document."""
    params = types.CodeLensParams(types.TextDocumentIdentifier(document.uri))
    found = lenses(editor.workspace, Plans(), params)
    assert all(lens.command is not None and lens.command.command == COMMAND for lens in found)
    assert all(lens.command is not None and lens.command.arguments == [document.uri] for lens in found)
    return [(lens.range.start.line, lens.command.title) for lens in found if lens.command is not None]


def made(editor: Editor, edit: types.WorkspaceEdit) -> dict[str, str]:
    """The texts after an edit, by the name of the file in the folder; files on the disk stay as they are."""
    texts: dict[str, str] = {}
    for change in edit.document_changes or ():
        if isinstance(change, types.CreateFile):
            texts[change.uri] = ""
        else:
            assert isinstance(change, types.TextDocumentEdit)
            uri = change.text_document.uri
            document = editor.workspace.documents.get(uri)
            before = texts.get(uri, document.data.decode() if document else _on_disk(uri))
            texts[uri] = edited(before, change.edits)
    return {uri.removeprefix(f"{editor.folder.as_uri()}/"): text for uri, text in texts.items()}


def _on_disk(uri: str) -> str:
    path = Path(uri.removeprefix("file://"))
    return path.read_text() if path.exists() else ""


def test_a_lens_says_what_a_request_tries(editor: Editor) -> None:
    """Rules and maps have a lens at their first line, with the patterns before and after."""
    main = editor.open("nginx.conf", MAIN)
    site = editor.open("conf.d/site.conf", SERVER)
    assert seen(editor, site) == [(2, "a request tries 40 patterns here; compile: 0 at most")]
    assert [line for line, _ in seen(editor, main)] == [2]
    assert "a request tries 12 patterns here; compile: " in seen(editor, main)[0][1]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(SERVER.replace(RULES, RULES[: RULES.index("    rewrite ^/old/4")]), id="few"),
        pytest.param(SERVER.replace("listen 80;", "listen 80; }"), id="unreadable"),
        pytest.param(SERVER.replace("permanent", "often"), id="refused"),
        pytest.param("Dear all,\n\nsee you; soon.\n", id="no configuration"),
    ],
)
def test_other_texts_have_no_lens(editor: Editor, text: str) -> None:
    """Lists that a map does not make faster, and texts that nginx does not read, have none."""
    assert seen(editor, editor.open("site.conf", text)) == []


def test_the_action_is_at_its_list(editor: Editor) -> None:
    """The action is offered inside of a list, and nowhere else."""
    editor.open("nginx.conf", MAIN)
    site = editor.open("conf.d/site.conf", SERVER)

    def offered(words: str) -> list[str]:
        at = SERVER.index(words)
        found = list(compile_actions(editor.workspace, Plans(), site, Span(at, at)))
        assert all(action.kind == KIND and action.command is not None for action in found)
        return [action.title for action in found]

    title = "Compile the lists of this file: a request tries at most 0 for 40 patterns of this one"
    assert offered("rewrite ^/old/20$") == offered("permanent") == [title]
    assert offered("listen") == offered("return") == []


def test_the_edit_is_that_of_the_command_line(editor: Editor, tmp_path_factory: pytest.TempPathFactory) -> None:
    """The new files and texts are those that `rewrite-to-map --write` writes; unsaved texts count."""
    from nginxopt.cli import main as run

    editor.write("nginx.conf", MAIN)
    site = editor.change(editor.open("conf.d/site.conf", "server {\n}\n"), SERVER)
    lists = compiled(editor.workspace, site.uri, ABLE)
    assert lists.edit is not None, lists.message
    assert "proved" in lists.message
    texts = made(editor, lists.edit)
    other = tmp_path_factory.mktemp("other")
    (other / "conf.d").mkdir()
    (other / "nginx.conf").write_text(MAIN)
    (other / "conf.d" / "site.conf").write_text(SERVER)
    with pytest.raises(SystemExit) as end:
        run(["rewrite-to-map", str(other / "conf.d" / "site.conf"), "--write"])
    assert not end.value.code
    assert set(texts) == {"nginx.conf", "conf.d/site.conf", *(path.name for path in other.glob("nxo_*.conf"))}
    for name, text in texts.items():
        assert text == (other / name).read_text().replace(str(other), str(editor.folder)), name


def test_a_fragment_alone_gets_its_maps_beside_it(editor: Editor) -> None:
    """Nothing includes the file, so the message says what to add to the http block."""
    site = editor.open("rules.conf", RULES)
    lists = compiled(editor.workspace, site.uri, ABLE)
    assert lists.edit is not None, lists.message
    assert "add to the http block: include" in lists.message
    assert "rules.conf.http" in made(editor, lists.edit)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (SERVER.replace(RULES, "").replace("$part", "x"), "no list of this file would be faster"),
        (
            SERVER.replace("listen 80;", "listen 80; }"),
            "this file is not part of a configuration, or has a syntax error",
        ),
    ],
)
def test_what_does_not_change_says_why(editor: Editor, text: str, said: str) -> None:
    """The command always ends with a message."""
    lists = compiled(editor.workspace, editor.open("site.conf", text).uri, ABLE)
    assert lists.edit is None
    assert said in lists.message


def test_an_editor_that_creates_no_files(editor: Editor) -> None:
    """The maps need a new file, so the message names the command."""
    editor.open("nginx.conf", MAIN)
    lists = compiled(editor.workspace, editor.open("conf.d/site.conf", SERVER).uri, types.ClientCapabilities())
    assert lists.edit is None
    assert "rewrite-to-map --write" in lists.message


def test_a_real_client_compiles(tmp_path: Path) -> None:
    """A client sees the lens, runs its command, and gets an edit with the file of maps, and then a message."""
    (tmp_path / "conf.d").mkdir()
    (tmp_path / "nginx.conf").write_text(MAIN)
    (tmp_path / "conf.d" / "site.conf").write_text(SERVER)

    async def scene() -> None:
        async with session(tmp_path, ABLE) as started:
            edits: list[types.WorkspaceEdit] = []
            told = asyncio.Event()
            client = started.client

            said: list[str] = []

            @client.feature(types.WORKSPACE_APPLY_EDIT)  # type: ignore[untyped-decorator]
            def apply(params: types.ApplyWorkspaceEditParams) -> types.ApplyWorkspaceEditResult:
                edits.append(params.edit)
                return types.ApplyWorkspaceEditResult(applied=True)

            def show(params: types.ShowMessageParams) -> None:
                said.append(params.message)
                told.set()

            client.protocol.fm.features[types.WINDOW_SHOW_MESSAGE] = show
            assert started.capabilities.execute_command_provider is not None
            assert started.capabilities.execute_command_provider.commands == (COMMAND,)
            uri = await started.open("conf.d/site.conf", SERVER)
            found = await client.text_document_code_lens_async(types.CodeLensParams(types.TextDocumentIdentifier(uri)))
            assert found
            command = found[0].command
            assert command is not None
            await client.workspace_execute_command_async(types.ExecuteCommandParams(command.command, command.arguments))
            await asyncio.wait_for(told.wait(), PATIENCE)
            assert "proved" in said[0]
            (edit,) = edits
            created = [each.uri for each in edit.document_changes or () if isinstance(each, types.CreateFile)]
            assert len(created) == 1
            assert created[0].startswith(f"{tmp_path.as_uri()}/nxo_")

    asyncio.run(scene())
