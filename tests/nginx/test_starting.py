"""Both ways to start nginx bind it to the process that starts it."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest

from nginxopt.system import process
from tests.nginx import starting
from tests.support import PATIENCE, ROOT

pytestmark = pytest.mark.nginx

_SCRIPT = """
import os, signal, subprocess, sys
from pathlib import Path
from types import ModuleType
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


@pytest.mark.parametrize("limit", [None, 7, 64, 10**9, resource.RLIM_INFINITY])
def test_both_limit_open_files(limit: int | None, tmp_path: Path) -> None:
    """The soft limit is the one that is asked for, at most the hard one."""
    limits = []
    for module in (process, starting):
        with module.start(
            ["sh", "-c", "ulimit -Sn; ulimit -Hn"], cwd=tmp_path, output=subprocess.PIPE, open_files=limit
        ) as started:
            limits.append(started.communicate(timeout=PATIENCE)[0].split())
    soft, hard = limits[0]
    assert limits[1] == [soft, hard]
    assert soft in {None: {b"%d" % resource.getrlimit(resource.RLIMIT_NOFILE)[0]}, 7: {b"7"}, 64: {b"64"}}.get(
        limit, {hard}
    )


@pytest.mark.parametrize("module", [process, starting], ids=["process", "starting"])
def test_a_command_that_is_missing(module: ModuleType, tmp_path: Path) -> None:
    """A command that cannot be run is an error of the system, not an exit status."""
    with pytest.raises(FileNotFoundError):
        module.start(["/nowhere/nginx"], cwd=tmp_path, output=subprocess.DEVNULL)


def _runs(pid: int) -> bool:
    """Whether a process runs; one that nobody waits for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
