"""The options that say where the load of a benchmark comes from."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from nginxopt.bench.load.vegeta import Vegeta
from nginxopt.bench.load_workers import worker
from nginxopt.cli import bench_load
from nginxopt.cli.bench_load import LoadOptions
from nginxopt.errors import UsageError
from tests.cli.compiling import snapshot


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


@pytest.mark.parametrize("runner", ["local", "compose"])
@pytest.mark.parametrize("folder", [".", "made"])
def test_emit_needs_an_empty_directory(run: Any, tmp_path: Path, runner: str, folder: str) -> None:
    """Files of a user or of an earlier result stay as they are, and get no others among them."""
    words = ("bench", "keepalive", "--runner", runner, "--load", "vegeta", "--emit", folder)
    assert run(*words).status == 0
    (tmp_path / folder / "README.md").write_text("my own\n")
    before = snapshot(tmp_path)
    ran = run(*words)
    assert (ran.status, ran.out) == (2, b"")
    assert f"--emit {folder}: directory is not empty" in ran.err
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("command", ["bench keepalive --emit", "rewrite-to-map rules.conf -o"])
def test_a_directory_needs_a_name(run: Any, rules: Path, command: str) -> None:
    """An empty name is not the working directory."""
    before = snapshot(rules.parent)
    ran = run(*command.split(), "")
    assert (ran.status, f"{command.split()[-1]} needs the name of a directory" in ran.err) == (2, True)
    assert snapshot(rules.parent) == before


@pytest.mark.parametrize("option", ["bench keepalive --emit made --duration", "bench keepalive --emit made --rate"])
@pytest.mark.parametrize("value", ["nan", "inf", "-inf", "-1", "1e309"])
def test_numbers_that_no_load_can_have(run: Any, tmp_path: Path, option: str, value: str) -> None:
    """What is no finite positive number is a usage error before anything is written."""
    ran = run(*option.split(), value)
    assert (ran.status, ran.out) == (2, b"")
    assert option.split()[-1] in ran.err
    assert snapshot(tmp_path) == {}


@pytest.mark.parametrize("option", ["--idle", "--wait"])
def test_seconds_that_no_probe_can_have(run: Any, option: str) -> None:
    """NaN is no number of seconds."""
    ran = run("probe", "http://127.0.0.1:1/", option, "nan")
    assert (ran.status, option in ran.err) == (2, True)
