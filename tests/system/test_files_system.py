"""Writing where the system refuses it: mounts, full disks, other users; and processes killed at any moment."""

from __future__ import annotations

import contextlib
import os
import random
import select
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nginxopt.errors import InputError
from nginxopt.system.files import write_all
from nginxopt.system.writing.copies import Scratch, sweep
from tests.rows import every_row
from tests.support import PATIENCE, ended

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="mounts and other users are root's")

NOBODY = 65534


def hidden(folder: Path) -> list[str]:
    """The hidden names in a folder."""
    return sorted(path.name for path in folder.iterdir() if path.name.startswith("."))


@contextlib.contextmanager
def mounted(*args: str | Path) -> Iterator[None]:
    """A mount; the last argument is where. The test is skipped where root may not mount either."""
    run = subprocess.run(["mount", *args], capture_output=True, check=False)
    if run.returncode:
        pytest.skip(f"no mounts here: {run.stderr.decode().strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", args[-1]], check=True)


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """A file system with room for 64 KiB."""
    disk = tmp_path / "disk"
    disk.mkdir()
    with mounted("-t", "tmpfs", "-o", "size=64k", "tmpfs", disk):
        yield disk


# ---- mounts and full disks


@needs_root
def test_a_mount_is_written_in_place(tmp_path: Path) -> None:
    """A file that is mounted by itself, as into a container, is written in place; a copy of its text is kept."""
    files = {name: tmp_path / name for name in ("source", "a", "b", "c")}
    for file in files.values():
        file.write_bytes(b"old")
    with mounted("--bind", files["source"], files["b"]):
        written = write_all({str(files[name]): b"new" for name in "abc"}, read={str(files["b"]): b"old"})
        assert [file.read_bytes() for file in files.values()] == [b"new"] * 4
        assert [file.in_place for file in written] == [None, "it is a mount point", None]
        assert written[1].copy == tmp_path / ".b.nginxopt-orig"
    assert hidden(tmp_path) == [".b.nginxopt-orig"]
    assert (tmp_path / ".b.nginxopt-orig").read_bytes() == b"old"


@needs_root
def test_a_read_only_mount_is_refused(tmp_path: Path) -> None:
    """What is mounted to be read only is refused, and the other files stay as they are."""
    for name in ("source", "a", "b"):
        (tmp_path / name).write_bytes(b"old")
    with mounted("--bind", "-o", "ro", tmp_path / "source", tmp_path / "b"):
        subprocess.run(["mount", "-o", "remount,ro,bind", tmp_path / "b"], check=True)
        with pytest.raises(InputError, match=r"^cannot be written: Read-only file system; nothing was written"):
            write_all({str(tmp_path / name): b"new" for name in "ab"})
        assert (tmp_path / "a").read_bytes() == b"old"
    assert hidden(tmp_path) == []


