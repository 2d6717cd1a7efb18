"""The code that runs on a load worker: functions that the command calls, and the attacks that they control.

`begin` starts vegeta, which waits for its targets. `fire` sends them at the agreed instant, so that starting vegeta
takes no time then. `look` returns the progress and renews the lease: a worker that receives no calls stops vegeta, so
that the load ends if the command is killed. `piece` returns the results, and `drop` removes everything.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import platform
import resource
import shutil
import subprocess
import threading
import time
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Literal

from nginxopt.bench.temporary import private_folder
from nginxopt.records import record
from nginxopt.system import process

PIECE_BYTES = 4 << 20
"""The most bytes of results that are sent at once."""

_POLL_SECONDS = 0.05
_VERSION_SECONDS = 30.0
_LAST_BYTES = 500

Stage = Literal["ready", "running", "done", "failed"]


class FailedError(Exception):
    """An attack failed; the message is the reason."""


class UnknownAttackError(Exception):
    """This worker does not know an attack, because it was restarted."""


@record(eq=True)
class WorkerMachine:
    """The machine of a worker: its host and network, which identify it, its number of CPUs, and its vegeta.

    `vegeta` is the output of `vegeta -version`, or None if it is not on the worker's PATH; `digest` is that of the
    binary.
    """

    host: str
    network: str
    cpus: int
    vegeta: str | None
    digest: str | None


@record(eq=True)
class Order:
    """The order for the attack of one worker.

    Attributes:
        command: The command of vegeta, which reads targets from standard input and writes its results to `results`.
        encode: The command that prints the results as CSV.
        targets: The targets.
        lease: The seconds after which the worker stops vegeta if it receives no calls.
    """

    command: tuple[str, ...]
    encode: tuple[str, ...]
    targets: bytes
    lease: float


@record(eq=True)
class AttackProgress:
    """The progress of an attack; `size` of its compressed results once it is done, `error` if it failed."""

    stage: Stage
    size: int = 0
    error: str = ""


def machine() -> WorkerMachine:
    """Return the machine of this worker."""
    vegeta = shutil.which("vegeta")
    return WorkerMachine(
        host=platform.node(),
        network=network(),
        cpus=len(os.sched_getaffinity(0)),
        vegeta=None if vegeta is None else _version(vegeta),
        digest=None if vegeta is None else hashlib.sha256(Path(vegeta).read_bytes()).hexdigest(),
    )


def network() -> str:
    """Return an identifier that is the same for processes which share 127.0.0.1: the id of the boot of the machine, and
    of the network namespace (namespaces(7))."""
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return f"{boot} {Path('/proc/self/ns/net').readlink()}"


def now() -> float:
    """Return the time on this machine, in seconds since the epoch."""
    return time.time()


async def begin(name: str, order: Order) -> None:
    """Start the vegeta of an attack. Raises `FailedError` if it cannot be run."""
    for old in [known for known, attack in _ATTACKS.items() if attack.is_forgotten()]:
        del _ATTACKS[old]
    try:
        _ATTACKS[name] = _Attack(order)
    except OSError as error:
        raise FailedError(f"{order.command[0]} cannot be run: {error.strerror}") from None


async def fire(name: str, instant: float) -> float:
    """Start an attack at an instant by the clock of this worker, and return the seconds until then.

    If the instant has passed, the result is negative, and nothing starts.
    """
    return _attack(name).fire_at(instant)


async def look(name: str) -> AttackProgress:
    """Return the progress of an attack, and renew its lease."""
    return _attack(name).look()


async def piece(name: str, offset: int) -> bytes:
    """Return a piece, from `offset` on, of the compressed results of a finished attack."""
    return _attack(name).packed[offset : offset + PIECE_BYTES]


async def drop(name: str) -> None:
    """Stop an attack if it is still running, and remove it."""
    attack = _ATTACKS.pop(name, None)
    if attack is not None:
        await asyncio.to_thread(attack.end)


class _Attack:
    """An attack, from the start of vegeta to its results. It runs in a thread, so as not to block the event loop."""

    def __init__(self, order: Order) -> None:
        self.packed = b""
        self._order = order
        self._stage: Stage = "ready"
        self._error = ""
        self._heard = time.monotonic()
        self._instant = 0.0
        self._fired, self._dropped = threading.Event(), threading.Event()
        with contextlib.ExitStack() as cleanup:
            self._folder = cleanup.enter_context(private_folder())
            self._log = cleanup.enter_context((self._folder / "log").open("wb"))
            self._vegeta = self._start(order.command, self._log, source=subprocess.PIPE)
            self._cleanup = cleanup.pop_all()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def fire_at(self, instant: float) -> float:
        away = instant - time.time()
        if away >= 0:
            self._instant = time.monotonic() + away
            self._fired.set()
        return away

    def look(self) -> AttackProgress:
        self._heard = time.monotonic()
        return AttackProgress(self._stage, len(self.packed), self._error)

    def is_forgotten(self) -> bool:
        """Whether the command has died without dropping it."""
        return time.monotonic() - self._heard > self._order.lease

    def end(self) -> None:
        self._dropped.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            with self._cleanup:
                self._attack()
                self.packed = self._encode()
            self._stage = "done"
        except (FailedError, OSError) as error:
            self._stage, self._error = "failed", str(error)

    def _attack(self) -> None:
        try:
            while not self._fired.wait(_POLL_SECONDS):
                self._check()
                if self._vegeta.poll() is not None:
                    break
            self._stage = "running"
            self._dropped.wait(max(0.0, self._instant - time.monotonic()))
            # In a thread, because vegeta may read its targets during the attack (-lazy).
            threading.Thread(target=self._feed, daemon=True).start()
            self._wait_for(self._vegeta)
        finally:
            if self._vegeta.poll() is None:
                process.end(self._vegeta)
            self._close()

    def _feed(self) -> None:
        assert self._vegeta.stdin is not None
        # vegeta may have ended, as its status will show. Its pipe may then be closed already: `ValueError`.
        with contextlib.suppress(OSError, ValueError), self._vegeta.stdin as targets:
            targets.write(self._order.targets)

    def _close(self) -> None:
        """Close the pipe for the targets, even if they were never sent."""
        assert self._vegeta.stdin is not None
        with contextlib.suppress(OSError):
            self._vegeta.stdin.close()

    def _encode(self) -> bytes:
        """Return the results as compressed CSV."""
        with (self._folder / "rows").open("w+b") as rows:
            encode = self._start(self._order.encode, rows, errors=self._log)
            try:
                self._wait_for(encode)
            finally:
                if encode.poll() is None:
                    process.end(encode)
            rows.seek(0)
            packer = zlib.compressobj(level=1)
            return b"".join([*map(packer.compress, iter(lambda: rows.read(PIECE_BYTES), b"")), packer.flush()])

    def _start(
        self,
        command: Sequence[str],
        output: IO[bytes],
        *,
        errors: IO[bytes] | None = None,
        source: int = subprocess.DEVNULL,
    ) -> subprocess.Popen[bytes]:
        unlimited = resource.RLIM_INFINITY
        return process.start(
            command, cwd=self._folder, output=output, errors=errors, source=source, open_files=unlimited
        )

    def _wait_for(self, command: subprocess.Popen[bytes]) -> None:
        """Wait until a command has ended. Raises `FailedError` if it fails, or if the attack must stop."""
        while True:
            self._check()
            with contextlib.suppress(subprocess.TimeoutExpired):
                status = command.wait(_POLL_SECONDS)
                break
        if status:
            said = (self._folder / "log").read_bytes()[-_LAST_BYTES:].decode(errors="replace").strip()
            raise FailedError(": ".join(filter(None, [f"vegeta {process.how_it_ended(status)}", said])))

    def _check(self) -> None:
        """Raise `FailedError` if the attack must stop."""
        if self._dropped.is_set():
            raise FailedError("ended by the command")
        if self.is_forgotten():
            raise FailedError(f"heard nothing from the command for {self._order.lease:g} seconds")


_ATTACKS: dict[str, _Attack] = {}


def _attack(name: str) -> _Attack:
    if name not in _ATTACKS:
        raise UnknownAttackError("was restarted")
    return _ATTACKS[name]


def _version(vegeta: str) -> str:
    """Return the output of `vegeta -version`."""
    completed = process.run([vegeta, "-version"], cwd=Path("/"), seconds=_VERSION_SECONDS)
    return completed.output.decode(errors="replace")
