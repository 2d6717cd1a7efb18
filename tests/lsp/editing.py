"""What tests of the language server need: a workspace with files in it, and an editor's view of one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from lsprotocol.types import Diagnostic, Position, Range, TextEdit

from nginxopt.lsp.diagnostics import Judges
from nginxopt.lsp.document import Document
from nginxopt.lsp.lines import Lines
from nginxopt.lsp.preferences import Preferences
from nginxopt.lsp.workspace import Workspace
from nginxopt.text import Edit, Span, apply
from nginxopt.version import Version

TARGET = Version(1, 28, 0)

MAIN = """\
worker_processes auto;
events { worker_connections 1024; }
http {
    upstream app { server 192.0.2.1:8080; }
    include conf.d/*.conf;
}
"""

SITE = """\
server {
    listen 80;
    location / {
        proxy_pass http://app;
    }
}
"""


class Editor:
    """A workspace in a folder, and the documents that are open in it."""

    def __init__(self, folder: Path, encoding: str = "utf-16") -> None:
        self.folder = folder
        self.workspace = Workspace(Preferences(target_version=TARGET, run=True), [str(folder)], encoding)
        self.judges = Judges(self.workspace)

    def write(self, name: str, text: str | bytes) -> str:
        """Write a file, and return its URI."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        self.workspace.forget()
        return path.as_uri()

    def open(self, name: str, text: str, *, unsaved: bool = False) -> Document:
        """Open a file with a text, which is on the disk unless it is unsaved."""
        uri = (self.folder / name).as_uri() if unsaved else self.write(name, text)
        return self.workspace.open(uri, text, 1)

    def change(self, document: Document, text: str) -> Document:
        """Put another text in place of that of a document."""
        self.workspace.change(document.uri, text, (document.version or 0) + 1)
        return self.workspace.documents[document.uri]

    def diagnostics(self, document: Document) -> list[Diagnostic]:
        """Return the diagnostics of the document as it is now."""
        return self.judges.diagnostics(self.workspace.documents[document.uri])

    def codes(self, document: Document) -> set[str]:
        """Return the rules of the diagnostics of a document."""
        return {str(diagnostic.code) for diagnostic in self.diagnostics(document)}


def edited(text: str, edits: Sequence[TextEdit | Any]) -> str:
    """Return a text with the edits of an editor, which count in UTF-16."""
    lines = Lines(text.encode())
    spans = [Span(lines.offset(edit.range.start), lines.offset(edit.range.end)) for edit in edits]
    changes = [Edit(span, edit.new_text.encode()) for span, edit in zip(spans, edits, strict=True)]
    return apply(text.encode(), changes).decode()


def at(text: str, words: str, within: int = 0) -> Position:
    """Return the position of the first occurrence of words in an ASCII text, or of a character in them."""
    before = text[: text.index(words) + within]
    return Position(before.count("\n"), len(before) - before.rfind("\n") - 1)


def over(text: str, words: str) -> Range:
    """Return the range of the first occurrence of words in an ASCII text."""
    return Range(at(text, words), at(text, words, len(words)))
