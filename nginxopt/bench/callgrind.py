"""Counts the user-space instructions of a request with callgrind, which do not depend on the load of the machine.

The count is the difference between two runs with different numbers of requests, so it excludes the start of nginx.
"""

from __future__ import annotations

import math
import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from nginxopt.errors import MissingError, RunError
from nginxopt.system import process
from nginxopt.system.interrupts import temporary_folder

FEW, MANY = 4, 36
START_SECONDS = 120.0
ANSWER_SECONDS = 120.0
_VGDB_SECONDS = 60.0

Ask = Callable[[Sequence[str], int], None]
"""A function that runs a single-process nginx under a wrapper command, and sends a number of requests to it."""


def per_request(ask: Ask, *, turn: int = 1) -> float:
    """Return the mean number of instructions of a request.

    `turn` is the number of requests after which they repeat; the numbers of requests are multiples of it. Raises
    `MissingError` without valgrind, and `RunError` if valgrind writes no count.
    """
    few = math.ceil(FEW / turn) * turn
    more = math.ceil((MANY - FEW) / turn) * turn
    return (_total(ask, few + more) - _total(ask, few)) / more


def forget(pid: int, folder: Path) -> None:
    """Set the counts of a running callgrind back to zero. Raises `MissingError` without vgdb, `RunError` if it fails.

    So what came before does not count: a TLS handshake takes another number of instructions each time, since it draws
    random numbers, and would blur those of some requests by thousands.
    """
    vgdb = shutil.which("vgdb")
    if vgdb is None:
        raise MissingError("--metric instructions over TLS needs vgdb", hint="install all of the package valgrind")
    zeroed = process.run([vgdb, f"--pid={pid}", "zero"], cwd=folder, seconds=_VGDB_SECONDS)
    if zeroed.status:
        raise RunError(
            f"vgdb {process.how_it_ended(zeroed.status)}: {zeroed.last()}",
            hint="it needs the right to trace processes; use --metric cpu, or http:// targets",
        )


def _total(ask: Ask, requests: int) -> int:
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        raise MissingError("--metric instructions needs valgrind", hint="install the package valgrind")
    with temporary_folder() as directory:
        counts = Path(directory, "callgrind")
        ask((valgrind, "--quiet", "--tool=callgrind", f"--callgrind-out-file={counts}"), requests)
        text = counts.read_bytes() if counts.exists() else b""
    summary = re.search(rb"^(?:summary|totals): (\d+)", text, re.MULTILINE)
    if summary is None:
        raise RunError("callgrind reported no count")
    return int(summary[1])
