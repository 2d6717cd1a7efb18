"""Saved profiles and logs of strangers: what is none is an error, and never a bug."""

from __future__ import annotations

import contextlib
import copy
import gzip
import json
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nginxopt import budget
from nginxopt.errors import InputError
from nginxopt.profile import html, sums, text
from nginxopt.profile import json as report
from tests.fuzz.configs import run
from tests.profile.days import day
from tests.profile.test_planted import profile_of
from tests.rows import every_row

WRONG: tuple[Any, ...] = (
    *(None, True, -1, 1.5, 1e308, float("nan"), 10**30, "x", "\x1b[2J\n::error::", [], {}, [[]], {"a": 1}),
    [1] * 100_000,
)
CONFIG = "events {}\nhttp { server { listen 80; location / { return 200; } location /b { proxy_pass http://a; } } }"
LINE = '1.2.3.4 - - [01/Jan/2025:00:00:00 +0000] "GET /%s HTTP/1.1" 200 1 "-" "Googlebot/2.1"\n'


@pytest.fixture
def saved(tmp_path: Path) -> Any:
    """Return the JSON of a profile."""
    (tmp_path / "nginx.conf").write_text(CONFIG)
    (tmp_path / "access.log").write_text(LINE % "" + LINE % "b")
    with contextlib.chdir(tmp_path):
        assert run("profile", "nginx.conf", "access.log", "--save", "saved")[0] == 0
    return json.loads(gzip.decompress((tmp_path / "saved").read_bytes()))


def _paths(form: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the paths of all values of a JSON value; of lists, those of the first items."""
    keys: Any = form if isinstance(form, dict) else range(min(2, len(form))) if isinstance(form, list) else ()
    for key in keys:
        yield (*path, key)
        yield from _paths(form[key], (*path, key))


def test_changed_profiles(saved: Any, tmp_path: Path) -> None:
    """Every value of a profile, in whose place is any other: it is read and reported on, or refused."""
    changed = tmp_path / "changed"
    refused = 0
    for path in list(_paths(saved)):
        for wrong in WRONG:
            form = copy.deepcopy(saved)
            inner = form
            for key in path[:-1]:
                inner = inner[key]
            inner[path[-1]] = wrong
            changed.write_bytes(gzip.compress(json.dumps(form).encode(), 1))
            try:
                profile = sums.load(str(changed))
            except InputError:
                refused += 1
                continue
            profile.add(sums.load(str(tmp_path / "saved")))
            assert "".join(text.lines(profile, verbose=True))
            assert html.render(profile)
            assert report.document(profile)
    assert refused > 500


@pytest.mark.parametrize("data", [b"[" * 100_000, b'{"kind":' + b"9" * 5_000 + b"}", b"\xff", b"", b"null"])
def test_no_profile(data: bytes, tmp_path: Path) -> None:
    """JSON that is nested without end or has numbers without end, and other data."""
    (tmp_path / "a").write_bytes(gzip.compress(data))
    with pytest.raises(InputError, match="not a saved profile"):
        sums.load(str(tmp_path / "a"))


def test_a_profile_that_unpacks_to_much(tmp_path: Path) -> None:
    """It is unpacked to a tenth of what a log may be: 7 MB for 100 kB, and no more for less."""
    saved = tmp_path / "a"
    saved.write_bytes(gzip.compress(b"[" + b"{}," * 30_000_000, 1))
    assert saved.stat().st_size < 500_000
    tracemalloc.start()
    with pytest.raises(budget.ExceededError, match="budget log-growth"):
        sums.load(str(saved))
    assert tracemalloc.get_traced_memory()[1] < 60_000_000
    tracemalloc.stop()


@pytest.mark.parametrize(
    "time", ["31/Feb/0000:99:99:99 -9999", "01/Jan/9999:99:99:99 -9999", "99/Dec/9999:00:00:00 +0000"]
)
def test_times_that_no_calendar_has(time: str, tmp_path: Path) -> None:
    """A time before 1970 or after 9999 is none: a log with it is read."""
    (tmp_path / "nginx.conf").write_text(CONFIG)
    (tmp_path / "access.log").write_text(LINE.replace("01/Jan/2025:00:00:00 +0000", time) % "" * 5)
    with contextlib.chdir(tmp_path):
        status, said, _ = run("profile", "nginx.conf", "access.log", "--html", "out.html", "--save", "saved")
        assert status == 0, said
        assert sums.load("saved").requests == 5


@pytest.mark.parametrize("line", ['{"log":' + "[" * 100_000, '{"log":' + "9" * 5_000 + "}", '{"log":{}}', '"MESSAGE":'])
def test_lines_that_wrap_nothing(line: str, tmp_path: Path) -> None:
    """JSON of a logging driver that is none."""
    (tmp_path / "nginx.conf").write_text(CONFIG)
    (tmp_path / "access.log").write_text(f"{line}\n" * 5)
    with contextlib.chdir(tmp_path):
        status, said, _ = run("profile", "nginx.conf", "access.log")
    assert status == 3, said


@pytest.mark.parametrize("package", ["compression", "backports"])
@pytest.mark.parametrize("before", [b"", LINE.encode() * 3])
def test_zstd_that_is_damaged(before: bytes, package: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What cannot be unpacked ends a log, as with gzip: a frame may ask for more memory than zstd gives, or be cut."""

    class ZstdError(Exception):
        pass

    class ZstdFile:
        def __init__(self, below: Any) -> None:
            self.parts = [below.read(4) and before]

        def read1(self, size: int) -> bytes:
            if self.parts and before:
                return self.parts.pop()[:size]
            raise ZstdError("Frame requires too much memory for decoding")

    monkeypatch.setitem(sys.modules, "compression.zstd", None)
    monkeypatch.setitem(sys.modules, f"{package}.zstd", SimpleNamespace(ZstdFile=ZstdFile, ZstdError=ZstdError))
    monkeypatch.setitem(sys.modules, package, SimpleNamespace())
    (tmp_path / "nginx.conf").write_text(CONFIG)
    (tmp_path / "access.log").write_bytes(b"\x28\xb5\x2f\xfd" + bytes(9))
    with contextlib.chdir(tmp_path):
        status, said, _ = run("profile", "nginx.conf", "access.log")
    assert (status, "Frame requires too much memory" in said) == ((0, True) if before else (3, False)), said


DAMAGED = (
    ("1.2.3.4 shop.example h<tps", 0), ("1.2.3.4 shop.example \0", 0), ("1.2.3.4 shop.example \\x22\\x", 0),
    ("1.2.3.4 shop.example HTTPS", 0), ("1.2.3.4 [::1 https", 0), ("1.2.3.4 shop.example", 1),
)  # fmt: skip


@every_row(("start", "broken"), DAMAGED)
def test_damaged_lines_are_counted(start: str, broken: int, tmp_path: Path) -> None:
    """A damaged host or scheme hides no line: each is a request, or of another format."""
    made = day(1, 20)
    line = f'{start} [27/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 200 1 0.1 "-" "curl"\n'
    (tmp_path / "shop.log").write_bytes(made.log + line.encode())
    profile = profile_of([tmp_path / "shop.log"])
    (file,) = profile.files
    assert file.broken == made.broken + broken
    assert profile.requests + file.broken == sum(1 for each in (*made.lines, line) if each)
