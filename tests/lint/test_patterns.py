"""The meaning of file patterns in settings."""

from __future__ import annotations

import glob
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nginxopt.settings import file

TREE = ["a", "b/a", "b/[a]", "b/c/a", "b/c/.a", "b/c/ab.conf", ".d/a", ".d/e/a.conf", "*"]
PIECES = st.sampled_from(["*", "?", "[a]", "[!a]", "[a-c]", "[[]", "a", "b", "c", ".", "..", "*.conf", "[", "]", ".d"])
PATTERNS = st.lists(
    st.one_of(st.just("**"), st.just(".."), st.lists(PIECES, min_size=1, max_size=3).map("".join)),
    min_size=1,
    max_size=4,
).map("/".join)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with files of many names, whose own name looks like a pattern.

    It is so deep that no pattern leads out of the folder of this test: `../../../**` would list what all others write.
    """
    root = tmp_path_factory.mktemp("tree") / "1" / "2" / "3" / "4" / "[x]*"
    for name in TREE:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).touch()
    return root


@given(pattern=PATTERNS)
def test_patterns_are_those_of_glob(tree: Path, pattern: str) -> None:
    """A pattern selects a file if `glob.glob` finds the file, or a folder that contains it, by the same pattern."""
    normal = os.path.normpath(pattern)
    names = glob.glob(normal, root_dir=tree, recursive=True, include_hidden=True)  # noqa: PTH207 - Path.glob differs
    names = [
        name for name in names if not name.endswith("/") or (tree / name).is_dir()
    ]  # some Python takes a/ for a file
    meant = {str(tree / name) for name in map(os.path.normpath, names)}
    for name in TREE:
        path = tree / name
        above = {str(path), *map(str, path.parents)}
        expected = bool(above & {os.path.normpath(path) for path in meant})
        assert file.matches(path, [pattern], tree) == expected, name
