"""Files are written all or none, whatever fails; links, modes and attributes stay; nothing is left behind."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from nginxopt.errors import InputError
from nginxopt.system.files import BACKUP, sweep, write_all
from tests.faults import Faults

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounts and other users are root's")

NOBODY = 65534
ERRORS = (errno.EIO, errno.ENOSPC, errno.EPERM, errno.EBUSY, errno.EXDEV, errno.EMLINK)


def hidden(folder: Path) -> list[str]:
    """The hidden names in a folder."""
    return sorted(path.name for path in folder.iterdir() if path.name.startswith("."))


def texts(folder: Path) -> dict[str, bytes]:
    """What stands in the files of a folder that are not hidden."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if not path.name.startswith(".")}


def write(folder: Path, **named: bytes) -> None:
    """Make files in a folder."""
    for name, text in named.items():
        (folder / name).write_bytes(text)


def acl(*entries: tuple[int, int, int]) -> bytes:
    """An access control list as in linux/posix_acl_xattr.h: tag, permissions and id of each entry."""
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


NO_ID = 0xFFFFFFFF
ACL = acl((1, 6, NO_ID), (2, 4, NOBODY), (4, 4, NO_ID), (16, 4, NO_ID), (32, 0, NO_ID))


# ---- what is written


def test_new_and_old_files(tmp_path: Path) -> None:
    """A file that is not there is made, another one is replaced, and nothing else is left in the folder."""
    write(tmp_path, old=b"1")
    made, replaced = write_all({str(tmp_path / "new"): b"2", str(tmp_path / "old"): b"3"})
    assert texts(tmp_path) == {"new": b"2", "old": b"3"}
    assert (made.copy, made.in_place, replaced.copy, replaced.in_place) == (None, None, None, None)
    assert hidden(tmp_path) == []


def test_a_new_file_has_the_usual_mode(tmp_path: Path) -> None:
    """A new file has the mode of any file that is made here, or that of the one it is said to be like."""
    write(tmp_path, secret=b"", usual=b"")
    (tmp_path / "secret").chmod(0o440)
    path = str(tmp_path / "maps")
    write_all({str(tmp_path / "new"): b"", path: b""}, like={path: str(tmp_path / "secret")})
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "usual").stat().st_mode
    assert stat.S_IMODE((tmp_path / "maps").stat().st_mode) == 0o640


@needs_root
def test_owner_mode_and_attributes_stay(tmp_path: Path) -> None:
    """A replaced file keeps its owner, its mode, its extended attributes and its access control list."""
    write(tmp_path, a=b"1")
    file = tmp_path / "a"
    os.chown(file, NOBODY, 1234)
    file.chmod(0o640)
    os.setxattr(file, "user.note", b"mine")
    os.setxattr(file, "trusted.note", b"root's")
    os.setxattr(file, "system.posix_acl_access", ACL)
    before = file.stat()
    path = str(tmp_path / "maps")
    write_all({str(file): b"2", path: b"3"}, like={path: str(file)}, keep_old=True)
    for name in ("a", ".a.nginxopt-orig"):
        after = (tmp_path / name).stat()
        assert (after.st_uid, after.st_gid, after.st_mode) == (NOBODY, 1234, before.st_mode)
        assert os.getxattr(tmp_path / name, "user.note") == b"mine"
        assert os.getxattr(tmp_path / name, "trusted.note") == b"root's"
        assert os.getxattr(tmp_path / name, "system.posix_acl_access") == ACL
    assert before.st_ino != file.stat().st_ino
    made = (tmp_path / "maps").stat()
    assert (made.st_uid, made.st_gid, made.st_mode) == (NOBODY, 1234, before.st_mode)
    assert os.listxattr(tmp_path / "maps") == ["system.posix_acl_access"]


def test_a_default_access_control_list_adds_nothing(tmp_path: Path) -> None:
    """A file without a list has none afterwards, in a folder that gives one to what is made there."""
    write(tmp_path, a=b"1")
    (tmp_path / "a").chmod(0o640)
    os.setxattr(tmp_path, "system.posix_acl_default", ACL)
    path = str(tmp_path / "maps")
    write_all({str(tmp_path / "a"): b"2", path: b"3"}, like={path: str(tmp_path / "a")})
    for name in ("a", "maps"):
        assert os.listxattr(tmp_path / name) == []
        assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o640


