"""All files are written or none, whatever fails or changes meanwhile; nothing is left behind."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from nginxopt.errors import InputError
from nginxopt.system.files import BACKUP, sweep, write_all
from tests.faults import Faults
from tests.system.places import hidden, needs_root, texts, write

ERRORS = (errno.EIO, errno.ENOSPC, errno.EPERM, errno.EBUSY, errno.EXDEV, errno.EMLINK)


# ---- what must not be written


def test_a_read_only_file_is_refused(tmp_path: Path) -> None:
    """A file that nobody may write is not replaced, not even by root, and neither are the others."""
    write(tmp_path, a=b"1", b=b"1")
    (tmp_path / "b").chmod(0o444)
    with pytest.raises(InputError, match=r"^is read-only \(mode 0444\); nothing was written") as raised:
        write_all({str(tmp_path / "a"): b"2", str(tmp_path / "b"): b"2"})
    assert "chmod u+w" in (raised.value.hint or "")
    assert texts(tmp_path) == {"a": b"1", "b": b"1"}


@needs_root
def test_an_immutable_file_is_refused(tmp_path: Path) -> None:
    """What chattr +i protects stays, and so do the others."""
    write(tmp_path, a=b"1", b=b"1")
    if subprocess.run(["chattr", "+i", tmp_path / "b"], capture_output=True, check=False).returncode:
        pytest.skip("no chattr +i on this file system")
    try:
        with pytest.raises(InputError, match=r"^cannot be written: Operation not permitted; nothing was written"):
            write_all({str(tmp_path / "a"): b"2", str(tmp_path / "b"): b"2"})
        assert texts(tmp_path) == {"a": b"1", "b": b"1"}
    finally:
        subprocess.run(["chattr", "-i", tmp_path / "b"], check=True)


@pytest.mark.parametrize("change", ["other text", "gone", "a folder"])
def test_an_edit_in_the_meantime_is_not_lost(tmp_path: Path, change: str) -> None:
    """A file that is not what was read is an error, whether it was to be written or not."""
    write(tmp_path, a=b"1", b=b"1")
    file = tmp_path / "b"
    if change == "other text":
        file.write_bytes(b"edited")
    else:
        file.unlink()
    if change == "a folder":
        file.mkdir()
    read = {str(tmp_path / name): b"1" for name in "ab"}
    with pytest.raises(InputError, match=r"^changed during this command; nothing was written") as raised:
        write_all({str(tmp_path / "a"): b"2"}, read=read)
    assert raised.value.path == str(file)
    assert (tmp_path / "a").read_bytes() == b"1"


def test_an_edit_in_the_last_moment_is_not_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Text that comes into a file between the last look and the rename is still there, and the others are restored."""
    write(tmp_path, a=b"1", b=b"1")
    rename = os.rename

    def edited(old: str, new: str) -> None:
        if str(new).endswith("b"):
            (tmp_path / "b").write_bytes(b"edited")
        rename(old, new)

    monkeypatch.setattr(os, "rename", edited)
    with pytest.raises(InputError, match="changed during this command; nothing was written"):
        write_all({str(tmp_path / name): b"2" for name in "ab"}, read={str(tmp_path / name): b"1" for name in "ab"})
    monkeypatch.undo()
    assert texts(tmp_path) == {"a": b"1", "b": b"edited"}
    assert hidden(tmp_path) == []


def test_a_file_that_appears_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A new file does not take the place of one that somebody else has made by then."""
    link = os.link

    def link_too_late(old: str, new: str, **named: bool) -> None:
        (tmp_path / "new").write_bytes(b"theirs")
        link(old, new, **named)

    monkeypatch.setattr(os, "link", link_too_late)
    with pytest.raises(InputError, match="changed during this command; nothing was written"):
        write_all({str(tmp_path / "new"): b"ours"})
    assert texts(tmp_path) == {"new": b"theirs"}


# ---- what fails


class Scene:
    """A folder with a file of each kind, and what must be true of it at any time."""

    NAMES = ("plain", "linked", "new", "link")

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        write(folder, plain=b"old plain text", linked=b"old linked text", target=b"old target", bystander=b"")
        os.link(folder / "linked", folder / "other")
        (folder / "link").symlink_to("target")
        (folder / "plain").chmod(0o640)
        os.setxattr(folder / "plain", "user.note", b"mine")
        self.old = texts(folder)
        self.new = {name: b"new text of " + name.encode() + b" " * 9000 for name in self.NAMES}
        self.after = {**self.old, **self.new, "other": self.new["linked"], "target": self.new["link"]}

    def write(self, *, keep_old: bool) -> None:
        """Write all the new texts."""
        read = {str(self.folder / name): text for name, text in self.old.items() if name in self.NAMES}
        write_all({str(self.folder / name): self.new[name] for name in self.NAMES}, read=read, keep_old=keep_old)

    def check(self) -> None:
        """What is no text is as it was."""
        assert (self.folder / "linked").samefile(self.folder / "other")
        assert (self.folder / "link").is_symlink()
        assert stat.S_IMODE((self.folder / "plain").stat().st_mode) == 0o640
        assert os.getxattr(self.folder / "plain", "user.note") == b"mine"


def attempts(folder: Path, keep_old: bool, **how: bool) -> Iterator[tuple[Scene, Faults, InputError | None]]:
    """The same write, with each of its system calls failing in turn; the error that it ends with."""
    for error in ERRORS:
        at = 0
        while True:
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            scene, faults, failure = Scene(folder), Faults(at, error, **how), None
            with faults:
                try:
                    scene.write(keep_old=keep_old)
                except InputError as raised:
                    failure = raised
            yield scene, faults, failure
            if faults.failed is None:
                break
            at += 1


@pytest.mark.slow
@pytest.mark.no_cover
@pytest.mark.parametrize("keep_old", [False, True])
def test_all_or_none_whatever_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, keep_old: bool) -> None:
    """If any one system call fails, all files hold the new texts or all the old ones; nothing else is left."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    outcomes = {"old": 0, "new": 0}
    for scene, faults, failure in attempts(tmp_path / "folder", keep_old):
        scene.check()
        assert texts(scene.folder) == (scene.old if failure else scene.after), (faults.failed, failure)
        if failure:
            assert failure.message.endswith("; nothing was written")
        outcomes["old" if failure else "new"] += 1
        sweep([scene.folder])
        copies = {f".{name}.{BACKUP}" for name in ("plain", "linked", "target")}
        assert set(hidden(scene.folder)) <= copies, faults.failed
        assert not failure or hidden(scene.folder) == [] or faults.failed == "unlink"
        if faults.failed is None:
            assert set(hidden(scene.folder)) == (copies if keep_old else {f".linked.{BACKUP}"})
    assert min(outcomes.values()) > 20, outcomes


