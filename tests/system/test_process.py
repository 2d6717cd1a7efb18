"""Commands that end, and commands that do not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nginxopt.errors import RunError
from nginxopt.system import process


def test_a_command_that_ends(tmp_path: Path) -> None:
    """What it printed is kept apart by stream, with its status; its last words are those of its errors."""
    completed = process.run(["sh", "-c", "pwd; echo first >&2; echo last >&2; exit 3"], cwd=tmp_path, seconds=30)
    assert (completed.status, completed.output) == (3, f"{tmp_path}\n".encode())
    assert (completed.last(), completed.last(2)) == ("last", "first\nlast")
    assert process.run(["echo", "said"], cwd=tmp_path, seconds=30).last() == "said"


def test_a_command_that_is_killed(tmp_path: Path) -> None:
    """The status of a command that a signal ends is that signal, negative."""
    assert process.run(["sh", "-c", "kill -9 $$"], cwd=tmp_path, seconds=30).status == -9


@pytest.mark.parametrize("tells", [True, False], ids=["told", "asked"])
def test_a_command_that_does_not_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tells: bool) -> None:
    """A command that takes too long is ended, and named without its path, whether the system tells its end or not."""
    if not tells:
        monkeypatch.delattr(os, "pidfd_open", raising=False)
    with pytest.raises(RunError, match=r"^sh did not end within 0 seconds$"):
        process.run(["/bin/sh", "-c", "echo $$ > pid; exec sleep 600"], cwd=tmp_path, seconds=0.4)
    pid = (tmp_path / "pid").read_text().strip() if (tmp_path / "pid").exists() else ""
    assert not pid or not Path("/proc", pid).exists()


def test_a_command_that_ignores_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command that SIGTERM does not end is killed."""
    monkeypatch.setattr(process, "_END_SECONDS", 0.2)
    with pytest.raises(RunError):
        process.run(["/bin/sh", "-c", "trap '' TERM; echo $$ > pid; exec sleep 600"], cwd=tmp_path, seconds=1)
    pid = (tmp_path / "pid").read_text().strip() if (tmp_path / "pid").exists() else ""
    assert not pid or not Path("/proc", pid).exists()


def test_a_command_that_is_not_there(tmp_path: Path) -> None:
    """What cannot be run is the caller's to explain."""
    with pytest.raises(FileNotFoundError):
        process.run(["/nowhere"], cwd=tmp_path, seconds=30)
