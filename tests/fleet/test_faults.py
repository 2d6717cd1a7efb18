"""Faults: what is left of a run when its processes are killed, and that the next one ends as an undisturbed one.

A rule that these tests bring along tells when it is asked about a host, and then waits, dies, or goes on: so a process
is killed while it is known what it does.
"""

from __future__ import annotations

import contextlib
import functools
import io
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from nginxopt.cli import main
from nginxopt.errors import RunError
from nginxopt.fleet import running
from nginxopt.fleet.plan import FleetOptions, versions
from nginxopt.fleet.result import begin
from nginxopt.fleet.running import FleetRun
from nginxopt.fleet.sources import find
from nginxopt.system import cluster
from tests.fleet.fleets import FOUND, in_threads, rows
from tests.support import PATIENCE, ended

pytestmark = [pytest.mark.slow, pytest.mark.extended, pytest.mark.no_cover]


_RULE = '''"""This host is asked about

## Why it matters
Tests of faults.

## Bad
```nginx
events {}
```
"""

import os
import signal
import time
from pathlib import Path

from nginxopt.lint import Finding, Severity, rule

HERE = Path(__file__).parent


@rule(severity=Severity.INFO, category="config")
def check(model):
    """Wait, or die, if the configuration says so."""
    for directive in model.config.main.block.directives():
        if directive.name == "env" and directive.args[0] == "DIE":
            os.kill(os.getpid(), signal.SIGKILL)
        if directive.name == "env" and directive.args[0] == "HOLD" and not (HERE / "go").exists():
            with (HERE / "pids").open("wb", buffering=0) as pipe:
                pipe.write(b"%d\\n" % os.getpid())
            while not (HERE / "go").exists():
                time.sleep(0.05)
        if directive.name == "env":
            yield Finding(directive.source, directive.span, f"env {directive.args[0]}")
'''

_SCRIPT = """
import os
import sys
from nginxopt.cli import main
from nginxopt.fleet import running
running._BATCH = running._HOSTS = running._CONFIGURATIONS = 1
running._WITHOUT_WORKERS = float(os.environ.get("WITHOUT_WORKERS", running._WITHOUT_WORKERS))
if __name__ == "__main__":
    main(["fleet", "lint", "hosts", "--config", "s.toml", "--rules", "--target-version", "1.22.1", *sys.argv[1:]])
"""


@pytest.fixture(autouse=True)
def _fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hosts of which the seventh holds its worker until `rules/go` is there; each has one finding."""
    monkeypatch.chdir(tmp_path)
    Path("rules").mkdir()
    Path("rules/gate.py").write_text(_RULE)
    Path("s.toml").write_text('rules = ["rules"]\nselect = ["gate"]\nfail-on = "error"\n')
    Path("run.py").write_text(_SCRIPT)
    os.mkfifo("rules/pids")
    Path("hosts").mkdir()
    for number in range(10):
        Path(f"hosts/web{number}.conf").write_text(f"env {'HOLD' if number == 6 else f'N{number}'};\nevents {{}}\n")


def _start(*args: str) -> subprocess.Popen[str]:
    command = [sys.executable, "run.py", *args]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, start_new_session=True)


@contextmanager
def _held(*args: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """Run the command until a worker is held; yield both, and end what is left."""
    with ended(_start(*args)) as process:
        reading = os.open("rules/pids", os.O_RDONLY | os.O_NONBLOCK)
        try:
            assert select.select([reading], [], [], PATIENCE)[0], "no worker came"
            data = b""
            while not data.endswith(b"\n"):
                select.select([reading], [], [], PATIENCE)
                data += os.read(reading, 100)
        finally:
            os.close(reading)
        yield process, int(data.split()[0])


def _end(process: subprocess.Popen[str], status: int) -> str:
    with ended(process):
        _, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == status, errors
    assert "Traceback" not in errors, errors
    return errors


def _gone(pid: int) -> None:
    """Wait until a process that is another's child has ended."""
    try:
        waiting = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    assert select.select([waiting], [], [], PATIENCE)[0], f"process {pid} still runs"
    os.close(waiting)


def _result(path: str = "fleet.duckdb") -> list[Any]:
    return [*rows(FOUND, path), *rows("SELECT * FROM hosts ORDER BY ALL", path)]


def _go() -> None:
    Path("rules/go").touch()


def _here(status: int, *args: str) -> str:
    """Run the command in this process, with its status, and return what it says."""
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stderr(io.StringIO()) as errors:
        for name in ("_BATCH", "_HOSTS", "_CONFIGURATIONS"):
            patch.setattr(running, name, 1)
        with pytest.raises(SystemExit) as ended:
            main(["fleet", "lint", "hosts", "--config", "s.toml", "--rules", "--target-version", "1.22.1", *args])
    assert ended.value.code == status, errors.getvalue()
    assert "Traceback" not in errors.getvalue()
    return errors.getvalue()


