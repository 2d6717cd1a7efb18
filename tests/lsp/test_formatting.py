"""A document is formatted as by `nginxopt format`."""

from __future__ import annotations

import pytest
from lsprotocol import types

from nginxopt.format import IndentStyle, formatted
from nginxopt.lsp.document import Document
from nginxopt.lsp.formatting import format_document
from tests.lsp.editing import Editor, edited

_UGLY = "server {\nlisten 80;location / {\n\n\n  return 204; # é😀\n  }  }\n"


def result(editor: Editor, document: Document, width: int = 2, *, spaces: bool = True) -> str | None:
    """Return the text of a document after it was formatted; None if it cannot be."""
    options = types.FormattingOptions(width, spaces)
    params = types.DocumentFormattingParams(types.TextDocumentIdentifier(document.uri), options)
    changes = format_document(editor.workspace, params)
    return None if changes is None else edited(document.data.decode(), changes)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_a_document_is_formatted_like_by_the_command(editor: Editor, end: str) -> None:
    """Without settings, the editor says how wide an indentation is, and whether it is a tab."""
    document = editor.open("a.conf", _UGLY.replace("\n", end))
    assert result(editor, document) == formatted(document.data, IndentStyle(2)).decode()
    assert result(editor, document, spaces=False) == formatted(document.data, IndentStyle(2, tabs=True)).decode()
    assert result(editor, document, 99) == formatted(document.data, IndentStyle()).decode()


def test_settings_count_more_than_the_editor(editor: Editor) -> None:
    """With a settings file, its indentation is that of everybody."""
    editor.write("nginxopt.toml", "[format]\nindent-width = 3\n")
    document = editor.open("a.conf", _UGLY)
    assert result(editor, document) == formatted(document.data, IndentStyle(3)).decode()


def test_what_cannot_be_read_stays(editor: Editor) -> None:
    """A text that does not parse, a template, or the file of another program is not formatted."""
    document = editor.open("a.conf", _UGLY)
    assert result(editor, editor.change(document, _UGLY + "}")) is None
    assert result(editor, editor.change(document, _UGLY.replace("80", "{{ port }}"))) is None
    assert result(editor, editor.open("b.conf", "[Unit]\nA=b\n")) is None
