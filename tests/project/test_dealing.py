"""Tests are dealt to processes one by one, but for those of one group."""

from __future__ import annotations

from pathlib import Path

from tests.dealing import TOGETHER, scope
from tests.support import ROOT


def test_the_groups_are_of_files() -> None:
    """Each file that is named is there."""
    assert [name for name in TOGETHER if not (ROOT / name).is_file()] == []


def test_a_group_is_dealt_to_one_process() -> None:
    """Tests of a group have one scope, others each their own."""
    build, other = "tests/project/test_packaging.py", f"tests/project/{Path(__file__).name}"
    assert scope(f"{build}::a[x::y]") == scope(f"{build}::b") == scope("tests/project/test_pre_commit.py::c")
    assert len({scope(f"{build}::a"), scope(f"{other}::a"), scope(f"{other}::b")}) == 3
