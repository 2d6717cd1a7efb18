"""Attacks from real workers: a Dask cluster of three processes, and a program in place of vegeta."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nginxopt.bench.load.vegeta import Vegeta
from nginxopt.bench.load_workers import attack, team, worker
from nginxopt.bench.load_workers.attack import LoadWorkers
from nginxopt.bench.load_workers.clock import Clock
from nginxopt.bench.load_workers.shares import shares
from nginxopt.bench.load_workers.team import Team
from nginxopt.bench.load_workers.worker import Order, UnknownAttackError, WorkerMachine
from nginxopt.bench.scenario import Attack, OpenLoop, Target
from nginxopt.bench.site import LoadRun, LostWorkerError
from nginxopt.errors import MissingError, RunError
from nginxopt.system.cluster import connected
from tests.bench.clusters import Cluster, cluster, fake_vegeta, running_below
from tests.support import PATIENCE

pytestmark = pytest.mark.extended

TARGETS = (Target("/a"), Target("/b"))
HOUR = 3600


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Three workers with a fake vegeta."""
    folder = tmp_path_factory.mktemp("cluster")
    path = f"{fake_vegeta(folder / 'bin')}:{os.environ['PATH']}"
    with cluster(folder, 3, {"PATH": path}) as made:
        yield made


def run_of(rate: float, seconds: float) -> LoadRun:
    """A round of an attack."""
    load = OpenLoop(rate, seconds)
    return LoadRun(Attack("before", "case", TARGETS, load), TARGETS, 2, "h.test:80", "targets/a", "results/2/a")


def wait_until(condition: Callable[[], object]) -> None:
    """Wait for something that takes no time worth a test."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


@pytest.mark.slow
def test_three_workers_make_one_load(three: Cluster, tmp_path: Path) -> None:
    """Each worker makes its share, the results become one, and clocks and starts are in the provenance, although the
    clock of one worker is an hour ahead."""
    with connected(scheduler=three.address) as client:
        client.wait_for_workers(3, timeout=PATIENCE)
        made = Team(client)
        ahead = made.addresses[1]
        client.run(shift_clock, HOUR, workers=[ahead])
        try:
            source = LoadWorkers(made, Vegeta())
            outcome = source.attack(site(tmp_path), run_of(10, 0.2))
        finally:
            client.run(shift_clock, 0, workers=[ahead])
    assert (outcome.requests, outcome.statuses) == (10, {"200": 10})
    assert outcome.percentiles["p50"] == 0.002  # 1, 2, 3, 4; 1, 2, 3; 1, 2, 3 ms
    assert outcome.seconds < PATIENCE
    assert (tmp_path / (outcome.raw or "")).read_bytes().count(b"\n") == 10
    about = source.provenance()
    assert about["generator"] == "vegeta 1.2.3 on 3 workers"
    (start,) = about["load_starts"]
    assert [one["share"] for one in start["workers"]] == ["4 req/s", "3 req/s", "3 req/s"]
    for one in start["workers"]:
        expected = HOUR if one["address"] == ahead else 0
        assert abs(one["clock_offset"] - expected) <= one["clock_error"]
    assert start["skew"] < PATIENCE


@pytest.mark.slow
def test_a_worker_hangs(three: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that does not answer fails the run, which names it and waits no longer than it must."""
    with connected(scheduler=three.address) as client:
        client.wait_for_workers(3, timeout=PATIENCE)
        source = LoadWorkers(Team(client), Vegeta())
        pid = next(iter(client.run(os.getpid).values()))
        monkeypatch.setattr(team, "_ANSWER_SECONDS", 3)
        monkeypatch.setattr(team, "_END_SECONDS", 3)
        os.kill(pid, signal.SIGSTOP)
        try:
            with pytest.raises(LostWorkerError, match=r"load worker tcp://\S+ did not answer within 3 seconds"):
                source.attack(site(tmp_path), run_of(10, 0.2))
        finally:
            os.kill(pid, signal.SIGCONT)
        monkeypatch.undo()
        wait_until(lambda: not running_below(three.folder, "attack"))
        # What waited in the worker has been done now, and nothing of it is in the way of the next attack.
        assert LoadWorkers(Team(client), Vegeta()).attack(site(tmp_path), run_of(10, 0.2)).requests == 10


