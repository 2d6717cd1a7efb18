"""What `host-limits` counts, seen on the real nginx: descriptors of a worker, and limits that cannot be set."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from nginxopt.system import nginx
from nginxopt.system.host import read_host
from tests.lintcheck import judge, read
from tests.nginx.modules import is_built_with

pytestmark = [
    pytest.mark.nginx,
    pytest.mark.skipif(sys.platform != "linux", reason="the limits of the machine are read on Linux only"),
]

USER = "user root root;\n" if os.geteuid() == 0 else ""


@contextlib.contextmanager
def running(binary: nginx.Binary, text: str) -> Iterator[tuple[Path, list[Path]]]:
    """The prefix of an nginx with workers, and their folders in /proc."""
    with nginx.private_prefix() as prefix:
        (prefix / "nginx.conf").write_text(f"daemon off; pid nginx.pid; {USER}{text}")
        with nginx.running(binary.command(prefix), prefix) as started:
            workers = [Path(f"/proc/{pid}") for pid in started.wait_for_workers(2)]
            assert len(workers) == 2
            for worker in workers:
                _wait_until_it_waits_for_events(worker)
            yield prefix, workers


def _wait_until_it_waits_for_events(worker: Path) -> None:
    for _ in range(2000):
        if any("eventpoll" in link for link in _links(worker)):
            return
        time.sleep(0.005)
    raise AssertionError("a worker did not start")


def _links(process: Path) -> list[str]:
    """What the descriptors of a process are open on; one may be closed meanwhile."""
    links = []
    for link in (process / "fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            links.append(str(link.readlink()))
    return links


def test_descriptors_of_a_worker(binary: nginx.Binary) -> None:
    """A worker has the counted descriptors before the first connection; `--with-file-aio` adds one for its events."""
    with nginx.Instance(binary, servers=[b"", b""]) as probe:
        first, second = probe.ports
    http = (
        f"http {{ access_log a.log; server {{ listen 127.0.0.1:{first}; listen unix:a.sock; }}"
        f" server {{ listen 127.0.0.1:{second} reuseport; access_log b.log; }} }}\n"
    )
    text = f"worker_processes 2; error_log error.log;\nevents {{ worker_connections 1000; }}\n{http}"
    (diagnostic,) = judge("host-limits", read(text)).diagnostics
    expected = int(diagnostic.message.partition("descriptors + ")[2].split()[0])
    expected += is_built_with(binary, "--with-file-aio")
    with running(binary, text) as (_, workers):
        for _ in range(2000):  # the last channels come when the worker already waits for events
            counts = [len(_links(worker)) for worker in workers]
            if counts == [expected, expected]:
                break
            time.sleep(0.005)
    assert counts == [expected, expected]


def test_a_limit_above_nr_open_is_not_set(binary: nginx.Binary) -> None:
    """A worker_rlimit_nofile above fs.nr_open fails, nginx goes on, and its log tells."""
    limit = read_host().nr_open
    if limit is None:
        pytest.skip("fs.nr_open cannot be read here")
    with running(
        binary, f"worker_processes 2; worker_rlimit_nofile {limit + 1}; error_log error.log;\nevents {{}}\n"
    ) as (prefix, workers):
        assert all(_nofile(worker) != limit + 1 for worker in workers)
        assert f"setrlimit(RLIMIT_NOFILE, {limit + 1}) failed" in (prefix / "error.log").read_text()


def test_a_limit_below_the_hard_one_is_set(binary: nginx.Binary) -> None:
    """Workers have the limit of worker_rlimit_nofile, if it may be set."""
    with running(
        binary,
        "worker_processes 2; worker_rlimit_nofile 700; error_log error.log;\nevents { worker_connections 100; }\n",
    ) as (_, workers):
        assert [_nofile(worker) for worker in workers] == [700, 700]


def _nofile(process: Path) -> int:
    match = re.search(r"^Max open files +(\d+)", (process / "limits").read_text(), re.MULTILINE)
    assert match
    return int(match[1])
