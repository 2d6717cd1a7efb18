"""What goes wrong in a run of the bench, and that nothing of it remains."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from nginxopt.bench.load.vegeta import Vegeta
from nginxopt.bench.nodes import node
from nginxopt.bench.runner import local
from nginxopt.bench.runner.local import Local
from nginxopt.bench.scenario import Attack, Count, Experiment, OpenFiles, OpenLoop, Target, Variant, VariantPair
from nginxopt.bench.temporary import private_folder
from nginxopt.errors import InputError, MissingError, RunError
from nginxopt.system import nginx
from tests.nginx.benching import bench, needs_vegeta, processes, run, simple, wait_until
from tests.nginx.modules import knows
from tests.support import PATIENCE

pytestmark = pytest.mark.nginx


@pytest.fixture
def nothing_left(tmp_path: Path) -> Iterator[None]:
    """Nothing that was started in the folder still runs."""
    yield
    wait_until(lambda: not processes(tmp_path))


@pytest.mark.usefixtures("nothing_left")
def test_nginx_does_not_start(tmp_path: Path) -> None:
    """The error gives nginx's reason, the variant and the role, and running variants are stopped."""
    good, bad = simple().variants[0], Variant("bad", "", (node("edge", "nonsense on;"),))
    attacks = tuple(Attack(name, "case", (Target("/"),), OpenLoop(50, 0.2)) for name in ("only", "bad"))
    experiment = Experiment("test", "", "", (good, bad), attacks, (VariantPair("only", "bad"),), "latency")
    with pytest.raises(InputError, match=r'bad: edge: nginx did not start.*\n.*unknown directive "nonsense"'):
        run(experiment, Vegeta(), tmp_path)


@pytest.mark.usefixtures("nothing_left")
def test_nginx_counts_no_requests(each_binary: nginx.Binary, tmp_path: Path) -> None:
    """If nginx is built without the module that counts requests, the error names the module."""
    deployed = Local(each_binary).deploy(simple(), tmp_path)
    if knows(each_binary, "stub_status"):
        with deployed:
            return
    with pytest.raises(InputError, match='unknown directive "stub_status"') as error, deployed:
        pass
    assert "ngx_http_stub_status_module" in (error.value.hint or "")


@pytest.mark.usefixtures("nothing_left")
def test_an_address_of_another_machine(binary: nginx.Binary, tmp_path: Path) -> None:
    """Where nginx cannot listen is an error that names the address."""
    deployed = local.Local(binary, "192.0.2.1").deploy(simple(), tmp_path)
    with pytest.raises(InputError, match=r"cannot listen on 192\.0\.2\.1: Cannot assign requested address"), deployed:
        pass


def script(path: Path, text: str) -> str:
    """A program in place of vegeta."""
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


@pytest.mark.usefixtures("nothing_left")
@pytest.mark.parametrize(
    ("does", "message"),
    [("kill -9 $$", "was ended by SIGKILL"), ("echo broken >&2; exit 7", "ended with status 7: broken")],
)
def test_vegeta_dies(tmp_path: Path, does: str, message: str) -> None:
    """A failing load generator is reported with its exit status or signal and its last words."""
    fake = script(tmp_path / "fake", f'case "$1" in attack) {does};; esac')
    with pytest.raises(RunError, match=message):
        run(simple(), Vegeta(fake), tmp_path)


@pytest.mark.usefixtures("nothing_left")
def test_vegeta_is_missing(tmp_path: Path) -> None:
    """The error names a missing load generator and how to install it."""
    with pytest.raises(MissingError, match="nowhere/vegeta cannot be run: No such file"):
        run(simple(), Vegeta("nowhere/vegeta"), tmp_path)


@pytest.mark.usefixtures("nothing_left")
def test_vegeta_hangs(tmp_path: Path) -> None:
    """A command that exceeds its time limit is stopped."""
    with pytest.raises(RunError, match="did not end within 0 seconds"):
        local.execute(("sleep", "60"), tmp_path, 0.1)


