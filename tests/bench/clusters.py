"""A Dask cluster of real processes on 127.0.0.1, and a program in place of vegeta, for tests of load workers."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.support import PATIENCE, ROOT

# It sleeps as long as the attack takes, and makes the requests of one second, answered after 1, 2 ... ms; its clock is
# that of the machine and SHIFT seconds.
_VEGETA = r"""#!/bin/sh
for word; do
    case $word in
        -output=*) output=${word#-output=} ;;
        -duration=*) seconds=${word#-duration=}; seconds=${seconds%s} ;;
        -rate=*) rate=${word#-rate=}; rate=${rate%/1s} ;;
    esac
done
case $1 in
    -version) echo "Version: ${VEGETA_VERSION:-1.2.3}" ;;
    encode) cat "$3" ;;
    attack)
        targets=$(cat)
        now=$(( ($(date +%s) + ${SHIFT:-0}) * 1000000000 + $(date +%N | sed 's/^0*//') ))
        sleep "$seconds"
        number=0
        while [ "$number" -lt "$rate" ]; do
            started=$(( now + 1000000000 / rate * (number + 1) ))
            number=$(( number + 1 ))
            echo "$started,200,${number}000000,0,2,,,,$number,GET,http://x/,"
        done > "$output"
        ;;
esac
"""


def fake_vegeta(folder: Path, text: str = _VEGETA) -> Path:
    """A program named vegeta in a folder for PATH."""
    folder.mkdir(exist_ok=True)
    program = folder / "vegeta"
    program.write_text(text)
    program.chmod(0o755)
    return folder


@dataclass(slots=True)
class Cluster:
    """A scheduler and its workers; `folder` is where they run."""

    address: str
    folder: Path
    scheduler: subprocess.Popen[bytes]
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)


@contextlib.contextmanager
def cluster(folder: Path, workers: int, environment: Mapping[str, str]) -> Iterator[Cluster]:
    """Run a scheduler and so many `dask worker`, which it has then, and end them by their pids."""
    variables = {**os.environ, **environment, "TMPDIR": str(folder), "PYTHONPATH": str(ROOT)}
    with (folder / "dask.log").open("ab") as log, contextlib.ExitStack() as running:

        def start(*words: str) -> subprocess.Popen[bytes]:
            process = subprocess.Popen(
                [sys.executable, "-m", *words],
                cwd=folder,
                env=variables,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                start_new_session=True,
            )
            running.callback(_end, process)
            return process

        named = folder / "scheduler.json"
        words = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(named))
        scheduler = start("distributed.cli.dask_scheduler", *words)
        address = _address(named)
        worker = ("distributed.cli.dask_worker", address, "--no-nanny", "--no-dashboard", "--nthreads", "1")
        made = Cluster(address, folder, scheduler, [start(*worker, "--host", "127.0.0.1") for _ in range(workers)])
        _registered(folder / "dask.log", workers)
        yield made


def _address(path: Path) -> str:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError, ValueError, KeyError):
            return str(json.loads(path.read_text())["address"])
        time.sleep(0.05)
    raise AssertionError("the scheduler does not start")


def _registered(log: Path, workers: int) -> None:
    """Wait until the scheduler has its workers: a command waits 15 seconds, and a busy machine may need as many."""
    deadline = time.monotonic() + PATIENCE
    while log.read_text().count("Register worker") < workers:
        assert time.monotonic() < deadline, "the workers do not start"
        time.sleep(0.05)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def running_below(folder: Path, name: str) -> list[int]:
    """The pids of processes whose command line has a word and that run in a folder below this one."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (process / "cmdline").read_bytes().split(b"\0")
            if (process / "cwd").readlink().is_relative_to(folder) and name.encode() in words:
                found.append(int(process.name))
    return found