def test_a_symbolic_link_stays(tmp_path: Path) -> None:
    """The file that a link leads to is written, be it there or not; a link to a link as well."""
    write(tmp_path, a=b"1")
    (tmp_path / "link").symlink_to("a")
    (tmp_path / "again").symlink_to(tmp_path / "link")
    (tmp_path / "dangling").symlink_to("new")
    (one, _) = write_all({str(tmp_path / "again"): b"2", str(tmp_path / "dangling"): b"3"}, keep_old=True)
    assert texts(tmp_path) == {"a": b"2", "link": b"2", "again": b"2", "dangling": b"3", "new": b"3"}
    assert all((tmp_path / name).is_symlink() for name in ("link", "again", "dangling"))
    subprocess.run(one.undo, shell=True, check=True)
    assert (tmp_path / "again").is_symlink()
    assert (tmp_path / "a").read_bytes() == b"1"


def test_hard_links_stay(tmp_path: Path) -> None:
    """A file with several names is written in place, and a copy of its old text is kept."""
    write(tmp_path, a=b"old text")
    os.link(tmp_path / "a", tmp_path / "b")
    (one,) = write_all({str(tmp_path / "a"): b"new"})
    assert texts(tmp_path) == {"a": b"new", "b": b"new"}
    assert (tmp_path / "a").samefile(tmp_path / "b")
    assert one.in_place == "it has several names (hard links)"
    assert one.copy is not None
    assert one.copy.read_bytes() == b"old text"
    subprocess.run(one.undo, shell=True, check=True)
    assert texts(tmp_path) == {"a": b"old text", "b": b"old text"}


def test_one_file_by_two_names(tmp_path: Path) -> None:
    """A file that is named twice is written once; two texts for it are refused."""
    write(tmp_path, a=b"1")
    os.link(tmp_path / "a", tmp_path / "b")
    (tmp_path / "c").symlink_to("a")
    assert len(write_all({str(tmp_path / name): b"2" for name in "abc"})) == 1
    assert texts(tmp_path) == {"a": b"2", "b": b"2", "c": b"2"}
    with pytest.raises(InputError, match=r"is the same file as .*a, with a different new text; nothing was writ"):
        write_all({str(tmp_path / "a"): b"3", str(tmp_path / "b"): b"4"})
    assert texts(tmp_path) == {"a": b"2", "b": b"2", "c": b"2"}


NAMES = (b"a" * 255, b"new\nline", b"\xff\xfe", "ü".encode() * 127, b"-n", b"a b'c")


@pytest.mark.parametrize("name", NAMES, ids=repr)
def test_any_name(tmp_path: Path, name: bytes) -> None:
    """Files of any name, as long as they may be, are written, and their old text is kept."""
    file = tmp_path / os.fsdecode(name)
    file.write_bytes(b"1")
    for round_ in (b"2", b"3"):
        (one,) = write_all({str(file): round_}, keep_old=True)
        assert file.read_bytes() == round_
        assert one.copy is not None
        assert one.copy.name.startswith(".")
    assert len(hidden(tmp_path)) == 2
    subprocess.run(one.undo, shell=True, check=True, cwd=tmp_path)
    assert file.read_bytes() == b"2"


def test_relative_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path may be relative, with and without a folder."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    write(tmp_path, a=b"1")
    write_all({"a": b"2", "sub/b": b"3", "./sub/../c": b"4"}, read={"a": b"1"}, keep_old=True)
    assert (Path("a").read_bytes(), Path("sub/b").read_bytes(), Path("c").read_bytes()) == (b"2", b"3", b"4")


