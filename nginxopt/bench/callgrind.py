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
from nginxopt.system.interrupts import temporary_folder

FEW, MANY = 4, 36
START_SECONDS = 120.0
ANSWER_SECONDS = 120.0

Ask = Callable[[Sequence[str], int, Path], None]
"""A function that runs a single-process nginx under a wrapper command, which writes to a folder, and sends a number of
requests to it.
"""


def per_request(ask: Ask, *, turn: int = 1) -> float:
    """Return the mean number of instructions of a request.

    `turn` is the number of requests after which they repeat; the numbers of requests are multiples of it. Raises
    `MissingError` without valgrind, and `RunError` if valgrind writes no count.
    """
    few = math.ceil(FEW / turn) * turn
    more = math.ceil((MANY - FEW) / turn) * turn
    return (_total(ask, few + more) - _total(ask, few)) / more


def _total(ask: Ask, requests: int) -> int:
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        raise MissingError("--metric instructions needs valgrind", hint="install the package valgrind")
    with temporary_folder() as directory:
        counts = Path(directory, "callgrind")
        options = ("--quiet", "--vgdb=no", "--tool=callgrind", f"--callgrind-out-file={counts}")
        ask((valgrind, *options), requests, Path(directory))
        text = counts.read_bytes() if counts.exists() else b""
    summary = re.search(rb"^(?:summary|totals): (\d+)", text, re.MULTILINE)
    if summary is None:
        raise RunError("callgrind reported no count")
    return int(summary[1])