@pytest.mark.slow
def test_the_scheduler_is_killed(tmp_path: Path) -> None:
    """The run fails with the scheduler, and its workers end what they run."""
    path = f"{fake_vegeta(tmp_path / 'bin')}:{os.environ['PATH']}"
    with cluster(tmp_path, 1, {"PATH": path}) as one, connected(scheduler=one.address) as client:
        source = LoadWorkers(Team(client), Vegeta(), lease=5)

        def kill() -> None:
            wait_until(lambda: running_below(tmp_path, "attack"))
            one.scheduler.kill()

        killer = threading.Thread(target=kill)
        killer.start()
        with pytest.raises(LostWorkerError, match="before, case, round 2: "):
            source.attack(site(tmp_path), run_of(10, PATIENCE))
        killer.join()
        wait_until(lambda: not running_below(tmp_path, "attack"))


@pytest.mark.slow
def test_the_connection_is_gone(tmp_path: Path) -> None:
    """Whatever is asked once Dask has given up the connection, the error says that the scheduler is gone."""
    path = f"{fake_vegeta(tmp_path / 'bin')}:{os.environ['PATH']}"
    with cluster(tmp_path, 1, {"PATH": path}) as one, connected(scheduler=one.address) as client:
        asked = Team(client)
        client.close()
        for ask in (lambda: asked.drop("attack"), lambda: asked.ask(worker.machine), lambda: asked.clocks(["tcp://a"])):
            with pytest.raises(LostWorkerError, match="the scheduler of the load workers is gone"):
                ask()


