"""Signals that arrive while work is done that must not be left half done, or while a library runs in C++."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest

from nginxopt.system.files import write_all
from nginxopt.system.interrupts import LeftError, interruptible, temporary_folder, uninterrupted
from nginxopt.system.writing import copies
from tests.support import PATIENCE, ended

duckdb = pytest.importorskip("duckdb", reason="the extra fleet is not installed")


class _TerminatedError(BaseException):
    pass


@pytest.fixture(autouse=True)
def _handlers() -> Iterator[None]:
    """Have SIGTERM raise an error, as the program has it."""

    def terminate(_: int, __: FrameType | None) -> None:
        raise _TerminatedError

    before = signal.signal(signal.SIGTERM, terminate)
    yield
    assert signal.getsignal(signal.SIGTERM) is terminate
    signal.signal(signal.SIGTERM, before)


_AT_WORK = 0.05  # seconds of CPU time; what precedes the first row of a query takes a few milliseconds


def _query(number: signal.Signals) -> None:
    """Send this process a signal during a query of minutes, which this thread works on."""
    clock = time.pthread_getcpuclockid(threading.get_ident())
    with duckdb.connect(config={"threads": 1}) as database:
        begun = time.clock_gettime(clock)

        def send() -> None:
            while time.clock_gettime(clock) < begun + _AT_WORK:
                time.sleep(0.01)
            os.kill(os.getpid(), number)

        sender = threading.Thread(target=send)
        sender.start()
        try:
            database.execute("SELECT count(*) FROM range(1000000000000) WHERE range % 7 = 1").fetchall()
        finally:
            sender.join()


@pytest.mark.parametrize(("number", "error"), [(signal.SIGTERM, _TerminatedError), (signal.SIGINT, KeyboardInterrupt)])
def test_a_query_is_ended_as_anything_else(number: signal.Signals, error: type[BaseException]) -> None:
    """DuckDB alone has an error of its own for it."""
    with pytest.raises(RuntimeError, match="Query interrupted"):
        _query(number)
    with pytest.raises(error), interruptible():
        _query(number)


def test_what_a_finalizer_loses_is_raised_again() -> None:
    """Python drops what is raised there, and so may a library."""
    with interruptible() as raise_again:
        raise_again()
        with contextlib.suppress(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            raise_again()


def test_other_errors_stay_as_they_are() -> None:
    """Without a signal there is nothing to raise."""
    with pytest.raises(ZeroDivisionError), interruptible():
        raise ZeroDivisionError


def test_a_signal_waits_for_the_end() -> None:
    """What is begun is done, and then the signal takes effect."""
    done = []

    def work() -> None:
        with uninterrupted():
            os.kill(os.getpid(), signal.SIGTERM)
            done.append(True)

    with pytest.raises(_TerminatedError):
        work()
    assert done


def test_a_block_can_be_left_early() -> None:
    """Where the block asks, it is left if a signal has arrived, and the signal takes effect then."""
    left = []

    def block() -> None:
        with uninterrupted() as leave:
            leave()
            os.kill(os.getpid(), signal.SIGTERM)
            try:
                leave()
            except LeftError:
                left.append(True)
                raise

    with pytest.raises(_TerminatedError):
        block()
    assert left == [True]


def test_files_that_are_not_begun_are_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A signal during the preparation of one of several files leaves all as they were."""
    files = [tmp_path / name for name in "abc"]
    for file in files:
        file.write_bytes(b"old")
    prepared: list[Path] = []

    def make(path: Path, text: bytes, *mode: int) -> os.stat_result:
        prepared.append(path)
        os.kill(os.getpid(), signal.SIGTERM)
        return copies.make(path, text, *mode)

    monkeypatch.setattr("nginxopt.system.files.make", make)
    with pytest.raises(_TerminatedError):
        write_all({str(file): b"new" for file in files})
    assert len(prepared) == 1
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == dict.fromkeys("abc", b"old")


_ORDERLY = """
import signal, sys
from nginxopt.system import interrupts
arrived = []
signal.signal(signal.SIGTERM, lambda *_: arrived.append(1))
interrupts.watch()
with interrupts.temporary_folder() as folder:
    print(folder, flush=True)
    while not arrived:
        pass
    sys.stdin.readline()
while True:
    pass
"""


def test_a_process_ends_once_nothing_must_end_in_order() -> None:
    """A handler that does not end the process is not waited for, but a block that removes a folder is."""
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", _ORDERLY]
    with ended(subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)) as process:
        assert process.stdout is not None
        folder = Path(process.stdout.readline().strip())
        process.send_signal(signal.SIGTERM)
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(1.5)
        assert folder.is_dir()
        process.communicate("\n", timeout=PATIENCE)
        assert process.returncode == 128 + signal.SIGTERM
        assert not folder.exists()


def test_a_temporary_folder_is_removed_however_deep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A revision of git, or what nginx runs, can make folders deeper than Python recurses."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "beside").touch()
    with temporary_folder() as name, contextlib.chdir(name):
        for _ in range(2_000):
            Path("d").mkdir()
            os.chdir("d")
            Path("link").symlink_to(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["beside"]
