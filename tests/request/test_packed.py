"""Logs that are more than the bytes which a disk has of them are read up to a budget."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from nginxopt import budget
from nginxopt.request import packed
from tests.fuzz.configs import run

CONFIG = "events {}\nhttp { server { listen 80; location / { return 200; } } }\n"
LINE = b'1.2.3.4 - - [01/Jan/2025:00:00:%02d +0000] "GET / HTTP/1.1" 200 1 "-" "kube-probe/1.28"\n'
COMMANDS = {"profile": ["profile", "nginx.conf"], "trace": ["trace", "nginx.conf", "--base", "http://a", "--requests"]}


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let few bytes be read of any log."""
    monkeypatch.setattr(packed, "_SMALL", 1 << 16)


class Unpacking(io.BytesIO):
    """What an unpacked file has, and how much was taken of it."""

    taken = 0

    def read(self, size: int | None = -1, /) -> bytes:
        """Return the next bytes."""
        data = super().read(size)
        self.taken += len(data)
        return data


def unpacked(below: bytes, content: bytes) -> tuple[packed.Unpacked, Unpacking]:
    """What unpacks to a content all at once, and the content, once all of the file below was read."""
    inner = Unpacking(content)

    def unpack(file: Any) -> Callable[[int], bytes]:
        file.read()
        return inner.read

    return packed.Unpacked(io.BytesIO(below), "a.gz", unpack), inner


@pytest.mark.parametrize("growth", [2, 500])
def test_unpacking_ends_at_the_budget(growth: int) -> None:
    """No more is unpacked than the budget allows and one reading more, however much there is."""
    below = bytes(1_000)
    with budget.using({"log-growth": growth}):
        file, inner = unpacked(below, bytes(10_000_000))
        with pytest.raises(budget.ExceededError, match=f"more than {growth} times the bytes of a compressed or sparse"):
            io.BufferedReader(file).read()
    assert inner.taken <= max(1 << 16, growth * len(below)) + (1 << 16)


def test_what_is_within_the_budget_is_read() -> None:
    """Up to the budget, and up to a few bytes whatever it is."""
    for below, size in ((1_000, 500_000), (1, 1 << 16)):
        file, _ = unpacked(bytes(below), bytes(size))
        assert len(io.BufferedReader(file).read()) == size


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
@pytest.mark.parametrize("kind", ["compressed", "sparse"])
def test_logs_for_nothing_but_work(command: list[str], kind: str, tmp_path: Path) -> None:
    """A log of empty lines that is compressed, and one with a hole, end with status 3 and the name of the budget."""
    lines = LINE % 0 * 100
    with (tmp_path / "log").open("wb") as file:
        file.write(gzip.compress(lines + b"\n" * 10_000_000) if kind == "compressed" else lines)
        if kind == "sparse":
            file.truncate(100_000_000)
    (tmp_path / "nginx.conf").write_text(CONFIG)
    with contextlib.chdir(tmp_path):
        status, said, _ = run(*command, "log")
    assert (status, "(budget log-growth)" in said) == (3, True), said


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
@pytest.mark.parametrize("kind", ["compressed", "sparse"])
def test_logs_that_are_real(command: list[str], kind: str, tmp_path: Path) -> None:
    """The same request thousands of times a second shrinks to a fraction of a hundredth; a hole may be in a log."""
    lines = b"".join(LINE % second * 5_000 for second in range(10))
    data = gzip.compress(lines) if kind == "compressed" else lines
    assert kind == "sparse" or len(lines) > 200 * len(data)
    with (tmp_path / "log").open("wb") as file:
        file.write(data)
        if kind == "sparse":
            file.seek(1 << 20, os.SEEK_CUR)
            file.write(b"\n" + data)
    (tmp_path / "nginx.conf").write_text(CONFIG)
    with contextlib.chdir(tmp_path):
        status, said, _ = run(*command, "log")
    assert status == 0, said


def test_a_system_that_does_not_tell_holes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """All of a file is taken for data where a seek to data is refused."""
    monkeypatch.setattr(os, "lseek", lambda *_: (_ for _ in ()).throw(OSError(22, "Invalid argument")))
    (tmp_path / "log").touch()
    os.truncate(tmp_path / "log", 1 << 20)
    packed.refuse_sparse(str(tmp_path / "log"))
