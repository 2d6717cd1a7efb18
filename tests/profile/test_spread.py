"""Parts of logs: where they are cut, and that the result is the same wherever they are read."""

from __future__ import annotations

import gzip
import os
import pickle
import random
import signal
from pathlib import Path

import pytest

from nginxopt.config import load
from nginxopt.errors import RunError
from nginxopt.profile import pieces, spread
from nginxopt.profile.pieces import Range, opened, ranges
from nginxopt.profile.reading import SiteLogs
from nginxopt.profile.sums import save
from nginxopt.request.model import SiteModel, World
from nginxopt.semantics.site import Build
from nginxopt.system.cluster import connected
from nginxopt.version import Version
from tests.profile.days import CONF, day
from tests.profile.test_planted import profile_of


@pytest.mark.parametrize(
    "content", [b"", b"a\n", b"a", b"\n\n\n", b"abc\n" * 5, b"a\n" + b"x" * 50 + b"\nb", b"x" * 99]
)
@pytest.mark.parametrize("size", [1, 4, 7, 1_000])
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
    (tmp_path / "shop.log").write_bytes(day(7, 900).log)
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
def test_a_worker_that_dies(folder: Path) -> None:
    """Its parts are read again by another one, and the result has the same bytes."""
    model = SiteModel(load(str(folder / "nginx.conf")), Build(Version(1, 22, 1)))
    logs = SiteLogs(model, model.gate(), World(), (str(folder / "shop.log"),))
    with connected(workers=2) as client:
        first, *_ = client.run(os.getpid).values()
        read = []
        for part in spread.read(client, logs):
            read.append(part)
            if len(read) == 2:
                os.kill(first, signal.SIGKILL)
    assert len(read) > 5
    assert save(logs.together(read)) == save(logs.profile())


def test_a_worker_that_dies_before_it_begins(folder: Path) -> None:
    """It is an error with a sentence, as the configuration could not be sent."""

    class Client:
        def scatter(self, *_: object, **__: object) -> None:
            raise OSError("in <TCP (closed)>: Stream is closed")

    model = SiteModel(load(str(folder / "nginx.conf")), Build(Version(1, 22, 1)))
    logs = SiteLogs(model, model.gate(), World(), (str(folder / "shop.log"),))
    with pytest.raises(RunError, match="was lost while the configuration was sent"):
        next(spread.read(Client(), logs))  # type: ignore[arg-type]
