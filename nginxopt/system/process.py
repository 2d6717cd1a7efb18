"""Starts processes that do not outlive this one: the kernel ends them if this one dies."""

from __future__ import annotations

import contextlib
import os
import resource
import select
import signal
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

from nginxopt.errors import RunError
from nginxopt.records import record
from nginxopt.system.confinement import Confinement, end_with
from nginxopt.system.network import MACHINE, Network

_END_SECONDS = 10.0
_END_TRIES = 20


def start(
    command: Sequence[str],
    *,
    cwd: Path,
    output: IO[bytes] | int,
    errors: IO[bytes] | int | None = None,
    source: IO[bytes] | int = subprocess.DEVNULL,
    open_files: int | None = None,
    confinement: Confinement | None = None,
    network: Network = MACHINE,
) -> subprocess.Popen[bytes]:
    """Start a command in a separate session, so that Ctrl-C at the terminal reaches only this process.

    The command gets SIGTERM when the thread that started it ends, even by `kill -9` (PR_SET_PDEATHSIG in prctl(2)).
    `source` is its standard input. `open_files` is its soft limit of open files, lowered to the hard limit;
    RLIM_INFINITY stands for the hard limit. With a `confinement`, it is confined; otherwise it is in `network`. Raises
    `OSError` if the command cannot be run.
    """
    return subprocess.Popen(
        command,
        cwd=cwd,
        stdin=source,
        stdout=output,
        stderr=output if errors is None else errors,
        start_new_session=True,
        env=None if confinement is None else confinement.environment(),
        preexec_fn=_bound_to(os.getpid(), open_files, network.enter if confinement is None else confinement.prepare()),
    )


@record(eq=True)
class Completed:
    """A finished command: its exit status, negative for a signal, and its output."""

    status: int
    output: bytes
    errors: bytes

    def last(self, lines: int = 1) -> str:
        """Return the last lines of its standard error, or of its output if that is empty."""
        text = (self.errors.strip() or self.output).decode(errors="replace")
        return "\n".join([line.rstrip() for line in text.splitlines() if line.strip()][-lines:])


def run(
    command: Sequence[str],
    *,
    cwd: Path,
    seconds: float,
    source: bytes | None = None,
    open_files: int | None = None,
    confinement: Confinement | None = None,
    network: Network = MACHINE,
) -> Completed:
    """Run a command to its end, started as `start` does; `source` is its standard input.

    Raises `RunError` if it does not end in time.
    """
    running = start(
        command,
        cwd=cwd,
        output=subprocess.PIPE,
        errors=subprocess.PIPE,
        source=subprocess.DEVNULL if source is None else subprocess.PIPE,
        open_files=open_files,
        confinement=confinement,
        network=network,
    )
    with running:
        try:
            output, errors = running.communicate(source, timeout=seconds)
        except subprocess.TimeoutExpired:
            raise RunError(f"{Path(command[0]).name} did not end within {seconds:.0f} seconds") from None
        finally:
            if running.poll() is None:
                end(running)
    return Completed(running.returncode, output, errors)


def how_it_ended(status: int) -> str:
    """Return an exit status, negative for a signal, in words that end a sentence: `was ended by SIGTERM`."""
    return f"was ended by {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"


def end(process: subprocess.Popen[bytes]) -> None:
    """End a process with SIGTERM, and if it does not end, with SIGKILL.

    SIGTERM is sent several times: a signal handler of a single-process nginx only sets a flag. If that happens between
    its check of the flag and its wait for events (ngx_single_process_cycle), only the next signal wakes it.
    """
    for _ in range(_END_TRIES):
        process.send_signal(signal.SIGTERM)
        if _ends_within(process, _END_SECONDS / _END_TRIES):
            return
    process.kill()
    process.wait()


def _ends_within(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Wait until a process ends, but no longer; return whether it has.

    Linux says so at once, while `Popen.wait` looks at growing intervals of up to 50 ms.
    """
    try:
        descriptor = os.pidfd_open(process.pid)
    except (AttributeError, OSError):  # not Linux, or before 5.3
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
    else:
        try:
            ending = select.poll()
            ending.register(descriptor, select.POLLIN)
            ending.poll(seconds * 1000)
        finally:
            os.close(descriptor)
    return process.poll() is not None


def _bound_to(parent: int, open_files: int | None, confine: Callable[[], None]) -> Callable[[], None]:
    """Return the function that runs in the child process before the command.

    The child is a copy of this process with a single thread, so the function must take no locks and import nothing.
    """

    def prepare() -> None:
        if open_files is not None:
            hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
            # RLIM_INFINITY is -1 here.
            soft = hard if open_files < 0 or 0 <= hard < open_files else open_files
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
        confine()
        end_with(parent)  # last, as a change of the user undoes it

    return prepare
