"""Workers of this machine and of a cluster: how they start, what they refuse, how they end."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from nginxopt.errors import RunError, UsageError
from nginxopt.system import cluster
from tests.support import PATIENCE, ended

pytestmark = [pytest.mark.extended, pytest.mark.no_cover]

_SCENE = """
import os, sys, time
from nginxopt.system.cluster import connected
def main():
    with connected(workers=2) as client:
        pids = set(client.run(os.getpid).values())
        print(client.scheduler.address, os.getpid(), *pids, flush=True)
        time.sleep(600)
if __name__ == "__main__":
    main()
"""


@contextmanager
def _scene(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], str, list[int]]]:
    """Yield a process that has workers, the address of its scheduler, and the pids of the workers."""
    (tmp_path / "scene.py").write_text(_SCENE)
    process = subprocess.Popen(
        [sys.executable, "scene.py"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    with ended(process):
        assert process.stdout
        address, *pids = process.stdout.readline().split()
        yield process, address, [int(pid) for pid in pids[1:]]


def _await_end(pid: int) -> None:
    """Wait until a process that may be another's child is gone."""
    try:
        waiting = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    import select

    assert select.select([waiting], [], [], PATIENCE)[0], f"process {pid} still runs"
    os.close(waiting)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_workers_end_with_the_process_that_started_them(tmp_path: Path, number: signal.Signals) -> None:
    """After Ctrl-C, which the terminal sends to workers too, and after kill -9, no worker is left or complains."""
    with _scene(tmp_path) as (process, address, workers):
        assert len(workers) == 2
        assert address.startswith("tls://127.0.0.1:")
        if number is signal.SIGINT:
            os.killpg(process.pid, number)
        else:
            process.send_signal(number)
        _, errors = process.communicate(timeout=PATIENCE)
    for worker in workers:
        _await_end(worker)
    assert errors.count("Traceback") == (number is signal.SIGINT)  # of the scene itself
    assert "distributed" not in errors.replace("site-packages/distributed", "")


@pytest.mark.slow
def test_a_stranger_cannot_talk_to_the_workers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process of this machine, without the certificates, is refused by the scheduler."""
    monkeypatch.setattr(cluster, "_SECONDS", 2)
    with _scene(tmp_path) as (process, address, _):
        stranger = "tcp" + address.removeprefix("tls")
        with pytest.raises(RunError, match="no Dask scheduler answers"), cluster.connected(scheduler=stranger):
            pass
        with pytest.raises(RunError, match="TLS expects"), cluster.connected(scheduler=address):
            pass
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE)


@pytest.mark.slow
@pytest.mark.parametrize("backlog", [None, 8])
def test_where_no_scheduler_answers_is_an_error(monkeypatch: pytest.MonkeyPatch, backlog: int | None) -> None:
    """The error names the address, whether nothing listens there or something that is silent."""
    monkeypatch.setattr(cluster, "_SECONDS", 1)
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        if backlog is not None:
            unused.listen(backlog)
        address = f"tcp://127.0.0.1:{unused.getsockname()[1]}"
        expected = pytest.raises(RunError, match=f"no Dask scheduler answers at {address}")
        with expected, cluster.connected(scheduler=address):
            pass


@pytest.mark.slow
def test_workers_that_do_not_start_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that dies as it starts is not waited for."""
    (tmp_path / "dies.py").write_text("import os; os._exit(1)")
    monkeypatch.setitem(cluster._CONFIGURATION, "distributed.worker.preload", [str(tmp_path / "dies.py")])
    with pytest.raises(RunError, match="the workers of this machine do not start"), cluster.connected(workers=1):
        pass


@pytest.mark.parametrize("address", ["", "10.0.0.1:8786", "http://10.0.0.1:8786", "inproc://1"])
def test_what_is_no_address_of_a_scheduler_is_refused(address: str) -> None:
    """Only addresses of Dask's own protocols are tried."""
    with pytest.raises(UsageError, match="invalid scheduler address"), cluster.connected(scheduler=address):
        pass


def test_without_the_extra_the_error_says_what_to_install() -> None:
    """Without distributed, the error names the extra and has the status of something missing."""
    code = (
        "import importlib.util as u; f = u.find_spec; u.find_spec = lambda n: None if n == 'distributed' else f(n)\n"
        "from nginxopt.errors import MissingError\n"
        "from nginxopt.system.cluster import connected\n"
        "try: connected().__enter__()\n"
        "except MissingError as error: print(error.render()); sys.exit(error.exit_code)"
    )
    done = subprocess.run([sys.executable, "-c", f"import sys\n{code}"], capture_output=True, text=True)
    assert done.returncode == 4, done.stderr
    assert "pip install 'nginxopt[fleet]'" in done.stdout