def test_the_same_old_text_is_kept_once(tmp_path: Path) -> None:
    """A copy that holds the same is not made again; one of another text, and a link, are left alone."""
    write(tmp_path, a=b"1")
    (tmp_path / f".a.{BACKUP}").symlink_to("a")
    kept = []
    for text in (b"2", b"1", b"2"):
        (one,) = write_all({str(tmp_path / "a"): text}, keep_old=True)
        kept.append(one.copy and one.copy.name)
    assert kept == [".a.nginxopt-orig2", ".a.nginxopt-orig3", ".a.nginxopt-orig2"]


# ---- what is not a regular file


def test_a_device_is_written_to(tmp_path: Path) -> None:
    """/dev/null stays a device, by its name and by a link."""
    before = Path("/dev/null").stat()
    (tmp_path / "link").symlink_to("/dev/null")
    assert write_all({"/dev/null": b"text", str(tmp_path / "link"): b"text"}) == ()
    assert os.path.samestat(Path("/dev/null").stat(), before)
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_a_full_device_is_an_error() -> None:
    """What a device does not take is an error."""
    with pytest.raises(InputError, match=r"^cannot be written: No space left on device") as raised:
        write_all({"/dev/full": b"text"})
    assert raised.value.path == "/dev/full"


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    """Whoever reads a named pipe gets the text; it stays a pipe."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    taken: list[bytes] = []
    reader = threading.Thread(target=lambda: taken.append(pipe.read_bytes()))
    reader.start()
    write_all({str(pipe): b"text"})
    reader.join()
    assert taken == [b"text"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    with pytest.raises(InputError, match="is not a regular file, so it cannot be changed; nothing was written"):
        write_all({str(pipe): b"text"}, read={str(pipe): b""})


@pytest.mark.parametrize("name", ["/dev/stdout", "/proc/self/fd/1", "/dev/fd/1", "link"])
@pytest.mark.parametrize("kind", ["file", "pipe"])
def test_standard_output_is_written_to(tmp_path: Path, name: str, kind: str) -> None:
    """/dev/stdout is what standard output is, and goes on where that has come to."""
    (tmp_path / "link").symlink_to("/dev/stdout")
    script = f"import os; os.write(1, b'1'); from nginxopt.system.files import write_all; write_all({{{name!r}: b'2'}})"
    command = [sys.executable, "-c", script + "; os.write(1, b'3')"]
    if kind == "pipe":
        said = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True).stdout
    else:
        out = tmp_path / "out"
        out.write_bytes(b"0")
        with out.open("ab") as file:
            subprocess.run(command, cwd=tmp_path, stdout=file, check=True)
        said = out.read_bytes().removeprefix(b"0")
    assert said == b"123"


@pytest.mark.parametrize("name", ["folder", "missing/a", "a/b", "loop"])
def test_what_cannot_be_a_file(tmp_path: Path, name: str) -> None:
    """A folder, one that is missing, a file in the place of one, links in a circle: an error, and nothing written."""
    write(tmp_path, a=b"1")
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(InputError, match=r"^cannot be written: .*; nothing was written") as raised:
        write_all({str(tmp_path / "a"): b"2", str(tmp_path / name): b"3"}, keep_old=True)
    assert raised.value.path == str(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == b"1"
    assert hidden(tmp_path) == []


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

    def made(old: str, new: str, **named: bool) -> None:
        (tmp_path / "new").write_bytes(b"theirs")
        link(old, new, **named)

    monkeypatch.setattr(os, "link", made)
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


def test_what_cannot_be_undone_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If a call fails from some moment on, the message names each file that is not as it was, and where its text is."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    told = 0
    for scene, faults, failure in attempts(tmp_path / "folder", keep_old=False, forever=True):
        now = texts(scene.folder)
        if failure is None:
            assert now == scene.after
            continue
        for name in scene.NAMES:
            if now.get(name) == scene.old.get(name):
                continue
            told += 1
            assert f"{scene.folder / name} " in failure.message, faults.failed
            if name in scene.old:
                place = failure.message.partition(f"{scene.folder / name} ")[2].partition("old text is in ")[2]
                assert Path(place.partition(";")[0].partition(" (")[0]).read_bytes() == scene.old[name]
    assert told > 5


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
            self.inode.get(one) == self.inode.get(two, two) and new[one] != new[two] for one in new for two in new
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