@needs_root
def test_a_folder_that_cannot_be_written_to(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where only the file is writable, as one mounted into a read-only system, the copy goes to temporary files."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "source").write_bytes(b"old")
    (small / "a").write_bytes(b"")
    subprocess.run(["mount", "-o", "remount,ro", small], check=True)
    with mounted("--bind", tmp_path / "source", small / "a"):
        (written,) = write_all({str(small / "a"): b"new"})
    assert (tmp_path / "source").read_bytes() == b"new"
    assert written.in_place == "its directory is not writable"
    assert written.copy is not None
    assert written.copy.parent.parent == tmp_path
    assert written.copy.read_bytes() == b"old"


@needs_root
@pytest.mark.parametrize("links", [False, True])
def test_a_full_disk_changes_nothing(small: Path, links: bool) -> None:
    """However much room is left, all files are written or none, and none is half written."""
    outcomes, messages = set(), set()
    for room in range(0, 65536, 4096):
        for file in small.iterdir():
            file.unlink()
        for name in "ab":
            (small / name).write_bytes(name.encode() * 5000)
            if links:
                os.link(small / name, small / f"{name}2")
        with contextlib.suppress(OSError):
            (small / "filler").write_bytes(b"." * (65536 - 4 * 4096 - room))
        before = {file.name: file.read_bytes() for file in small.iterdir()}
        try:
            write_all({str(small / name): name.upper().encode() * 12000 for name in "ab"}, keep_old=not links)
        except InputError as error:
            messages.add(error.message)
            assert {file.name: file.read_bytes() for file in small.iterdir()} == before
            outcomes.add("none")
        else:
            assert [(small / name).read_bytes() for name in "ab"] == [b"A" * 12000, b"B" * 12000]
            outcomes.add("all")
    assert outcomes == {"all", "none"}
    assert messages == {"cannot be written: No space left on device; nothing was written"}


# ---- other users


def as_nobody(script: str, folder: Path) -> str:
    """What a Python script prints that runs as a user who is nobody, in a folder."""
    # Python's own modules may be where only root can read them.
    program = (
        "import os, tempfile\nfrom nginxopt.errors import InputError\nfrom nginxopt.system.files import write_all\n"
    )
    program += f"os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})\n{script}"
    with tempfile.TemporaryDirectory() as temporary:
        Path(temporary).chmod(0o777)
        run = subprocess.run(
            [sys.executable, "-c", program],
            cwd=folder,
            env={**os.environ, "TMPDIR": temporary},
            capture_output=True,
            text=True,
            check=False,
        )
    assert run.returncode == 0, run.stderr
    return run.stdout


@pytest.fixture
def shared() -> Iterator[Path]:
    """A folder that all users reach; pytest's are private."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


ATTEMPT = """
try:
    print([written.in_place for written in write_all({name: b"new" for name in %r})])
except InputError as error:
    print(error.path, error.message)
"""


@needs_root
def test_a_file_that_another_user_owns(shared: Path) -> None:
    """A file whose owner cannot be kept by a new one is written in place; one that may not be written is refused."""
    shared.chmod(0o777)
    for name in ("mine", "theirs"):
        (shared / name).write_bytes(b"old")
    (shared / "mine").chmod(0o666)
    output = as_nobody(ATTEMPT % ["mine"], shared)
    assert output == "['a new file cannot get its owner or attributes']\n"
    assert (shared / "mine").read_bytes() == b"new"
    assert (shared / "mine").stat().st_uid == 0
    assert stat.S_IMODE((shared / ".mine.nginxopt-orig").stat().st_mode) == 0o600
    output = as_nobody(ATTEMPT % ["mine", "theirs"], shared)
    assert output == "theirs cannot be written: Permission denied; nothing was written\n"
    assert (shared / "theirs").read_bytes() == b"old"


@needs_root
def test_a_folder_that_another_user_owns(shared: Path) -> None:
    """A file that is one's own in a folder that is not is written in place; a new one there is an error."""
    folder = shared
    folder.chmod(0o755)
    (folder / "a").write_bytes(b"old")
    os.chown(folder / "a", NOBODY, NOBODY)
    assert (
        as_nobody(ATTEMPT % ["new", "a"], folder) == "new cannot be written: Permission denied; nothing was written\n"
    )
    assert (folder / "a").read_bytes() == b"old"
    assert as_nobody(ATTEMPT % ["a"], folder) == "['its directory is not writable']\n"
    assert (folder / "a").read_bytes() == b"new"


@needs_root
def test_a_sticky_folder(shared: Path) -> None:
    """Where files of others cannot be renamed over, they are written in place."""
    folder = shared
    folder.chmod(0o1777)
    (folder / "a").write_bytes(b"old")
    (folder / "a").chmod(0o666)
    output = as_nobody(ATTEMPT % ["a"], folder)
    assert output in (
        "['a new file cannot get its owner or attributes']\n",
        "['it cannot be replaced: Operation not permitted']\n",
    )
    assert (folder / "a").read_bytes() == b"new"


# ---- processes that end


MANY = """
import os, sys
from nginxopt.cli import _terminate
import signal
from nginxopt.system.files import write_all
signal.signal(signal.SIGTERM, _terminate)
# A job in the background starts with SIGINT ignored, and one under nohup with SIGHUP.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
for _ in sys.stdin:
    if writer := os.fork():
        print(os.waitpid(writer, 0)[1], flush=True)
        continue
    text = b"0" * 20000
    write_all(dict.fromkeys("abc", text), keep_old=False)  # Python drops what a handler raises while it imports
    print(os.getpid(), flush=True)
    while True:
        new = (b"1" if text[:1] == b"0" else b"0") * 20000
        write_all({name: new for name in ("a", "b", "c")}, keep_old=False)
        text = new
"""
"""A process that starts another one for each line it reads, so that none has to import what it runs."""


@contextlib.contextmanager
def writers(folder: Path) -> Iterator[Callable[[int, float], None]]:
    """A function that kills a process that does nothing but write, with a signal and after so many seconds."""
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", MANY]
    with ended(subprocess.Popen(command, cwd=folder, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL)) as process:
        asks, says = process.stdin, process.stdout
        assert asks is not None
        assert says is not None

        def killed(number: int, seconds: float) -> None:
            asks.write(b"\n")
            asks.flush()
            writer = int(says.readline())
            time.sleep(seconds)
            os.kill(writer, number)
            assert select.select([says], [], [], PATIENCE)[0], "it does not end"
            assert int(says.readline()) != 0

        yield killed


@pytest.mark.slow
@pytest.mark.no_cover
@every_row("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGKILL])
@every_row("links", [False, True], ids=["", "hard links"])
def test_a_process_that_ends_at_any_moment(tmp_path: Path, number: int, links: bool) -> None:
    """A signal leaves all files old or all new, and nothing beside them; kill -9 no file half written, unless it has
    several names, and nothing that the next run does not remove.
    """
    names = [tmp_path / name for name in "abc"]
    for file in names:
        file.write_bytes(b"0" * 20000)
        if links:
            os.link(file, f"{file}2")
    chance = random.Random(number)
    with writers(tmp_path) as killed:
        for _ in range(8):
            killed(number, chance.uniform(0, 0.05))
            texts = [file.read_bytes() for file in names]
            whole = [text in (b"0" * 20000, b"1" * 20000) for text in texts]
            left = [name for name in hidden(tmp_path) if "nginxopt-orig" not in name]
            if number != signal.SIGKILL:
                assert all(whole)
                assert len(set(texts)) == 1
                assert left == []
            elif not links:
                assert all(whole)
            else:
                for file, is_whole in zip(names, whole, strict=True):
                    copies = [copy.read_bytes() for copy in tmp_path.glob(f".{file.name}.nginxopt-orig*")]
                    assert is_whole or b"0" * 20000 in copies or b"1" * 20000 in copies
            assert all(name.startswith(".nginxopt-") for name in left)
            for file in names:
                if len(set(texts)) > 1 or not all(whole):
                    file.write_bytes(b"0" * 20000)
    write_all({str(tmp_path / "a"): b"next"})
    assert all("nginxopt-orig" in name for name in hidden(tmp_path))
    assert names[1].stat().st_nlink == 1 + links


def test_what_is_in_use_is_not_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a run writes in a folder, no other does, and what it has there stays; what is left of it goes."""
    monkeypatch.setattr("nginxopt.system.writing.copies._PATIENCE_SECONDS", 0.1)
    with Scratch(tmp_path) as scratch:
        scratch.name().write_bytes(b"on its way")
        sweep([tmp_path])
        with pytest.raises(
            InputError, match=r"^cannot be written: another nginxopt is writing in this directory; nothing"
        ):
            write_all({str(tmp_path / "other"): b""})
        assert len(hidden(tmp_path)) == 1
    write_all({str(tmp_path / "other"): b""})
    assert hidden(tmp_path) == []


COUNT = """
from pathlib import Path
from nginxopt.errors import InputError
from nginxopt.system.files import write_all
made = 0
while made < 60:
    text = Path("sub/count").read_bytes()
    number = str(int(text) + 1).encode()
    try:
        write_all({"count": number, "sub/count": number}, read={"sub/count": text})
    except InputError:
        continue
    made += 1
"""


def test_runs_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    """Of two runs that change the same files one waits, and gives way to what the other has written."""
    (tmp_path / "sub").mkdir()
    for folder in (tmp_path, tmp_path / "sub"):
        (folder / "count").write_bytes(b"0")
    runs = [subprocess.Popen([sys.executable, "-c", COUNT], cwd=tmp_path) for _ in range(3)]
    assert [run.wait() for run in runs] == [0, 0, 0]
    assert [(folder / "count").read_bytes() for folder in (tmp_path, tmp_path / "sub")] == [b"180"] * 2
    assert hidden(tmp_path) == hidden(tmp_path / "sub") == []


def test_only_what_is_left_is_removed(tmp_path: Path) -> None:
    """Hidden files of other names stay."""
    token = "0123456789abcdef"
    stay = [".nginxopt-0", f".nginxopt-{token}-x", f"nginxopt-{token}-0", ".a.nginxopt-orig", f".nginxopt-{token}-0~"]
    go = [f".nginxopt-{token}-0", f".nginxopt-{token[::-1]}-12"]
    for name in (*stay, *go):
        (tmp_path / name).write_bytes(b"")
    sweep([tmp_path, tmp_path / "missing"])
    assert {path.name for path in tmp_path.iterdir()} == set(stay)
