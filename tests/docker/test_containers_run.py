"""The benchmark in real containers: what is measured, what is said when something fails, and what is left: nothing."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from nginxopt.bench import containers, probe
from nginxopt.bench.containers import Images
from nginxopt.bench.load.vegeta import parse
from nginxopt.bench.runner.compose import Compose
from nginxopt.bench.runner.engine import Engine
from nginxopt.bench.scenario import Asks, ExpectedResponse, Experiment, Node, Target, Variant, VariantPair
from nginxopt.errors import InputError, MissingError, RunError
from tests.support import PATIENCE, ended

pytestmark = pytest.mark.docker
leaves_nothing = pytest.mark.usefixtures("project")

CLI = [sys.executable, "-m", "nginxopt", "bench"]

CONFIG = b"""
error_log error.log crit;
events {}
http {
    access_log off;
    keepalive_requests 1000000000;
    server { listen @edge@; location / { return 200 "ok"; } }
    server { listen @edge/status@; location / { stub_status; } }
}
"""


def experiment(config: bytes = CONFIG) -> Experiment:
    """One variant of one nginx."""
    ok = Asks("edge", Target("/", ExpectedResponse(200, body="ok")))
    variant = Variant("plain", "a server that says ok", (Node("edge", config, nofile=512),), probes=(ok,))
    return Experiment("plain", "Plain", "Nothing.", (variant,), (), (VariantPair("plain", "plain"),), "latency")


@pytest.fixture
def project(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nothing is left after the test of the project that it makes in this process."""
    word = secrets.token_hex(4)
    monkeypatch.setattr(secrets, "token_hex", lambda _bytes: word)
    yield
    assert left(engine, f"nginxopt-{word}") == ""


@pytest.fixture
def images(base_image: str) -> Images:
    """The images of the tests: all from the base image, and wrk from its packages."""
    return Images("wrk", base_image)


def left(engine: Engine, project: str) -> str:
    """What is left of a project: ids of containers, networks and volumes."""
    of = f"label=com.docker.compose.project={project}"
    return (
        engine.ask("ps", "--all", "--quiet", "--filter", of)
        + engine.ask("network", "ls", "--quiet", "--filter", of)
        + engine.ask("volume", "ls", "--quiet", "--filter", of)
    )


