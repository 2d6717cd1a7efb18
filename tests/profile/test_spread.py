"""Parts of logs: where they are cut, and that the result is the same wherever they are read."""

from __future__ import annotations

import contextlib
import gzip
import os
import pickle
import random
import signal
from pathlib import Path
from threading import Event, Thread

import pytest
from click.testing import CliRunner

from nginxopt.cli import nginxopt
from nginxopt.config import load
from nginxopt.errors import RunError
from nginxopt.profile import pieces, spread
from nginxopt.profile.pieces import Range, opened, ranges
from nginxopt.profile.reading import SiteLogs
from nginxopt.profile.sums import save
from nginxopt.request.model import SiteModel, World
from nginxopt.semantics.site import Build
from nginxopt.version import Version
from tests.bench.clusters import cluster
from tests.profile.days import CONF, day
from tests.profile.test_planted import profile_of
from tests.rows import every_row
from tests.support import PATIENCE


@every_row("content", [b"", b"a\n", b"a", b"\n\n\n", b"abc\n" * 5, b"a\n" + b"x" * 50 + b"\nb", b"x" * 99])
@every_row("size", [1, 4, 7, 1_000])
def test_parts_are_whole_lines(tmp_path: Path, content: bytes, size: int) -> None:
    """Parts follow each other without a gap, and each but the last ends with a line."""
    path = tmp_path / "log"
    path.write_bytes(content)
    parts = ranges(str(path), size)
    assert (parts[0].start, parts[-1].stop) == (0, None)
    assert [part.start for part in parts[1:]] == [part.stop for part in parts[:-1]]
    read = []
    for part in parts:
        with opened(part.path) as log:
            read.append(b"".join(log.pieces(part.start, part.stop)))
    assert b"".join(read) == content
    assert all(one.endswith(b"\n") for one in read[:-1])
    assert all(read[1:])


def test_compressed_logs_are_one_part(tmp_path: Path) -> None:
    """What is compressed cannot be read from the middle."""
    path = tmp_path / "log.gz"
    path.write_bytes(gzip.compress(b"abc\n" * 500))
    assert ranges(str(path), 8) == [Range(str(path))]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration and two logs, of which each has several parts."""
    monkeypatch.setattr(pieces, "RANGE", 20_000)
    (tmp_path / "nginx.conf").write_text(CONF)
    lines = [
        line.replace(b" +0000]", b"]") if at % 70 == 50 else line
        for at, line in enumerate(day(7, 900).log.splitlines(True))
    ]
    (tmp_path / "shop.log").write_bytes(b"".join(lines))
    (tmp_path / "shop.log.1").write_bytes(day(8, 300).log)
    return tmp_path


def test_parts_add_up(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The parts of a log give the sums of the whole, but for repeats across a cut; broken lines keep their numbers."""
    paths = [folder / "shop.log"]
    parts = profile_of(paths)
    monkeypatch.setattr(pieces, "RANGE", 1 << 28)
    whole = profile_of(paths)
    assert parts.files == whole.files
    assert whole.files[0].broken_lines[-1] > 100
    for profile in (parts, whole):
        for cell in profile.classes.values():
            cell.repeated = 0
    assert parts.document() == whole.document()


def test_parts_may_be_read_anywhere(folder: Path) -> None:
    """Parts that other processes read, in any order, give the same bytes, also of a configuration with includes."""
    start = CONF.index("    server {")
    (folder / "sites").mkdir()
    (folder / "sites" / "a.conf").write_text(CONF[start : CONF.rindex("}")])
    (folder / "main.conf").write_text(f"{CONF[:start]} include sites/*.conf; include none/*; }}\n")
    model = SiteModel(load(str(folder / "main.conf")), Build(Version(1, 22, 1)))
    paths = tuple(str(folder / name) for name in ("shop.log", "shop.log.1"))
    logs = SiteLogs(model, model.gate(), World(), paths)
    numbered = list(enumerate(logs.parts()))
    assert len(numbered) > 6
    random.Random(1).shuffle(numbered)
    read = {}
    for number, part in numbered:
        again = pickle.loads(pickle.dumps(logs))
        read[number] = pickle.loads(pickle.dumps(again.read(part)))
    assert save(logs.together(read[number] for number in sorted(read))) == save(logs.profile())


