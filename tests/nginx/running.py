"""A whole configuration on the real nginx with master and workers, for directives that `nginx.Instance` sets itself."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence

from nginxopt.system import nginx
from tests.support import PATIENCE


class Running(nginx.Running):
    """An nginx that runs, with what tests wait for."""

    def until_workers(self, count: int) -> int:
        """How many workers there are, once they are `count`, or when that has taken too long."""
        return len(self.wait_for_workers(count, seconds=PATIENCE))

    def log(self) -> str:
        """What stands in `error.log`."""
        return "\n".join(self.error_log())

    def until(self, words: str) -> str:
        """The error log once it has these words; `AssertionError` if that takes too long."""
        deadline = time.monotonic() + PATIENCE
        while words not in self.log():
            assert time.monotonic() < deadline, f"no {words!r} in {self.log()!r}"
            time.sleep(0.01)
        return self.log()


@contextlib.contextmanager
def running(
    binary: nginx.Binary, text: str, files: Mapping[str, bytes] = nginx.NO_FILES, wrapper: Sequence[str] = ()
) -> Iterator[Running]:
    """Run a whole configuration, which states neither `daemon` nor `pid` nor `user`, until the block ends.

    It has a worker that is ready by then.
    """
    with nginx.private_prefix({**files, "nginx.conf": text.encode()}) as prefix:
        command = [*wrapper, *binary.command(prefix), "-g", "daemon off; pid nginx.pid; user root root;"]
        with nginx.running(command, prefix) as started:
            assert started.wait_for_workers(), "nginx has no worker"
            yield Running(started.prefix, started.process)