def run(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run a command to its end."""
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=PATIENCE, check=False)


def project_in(engine: Engine, folder: Path) -> str:
    """The project whose compose.yaml lies in a folder, as soon as its load generator runs."""
    there = f"label=com.docker.compose.project.working_dir={folder}"
    form = '{{.Label "com.docker.compose.project"}}'
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        load = "label=com.docker.compose.service=load"
        projects = engine.ask("ps", "--filter", there, "--filter", load, "--format", form).split()
        if projects:
            return projects[0]
        time.sleep(0.1)
    raise TimeoutError(folder)


def wait_until_gone(engine: Engine, project: str) -> None:
    """Wait until nothing is left of a project."""
    deadline = time.monotonic() + PATIENCE
    while left(engine, project) and time.monotonic() < deadline:
        time.sleep(0.2)
    assert left(engine, project) == ""


@leaves_nothing
def test_a_site_in_containers(engine: Engine, images: Images, tmp_path: Path) -> None:
    """Probes, counters, limits, clocks and commands reach the containers, and what ran is known."""
    compose = Compose(engine, images)
    small = experiment()
    with compose.deploy(small, tmp_path) as site:
        assert probe.probe(site, small) == {}
        (variant,) = small.variants
        before, clock = site.status(variant, "edge"), site.clock(variant, "edge")
        script = "targets/ask.lua"
        (tmp_path / script).write_text("")
        output = site.execute(
            ["wrk", "-t1", "-c2", "-d1", "-s", script, f"http://{site.address(variant, 'edge')}/"], seconds=60
        )
        assert b"requests in" in output
        after = site.status(variant, "edge")
        assert after.requests - before.requests > 100
        assert after.accepts - before.accepts == 4  # two of wrk, one that it tries first, and the look itself
        assert site.clock(variant, "edge") > clock
        memory = site.memory(variant, "edge")
        assert memory.rss >= memory.pss > 1_000_000
        assert site.open_files(variant, "edge") == 512
        assert site.time_wait(variant) is not None
        assert 0 < site.test_seconds(variant, "edge") < 60
        with pytest.raises(MissingError, match="cannot run no-such-command in its image"):
            site.execute(["no-such-command"], seconds=60)
        with pytest.raises(RunError, match="wrk ended with status 1"):
            site.execute(["wrk", "http://no-such-host/"], seconds=60)
    about = compose.provenance()
    assert about["nginx"].startswith("nginx 1.")
    assert images.nginx_name in about["nginx_image"]


def test_a_scenario_in_containers(base_image: str, engine: Engine, tmp_path: Path) -> None:
    """A whole scenario: the hop that keeps its connections to the app opens few, by the app's counters."""
    output = tmp_path / "result.json"
    words = ["--runner", "compose", "--base-image", base_image, "--load", "wrk", "--rounds", "1", "--duration", "1"]
    done = run(*CLI, "hop", *words, "--format", "json", "--output", str(output), folder=tmp_path)
    assert done.returncode == 0, done.stderr
    result = json.loads(output.read_text())
    accepts = {summary["variant"]: summary["figures"]["accepts.app"] for summary in result["summaries"]}
    assert accepts["tuned hop"] < 0.2 < 0.9 < accepts["hop"]
    assert result["provenance"]["runner"] == "compose"
    assert engine.versions["engine"] == result["provenance"]["engine"]


def test_a_folder_runs_after_it_was_moved(base_image: str, vegeta: str, engine: Engine, tmp_path: Path) -> None:
    """`--emit` writes a folder that builds, runs and ends anywhere; its results are those of vegeta."""
    words = ["--base-image", base_image, "--vegeta-binary", vegeta, "--rounds", "1", "--duration", "0.5"]
    wrote = run(*CLI, "rewrites", "--counts", "10000", *words, "--emit", str(tmp_path / "made"), folder=tmp_path)
    assert wrote.returncode == 0, wrote.stderr
    folder = (tmp_path / "made").rename(tmp_path / "another place")
    done = run(str(folder / "run"), folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    cpu = {}
    for line in (folder / "results" / "rounds.tsv").read_text().splitlines():
        _round, name, requests, failed, *_latencies, clock = line.split("\t")
        kept = str(folder / "results" / "1" / f"{name}.bin")
        rows = subprocess.run([vegeta, "encode", "-to=csv", kept], capture_output=True, check=True).stdout
        assert (parse(rows, kept).requests, "0") == (int(requests), failed)
        cpu[name] = int(clock)
    assert cpu["10000-rewrites.far-miss"] > 2 * cpu["10000-compiled.far-miss"]
    assert left_by(engine, folder) == ""


SITE = """\
events {}
http {
    log_format seen '$ssl_server_name $http_host $scheme $server_protocol $request_uri $status';
    access_log access.log seen;
    server { listen 80; server_name shop.test; return 301 https://$host$request_uri; }
    server { listen 443 ssl default_server; ssl_reject_handshake on; }
    server { listen 443 ssl http2; server_name shop.test; ssl_certificate gone.pem; ssl_certificate_key gone.key;
        location / { return 200 ok; } location /old { return 301 /new; } }
}
"""


def test_a_site_with_tls_in_containers(base_image: str, vegeta: str, engine: Engine, tmp_path: Path) -> None:
    """Name, Host and scheme reach nginx in containers and in a folder of `--emit`, where its port may differ."""
    (tmp_path / "a.conf").write_text(SITE)
    servers = SITE.splitlines(keepends=True)
    (tmp_path / "b.conf").write_text("".join([*servers[:4], *servers[5:8], servers[4], *servers[8:]]))
    (tmp_path / "targets").write_text("/old\nhttps://shop.test/\nhttp://shop.test/\n")
    words = ["a.conf", "b.conf", "--targets", "targets", "--base-image", base_image, "--rounds", "1", "--rate", "50"]
    output = ["--format", "json", "--output", "r.json"]
    done = run(
        *CLI, "compare", *words, "--runner", "compose", "--load", "wrk", "--duration", "1", *output, folder=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert protocols(tmp_path / "r.run") == {"HTTP/1.1"}
    assert "https://shop.test" in {
        attack["case"] for attack in json.loads((tmp_path / "r.json").read_text())["attacks"]
    }
    emitted = ["--vegeta-binary", vegeta, "--duration", "0.5", "--emit", "made"]
    wrote = run(*CLI, "compare", *words, *emitted, folder=tmp_path)
    assert wrote.returncode == 0, wrote.stderr
    done = run(str(tmp_path / "made" / "run"), folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert protocols(tmp_path / "made") == {"HTTP/1.1", "HTTP/2.0"}  # those of the probes, too
    assert "https://shop.test at *:443" in (tmp_path / "made" / "README.md").read_text()
    assert left_by(engine, tmp_path / "made") == ""


def protocols(folder: Path) -> set[str]:
    """The protocols over TLS in the logs of both variants, which have the name of the site in each request."""
    seen = set()
    for variant in ("before", "after"):
        lines = (folder / "nginx" / variant / "edge" / "access.log").read_text().splitlines()
        assert {line.split(" ", 1)[0] for line in lines} == {"shop.test", "-"}
        assert {line.split(" ")[1] for line in lines} == {"shop.test"}
        seen |= {line.split(" ")[3] for line in lines if line.startswith("shop.test ")}
    return seen


def test_a_folder_says_what_does_not_hold(base_image: str, tmp_path: Path) -> None:
    """A variant that does not do what it claims ends the run with its name, status 5 and the logs."""
    words = ["--base-image", base_image, "--load", "wrk", "--rounds", "1", "--duration", "1"]
    run(*CLI, "hop", *words, "--emit", str(tmp_path / "made"), folder=tmp_path)
    config = tmp_path / "made" / "nginx" / "tuned-hop" / "edge" / "nginx.conf"
    config.write_text(config.read_text().replace("proxy_pass http://app;", "return 404;"))
    done = run(str(tmp_path / "made" / "run"), folder=tmp_path)
    assert done.returncode == 5, done.stdout + done.stderr
    assert "tuned hop: edge: GET /: HTTP/1.1 404 Not Found instead of 200" in done.stderr
    assert (tmp_path / "made" / "results" / "containers.log").exists()


def left_by(engine: Engine, folder: Path) -> str:
    """The containers that are left of a run of a folder."""
    return engine.ask("ps", "--all", "--quiet", "--filter", f"label=com.docker.compose.project.working_dir={folder}")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL], ids=lambda number: number.name)
def test_an_interrupted_run_leaves_nothing(
    number: signal.Signals, base_image: str, engine: Engine, tmp_path: Path
) -> None:
    """Ctrl-C, SIGTERM and even `kill -9` of the bench leave no container and no network."""
    words = ["--runner", "compose", "--base-image", base_image, "--load", "wrk", "--output", str(tmp_path / "r.json")]
    command = [*CLI, "hop", *words]
    with ended(subprocess.Popen(command, stderr=subprocess.PIPE, start_new_session=True)) as running:
        project = project_in(engine, tmp_path / "r.run")
        running.send_signal(number)
        running.communicate(timeout=PATIENCE)
    if number == signal.SIGKILL:  # then a process that outlives it does it
        wait_until_gone(engine, project)
    assert left(engine, project) == ""
    assert running.returncode == {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGKILL: -9}[number]


def test_an_interrupted_folder_leaves_nothing(base_image: str, engine: Engine, tmp_path: Path) -> None:
    """Ctrl-C ends the script of a folder, and its containers and network with it."""
    words = ["--base-image", base_image, "--load", "wrk", "--rounds", "9"]
    run(*CLI, "hop", *words, "--emit", str(tmp_path / "made"), folder=tmp_path)
    script = str(tmp_path / "made" / "run")
    with ended(
        subprocess.Popen([script], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)
    ) as running:
        project = project_in(engine, tmp_path / "made")
        os.killpg(running.pid, signal.SIGINT)  # as a terminal does: to all of them
        output = running.communicate(timeout=PATIENCE)[0].decode()
    assert running.returncode == 130, output
    assert left(engine, project) == ""


@leaves_nothing
def test_a_refused_configuration(engine: Engine, images: Images, tmp_path: Path) -> None:
    """What nginx says of a configuration is said, with the container, and the log is kept."""
    refused = CONFIG.replace(b'return 200 "ok"', b"retrun 200")
    with pytest.raises(InputError) as error, Compose(engine, images).deploy(experiment(refused), tmp_path):
        pass
    assert (
        'plain-edge: nginx refuses its configuration: unknown directive "retrun" in nginx.conf:7' in error.value.message
    )
    assert b"retrun" in (tmp_path / "logs" / "plain-edge.log").read_bytes()


@leaves_nothing
def test_a_container_that_does_not_get_healthy(
    engine: Engine, images: Images, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An nginx that does not listen where it should is named, with what it logged."""
    monkeypatch.setattr(containers, "START_SECONDS", 1)
    elsewhere = CONFIG.replace(b"listen @edge@", b"listen 9999").replace(b"error.log crit", b"stderr notice")
    with pytest.raises(RunError) as error, Compose(engine, images).deploy(experiment(elsewhere), tmp_path):
        pass
    assert error.value.message == "the container plain-edge is not healthy: nginx does not listen."
    assert "start worker process" in str(error.value)


@leaves_nothing
def test_a_container_that_dies(engine: Engine, images: Images, tmp_path: Path) -> None:
    """If an nginx dies in the middle, the error says which, and how."""
    small = experiment()

    def kill_it() -> None:
        with Compose(engine, images).deploy(small, tmp_path) as site:
            engine.ask("kill", site.ids["plain-edge"])
            site.clock(small.variants[0], "edge")

    with pytest.raises(RunError, match="the container plain-edge ended with status 137"):
        kill_it()


@leaves_nothing
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"base": "nginxopt.invalid/base:1"}, "cannot build the images"),
        ({"nginx": "nginxopt.invalid/nginx:1"}, "cannot pull the image nginxopt.invalid/nginx:1"),
        ({"generator": "vegeta", "vegeta": b"\x7fELF no program"}, "does not run in the base image"),
    ],
    ids=["base", "ready", "binary"],
)
def test_images_that_cannot_be_had(
    changes: dict[str, str | bytes], message: str, engine: Engine, base_image: str, tmp_path: Path
) -> None:
    """An image that can neither be built nor pulled is what is missing."""
    images = Images(**{"generator": "wrk", "base": base_image, **changes})  # type: ignore[arg-type]
    with pytest.raises(MissingError, match=message), Compose(engine, images).deploy(experiment(), tmp_path):
        pass
