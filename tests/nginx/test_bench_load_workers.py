"""Load from several workers on a real nginx, with a real vegeta."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from nginxopt.bench.benchmark import Benchmark
from nginxopt.bench.load.vegeta import Vegeta
from nginxopt.bench.load_workers.attack import LoadWorkers
from nginxopt.bench.load_workers.team import Team
from nginxopt.bench.runner.local import Local
from nginxopt.bench.scenario import ClosedLoop, Load, OpenLoop
from nginxopt.system.cluster import connected
from tests.bench.clusters import Cluster, cluster, running_below
from tests.nginx.benching import bench, needs_vegeta, simple, wait_until
from tests.support import PATIENCE, the_nginx

pytestmark = [pytest.mark.nginx, pytest.mark.extended, needs_vegeta]


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Three workers, which the scheduler knows: a load takes those that are there."""
    with cluster(tmp_path_factory.mktemp("cluster"), 3, {}) as made:
        with connected(scheduler=made.address) as client:
            client.wait_for_workers(3, timeout=PATIENCE)
        yield made


@pytest.mark.parametrize("load", [OpenLoop(100, 0.5), OpenLoop(1, 0.5), ClosedLoop(7, 10, requests=50)])
def test_three_workers_make_one_load(three: Cluster, tmp_path: Path, load: Load) -> None:
    """nginx counts as many requests as the shares have together, and vegeta reads the merged results."""
    with connected(scheduler=three.address) as client:
        source = LoadWorkers(Team(client), Vegeta())
        benchmark = Benchmark(simple(load=load), Local(the_nginx()), source, tmp_path, 1)
        benchmark.run(lambda *_: None, lambda _: None)
    result = benchmark.result()
    (sample,) = result.samples
    expected = load.requests if isinstance(load, ClosedLoop) else max(1, round((load.rate or 0) * load.seconds))
    # Each of three shares of half a second may have one more, for vegeta rounds up, and on a busy machine fewer.
    assert 0 < sample.outcome.requests <= (expected or 0) + 3
    assert sample.outcome.requests == expected or isinstance(load, OpenLoop)
    assert sample.nodes["edge"].requests == sample.outcome.requests
    assert sample.outcome.statuses == {"200": sample.outcome.requests}
    command = ["vegeta", "report", "-type=json", sample.outcome.raw or ""]
    report = json.loads(subprocess.run(command, cwd=tmp_path, capture_output=True, check=True).stdout)
    counted = report["requests"] - report["status_codes"].get("0", 0)  # the end of lazily read targets is one
    assert counted == sample.outcome.requests
    workers = result.provenance["load_starts"][0]["workers"]
    assert len(workers) == (1 if isinstance(load, OpenLoop) and load.rate == 1 else 3)
    assert all(abs(worker["clock_offset"]) <= worker["clock_error"] for worker in workers)


def test_nginx_listens_elsewhere(tmp_path: Path) -> None:
    """nginx and what is behind it listen on the address that is given, where probes and load reach them."""
    options = ("--listen", "127.0.0.2", "--rounds", "1", "--duration", "0.2", "--format", "json")
    with bench(
        tmp_path, "keepalive", *options, "--load", "vegeta", "--output", str(tmp_path / "result.json")
    ) as running:
        _, errors = running.communicate(timeout=PATIENCE)
    assert running.returncode == 0, errors
    configurations = list((tmp_path / "result.run" / "nginx").glob("*/*/nginx.conf"))
    assert configurations
    for configuration in configurations:
        text = configuration.read_text()
        assert "listen 127.0.0.2:" in text
        assert "127.0.0.1" not in text


def test_a_worker_is_killed_in_the_middle(three: Cluster, tmp_path: Path) -> None:
    """What was measured before is kept, the result names the worker, and the exit status is that of a failed run."""
    output = tmp_path / "result.json"
    options = ("--scheduler", three.address, "--duration", "0.2", "--rounds", "1000", "--format", "json")
    with bench(tmp_path, "keepalive", *options, "--output", str(output)) as running:
        wait_until(lambda: len(list(tmp_path.glob("result.run/results/2/*.csv"))) == 2 or running.poll() is not None)
        three.workers[0].kill()
        _, errors = running.communicate(timeout=PATIENCE)
    assert running.returncode == 5, errors
    assert b"is gone; its share is missing" in errors
    kept = json.loads(output.read_text())
    assert not kept["complete"]
    assert len(kept["samples"]) >= 2
    (lost,) = kept["provenance"]["lost_workers"]
    assert lost.encode() in errors
    wait_until(lambda: not running_below(three.folder, "attack"))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_no_vegeta_is_left(tmp_path: Path, number: signal.Signals) -> None:
    """However the bench ends, no vegeta of its workers remains."""
    with bench(tmp_path, "keepalive", "--duration", "60", "--load-workers", "2") as running:
        wait_until(lambda: len(running_below(tmp_path, "attack")) == 2 or running.poll() is not None)
        assert running.poll() is None, running.stderr and running.stderr.read()
        running.send_signal(number)
        running.communicate(timeout=PATIENCE)
    wait_until(lambda: not running_below(tmp_path, "attack"))
    assert running.returncode in (-number, 128 + number)


def test_a_worker_without_vegeta(tmp_path: Path) -> None:
    """A worker that has no vegeta is named, with the status of something missing, before nginx starts."""
    nowhere = {"PATH": str(Path(sys.executable).parent)}
    with cluster(tmp_path, 1, nowhere) as made, bench(tmp_path, "keepalive", "--scheduler", made.address) as running:
        output, errors = running.communicate(timeout=PATIENCE)
    assert (running.returncode, output) == (4, b"")
    assert b"has no vegeta on its PATH" in errors
