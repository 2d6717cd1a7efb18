"""URIs of an editor that are those of no file."""

from __future__ import annotations

import pytest

from nginxopt.lsp.diagnostics import Judges
from nginxopt.lsp.preferences import Preferences
from nginxopt.lsp.workspace import Workspace, path_of
from nginxopt.version import Version
from tests.rows import every_row


@every_row("uri", ["file:///a%00b.conf", "file:///\0", "file://[x/a.conf", "file:", "untitled:1", ""])
def test_what_no_file_has_is_no_path(uri: str) -> None:
    """A NUL and a host that is no address are no error: one such document would fail all requests after it."""
    assert path_of(uri) is None


@pytest.mark.parametrize("uri", ["file:///a%00b.conf", "file:///" + "a" * 5_000, "untitled:%00"])
def test_a_document_of_no_file_is_judged(uri: str) -> None:
    """It is shown as any other."""
    workspace = Workspace(Preferences(isolated=True, target_version=Version(1, 28, 0)), ["/"])
    document = workspace.open(uri, "events {} http { gzip on; }", 1)
    assert "\0" not in document.path
    assert Judges(workspace).diagnostics(document)


def test_a_path_is_decoded() -> None:
    """The path of a file is what its URI encodes."""
    assert path_of("file:///a%20b/%C3%A9.conf") == "/a b/é.conf"
