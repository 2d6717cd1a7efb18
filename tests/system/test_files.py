"""Writing files: links, modes and attributes stay; devices and pipes are written to."""

from __future__ import annotations

import os
import stat
import struct
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from nginxopt.errors import InputError
from nginxopt.system import files
from nginxopt.system.files import BACKUP, write_all
from nginxopt.system.writing import targets
from tests.rows import every_row
from tests.system.places import NAMES, hidden, needs_root, texts, write

NOBODY = 65534


def acl(*entries: tuple[int, int, int]) -> bytes:
    """An access control list as in linux/posix_acl_xattr.h: tag, permissions and id of each entry."""
    return struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *entry) for entry in entries)


NO_ID = 0xFFFFFFFF


ACL = acl((1, 6, NO_ID), (2, 4, NOBODY), (4, 4, NO_ID), (16, 4, NO_ID), (32, 0, NO_ID))


# ---- what is written


def test_new_and_old_files(tmp_path: Path) -> None:
    """A missing file is created, another one replaced, and nothing else is left in the folder."""
    write(tmp_path, old=b"1")
    created, replaced = write_all({str(tmp_path / "new"): b"2", str(tmp_path / "old"): b"3"})
    assert texts(tmp_path) == {"new": b"2", "old": b"3"}
    assert (created.copy, created.in_place, replaced.copy, replaced.in_place) == (None, None, None, None)
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
    after = (tmp_path / "maps").stat()
    assert (after.st_uid, after.st_gid, after.st_mode) == (NOBODY, 1234, before.st_mode)
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
    """The target of a link, existing or not, is written; so is the target of a link to a link."""
    write(tmp_path, a=b"1")
    (tmp_path / "link").symlink_to("a")
    (tmp_path / "again").symlink_to(tmp_path / "link")
    (tmp_path / "dangling").symlink_to("new")
    (written, _) = write_all({str(tmp_path / "again"): b"2", str(tmp_path / "dangling"): b"3"}, keep_old=True)
    assert texts(tmp_path) == {"a": b"2", "link": b"2", "again": b"2", "dangling": b"3", "new": b"3"}
    assert all((tmp_path / name).is_symlink() for name in ("link", "again", "dangling"))
    subprocess.run(written.undo, shell=True, check=True)
    assert (tmp_path / "again").is_symlink()
    assert (tmp_path / "a").read_bytes() == b"1"


def test_hard_links_stay(tmp_path: Path) -> None:
    """A file with several names is written in place, and a copy of its old text is kept."""
    write(tmp_path, a=b"old text")
    os.link(tmp_path / "a", tmp_path / "b")
    (written,) = write_all({str(tmp_path / "a"): b"new"})
    assert texts(tmp_path) == {"a": b"new", "b": b"new"}
    assert (tmp_path / "a").samefile(tmp_path / "b")
    assert written.in_place == "it has several names (hard links)"
    assert written.copy is not None
    assert written.copy.read_bytes() == b"old text"
    subprocess.run(written.undo, shell=True, check=True)
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


@every_row("name", NAMES, ids=repr)
def test_any_name(tmp_path: Path, name: bytes) -> None:
    """Files of any name, as long as they may be, are written, and their old text is kept."""
    file = tmp_path / os.fsdecode(name)
    file.write_bytes(b"1")
    for round_ in (b"2", b"3"):
        (written,) = write_all({str(file): round_}, keep_old=True)
        assert file.read_bytes() == round_
        assert written.copy is not None
        assert written.copy.name.startswith(".")
    assert len(hidden(tmp_path)) == 2
    subprocess.run(written.undo, shell=True, check=True, cwd=tmp_path)
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
        (written,) = write_all({str(tmp_path / "a"): text}, keep_old=True)
        kept.append(written.copy and written.copy.name)
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


@pytest.mark.no_cover
@every_row("name", ["/dev/stdout", "/proc/self/fd/1", "/dev/fd/1", "link"])
@every_row("kind", ["file", "pipe"])
def test_standard_output_is_written_to(tmp_path: Path, name: str, kind: str) -> None:
    """/dev/stdout is what standard output is, and goes on where that has come to."""
    (tmp_path / "link").symlink_to("/dev/stdout")
    script = f"import os; os.write(1, b'1'); from nginxopt.system.files import write_all; write_all({{{name!r}: b'2'}})"
    command = [sys.executable, "-c", script + "; os.write(1, b'3')"]
    if kind == "pipe":
        output = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True).stdout
    else:
        out = tmp_path / "out"
        out.write_bytes(b"0")
        with out.open("ab") as file:
            subprocess.run(command, cwd=tmp_path, stdout=file, check=True)
        output = out.read_bytes().removeprefix(b"0")
    assert output == b"123"


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


@pytest.mark.parametrize("way", ["replaced", "in place"])
def test_a_folder_that_is_swapped_for_a_link(way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who may write to the folder puts a link to another one in its place: nothing changes or is left there."""
    site, moved, outside = (tmp_path / name for name in ("site", "moved", "outside"))
    for folder in (site, outside):
        folder.mkdir()
        (folder / "x.conf").write_bytes(b"old")
    if way == "in place":
        os.link(site / "x.conf", site / "second.conf")
    place = (files, "overwrite" if way == "in place" else "copy_all")
    before = getattr(*place)

    def swap(*arguments: Any) -> None:
        site.rename(moved)
        site.symlink_to(outside)
        before(*arguments)

    monkeypatch.setattr(*place, swap)
    path = str(site / "x.conf")
    (written,) = write_all({path: b"new"}, read={path: b"old"})
    assert written.file == site / "x.conf"
    assert [(file.name, file.read_bytes()) for file in outside.iterdir()] == [("x.conf", b"old")]
    assert (moved / "x.conf").read_bytes() == b"new"
    assert not list(moved.glob(".nginxopt-*-*"))


def test_a_folder_that_is_swapped_before_it_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path that no longer leads to the folder that it led to is an error."""
    folder, outside = tmp_path / "site", tmp_path / "outside"
    folder.mkdir()
    outside.mkdir()
    (folder / "x.conf").write_bytes(b"old")
    before = targets.find

    def swap(*arguments: Any) -> Any:
        found = before(*arguments)
        folder.rename(tmp_path / "moved")
        folder.symlink_to(outside)
        return found

    monkeypatch.setattr(targets, "find", swap)
    path = str(folder / "x.conf")
    with pytest.raises(InputError, match="cannot be written"):
        write_all({path: b"new"}, read={path: b"old"})
    assert not list(outside.iterdir())
