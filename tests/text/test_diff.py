"""Edits and diffs: `patch` makes of the old text what the edits make of it."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nginxopt.text import Edit, Span, apply, diff
from tests.rows import every_row

TEXTS = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\r\n", b"\n", b"dd", b"e e\n"]), max_size=30).map(b"".join)


@st.composite
def edited(draw: st.DrawFn) -> tuple[bytes, list[Edit]]:
    """A text and edits of it that do not overlap."""
    text = draw(TEXTS)
    cuts = sorted(draw(st.lists(st.integers(0, len(text)), max_size=8)))
    spans = [Span(start, end) for start, end in zip(cuts[::2], cuts[1::2], strict=False)]
    return text, [Edit(span, draw(st.sampled_from([b"", b"x", b"y\n", b"z\nz\n"]))) for span in spans]


@pytest.mark.skipif(shutil.which("patch") is None, reason="patch(1) is not installed")
@given(edited())
def test_patch_applies_the_diff(tmp_path_factory: pytest.TempPathFactory, case: tuple[bytes, list[Edit]]) -> None:
    """`patch` takes every diff, and gives the edited text."""
    old, edits = case
    text = diff.unified(old, edits, "f")
    assert (text == b"") == (apply(old, edits) == old)
    folder = tmp_path_factory.mktemp("diff")
    (folder / "f").write_bytes(old)
    if text:
        done = subprocess.run(["patch", "--binary", "f"], cwd=folder, input=text, capture_output=True, check=False)
        assert done.returncode == 0, done.stdout
    after = (folder / "f").read_bytes() if (folder / "f").exists() else b""
    assert after == apply(old, edits)


def test_new_file() -> None:
    """A new file is a diff from nothing."""
    assert diff.added(b"a\nb", "n") == b"--- /dev/null\n+++ n\n@@ -0,0 +1,2 @@\n+a\n+b\n\\ No newline at end of file\n"


NAMES = {
    "a/b.conf": b"a/b.conf",
    "caf\u00e9.conf": b"caf\xc3\xa9.conf",
    "it's.conf": b"it's.conf",
    "a b.conf": b"a b.conf\t",
    "my sites/a  b": b"my sites/a  b\t",
    "a 2020-01-01 10:00:00 +0000": b"a 2020-01-01 10:00:00 +0000\t",
    " a": b'" a"',
    "a b ": b'"a b "',
    "a\nb": b'"a\\nb"',
    "\a\b\t\v\f\r": b'"\\a\\b\\t\\v\\f\\r"',
    "\x01\x1b[1m\x7f2": b'"\\001\\033[1m\\1772"',
    'a"\\b c': b'"a\\"\\\\b c"',
    "\u202ea\xa0\u00e9": b'"\\342\\200\\256a\\302\\240\xc3\xa9"',
    "\udcff.conf": b'"\\377.conf"',
}
"""Names, and how a diff writes them."""

APPLYING = {"patch": ["patch", "-p0"], "git": ["git", "apply", "-p0", "-"]}


@every_row("name", NAMES)
def test_names(name: str) -> None:
    """A name with a space is followed by a tab, and one that is not a printable line is quoted."""
    written = NAMES[name]
    change = diff.unified(b"a\n", [Edit(Span(0, 1), b"b")], name)
    assert change == b"--- %s\n+++ %s\n@@ -1,1 +1,1 @@\n-a\n+b\n" % (written, written)
    assert diff.added(b"b\n", name) == b"--- /dev/null\n+++ %s\n@@ -0,0 +1,1 @@\n+b\n" % written


@every_row("name", NAMES)
@every_row("program", APPLYING)
def test_names_are_read(tmp_path: Path, program: str, name: str) -> None:
    """`patch` and `git apply` change and create the file that a diff names."""
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")
    path = tmp_path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    for text in (diff.added(b"a\n", name), diff.unified(b"a\n", [Edit(Span(0, 1), b"b")], name)):
        done = subprocess.run(APPLYING[program], cwd=tmp_path, input=text, capture_output=True, check=False)
        assert done.returncode == 0, done
    assert path.read_bytes() == b"b\n"
    assert [Path(folder, file) for folder, _, files in os.walk(tmp_path) for file in files] == [path]


def test_overlapping_edits_are_refused() -> None:
    """Two edits of one byte are a mistake of the caller."""
    with pytest.raises(ValueError, match="overlap"):
        apply(b"abc", [Edit(Span(0, 2), b""), Edit(Span(1, 3), b"")])


def test_insertions_keep_their_order() -> None:
    """What is put at one place stays in the order given, before what replaces text from there on."""
    edits = [Edit(Span(1, 2), b"X"), Edit(Span(1, 1), b"1"), Edit(Span(1, 1), b"2")]
    assert apply(b"abc", edits) == b"a12Xc"