@needs_vegeta
@pytest.mark.usefixtures("nothing_left")
def test_the_disk_is_full(tmp_path: Path) -> None:
    """A disk that takes no results ends the run, whoever writes: /dev/full is a disk without space."""
    (tmp_path / "results" / "1").mkdir(parents=True)
    (tmp_path / "results" / "1" / "only.case.bin").symlink_to("/dev/full")
    with pytest.raises(RunError, match="no space left on device"):
        run(simple(), Vegeta(), tmp_path)
    (tmp_path / "targets" / "only.case.targets").unlink()
    (tmp_path / "targets" / "only.case.targets").symlink_to("/dev/full")
    with pytest.raises(RunError, match="cannot be written: No space left on device"):
        run(simple(), Vegeta(), tmp_path)


@needs_vegeta
@pytest.mark.usefixtures("nothing_left")
def test_answers_that_change(tmp_path: Path) -> None:
    """Responses that differ from the probe's end the run with their number."""
    limited = "limit_req zone=few;\nlocation / {\n    try_files /x =404;\n}"
    few = node("edge", limited, http="limit_req_zone few zone=few:32k rate=1r/s;", files={"html/x": b"ok"})
    experiment = simple()
    experiment = replace(experiment, variants=(replace(experiment.variants[0], nodes=(few,)),))
    with pytest.raises(RunError, match=r"only, case: of 10 requests, \d+ with 503, expected 200"):
        run(experiment, Vegeta(), tmp_path)


@needs_vegeta
@pytest.mark.usefixtures("nothing_left")
def test_counts_that_do_not_hold(tmp_path: Path) -> None:
    """A counter outside its limits ends the run, with both numbers."""
    experiment = simple()
    attack = replace(experiment.attacks[0], counts=(Count("requests", "edge", most=0.5),))
    expected = r"edge counted 10 requests for 10 requests of the load, 1\.000 each; expected 0 to 0\.5"
    with pytest.raises(RunError, match=expected):
        run(replace(experiment, attacks=(attack,)), Vegeta(), tmp_path)


@pytest.mark.usefixtures("nothing_left")
def test_limits_that_are_not_in_force(tmp_path: Path) -> None:
    """The run ends if workers lack the stated limit of open files."""
    with pytest.raises(RunError, match=r"only: workers of edge may open [\d,]+ files, expected 7"):
        run(simple(probes=(OpenFiles("edge", 7),)), Vegeta(), tmp_path)


@needs_vegeta
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_the_bench_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals) -> None:
    """However the bench ends, none of its processes and files remain; other runs are left alone."""
    with bench(tmp_path, "keepalive", "--duration", "60") as running:
        wait_until(lambda: any(b"vegeta" in command_of(pid) for pid in processes(tmp_path)))
        running.send_signal(number)
        running.communicate(timeout=PATIENCE)
    wait_until(lambda: not processes(tmp_path))
    # After a SIGKILL the folder stays, until a later run finds it.
    left = list(tmp_path.glob("nginxopt-bench-*"))
    assert len(left) == (number == signal.SIGKILL)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with private_folder() as mine:
        os.utime(mine, (0, 0))
        for folder in left:
            os.utime(folder, (0, 0))
        with private_folder():
            assert [folder for folder in (mine, *left) if folder.exists()] == [mine]


def command_of(pid: int) -> bytes:
    """The command of a process, empty if it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


@needs_vegeta
def test_what_was_measured_is_kept(tmp_path: Path) -> None:
    """After Ctrl-C the result has what was measured until then."""
    output = tmp_path / "result.json"
    options = ("--duration", "0.3", "--rounds", "1000", "--format", "json", "--output", str(output))
    with bench(tmp_path, "keepalive", *options) as running:
        wait_until(lambda: len(list(tmp_path.glob("result.run/results/2/*.bin"))) == 2)
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=PATIENCE)
    assert running.returncode == 130
    kept = json.loads(output.read_text())
    assert not kept["complete"]
    assert len(kept["samples"]) >= 2
    assert all((tmp_path / "result.run" / sample["raw"]).stat().st_size for sample in kept["samples"])


@needs_vegeta
def test_gates_set_the_exit_status(tmp_path: Path) -> None:
    """A gate that does not hold makes the exit status 1, and the table shows by how much."""
    options = ("keepalive", "--rounds", "1", "--duration", "0.3", "--gate", "errors==0", "--gate", "accepts.app<=0.001")
    with bench(tmp_path, *options) as running:
        output, _ = running.communicate(timeout=PATIENCE)
    assert running.returncode == 1
    assert b"held    errors==0" in output
    assert b"FAILED  accepts.app<=0.001: " in output
