"""Both ways to start nginx bind it to the process that starts it, and confine it alike."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest

from nginxopt.system import network, process
from nginxopt.system.confinement import Confinement
from nginxopt.system.network import hosts_file, own_network
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


_STATE = """
pwd; readlink /proc/self/ns/net /proc/self/ns/mnt /proc/self/ns/user
grep -E "^(Uid|Gid|Groups|Cap|NoNewPrivs|Seccomp|Sig(Ign|Blk))" /proc/self/status; cat /proc/self/limits
for folder in "$1" "$2" /dev/shm; do (: > "$folder/made") 2>&1 | sed "s/.*made/made/"; ls "$folder" | grep -x made; done
: > /dev/null && env | sort
"""
"""Prints what confines a shell, and where it can write."""


@pytest.mark.parametrize("is_traced", [False, True])
@pytest.mark.parametrize("with_hosts", [False, True])
@pytest.mark.parametrize("seconds", [None, 50])
def test_both_confine(tmp_path: Path, is_traced: bool, with_hosts: bool, seconds: int | None) -> None:
    """A confined command has the same user, limits, network, files and variables."""
    folders = mine, also, other = [tmp_path / name for name in ("mine", "also", "other")]
    with own_network(hosts_file(tmp_path, ["app.example"]) if with_hosts else None) as made:
        states = []
        for module in (process, starting):
            for folder in folders:
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir()
            other.chmod(0o777)
            confinement = Confinement(mine, (also,), made, seconds, is_traced)
            command = ["sh", "-c", _STATE + "cat /etc/hosts", "sh", str(mine), str(other)]
            started = module.start(
                command, cwd=mine, output=subprocess.PIPE, errors=subprocess.STDOUT, confinement=confinement
            )
            with started:
                states.append(started.communicate(timeout=PATIENCE)[0].decode())
    assert states[0] == states[1]
    assert str(mine) in states[0]


def test_a_network_that_cannot_be_entered(tmp_path: Path) -> None:
    """Outside of its network, a command does not run."""
    broken = network._OwnNetwork([os.open(tmp_path, os.O_RDONLY)])  # no namespace
    confinement = Confinement(tmp_path, network=broken)
    try:
        command = ["touch", "ran"]
        started = starting.start(command, cwd=tmp_path, output=subprocess.DEVNULL, confinement=confinement)
        assert started.wait(PATIENCE) == 1
    finally:
        broken.close()
    assert not (tmp_path / "ran").exists()


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
