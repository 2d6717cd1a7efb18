"""Whose a file is: its own owner, and those of every directory and link on the way to it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nginxopt import budget
from nginxopt.system import trust

OTHER = 12345
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files to other users")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file in two directories, all of them the user's own."""
    path = tmp_path / "a" / "b" / "file"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"text")
    return path


def test_own_files(file: Path) -> None:
    """A file of the user's own is read, also through its own links and `..`."""
    link = file.parents[1] / "link"
    link.symlink_to(file.parent)
    for path in (file, link / "file", link / ".." / "b" / "file", os.path.relpath(link / "file")):
        assert trust.foreign(path) is None
        assert trust.read(path) == (b"text", None)
    assert trust.foreign_below(file.parents[1]) is None


@as_root
@pytest.mark.parametrize("up", range(3))
def test_each_owner_on_the_way_counts(file: Path, up: int) -> None:
    """The file, its directory, and one above that."""
    part = [file, *file.parents][up]
    os.chown(part, OTHER, -1)
    reason = f"{part} belongs to another user"
    assert trust.foreign(file) == reason
    assert trust.read(file) == (b"text", reason)


def test_anybody_may_own_the_root_directory(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a user namespace, `/` may belong to a user outside of it."""
    monkeypatch.setattr(trust, "_owners", set)
    assert trust.foreign("/") is None
    assert trust.foreign(file) == f"/{file.parts[1]} belongs to another user"


@as_root
def test_links(file: Path) -> None:
    """A link of another user, a link to another user's file, and one that leads through a directory of theirs."""
    folder = file.parents[1]
    theirs = folder / "theirs"
    theirs.symlink_to(file)
    os.chown(theirs, OTHER, -1, follow_symlinks=False)
    assert trust.foreign(theirs) == f"{theirs} belongs to another user"
    through = folder / "c"
    through.mkdir()
    (through / "back").symlink_to(file)
    ours = folder / "ours"
    ours.symlink_to(through / "back")
    assert trust.foreign(ours) is None
    os.chown(through, OTHER, -1)
    assert trust.foreign(ours) == f"{through} belongs to another user"


@pytest.mark.parametrize(
    ("mode", "is_own"), [(0o777, False), (0o1777, True), (0o757, False), (0o755, True), (0o700, True)]
)
def test_who_may_write(file: Path, mode: int, is_own: bool) -> None:
    """A directory that everybody may write to is nobody's own, unless it is sticky as /tmp is."""
    file.parent.chmod(mode)
    assert (trust.foreign(file) is None) == is_own
    file.parent.chmod(0o755)
    file.chmod(mode & 0o777)
    assert (trust.foreign(file) is None) == (not mode & 0o002)


@as_root
def test_groups(file: Path) -> None:
    """A group may write if it is root's or has only the owner; any other makes the file foreign."""
    file.chmod(0o664)
    assert trust.foreign(file) is None
    os.chown(file, 0, 1)
    assert trust.foreign(file) == f"other users may write to {file}"


@as_root
def test_sudo(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What belongs to the user who called sudo is root's own; a variable that is no number changes nothing."""
    os.chown(file, OTHER, -1)
    for value, is_own in ((str(OTHER), True), (str(OTHER + 1), False), ("", False), ("x", False)):
        monkeypatch.setenv("SUDO_UID", value)
        assert (trust.foreign(file) is None) == is_own


def test_what_is_no_file(tmp_path: Path) -> None:
    """A pipe, a directory and a link to itself are errors, and stop nothing."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for name in ("pipe", "loop", "none", "."):
        with pytest.raises(OSError, match=r"[a-z]"):
            trust.read(tmp_path / name)
    with pytest.raises(OSError, match="too many links"):
        trust.foreign(tmp_path / "loop")


def test_a_file_that_is_replaced(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that another one takes the place of between opening and looking is nobody's own."""
    new = file.with_name("new")
    new.write_bytes(b"new")
    fstat = os.fstat

    def replace(descriptor: int) -> os.stat_result:
        found = fstat(descriptor)
        if new.exists():
            new.replace(file)
        return found

    monkeypatch.setattr(os, "fstat", replace)
    data, reason = trust.read(file)
    assert (data, reason) == (b"text", f"{file} was replaced while it was looked at")


def test_what_has_no_size_is_not_read() -> None:
    """A file of `/proc` may wait for what never comes: as many bytes are read as its size says."""
    assert trust.read("/proc/self/environ")[0] == b""


def test_a_sparse_file_is_refused_by_its_size(tmp_path: Path) -> None:
    """A file of many gigabytes is refused before it is read."""
    with (tmp_path / "file").open("wb") as file:
        file.truncate(10 * 1024**3)
    with pytest.raises(budget.ExceededError, match="budget bytes"):
        trust.read(tmp_path / "file")