def test_a_vegeta_is_killed(three: Cluster, tmp_path: Path) -> None:
    """If the vegeta of a worker dies, its share is missing as that of a lost worker is."""
    with connected(scheduler=three.address) as client:
        client.wait_for_workers(3, timeout=PATIENCE)
        source = LoadWorkers(Team(client), Vegeta())

        def kill() -> None:
            wait_until(lambda: len(running_below(three.folder, "attack")) == 3)
            os.kill(running_below(three.folder, "attack")[0], signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        with pytest.raises(LostWorkerError, match=r"load worker tcp://\S+: vegeta was ended by SIGKILL; its share is"):
            source.attack(site(tmp_path), run_of(10, PATIENCE))
        killer.join()
        assert len(source.provenance()["lost_workers"]) == 1
        wait_until(lambda: not running_below(three.folder, "attack"))


@pytest.mark.slow
def test_a_worker_is_killed(three: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run fails with the worker's address and the share that is missing, and nothing runs on on the others."""
    with connected(scheduler=three.address) as client:
        client.wait_for_workers(3, timeout=PATIENCE)
        source = LoadWorkers(Team(client), Vegeta())
        pids = client.run(os.getpid)
        address, pid = next(iter(pids.items()))

        def kill() -> None:
            wait_until(lambda: len(running_below(three.folder, "attack")) == 3)
            os.kill(pid, signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        with pytest.raises(LostWorkerError, match=f"before, case, round 2: load worker {address} is gone") as error:
            source.attack(site(tmp_path), run_of(10, PATIENCE))
        killer.join()
        assert error.value.exit_code == 5
        assert source.provenance()["lost_workers"] == [error.value.message]
        wait_until(lambda: not running_below(three.folder, "attack"))
        monkeypatch.setattr(team, "_JOIN_SECONDS", 0.2)
        with pytest.raises(RunError, match="the scheduler has 2 of 3 load workers"):
            Team(client, 3)
        assert len(Team(client).addresses) == 2


def test_workers_must_have_the_same_vegeta() -> None:
    """A worker without vegeta, or with another one, is named; builds without a version are known by their bytes."""
    machine = WorkerMachine("a.test", "net", 2, "Version: 1.2.3\nCommit:\n", "0123456789abcdef")
    assert team._agreed({"x": machine, "y": machine}) == "vegeta 1.2.3"
    with pytest.raises(MissingError, match=r"load worker y on b\.test has no vegeta"):
        team._agreed({"x": machine, "y": replace(machine, host="b.test", vegeta=None)})
    with pytest.raises(RunError, match=r"different versions: y vegeta 1\.2\.4, x vegeta 1\.2\.3"):
        team._agreed({"x": machine, "y": replace(machine, vegeta="Version: 1.2.4\n")})
    custom = replace(machine, vegeta="Version: \n")
    assert team._agreed({"x": custom}) == "vegeta of unknown version (0123456789ab)"
    with pytest.raises(RunError, match="different versions"):
        team._agreed({"x": custom, "y": replace(custom, digest="f" * 64)})


def test_a_command_that_is_silent_leaves_no_load(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """vegeta ends when its lease does, before its start and during the attack, and the next attack forgets it."""
    monkeypatch.setenv("PATH", f"{fake_vegeta(tmp_path / 'bin')}:{os.environ['PATH']}")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for fires in (False, True):
        asyncio.run(worker.begin("silent", order(lease=0.1)))
        if fires:
            asyncio.run(worker.fire("silent", time.time() + 0.05))
        attacked = worker._ATTACKS["silent"]
        attacked._thread.join(PATIENCE)
        assert "heard nothing from the command for 0.1 seconds" in attacked.look().error
        assert not running_below(tmp_path, "attack")
        attacked._heard = 0
        asyncio.run(worker.begin("next", order(lease=PATIENCE)))
        assert set(worker._ATTACKS) == {"next"}
        asyncio.run(worker.drop("next"))
    with pytest.raises(UnknownAttackError):
        asyncio.run(worker.look("next"))
    assert [path.name for path in tmp_path.iterdir()] == ["bin"]


def test_nothing_starts_at_an_instant_that_has_passed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that hears of the instant too late says so and makes no request."""
    monkeypatch.setenv("PATH", f"{fake_vegeta(tmp_path / 'bin')}:{os.environ['PATH']}")
    asyncio.run(worker.begin("late", order()))
    assert asyncio.run(worker.fire("late", time.time() - 1)) < 0
    assert asyncio.run(worker.look("late")).stage == "ready"
    asyncio.run(worker.drop("late"))


@pytest.mark.parametrize(
    ("does", "error"),
    [("echo broken >&2; exit 7", "vegeta ended with status 7: broken"), ("kill -9 $$", "vegeta was ended by SIGKILL")],
)
def test_vegeta_fails_on_a_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, does: str, error: str) -> None:
    """The status or signal of vegeta and its last words are reported."""
    fake = fake_vegeta(tmp_path / "bin", f"#!/bin/sh\n{does}\n")
    monkeypatch.setenv("PATH", f"{fake}:{os.environ['PATH']}")
    asyncio.run(worker.begin("fails", order()))
    wait_until(lambda: asyncio.run(worker.look("fails")).stage == "failed")
    assert asyncio.run(worker.look("fails")).error == error
    asyncio.run(worker.drop("fails"))


@pytest.mark.parametrize(("rows", "error"), [(b"", "made no request"), (b"no results\n", "no results of vegeta")])
def test_results_that_are_none(rows: bytes, error: str) -> None:
    """A worker that returns no request, or something else, fails the attack."""
    share = shares(OpenLoop(5, 1), TARGETS, 1)[0]
    with pytest.raises(RunError, match=f"load worker x .*{error}"):
        attack._part("x", share, Clock(0, 0), zlib.compress(rows), 0)


def order(lease: float = PATIENCE) -> Order:
    """An order for ten requests, over two minutes."""
    command = Vegeta().piped(OpenLoop(10, PATIENCE), "results.bin")
    return Order(tuple(command), tuple(Vegeta().encode("results.bin")), b"GET http://h.test/\n", lease)


def site(folder: Path) -> Any:
    """A site with a folder, which is all that workers need of it."""
    return SimpleNamespace(folder=folder)


def shift_clock(seconds: float) -> None:
    """Set the clock of a worker, and of its vegeta."""
    os.environ["SHIFT"] = str(int(seconds))
    shifted = SimpleNamespace(time=lambda: time.time() + seconds, monotonic=time.monotonic)
    vars(worker)["time"] = shifted if seconds else time
