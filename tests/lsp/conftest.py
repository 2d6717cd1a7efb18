"""Fixtures of the tests of the language server."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lsp.editing import Editor


@pytest.fixture
def editor(tmp_path: Path) -> Editor:
    """An editor with an empty folder open."""
    (tmp_path / ".git").mkdir()  # settings of folders above do not count
    return Editor(tmp_path)
