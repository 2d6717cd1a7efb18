"""URIs of an editor that are those of no file."""

from __future__ import annotations

import pytest

from nginxopt.lsp.workspace import path_of


@pytest.mark.parametrize("uri", ["file:///a%00b.conf", "file:///\0", "file://[x/a.conf", "file:", "untitled:1", ""])
def test_what_no_file_has_is_no_path(uri: str) -> None:
    """A NUL and a host that is no address are no error: one such document would fail all requests after it."""
    assert path_of(uri) is None


def test_a_path_is_decoded() -> None:
    """The path of a file is what its URI encodes."""
    assert path_of("file:///a%20b/%C3%A9.conf") == "/a b/é.conf"
