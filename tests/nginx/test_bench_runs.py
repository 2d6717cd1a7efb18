"""Each scenario once, short, on a real nginx: the direction of its effect in counts or CPU time, never in wall time."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from nginxopt.bench import compare, probe, rounds, run_folder
from nginxopt.bench.benchmark import Benchmark
from nginxopt.bench.catalogue import catalogue
from nginxopt.bench.load.single import Single
from nginxopt.bench.load.vegeta import Vegeta
from nginxopt.bench.load.wrk import Wrk
from nginxopt.bench.nodes import node
from nginxopt.bench.result import Result
from nginxopt.bench.runner import local
from nginxopt.bench.runner.local import Local
from nginxopt.bench.scenario import (
    Attack,
    ClosedLoop,
    Comparison,
    Count,
    Experiment,
    Load,
    OpenFiles,
    OpenLoop,
    ScenarioSettings,
    Target,
    Variant,
)
from nginxopt.bench.site import Generator
from nginxopt.bench.temporary import private_folder
from nginxopt.config import load_text
from nginxopt.errors import InputError, MissingError, RunError
from nginxopt.system import nginx
from tests.nginx.modules import knows, require_directive
from tests.support import PATIENCE, needs_nginx, the_nginx

pytestmark = needs_nginx

GENERATORS: dict[str, Callable[[], Generator]] = {"vegeta": Vegeta, "wrk": Wrk}
SECONDS = {"vegeta": 0.3, "wrk": 1.0}  # wrk knows whole seconds only

needs_valgrind = pytest.mark.skipif(shutil.which("valgrind") is None, reason="no valgrind: install it to count")
needs_vegeta = pytest.mark.skipif(
    shutil.which("vegeta") is None, reason="no vegeta on PATH: install it for these tests"
)


@pytest.fixture(params=GENERATORS)
def generator(request: pytest.FixtureRequest) -> Generator:
    """Each load generator that is on PATH."""
    if shutil.which(request.param) is None:
        pytest.skip(f"no {request.param} on PATH: install it for these tests")
    return GENERATORS[request.param]()


def made(name: str, generator: Generator, *cases: str) -> Experiment:
    """A scenario with short loads, and of its cases those that are asked for."""
    experiment = catalogue()[name].build(ScenarioSettings(counts=(0, 4000)))
    attacks = tuple(attack for attack in experiment.attacks if not cases or attack.case in cases)

    def short(load: Load) -> Load:
        load = replace(load, seconds=SECONDS[generator.name])
        return replace(load, rate=200.0) if isinstance(load, OpenLoop) and not load.fixed else load

    return replace(experiment, attacks=attacks).with_loads(short)


def run(experiment: Experiment, generator: Generator, folder: Path, rounds: int = 1) -> Result:
    """Run an experiment to its end; each of its nodes counts requests with `stub_status`."""
    require_directive(the_nginx(), "stub_status")
    benchmark = Benchmark(experiment, Local(the_nginx()), Single(generator), folder, rounds)

    benchmark.run(lambda *_: None, lambda _: None)
    result = benchmark.result()
    assert result.complete
    return result


def figures(result: Result, case: str, name: str) -> dict[str, float]:
    """A figure of every variant in a case."""
    return {summary.variant: summary.figures[name] for summary in result.summaries if summary.case == case}


def test_rewrites(generator: Generator, tmp_path: Path) -> None:
    """Rules tried in sequence take CPU time that their compiled form does not."""
    cpu = figures(run(made("rewrites", generator, "near miss", "hit last"), generator, tmp_path), "near miss", "cpu")
    assert cpu["4000 rewrites"] > 1.5 * cpu["4000 compiled"]
    assert cpu["4000 rewrites"] > 1.5 * cpu["no rules"]


def test_hop(generator: Generator, tmp_path: Path) -> None:
    """A hop takes CPU time of its own, and a plain one a connection for each request."""
    result = run(made("hop", generator), generator, tmp_path)
    cpu = figures(result, "at full speed", "cpu")
    assert cpu["direct"] < cpu["tuned hop"] < cpu["hop"]
    accepts = figures(result, "at full speed", "accepts.app")
    assert accepts["tuned hop"] < 0.2 < 0.9 < accepts["hop"]


def test_keepalive(generator: Generator, tmp_path: Path) -> None:
    """Kept connections are not opened again; fewer clients, as each opens one to begin with."""
    experiment = made("keepalive", generator).with_loads(lambda load: replace(load, connections=40))
    result = run(experiment, generator, tmp_path)
    accepts = figures(result, "200 clients", "accepts.app")
    assert accepts["keepalive"] < 0.95 <= accepts["no keepalive"]
    assert figures(result, "200 clients", "time_wait")["no keepalive"] > 100


def test_balance(generator: Generator, tmp_path: Path) -> None:
    """Each of three nodes gets a third of the requests, whether clients keep their connections or not."""
    result = run(made("balance", generator), generator, tmp_path)
    for case in result.experiment.cases:
        by_node = next(
            summary.figures for summary in result.summaries if (summary.variant, summary.case) == ("3 nodes", case)
        )
        assert all(0.25 < by_node[f"requests.{role}"] < 0.6 for role in ("app", "app2", "app3"))
    edge = {(sample.variant, sample.case): sample.nodes["edge"] for sample in result.samples}
    kept, closed = (edge["3 nodes", case] for case in result.experiment.cases)
    assert (kept.accepts or 0) < (kept.requests or 0)
    assert (closed.accepts or 0) >= (closed.requests or 0)


def test_cache(generator: Generator, tmp_path: Path) -> None:
    """The origin is asked every time; with a cache, for new pages; with the lock, once for each."""
    result = run(made("cache", generator), generator, tmp_path)
    cold, warm = (figures(result, case, "requests.app") for case in result.experiment.cases)
    assert warm["cache"] == warm["cache with lock"] == 0 < 0.95 < warm["pass-through"]
    # Without the lock, every request that arrives before the first response asks, too: on a slow machine all do.
    assert cold["cache with lock"] < cold["pass-through"]
    assert cold["cache"] <= cold["pass-through"]
    # In numbers: what a request costs depends on how many there were, and wrk asks as many as it can.
    case = result.experiment.cases[0]
    requests = {sample.variant: sample.nodes["app"].requests or 0 for sample in result.samples if sample.case == case}
    assert 1 <= requests["cache with lock"] <= requests["cache"]


def test_rush(generator: Generator, tmp_path: Path) -> None:
    """More clients than connections fail; with raised limits they do not."""
    case = "1,000 clients wait"
    seconds = 1.0 if generator.name == "vegeta" else 2.0  # an answer takes one, and wrk waits for none at its end
    experiment = made("rush", generator, case).with_loads(lambda load: replace(load, seconds=seconds))
    errors = figures(run(experiment, generator, tmp_path), case, "errors")
    assert errors["raised limits"] == 0 < errors["default limits"]


BEFORE = b"""\
events {}
http { server { listen 80; listen 443 ssl; ssl_certificate a.pem; ssl_certificate_key a.key;
    server_name a.test; location / { return 301 http://a.test/x; } location /log { return 200; } } }
"""


@needs_vegeta
def test_compare(tmp_path: Path) -> None:
    """Two configurations that answer alike are compared; one that answers otherwise ends the run."""
    before = load_text(
        BEFORE.replace(b"listen 443 ssl; ssl_certificate a.pem; ssl_certificate_key a.key;", b""), "nginx.conf"
    )
    other = load_text(before.main.source.data.replace(b"301", b"302"), "nginx.conf")
    targets = (Target("/", None), Target("/log", None, headers=(("Host", "a.test"),)))
    short = OpenLoop(50, 0.2)
    result = run(compare.build(before, before, targets).with_loads(lambda _: short), Vegeta(), tmp_path)
    assert result.samples[0].outcome.statuses == {"200": 5, "301": 5}
    with pytest.raises(RunError, match=r"after: wrong response of edge for /: 302 to .* instead of 301"):
        run(compare.build(before, other, targets).with_loads(lambda _: short), Vegeta(), tmp_path)


@needs_vegeta
def test_the_capacity_is_found_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a rate, the load is a stated share of the capacity of the slowest variant."""
    monkeypatch.setattr(rounds, "CAPACITY_SECONDS", 0.2)
    experiment = made("rewrites", Vegeta(), "near miss")
    result = run(experiment.with_loads(lambda _: OpenLoop(None, 0.2, share=0.1)), Vegeta(), tmp_path)
    assert result.rates["near miss"] == pytest.approx(result.capacities["near miss"] * 0.1, abs=1)


@needs_valgrind
def test_instructions(tmp_path: Path) -> None:
    """Two runs give the same figure within 0.1 %, and it shows what rules cost."""
    experiment = replace(made("rewrites", Vegeta(), "near miss"), metric="instructions")
    first = figures(run(experiment, Vegeta(), tmp_path), "near miss", "instructions")
    assert first["4000 rewrites"] > 10 * first["4000 compiled"]
    assert first["4000 compiled"] < 1.4 * first["no rules"]
    again = replace(experiment, attacks=experiment.attacks[-1:])
    second = figures(run(again, Vegeta(), tmp_path), "near miss", "instructions")
    assert second["4000 compiled"] == pytest.approx(first["4000 compiled"], rel=0.001)


@needs_valgrind
def test_instructions_of_a_map(tmp_path: Path) -> None:
    """The rows of a map are measured against their tree, by path and by header; both redirect to the same value."""
    rows = b"".join(b"~^/old/%d/ $place/%d;" % (number, number) for number in range(200))
    agents = b"".join(b"~*^agent%d/ %d;" % (number, number) for number in range(200))
    text = b"geo $place { default /new; } map $uri $to { %s } map $http_user_agent $bot { %s }" % (rows, agents)
    experiment = catalogue()["rewrites"].build(ScenarioSettings(rules=load_text(text, "maps.conf")))
    with Local(the_nginx()).deploy(experiment, tmp_path) as site:
        statuses = probe.probe(site, experiment)  # every case; those that are compared are counted, too
    assert set(statuses.values()) == {frozenset({"301"})}
    near_misses = tuple(attack for attack in experiment.attacks if attack.case.startswith("near miss"))
    counted = replace(experiment, attacks=near_misses, metric="instructions")
    result = run(counted, Vegeta(), tmp_path)
    for variable in ("$to", "$bot"):
        instructions = figures(result, f"near miss of {variable}", "instructions")
        assert instructions[f"200 rows of {variable}"] > 5 * instructions[f"200 compiled of {variable}"]


@needs_vegeta
def test_a_folder_runs_after_moving(tmp_path: Path) -> None:
    """A folder that was written and moved runs by its script, and its results are vegeta's."""
    experiment = made("keepalive", Vegeta())
    run_folder.write(tmp_path / "made here", run_folder.files(experiment, Vegeta(), 1))
    folder = (tmp_path / "made here").rename(tmp_path / "run there")
    done = subprocess.run([folder / "run"], capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(b"Status Codes") == 2
    assert b"100.00%" in done.stdout
    assert len(list(folder.glob("results/1/*.bin"))) == 2


# What goes wrong


def simple(*, load: Load | None = None, **changes: object) -> Experiment:
    """One variant of one node, attacked once."""
    variant = Variant("only", "", (node("edge", "return 200 ok;"),), **changes)  # type: ignore[arg-type]
    attack = Attack("only", "case", (Target("/"),), load or OpenLoop(50, 0.2))
    return Experiment("test", "", "", (variant,), (attack,), (Comparison("only", "only"),), "latency")


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
    experiment = Experiment("test", "", "", (good, bad), attacks, (Comparison("only", "bad"),), "latency")
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


def test_a_closed_loop_has_its_connections(generator: Generator, tmp_path: Path) -> None:
    """A closed loop opens the stated number of connections and reuses each."""
    result = run(simple(load=ClosedLoop(7, SECONDS[generator.name])), generator, tmp_path)
    assert result.samples[0].nodes["edge"].accepts in (7, 8)  # wrk tries the address first
