"""The options that say where the load of a benchmark comes from."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from nginxopt.bench.load.vegeta import Vegeta
from nginxopt.bench.load_workers import worker
from nginxopt.cli import bench_load
from nginxopt.cli.bench_load import LoadOptions
from nginxopt.errors import UsageError


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--load", "wrk"], "--load-workers cannot be used with --load wrk: its percentiles cannot be merged"),
        (["--runner", "compose"], "--load-workers cannot be used with --runner compose"),
        (["--metric", "instructions"], "--load-workers cannot be used with --metric instructions"),
        (["--gate", "instructions<=1x"], "--load-workers cannot be used with --metric instructions"),
        (["--emit", "folder"], "--load-workers cannot be used with --emit"),
    ],
)
def test_what_workers_cannot_do(run: Any, options: list[str], message: str) -> None:
    """What cannot be done by several workers is refused before anything starts."""
    ran = run("bench", "keepalive", "--load-workers", "2", "--nginx", "/bin/true", *options)
    assert (ran.status, ran.out) == (2, b"")
    assert message in ran.err


def test_an_invalid_scheduler() -> None:
    """What is no address of a Dask scheduler is a usage error."""
    options = LoadOptions(scheduler="10.0.0.1")
    with pytest.raises(UsageError, match="invalid scheduler address"), bench_load.source(options, Vegeta()):
        pass


def test_workers_that_cannot_reach_nginx() -> None:
    """Workers of another machine or network are refused, for nginx listens on 127.0.0.1 of this one."""
    here, other = worker.machine(), SimpleNamespace(host="b.test", network="other")
    bench_load._refuse_strangers(SimpleNamespace(machines={"tcp://a:1": here}), "")  # type: ignore[arg-type]
    both = SimpleNamespace(machines={"tcp://a:1": here, "tcp://b:1": other})
    with pytest.raises(UsageError, match=r"load worker tcp://b:1 on b\.test cannot reach 127\.0\.0\.1") as error:
        bench_load._refuse_strangers(both, bench_load._LISTEN)  # type: ignore[arg-type]
    assert "--listen" in (error.value.hint or "")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--listen", "a.test"], "--listen a.test: not an IPv4 address"),
        (["--listen", "0.0.0.0"], "--listen 0.0.0.0: not an IPv4 address to connect to"),
        (["--listen", "::1"], "--listen ::1: not an IPv4 address"),
        (["--listen", "10.0.0.4", "--runner", "compose"], "--listen cannot be used with --runner compose"),
        (["--listen", "10.0.0.4", "--emit", "folder"], "--listen cannot be used with --emit"),
    ],
)
def test_addresses_that_nginx_cannot_have(run: Any, options: list[str], message: str) -> None:
    """Where nobody can connect, or containers have their own addresses, is a usage error."""
    ran = run("bench", "keepalive", *options)
    assert (ran.status, ran.out) == (2, b"")
    assert message in ran.err
