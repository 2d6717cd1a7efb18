"""Runs of the bench on this machine: experiments, the command, and the processes that they start."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nginxopt.bench.benchmark import Benchmark
from nginxopt.bench.load.single import Single
from nginxopt.bench.load.vegeta import Vegeta
from nginxopt.bench.load.wrk import Wrk
from nginxopt.bench.nodes import node
from nginxopt.bench.result import Result
from nginxopt.bench.runner.local import Local
from nginxopt.bench.scenario import Attack, Experiment, Load, OpenLoop, Target, Variant, VariantPair
from nginxopt.bench.site import Generator
from tests.nginx.modules import require_directive
from tests.support import PATIENCE, the_nginx

GENERATORS: dict[str, Callable[[], Generator]] = {"vegeta": Vegeta, "wrk": Wrk}
SECONDS = {"vegeta": 0.3, "wrk": 1.0}  # wrk knows whole seconds only

needs_valgrind = pytest.mark.skipif(shutil.which("valgrind") is None, reason="no valgrind: install it to count")
needs_vegeta = pytest.mark.skipif(
    shutil.which("vegeta") is None, reason="no vegeta on PATH: install it for these tests"
)


def run(experiment: Experiment, generator: Generator, folder: Path, rounds: int = 1) -> Result:
    """Run an experiment to its end; each of its nodes counts requests with `stub_status`."""
    require_directive(the_nginx(), "stub_status")
    benchmark = Benchmark(experiment, Local(the_nginx(), alone=True), Single(generator), folder, rounds)

    benchmark.run(lambda *_: None, lambda _: None)
    result = benchmark.result()
    assert result.complete
    return result


def simple(*, load: Load | None = None, **changes: object) -> Experiment:
    """One variant of one node, attacked once."""
    variant = Variant("only", "", (node("edge", "return 200 ok;"),), **changes)  # type: ignore[arg-type]
    attack = Attack("only", "case", (Target("/"),), load or OpenLoop(50, 0.2))
    return Experiment("test", "", "", (variant,), (attack,), (VariantPair("only", "only"),), "latency")


def processes(folder: Path) -> list[int]:
    """The processes that have something to do with a folder."""
    pids = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            command = (path / "cmdline").read_bytes()
            where = str((path / "cwd").readlink())
        except OSError:
            continue
        if int(path.name) != os.getpid() and (bytes(folder) in command or where.startswith(str(folder))):
            pids.append(int(path.name))
    return pids


def wait_until(condition: Callable[[], object]) -> None:
    """Wait for something that takes no time worth a test."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)


@contextlib.contextmanager
def bench(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """Run the command with its temporary files in `folder`; it ends with the block."""
    environment = {**os.environ, "TMPDIR": str(folder)}
    scenario, *options = arguments
    command = [sys.executable, "-m", "nginxopt", "bench", scenario, "--runner", "local", *options]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
    ) as running:
        try:
            yield running
        finally:
            running.kill()
