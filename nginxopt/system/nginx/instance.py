"""Runs nginx on 127.0.0.1 for the duration of a block.

nginx is ready when the block begins, and ends with it, or with this process (see `nginxopt.system.process`).
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from nginxopt.errors import InputError, MissingError, RunError
from nginxopt.records import record
from nginxopt.system.confinement import Confinement
from nginxopt.system.http import Client
from nginxopt.system.network import MACHINE, Network, own_network
from nginxopt.system.nginx.binary import Binary
from nginxopt.system.nginx.prefix import NO_FILES, configuration, private_prefix, reserved_ports
from nginxopt.system.process import end, start

PID_FILE = "nginx.pid"
"""The `pid` file of configurations, relative to the prefix."""

_START_SECONDS = 120.0
_POLL_SECONDS = 0.002


@record(eq=True)
class Running:
    """A running nginx: its prefix, and its process, which is that of the wrapper if there is one."""

    prefix: Path
    process: subprocess.Popen[bytes]

    @property
    def pid(self) -> int:
        """The process id of the master, or of a single-process nginx."""
        return self.process.pid

    @property
    def nanoseconds(self) -> int:
        """The processor time of a single-process nginx so far, the first number of /proc/PID/schedstat.

        Raises `RunError` if it has ended.
        """
        words = _read(Path(f"/proc/{self.pid}/schedstat")).split()
        if not words:
            raise RunError("nginx has ended")
        return int(words[0])

    @property
    def workers(self) -> tuple[int, ...]:
        """The process ids of the workers that are ready. A worker sets its title after its limits and user
        (ngx_worker_process_cycle), so the title shows that it is.
        """
        children = (int(path.name) for path in Path("/proc").glob("[0-9]*") if _parent(path) == self.pid)
        return tuple(sorted(pid for pid in children if _title(pid).startswith(b"nginx: worker process")))

    def wait_for_workers(self, count: int = 1, *, seconds: float = _START_SECONDS) -> tuple[int, ...]:
        """Wait until at least `count` workers are ready, at most `seconds`, and return those that are."""
        deadline = time.monotonic() + seconds
        while len(workers := self.workers) < count and time.monotonic() < deadline:
            time.sleep(_POLL_SECONDS)
        return workers

    def error_log(self) -> tuple[str, ...]:
        """Return the lines of `error.log` in the prefix, without the path of the prefix."""
        return _lines(self.prefix / "error.log", self.prefix)


class Instance:
    """A single-process nginx of its own, as a context manager that always removes its process and files.

    Args:
        servers: The content of its servers, as in `configuration`. Each gets a free port, in `ports`.
        http: The content of the http block before them, as in `configuration`.
        files: Files for the prefix; nginx serves those in `html/`.
        wrapper: A command before that of nginx, for example a profiler.
        also: Further folders where it may write.
        avoid: Bytes that must not contain the digits of a port.
        alone: Whether it has a private network, if the kernel allows one. Then only `client` reaches it.

    Raises `InputError` with the error log if nginx does not start within `start_seconds`.
    """

    def __init__(
        self,
        binary: Binary,
        *,
        servers: Sequence[bytes] = (b"",),
        http: bytes = b"",
        main: bytes = b"",
        files: Mapping[str, bytes] = NO_FILES,
        log_level: str = "crit",
        wrapper: Sequence[str] = (),
        also: tuple[Path, ...] = (),
        start_seconds: float = _START_SECONDS,
        avoid: bytes = b"",
        alone: bool = False,
    ) -> None:
        self.binary = binary
        self.network: Network = MACHINE
        self.ports: tuple[int, ...] = ()
        self.prefix = Path()
        self._servers, self._http, self._main = servers, http, main
        self._files, self._log_level, self._avoid = files, log_level, avoid
        self._wrapper, self._also, self._start_seconds = wrapper, also, start_seconds
        self._alone = alone
        self._cleanup = contextlib.ExitStack()

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as cleanup:
            if self._alone:
                self.network = cleanup.enter_context(own_network())
            self.prefix = cleanup.enter_context(private_prefix(self._files))
            self._running = self._start(cleanup)
            self._cleanup = cleanup.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._cleanup.close()

    @property
    def pid(self) -> int:
        """The process id of nginx, or of the wrapper if there is one."""
        return self._running.pid

    def client(self, server: int = 0, *, timeout: float = 60.0) -> Client:
        """Return a new client of the server with that index."""
        return Client(self.ports[server], timeout=timeout, network=self.network)

    def error_log(self) -> tuple[str, ...]:
        """Return the lines of the error log, without the path of the private prefix."""
        return self._running.error_log()

    def _start(self, cleanup: contextlib.ExitStack) -> Running:
        with reserved_ports(len(self._servers), avoid=self._avoid, network=self.network) as self.ports:
            config = configuration(
                self._servers, self.ports, http=self._http, main=self._main, log_level=self._log_level
            )
            (self.prefix / "nginx.conf").write_bytes(config)
            command = [*self._wrapper, *self.binary.command(self.prefix)]
            seconds = self._start_seconds
            started = running(command, self.prefix, start_seconds=seconds, also=self._also, network=self.network)
            return cleanup.enter_context(started)


@contextlib.contextmanager
def running(
    command: Sequence[str],
    prefix: Path,
    *,
    start_seconds: float = _START_SECONDS,
    open_files: int | None = None,
    also: tuple[Path, ...] = (),
    network: Network = MACHINE,
) -> Iterator[Running]:
    """Run nginx in a network with `command`, confined to `prefix` and the folders of `also`, and yield it once it is
    ready; it ends with the block.

    Its configuration must set the pid file `PID_FILE` in `prefix`. `open_files` is its soft limit of open files. Raises
    `InputError` with its messages if it does not start within `start_seconds`, and `MissingError` if it cannot be run.
    """
    pid_file, terminal = prefix / PID_FILE, prefix / "terminal"
    pid_file.unlink(missing_ok=True)
    with terminal.open("wb") as output:
        confinement = Confinement(prefix, also, network)
        try:
            process = start(command, cwd=prefix, output=output, open_files=open_files, confinement=confinement)
        except OSError as error:
            is_denied = isinstance(error, PermissionError) and os.geteuid() == 0
            hint = "it runs as nobody, who must be able to read and execute it" if is_denied else None
            raise MissingError(f"{command[0]} cannot be run: {error.strerror}", hint=hint) from None
    try:
        if not wait_until_started(process, pid_file, start_seconds):
            why = f"was not ready within {start_seconds:.0f} seconds" if process.poll() is None else "ended"
            lines = _lines(terminal, prefix) or _lines(prefix / "error.log", prefix)
            raise InputError(f"nginx did not start: it {why}", below=lines)
        yield Running(prefix, process)
    finally:
        end(process)


def wait_until_started(process: subprocess.Popen[bytes], pid_file: Path, seconds: float = _START_SECONDS) -> bool:
    """Wait until nginx is ready, has ended, or the time is over; return whether it is ready.

    nginx writes the pid file after it has accepted the configuration and listens on its sockets (main in nginx.c).
    """
    deadline = time.monotonic() + seconds
    while not _read(pid_file):
        if process.poll() is not None or time.monotonic() > deadline:
            return False
        time.sleep(_POLL_SECONDS)
    return True


def _lines(path: Path, prefix: Path) -> tuple[str, ...]:
    text = _read(path).replace(f"{prefix}/".encode(), b"").decode(errors="backslashreplace")
    return tuple(line for line in text.splitlines() if line.strip())


def _parent(process: Path) -> int:
    """Return the parent of a process (proc_pid_stat(5)); 0 if the process has ended."""
    fields = _read(process / "stat").rpartition(b")")[2].split()
    return int(fields[1]) if fields else 0


def _title(pid: int) -> bytes:
    """Return the title of a process; empty if the process has ended."""
    return _read(Path(f"/proc/{pid}/cmdline"))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""
