"""Both ways to start nginx bind it to the process that starts it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from nginxopt.system import process
from tests.nginx import starting
from tests.support import PATIENCE, ROOT

_SCRIPT = """
import os, signal, subprocess, sys
from pathlib import Path
from {module} import start
child = start(["sleep", "600"], cwd=Path("/"), output=subprocess.DEVNULL)
while Path(f"/proc/{{child.pid}}/comm").read_text() != "sleep\\n":
    pass
print(child.pid, os.getsid(child.pid), flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("module", [process.__name__, starting.__name__])
def test_what_is_started_ends_with_this_process(module: str) -> None:
    """A command has the process id that is returned and a session of its own, and ends even after `kill -9`."""
    command = [sys.executable, "-c", _SCRIPT.format(module=module)]
    run = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, timeout=PATIENCE, check=False)
    pid, session = map(int, run.stdout.split())
    assert run.returncode == -signal.SIGKILL
    assert pid == session
    deadline = time.monotonic() + PATIENCE
    while _runs(pid):
        assert time.monotonic() < deadline, "it outlives the process that started it"
        time.sleep(0.01)


def test_a_command_of_another_process_is_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the parent died before the command was bound to it, the command does not run."""
    monkeypatch.setattr(os, "getpid", lambda: 1)
    started = starting.start(["touch", "ran"], cwd=tmp_path, output=subprocess.DEVNULL)
    assert started.wait(PATIENCE) == 1
    assert not (tmp_path / "ran").exists()


def _runs(pid: int) -> bool:
    """Whether a process runs; one that nobody waits for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