@pytest.mark.slow
def test_what_cannot_be_undone_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If all calls from some moment on fail, the message names each changed file and where its old text is."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    named = 0
    for scene, faults, failure in attempts(tmp_path / "folder", keep_old=False, forever=True):
        now = texts(scene.folder)
        if failure is None:
            assert now == scene.after
            continue
        for name in scene.NAMES:
            if now.get(name) == scene.old.get(name):
                continue
            named += 1
            assert f"{scene.folder / name} " in failure.message, faults.failed
            if name in scene.old:
                place = failure.message.partition(f"{scene.folder / name} ")[2].partition("old text is in ")[2]
                assert Path(place.partition(";")[0].partition(" (")[0]).read_bytes() == scene.old[name]
    assert named > 5


class Writes(RuleBasedStateMachine):
    """Files with links, in any order of writes, edits and failures, beside what they must hold."""

    names = st.sampled_from(["a", "b", "c", "d", "e"])
    text = st.binary(max_size=20)

    @initialize()
    def begin(self) -> None:
        """An empty folder."""
        self.above = Path(tempfile.mkdtemp())
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(tempfile, "tempdir", str(self.above))
        self.folder = self.above / "folder"
        self.folder.mkdir()
        self.holds: dict[str, bytes] = {}
        self.inode: dict[str, str] = {}  # the name that stands for a file with several

    def same(self, name: str) -> set[str]:
        """All names of a file."""
        return {other for other, first in self.inode.items() if first == self.inode[name]}

    def put(self, name: str, text: bytes) -> None:
        """Note that a file holds a text."""
        self.inode.setdefault(name, name)
        self.holds |= dict.fromkeys(self.same(name), text)

    @rule(name=names, text=text)
    def edit(self, name: str, text: bytes) -> None:
        """Somebody else writes a file."""
        (self.folder / name).write_bytes(text)
        self.put(name, text)

    @rule(name=names, other=names, symbolic=st.booleans())
    def link(self, name: str, other: str, symbolic: bool) -> None:
        """Somebody else gives a file another name."""
        if name in self.holds and other not in self.holds:
            if symbolic:
                (self.folder / other).symlink_to(name)
            else:
                os.link(self.folder / name, self.folder / other)
            self.inode[other] = self.inode[name]
            self.holds[other] = self.holds[name]

    @rule(
        new=st.dictionaries(names, text, min_size=1),
        stale=st.booleans(),
        keep_old=st.booleans(),
        at=st.none() | st.integers(0, 80),
        error=st.sampled_from(ERRORS),
    )
    def write(self, new: dict[str, bytes], stale: bool, keep_old: bool, at: int | None, error: int) -> None:
        """All are written or none."""
        read = {str(self.folder / name): text for name, text in self.holds.items()}
        if stale and read:
            read[next(iter(read))] += b"!"
        groups = [self.inode.get(name, name) for name in new]
        clash = any(
            self.inode.get(first) == self.inode.get(second, second) and new[first] != new[second]
            for first in new
            for second in new
        )
        try:
            with Faults(at, error) as faults:
                write_all({str(self.folder / name): text for name, text in new.items()}, read=read, keep_old=keep_old)
        except InputError:
            assert clash or (stale and read) or faults.failed
            return
        assert not clash
        assert not (stale and read)
        assert len(groups) == len(new)
        for name, text in new.items():
            self.put(name, text)

    @invariant()
    def holds_what_it_must(self) -> None:
        """Every file holds what it must, and no hidden file is left but copies."""
        if hasattr(self, "folder"):
            assert texts(self.folder) == self.holds
            sweep([self.folder])
            assert all(BACKUP in name for name in hidden(self.folder))

    def teardown(self) -> None:
        """Remove the folder."""
        if hasattr(self, "folder"):
            self.patch.undo()
            shutil.rmtree(self.above)


TestWrites = Writes.TestCase


TestWrites.settings = settings(max_examples=60, stateful_step_count=12, deadline=None)
