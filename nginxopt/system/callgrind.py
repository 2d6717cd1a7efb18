"""Counts the user-space instructions of a request with callgrind, which do not depend on the load of the machine.

The count is the difference between two runs with different numbers of requests, so it excludes the start of nginx.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from nginxopt.errors import MissingError, RunError
from nginxopt.system import process
from nginxopt.system.confinement import Confinement
from nginxopt.system.interrupts import temporary_folder

FEW, MANY = 4, 36
START_SECONDS = 120.0
ANSWER_SECONDS = 120.0
_VGDB_SECONDS = 300.0
_NO_VGDB = "counting the instructions of a running nginx needs vgdb"
_IDLE_SECONDS, _PAUSE_SECONDS = 300.0, 0.05

Ask = Callable[[Sequence[str], int, Path], None]
"""A function that runs a single-process nginx under a wrapper command, which writes to a folder, and sends a number of
requests to it.
"""

AskInTurns = Callable[[Sequence[str], Sequence[int], Callable[[int], None], Path], None]
"""The same with several numbers of requests on one connection; calls a function with the pid before and after each."""


def per_request(ask: Ask, *, turn: int = 1) -> float:
    """Return the mean number of instructions of a request.

    `turn` is the number of requests after which they repeat; the numbers of requests are multiples of it. Raises
    `MissingError` without valgrind, and `RunError` if valgrind writes no count.
    """
    few = math.ceil(FEW / turn) * turn
    more = math.ceil((MANY - FEW) / turn) * turn
    return (_total(ask, few + more) - _total(ask, few)) / more


def per_kept_request(ask: AskInTurns, *, turn: int = 1) -> float:
    """Return the mean number of instructions of a request on a connection that is open already, as `per_request` does.

    All are counted in one run, between dumps. A TLS handshake takes another number of instructions each time, since it
    draws random numbers, and so does the end of nginx with TLS; either would blur those of a request by thousands.
    Raises `MissingError` also without vgdb, and `RunError` if that may not trace nginx.
    """
    few = math.ceil(FEW / turn) * turn
    more = math.ceil((MANY - FEW) / turn) * turn
    with counter() as counts:
        found: list[int] = []
        ask(counts.wrapper, (few, few + more), lambda pid: found.append(counts.since(pid)), counts.folder)
        _, less, most = found
        return (most - less) / more


@contextlib.contextmanager
def counter() -> Iterator[Counter]:
    """Yield a counter of the instructions of one run of nginx. Raises `MissingError` without valgrind or vgdb."""
    if shutil.which("vgdb") is None:
        raise MissingError(_NO_VGDB, hint="install all of the package valgrind")
    with temporary_folder() as directory:
        yield Counter(Path(directory))


class Counter:
    """Counts the instructions of an nginx that runs under `wrapper`, which writes to `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._counts = folder / "callgrind"
        self.wrapper = (*_valgrind(self._counts), _pipes(folder))
        self._dumps = 0

    def since(self, pid: int) -> int:
        """Return the instructions since the last call, or since the start.

        Raises `RunError` if vgdb may not trace nginx.
        """
        _dump(pid, self.folder)
        self._dumps += 1
        return _read(Path(f"{self._counts}.{self._dumps}"))


def _dump(pid: int, folder: Path) -> None:
    """Make a running callgrind write its counts since the last dump."""
    vgdb = shutil.which("vgdb")
    if vgdb is None:
        raise MissingError(_NO_VGDB, hint="install all of the package valgrind")
    _wait_until_idle(pid)  # vgdb interrupts nginx's wait for events, which always takes the same number of instructions
    dumped = process.run(
        [vgdb, _pipes(folder), f"--pid={pid}", "dump"],
        cwd=folder,
        seconds=_VGDB_SECONDS,
        confinement=Confinement(folder, traces=True),  # valgrind hangs if another user traces it, even root
    )
    if dumped.status:
        raise RunError(
            f"vgdb {process.how_it_ended(dumped.status)}: {dumped.last()}",
            hint="it needs the right to trace processes; bench counts without it for http:// targets",
        )


def _pipes(folder: Path) -> str:
    """Return the option for the pipes between valgrind and vgdb: nginx may write only to its folder."""
    return f"--vgdb-prefix={folder}/vgdb"


def _wait_until_idle(pid: int) -> None:
    """Wait until a process sleeps, and has used no CPU time for a while. Raises `RunError` if it never does."""
    deadline, last = time.monotonic() + _IDLE_SECONDS, ""
    while time.monotonic() < deadline:
        try:
            used = Path(f"/proc/{pid}/schedstat").read_text().split()[0]
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError as error:
            raise RunError(f"nginx under callgrind is gone: {error.strerror}") from None
        if state == "S" and used == last:
            return
        last = used
        time.sleep(_PAUSE_SECONDS)
    raise RunError(f"nginx under callgrind is not idle after {_IDLE_SECONDS:g} seconds")


def _total(ask: Ask, requests: int) -> int:
    with temporary_folder() as directory:
        counts = Path(directory, "callgrind")
        ask((*_valgrind(counts), "--vgdb=no"), requests, Path(directory))
        return _read(counts)


def _valgrind(counts: Path) -> tuple[str, ...]:
    """Return the wrapper command that writes counts to a file."""
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        raise MissingError("counting instructions needs valgrind", hint="install the package valgrind")
    return valgrind, "--quiet", "--tool=callgrind", f"--callgrind-out-file={counts}"


def _read(counts: Path) -> int:
    """Return the instructions in a file of callgrind."""
    text = counts.read_bytes() if os.path.exists(counts) else b""
    summary = re.search(rb"^(?:summary|totals): (\d+)", text, re.MULTILINE)
    if summary is None:
        raise RunError("callgrind reported no count")
    return int(summary[1])