@pytest.mark.slow
@pytest.mark.extended
def test_a_worker_that_is_killed_at_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a scheduler and two workers as a user starts them, the result has the same bytes: its part is read again.

    It is killed while it has the log open: nothing here depends on how fast the machine is.
    """
    monkeypatch.setattr(pieces, "RANGE", 500_000)
    monkeypatch.chdir(tmp_path)
    log, conf = tmp_path / "shop.log", tmp_path / "nginx.conf"
    log.write_bytes(day(7, 30_000).log)
    conf.write_text(CONF)
    command = ["profile", str(conf), str(log), "--target-version", "1.22.1", "--save"]
    runner = CliRunner()
    with cluster(tmp_path, 2, {}) as dask:
        killer = Killer([worker.pid for worker in dask.workers], log)
        killer.start()
        done = runner.invoke(nginxopt, [*command, "spread.profile", "--scheduler", dask.address], standalone_mode=False)
        killer.stop()
        assert done.exception is None, done.exception
        assert killer.killed is not None
        (victim,) = [worker for worker in dask.workers if worker.pid == killer.killed]
        assert victim.wait(PATIENCE) == -signal.SIGKILL
    assert len(pieces.ranges(str(log))) > 6
    assert runner.invoke(nginxopt, [*command, "alone.profile"], standalone_mode=False).exception is None
    assert Path("spread.profile").read_bytes() == Path("alone.profile").read_bytes()


class Killer(Thread):
    """Kills the first of some processes that has a file open, after it was stopped, so that it has that file still."""

    def __init__(self, pids: list[int], path: Path) -> None:
        super().__init__(daemon=True)
        self._pids, self._path = pids, path
        self._is_over = Event()
        self.killed: int | None = None

    def run(self) -> None:
        """Look at the processes until one was killed."""
        while not self._is_over.wait(0.002):
            for pid in filter(self._has_open, self._pids):
                os.kill(pid, signal.SIGSTOP)
                if self._has_open(pid):
                    os.kill(pid, signal.SIGKILL)
                    self.killed = pid
                    return
                os.kill(pid, signal.SIGCONT)

    def stop(self) -> None:
        """End it."""
        self._is_over.set()
        self.join(PATIENCE)

    def _has_open(self, pid: int) -> bool:
        found = []
        with contextlib.suppress(OSError):  # closed meanwhile
            for link in Path(f"/proc/{pid}/fd").iterdir():
                with contextlib.suppress(OSError):
                    found.append(link.readlink())
        return self._path in found


class _Dying:
    """A client whose workers are lost while they are given something, so many times."""

    def __init__(self, times: int) -> None:
        self.times, self.status = times, "running"

    def register_plugin(self, _: object) -> None:
        self.times -= 1
        if self.times >= 0:
            raise OSError("in <TCP (closed)>: Stream is closed")

    def nthreads(self) -> dict[str, int]:
        raise EOFError  # it got that far

    def unregister_worker_plugin(self, _: str) -> None: ...


@pytest.mark.parametrize(("times", "error"), [(1, EOFError), (9, RunError)])
def test_a_worker_that_dies_before_it_begins(folder: Path, times: int, error: type[Exception]) -> None:
    """The others are given the logs again; if none stays, it is an error with a sentence."""
    model = SiteModel(load(str(folder / "nginx.conf")), Build(Version(1, 22, 1)))
    logs = SiteLogs(model, model.gate(), World(), (str(folder / "shop.log"),))
    with pytest.raises(error, match=None if error is EOFError else "was lost while the configuration was sent"):
        next(spread.read(_Dying(times), logs))  # type: ignore[arg-type]