@functools.cache
def _undisturbed() -> list[Any]:
    """Return the result of a run in which nothing happens; the hosts are the same in each test."""
    _go()
    with in_threads():
        _here(0, "--output", "undisturbed.duckdb")
    found = _result("undisturbed.duckdb")
    assert len(found) == 20
    return found


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_a_command_that_ends_early_keeps_what_is_done(number: signal.Signals) -> None:
    """After kill -9, Ctrl-C and SIGTERM no result is there, its workers are gone, and --resume ends it alike."""
    with _held("--workers", "1") as (process, worker):
        os.killpg(process.pid, number) if number is signal.SIGINT else process.send_signal(number)
        said = process.communicate(timeout=PATIENCE)[1]
        assert process.returncode == {signal.SIGKILL: -9, signal.SIGINT: 130, signal.SIGTERM: 143}[number], said
    _gone(worker)
    assert ("fleet.duckdb.part has " in said) == (number is not signal.SIGKILL)
    assert not Path("fleet.duckdb").exists()
    assert "--resume goes on with it" in _here(2)
    _go()
    with in_threads():
        _here(0, "--resume")
    assert not Path("fleet.duckdb.part").exists()
    assert _result() == _undisturbed()


def test_a_run_is_resumed_with_the_same_options_only() -> None:
    """Other rules, another target or other hosts are refused, and what is done is kept."""
    with _held("--workers", "1") as (process, _):
        process.kill()
    for args, name in ((["--ignore", "gate"], "ignore"), (["--installed", "/x"], "installed"), (["run.py"], "sources")):
        assert f"{name} was " in _here(2, "--resume", *args)
    Path("s.toml").write_text(Path("s.toml").read_text() + "# another text\n")
    assert "settings was " in _here(2, "--resume")


def test_a_worker_that_is_killed_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its hosts are asked about again, by the worker that comes next, however long that takes to start."""
    monkeypatch.setenv("DASK_DISTRIBUTED__DEPLOY__LOST_WORKER_TIMEOUT", "1ms")
    with _held("--workers", "1") as (process, worker):
        _go()
        os.kill(worker, signal.SIGKILL)
        _end(process, 0)
    assert _result() == _undisturbed()


def test_a_configuration_that_kills_workers_is_a_row() -> None:
    """It is named, with the other hosts that have it; hosts that were asked with it are asked again."""
    _go()
    for name in ("bad1", "bad2"):
        Path(f"hosts/{name}.conf").write_text("env DIE;\nevents {}\n")
    _end(_start("--workers", "2"), 3)
    errors = rows("SELECT host, message FROM host_errors ORDER BY host")
    assert errors == [(name, "each worker that was asked about it died (KilledWorker)") for name in ("bad1", "bad2")]
    assert len(rows(FOUND)) == 10


@contextmanager
def _cluster(workers: int) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Start a scheduler and workers as a user does; yield the scheduler and its address, once it has all workers.

    Each worker is one process, without a second one that watches it, and all are killed at the end: a watched worker
    that is asked to end while it starts waits for ever for a scheduler that is gone.
    """
    dask = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--no-dashboard"]
    command = [*dask, "--dashboard-address", "127.0.0.1:0", "--host", "tcp://127.0.0.1:0"]
    with ExitStack() as stack:
        started = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        scheduler = stack.enter_context(ended(started))
        assert scheduler.stderr
        line = next(line for line in scheduler.stderr if "Scheduler at:" in line)
        address = line.split()[-1]
        dask = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--nthreads", "1", "--no-nanny"]
        worker = [*dask, "--no-dashboard", "--host", "127.0.0.1", "--local-directory", "scratch"]
        for _ in range(workers):
            quiet = subprocess.Popen(worker, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            stack.enter_context(ended(quiet))
        for _ in range(workers):  # a command waits for them 15 seconds, which a busy machine may need to start one
            next(line for line in scheduler.stderr if "Register worker" in line)
        yield scheduler, address


def test_a_run_whose_workers_are_gone_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    """It waits for others for a while, then says so, with the status of a program that died."""
    monkeypatch.setenv("WITHOUT_WORKERS", "1")
    with _cluster(1) as (_, address), _held("--scheduler", address) as (process, worker):
        os.kill(worker, signal.SIGKILL)
        said = _end(process, 5)
    assert "the cluster has no workers for 1 s" in said
    assert "fleet.duckdb.part has " in said


def test_three_workers_of_a_cluster_find_what_one_process_finds() -> None:
    """The same rows, byte for byte, come from three processes that were started by hand."""
    _go()
    with _cluster(3) as (_, address):
        _end(_start("--scheduler", address), 0)
    assert _result() == _undisturbed()


def test_a_run_without_its_scheduler_ends() -> None:
    """Whatever Dask raises once it has given up the connection, the error says that it is lost."""
    fleet = find(("hosts",), None)
    with _cluster(1) as (_, address), cluster.connected(scheduler=address) as client:
        client.close()
        plan = FleetOptions()
        part = begin(Path("a.part"), plan.options(), versions(), [])
        with pytest.raises(RunError, match="the connection to the scheduler was lost"):
            FleetRun(client, plan, fleet, part)()


def test_without_its_scheduler_the_command_ends() -> None:
    """It says so, with the status of a program that died, and what is done is kept for --resume."""
    with _cluster(1) as (scheduler, address), _held("--scheduler", address) as (process, _):
        scheduler.kill()
        said = _end(process, 5)
        _go()
    assert "the connection to the scheduler was lost" in said
    assert "fleet.duckdb.part has " in said
    _end(_start("--workers", "1", "--resume"), 0)
    assert _result() == _undisturbed()
