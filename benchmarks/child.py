"""Runs a command and returns its resource usage from the operating system."""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from statistics import median

from nginxopt.errors import NginxoptError

MEGABYTE = 1_000_000
_MAXRSS_UNIT = 1024  # getrusage(2) on Linux


@dataclass(frozen=True, slots=True)
class Usage:
    """The resources of a process and its children: seconds, seconds and bytes."""

    wall: float
    cpu: float
    peak: float


def run(command: Sequence[str], cwd: Path, *, most: int = 0) -> Usage:
    """Run a command to its end and return its usage; `ChildError` with its last words if its status is above `most`.

    A child inherits the peak of its parent's memory (`exec_mmap` in fs/exec.c), so the measuring process must stay
    smaller than the measured one. A Python child keeps its compiled modules, as those of an installed package are.
    """
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with tempfile.TemporaryFile() as log:
        start = time.perf_counter()
        process = subprocess.Popen(command, cwd=cwd, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if not 0 <= process.returncode <= most:
            log.seek(0)
            said = log.read().decode(errors="replace")[-2000:]
            raise ChildError(f"{' '.join(command[:4])} ended with {process.returncode}: {said}")
    return Usage(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * _MAXRSS_UNIT)


class ChildError(NginxoptError):
    """A measured command failed."""

    exit_code = 70


def medians(contenders: Mapping[str, Callable[[], Usage]], rounds: int) -> dict[str, Usage]:
    """Return the medians of each contender over `rounds`, in each of which all run in sequence.

    So other load on the machine affects all of them.
    """
    taken: dict[str, list[Usage]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, measure in contenders.items():
            taken[name].append(measure())
    return {name: Usage(*map(median, zip(*map(astuple, usages), strict=True))) for name, usages in taken.items()}
