"""Each scenario once, short, on a real nginx: the direction of its effect in counts or CPU time, never in wall time."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from nginxopt.bench import compare, probe, rounds, run_folder
from nginxopt.bench.catalogue import catalogue
from nginxopt.bench.load.vegeta import Vegeta
from nginxopt.bench.result import Result
from nginxopt.bench.runner.local import Local
from nginxopt.bench.scenario import ClosedLoop, Experiment, Load, OpenLoop, ScenarioSettings, Target
from nginxopt.bench.site import Generator
from nginxopt.config import load_text
from nginxopt.errors import RunError
from tests.nginx.benching import GENERATORS, SECONDS, needs_valgrind, needs_vegeta, run, simple
from tests.support import PATIENCE, the_nginx

pytestmark = pytest.mark.nginx


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


@pytest.mark.extended
@needs_valgrind
def test_instructions_of_a_map(tmp_path: Path) -> None:
    """The rows of a map are measured against their tree, by path and by header; both redirect to the same value."""
    rows = b"".join(b"~^/old/%d/ $place/%d;" % (number, number) for number in range(200))
    agents = b"".join(b"~*^agent%d/ %d;" % (number, number) for number in range(200))
    text = b"geo $place { default /new; } map $uri $to { %s } map $http_user_agent $bot { %s }" % (rows, agents)
    experiment = catalogue()["rewrites"].build(ScenarioSettings(rules=load_text(text, "maps.conf")))
    with Local(the_nginx(), alone=True).deploy(experiment, tmp_path) as site:
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
    done = subprocess.run([folder / "run"], capture_output=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(b"Status Codes") == 2
    assert b"100.00%" in done.stdout
    assert len(list(folder.glob("results/1/*.bin"))) == 2


def test_a_closed_loop_has_its_connections(generator: Generator, tmp_path: Path) -> None:
    """A closed loop opens the stated number of connections and reuses each."""
    result = run(simple(load=ClosedLoop(7, SECONDS[generator.name])), generator, tmp_path)
    assert result.samples[0].nodes["edge"].accepts in (7, 8)  # wrk tries the address first
