"""A machine: who may read what, its users, and host names within a bounded time."""

from __future__ import annotations

import os
import socket
import stat
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from nginxopt.config.root_folder import RootFolder
from nginxopt.system import machine as machine_
from nginxopt.system.machine import READ, SEARCH, WRITE, Account, Machine, refuses, resolvable
from tests.certificates import NOW
from tests.rows import every_row
from tests.support import PATIENCE

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may become another user")

_PASSWD = "root:x:0:0:root:/root:/bin/sh\nweb:x:50:60::/:/bin/false\n+@nis\n"
_GROUP = "root:x:0:\nweb:x:60:\nlogs:x:70:web,root\nnogroup:x:65534:\n"


def _root(tmp_path: Path, **files: str) -> Path:
    (tmp_path / "etc").mkdir()
    for name, text in files.items():
        (tmp_path / "etc" / name.replace("_", ".")).write_text(text)
    return tmp_path


def test_users_are_those_of_the_files(tmp_path: Path) -> None:
    """A user has its numbers and the groups that name it; one that is not there has none."""
    accounts = Machine.at(str(_root(tmp_path, passwd=_PASSWD, group=_GROUP)), NOW).accounts
    assert accounts is not None
    assert accounts.user("web") == (50, 60)
    assert accounts.group("logs") == 70
    assert accounts.groups("web") == {70}
    assert (accounts.user("nobody"), accounts.group("nobody")) == (None, None)
    assert accounts.is_complete


@pytest.mark.parametrize(
    ("switch", "is_complete"),
    [
        ("passwd: files systemd # and ldap\ngroup: compat\nhosts: files dns\n", True),
        ("passwd: files ldap\ngroup: files\n", False),
        ("passwd: files\ngroup: files sss\n", False),
    ],
)
def test_other_sources_of_users_are_known(tmp_path: Path, switch: str, *, is_complete: bool) -> None:
    """With a directory service, a user that is in no file may be there."""
    root = _root(tmp_path, passwd=_PASSWD, group=_GROUP, nsswitch_conf=switch)
    accounts = Machine.at(str(root), NOW).accounts
    assert accounts is not None
    assert accounts.is_complete is is_complete


def test_without_a_list_of_users_nothing_is_known(tmp_path: Path) -> None:
    """A part of a file system says nothing about users."""
    assert Machine.at(str(_root(tmp_path, group=_GROUP)), NOW).accounts is None


@every_row("mode", [0o000, 0o004, 0o040, 0o400, 0o440, 0o644, 0o750, 0o705, 0o070, 0o007, 0o222])
@every_row(("uid", "groups"), [(1234, {5}), (4321, {5678}), (4321, {5}), (4321, {5, 5678}), (0, {0})])
@needs_root
def test_permissions_are_those_of_the_kernel(tmp_path: Path, mode: int, uid: int, groups: set[int]) -> None:
    """A file in a folder is out of reach of a user exactly if the kernel says so."""
    folder = tmp_path / "folder"
    folder.mkdir()
    file = folder / "file"
    file.touch()
    for path, bits in ((file, mode), (folder, mode | (0o111 if mode % 2 else 0))):
        os.chown(path, 1234, 5678)
        path.chmod(bits)
    for wanted, kernel in ((READ, os.R_OK), (WRITE, os.W_OK), (READ | WRITE, os.R_OK | os.W_OK)):
        reached = RootFolder().look(str(file))
        account = Account("somebody", uid, frozenset(groups))
        assert (refuses(reached, account, wanted) is None) == _may(file, uid, groups, kernel)


def _may(path: Path, uid: int, groups: set[int], kernel: int) -> bool:
    """Whether another user may access a file, asked in a process of that user."""
    pid = os.fork()
    if pid == 0:
        os.setgroups(sorted(groups))
        os.setgid(min(groups))
        os.setuid(uid)
        os._exit(0 if os.access(path, kernel) else 1)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_root_reads_all(tmp_path: Path) -> None:
    """No permission keeps root out, and what is not there keeps nobody out."""
    (tmp_path / "file").touch(mode=0)
    root = Account("root", 0, frozenset({0}))
    assert refuses(RootFolder().look(str(tmp_path / "file")), root, READ) is None
    assert refuses(RootFolder().look(str(tmp_path / "none")), Account("a", 1, frozenset()), READ) is None


def test_the_folder_that_keeps_out_is_named(tmp_path: Path) -> None:
    """It is the first on the way, not the file."""
    inner = tmp_path / "closed/inner"
    inner.mkdir(parents=True)
    (inner / "file").touch()
    (tmp_path / "closed").chmod(stat.S_IRWXU)
    refusing = refuses(RootFolder(str(tmp_path)).look("/closed/inner/file"), Account("a", 99999, frozenset()), SEARCH)
    assert refusing is not None
    assert refusing.path == "/closed"


def _resolver(answers: dict[str, Callable[[], object]]) -> Callable[..., object]:
    return lambda host, *_, **__: answers[host]()


def _fails(number: int) -> Callable[[], object]:
    def fail() -> object:
        raise socket.gaierror(number, "no")

    return fail


_ANSWERS: dict[str, Callable[[], object]] = {
    "here": list,
    "gone": _fails(socket.EAI_NONAME),
    "later": _fails(socket.EAI_AGAIN),
    "long" * 100: _fails(socket.EAI_NONAME),
}
_FOUND = {"here": True, "gone": False, "long" * 100: False}


def test_names_are_there_or_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """A name has an address, or certainly none; of one that no server answers for, nothing is known."""
    monkeypatch.setattr(socket, "getaddrinfo", _resolver(_ANSWERS))
    assert resolvable([*_ANSWERS, "here"], seconds=PATIENCE) == _FOUND


def test_a_name_that_takes_too_long_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits longer than stated, and nothing is said of what is still asked for then."""
    waits = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", _resolver({**_ANSWERS, "slow": waits.wait}))
    try:
        found = resolvable([*_ANSWERS, "slow"], seconds=0.2)
    finally:
        waits.set()
    assert found.items() <= _FOUND.items()


def test_no_name_is_asked_for_without_names() -> None:
    """Nothing is waited for."""
    assert resolvable([], seconds=1000.0) == {}


def test_a_large_file_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file that is larger than any of its kind is an error."""
    monkeypatch.setattr(machine_, "_MOST", 10)
    (tmp_path / "file").write_bytes(b"0123456789")
    machine = Machine.at(str(tmp_path), NOW)
    assert machine.read("/file") == b"0123456789"
    (tmp_path / "file").write_bytes(b"0123456789a")
    with pytest.raises(OSError, match="too large"):
        machine.read("/file")
