"""A whole configuration on the real nginx with its master and workers, for what `nginx.Instance` states itself."""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from nginxopt.system import nginx

_SECONDS = 20.0


@dataclass(frozen=True, slots=True)
class Running:
    """An nginx that runs: its private prefix and its master process."""

    prefix: Path
    pid: int

    @property
    def workers(self) -> tuple[int, ...]:
        """The process ids of its workers that are ready: they take their title once their limits and user are set
        (ngx_worker_process_cycle)."""
        children = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        return tuple(int(pid) for pid in children if _title(pid).startswith(b"nginx: worker process"))

    def until_workers(self, count: int) -> int:
        """How many workers there are, once they are `count`, or when that has taken too long."""
        deadline = time.monotonic() + _SECONDS
        while len(self.workers) != count and time.monotonic() < deadline:
            time.sleep(0.01)
        return len(self.workers)

    def error_log(self) -> str:
        """What stands in `error.log`."""
        return (self.prefix / "error.log").read_text()

    def until(self, words: str) -> str:
        """The error log once it has these words; `AssertionError` if that takes too long."""
        deadline = time.monotonic() + _SECONDS
        while words not in self.error_log():
            assert time.monotonic() < deadline, f"no {words!r} in {self.error_log()!r}"
            time.sleep(0.01)
        return self.error_log()


@contextlib.contextmanager
def running(
    binary: nginx.Binary, text: str, files: Mapping[str, bytes] = nginx.NO_FILES, wrapper: Sequence[str] = ()
) -> Iterator[Running]:
    """Run a whole configuration, which states neither `daemon` nor `pid` nor `user`, until the block ends."""
    with nginx.private_prefix({**files, "nginx.conf": text.encode()}) as prefix:
        command = [*wrapper, *binary.command(prefix), "-g", "daemon off; pid nginx.pid; user root root;"]
        process = subprocess.Popen(command, cwd=prefix, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        try:
            started = Running(prefix, process.pid)
            deadline = time.monotonic() + _SECONDS
            while not (prefix / "nginx.pid").exists() or not started.workers:
                assert process.poll() is None, "nginx did not start"
                assert time.monotonic() < deadline, "nginx was not ready in time"
                time.sleep(0.01)
            yield started
        finally:
            process.terminate()
            process.wait(_SECONDS)


def _title(pid: str) -> bytes:
    """What a process calls itself; nothing if it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""
