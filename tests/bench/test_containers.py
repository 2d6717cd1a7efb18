"""Containers without an engine: the files they are made of, the folder that is given away, and what is said if there is
no engine."""

from __future__ import annotations

import shlex
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from nginxopt.bench import containers, emit
from nginxopt.bench.catalogue import catalogue
from nginxopt.bench.containers import Images
from nginxopt.bench.load.vegeta import Vegeta
from nginxopt.bench.load.wrk import Wrk
from nginxopt.bench.runner import engine as engines
from nginxopt.bench.scenario import Asks, ExpectedResponse, Experiment, ScenarioSettings, Target
from nginxopt.cli import nginxopt
from nginxopt.errors import MissingError, NginxoptError
from tests.rows import every_row

SCENARIOS = sorted(catalogue())
GENERATORS = {"vegeta": Vegeta(), "wrk": Wrk()}


def build(name: str) -> Experiment:
    """A scenario, as small as it gets."""
    return catalogue()[name].build(ScenarioSettings(counts=(0, 3)))


def compose(experiment: Experiment, images: Images, *, published: bool = False) -> Mapping[str, Any]:
    """The compose.yaml of an experiment, parsed."""
    parsed: Mapping[str, Any] = yaml.safe_load(
        containers.files(experiment, images, published=published)["compose.yaml"]
    )
    return parsed


@every_row("published", [False, True])
@every_row("name", SCENARIOS)
def test_every_node_has_a_container(name: str, published: bool) -> None:
    """Each node is a service with limits and its own prefix, the load waits for all; published is 127.0.0.1 only."""
    experiment = build(name)
    services = dict(compose(experiment, Images("wrk"), published=published)["services"])
    load = services.pop("load")
    nodes = {containers.service(variant, node.role): node for variant in experiment.variants for node in variant.nodes}
    assert set(services) == set(nodes) == set(load["depends_on"])
    assert len({service["volumes"][0] for service in services.values()}) == len(nodes)
    for name_, service in services.items():
        assert service["hostname"] == name_
        assert service["mem_limit"] == "1g"
        assert service["pids_limit"] == 512
        assert service["healthcheck"]["test"] == ["CMD", "sh", "/bench/inside/ready"]
        assert set(service.get("depends_on", {})) <= set(nodes) - {name_}
        assert all(port.startswith("127.0.0.1::") for port in service.get("ports", []))
        assert len(service.get("ports", [])) == (len(containers.ports(nodes[name_])) if published else 0)
    assert "ports" not in load


def test_what_is_behind_starts_first() -> None:
    """A node waits for those whose addresses it has: it resolves them when it starts."""
    services = compose(build("balance"), Images("wrk"))["services"]
    assert set(services["3-nodes-edge"]["depends_on"]) == {"3-nodes-app", "3-nodes-app2", "3-nodes-app3"}
    assert "depends_on" not in services["3-nodes-app"]


def test_addresses_are_names_in_the_network() -> None:
    """What listens and what is asked is a service by its name, and so is what stands in the configurations."""
    experiment = build("hop")
    addresses = containers.addresses(experiment)
    assert addresses["tuned hop", "app"] == "tuned-hop-app:8080"
    assert addresses["tuned hop", "edge/status"] == "tuned-hop-edge:8081"
    config = containers.files(experiment, Images("wrk"), published=False)["nginx/tuned-hop/edge/nginx.conf"]
    assert b"server tuned-hop-app:8080;" in config
    assert b"listen tuned-hop-edge:8080" in config


@given(st.sets(st.integers(0, 200), max_size=64).map(sorted))
def test_cpu_sets(cpus: list[int]) -> None:
    """Each role has CPUs of its own, the load half of them; with fewer than four, all share all."""
    sets = {role: [int(cpu) for cpu in text.split(",")] for role, text in containers.cpu_sets(cpus).items()}
    if len(cpus) < 4:
        assert sets == {}
        return
    assert sorted(cpu for part in sets.values() for cpu in part) == cpus
    assert all(sets.values())
    assert len(sets["LOAD"]) == len(cpus) // 2


def test_images_are_named_by_what_goes_into_them() -> None:
    """Another base or another binary is another image; a ready one keeps its name and is not built."""
    plain = Images("vegeta")
    assert plain.nginx_name == Images("wrk").nginx_name
    assert plain.nginx_name != Images("vegeta", "other:1").nginx_name
    assert len({plain.load_name, Images("wrk").load_name, Images("vegeta", vegeta=b"1").load_name}) == 3
    ready = Images("vegeta", nginx="nginx:1.28", load="vegeta:12")
    assert (ready.nginx_name, ready.load_name, ready.files()) == ("nginx:1.28", "vegeta:12", {})


def test_dockerfiles() -> None:
    """vegeta comes from its release with its checksum, or from a binary that is tried; wrk and nginx from packages."""
    release = Images("vegeta", "base:1").files()
    load = release["images/load/Dockerfile"].decode()
    assert "ARG BASE_IMAGE=base:1\nFROM ${BASE_IMAGE}\n" in load
    assert "sha256sum --check" in load
    assert "amd64) sum=e8759ce45c14e18374bdccd3ba6068197bc3a9f9b7e484db3837f701b9d12e61" in load
    assert "install --yes --no-install-recommends curl nginx" in release["images/nginx/Dockerfile"].decode()
    binary = Images("vegeta", vegeta=b"\x7fELF").files()
    assert binary["images/load/vegeta"] == b"\x7fELF"
    assert "COPY vegeta" in binary["images/load/Dockerfile"].decode()
    assert "--no-install-recommends wrk" in Images("wrk").files()["images/load/Dockerfile"].decode()


@every_row("generator", sorted(GENERATORS))
@every_row("name", SCENARIOS)
def test_a_folder_is_whole(name: str, generator: str, tmp_path: Path) -> None:
    """Its scripts are sound, each attack has its targets, and each answer that is known is probed."""
    experiment = build(name)
    files = emit.files(experiment, GENERATORS[generator], Images(generator), 3)  # type: ignore[arg-type]
    for path, text in files.items():
        if text.startswith(b"#!/bin/sh"):
            (tmp_path / "script").write_bytes(text)
            checked = subprocess.run(["sh", "-n", str(tmp_path / "script")], capture_output=True, check=False)
            assert (path, checked.returncode, checked.stderr) == (path, 0, b"")
    script = files["run"].decode()
    assert files["run"].startswith(b"#!")
    assert script.count("\n    attack ") == len(experiment.attacks)
    assert script.count("\n    probe ") >= len(experiment.attacks)
    assert script.count("\n    count ") == sum(len(attack.counts) for attack in experiment.attacks)
    assert len([path for path in files if path.startswith("targets/")]) == len(experiment.attacks)
    assert experiment.title in files["README.md"].decode()


def test_probes_are_quoted() -> None:
    """What is asked and answered reaches the script word for word."""
    (variant, *_others) = build("hop").variants
    answer = ExpectedResponse(301, f"https://@{variant.entry}@/it's", header=("X-A", "$b"))
    target = Target("/a'b;$(c)", answer, "POST", (("Host", '"d"'),))
    line = emit._probe("name", variant, Asks(variant.entry, target), containers.addresses(build("hop")), 0)
    assert shlex.split(line) == [
        *["probe", "name", "hop: edge: POST /a'b;$(c)", "hop-edge", "301"],
        *["Location: https://hop-edge:8080/it's\nX-A: $b", ""],
        *["--request", "POST", "--header", 'Host: "d"', "http://hop-edge:8080/a'b;$(c)"],
    ]


@pytest.fixture
def only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory that is all of PATH, with a shell in it."""
    (tmp_path / "sh").symlink_to(shutil.which("sh") or "/bin/sh")
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def command(folder: Path, name: str, script: str) -> None:
    """Put a command into a folder."""
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


@pytest.mark.parametrize(
    ("docker", "message"),
    [
        (None, "no docker command found on PATH"),
        ("echo 'Cannot connect to the Docker daemon.' >&2; exit 1", "no container engine answers: Cannot connect"),
        ('[ "$1" != compose ] && echo 20.10.0', "neither `docker compose` nor `docker-compose` found"),
    ],
    ids=["docker", "engine", "compose"],
)
def test_what_is_missing_is_said(docker: str | None, message: str, only: Path) -> None:
    """Without docker, an engine or Compose the error is one sentence, with what helps; `auto` then knows."""
    if docker is not None:
        command(only, "docker", docker)
    with pytest.raises(MissingError) as error:
        engines.find()
    assert error.value.message.startswith(message)
    assert error.value.hint is not None
    assert "--runner local" in error.value.hint
    assert not engines.answers()


@pytest.mark.parametrize("compose", ["docker compose", "docker-compose"])
def test_compose_is_a_plugin_or_a_command(compose: str, only: Path) -> None:
    """Both kinds of Compose are found, the plugin first."""
    is_plugin = compose == "docker compose"
    plugin = "echo 2.1" if is_plugin else "exit 1"
    cases = f"""compose) {plugin} ;; version) echo 20.10.0 ;; info) echo '4 ["name=rootless"]' ;;"""
    command(only, "docker", f'case "$1" in {cases} esac')
    command(only, "docker-compose", "echo 1.29.2")
    engine = engines.find()
    assert engine.compose == ((str(only / "docker"), "compose") if is_plugin else (str(only / "docker-compose"),))
    assert engine.versions == {"engine": "20.10.0", "compose": "2.1" if is_plugin else "1.29.2"}
    assert engine.owner == "0:0"


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (["--load", "wrk", "--vegeta-binary", "v"], 2, "--load wrk cannot be used with --vegeta"),
        (["--vegeta-image", "i", "--vegeta-binary", "v"], 2, "cannot be used together"),
        (["--runner", "compose", "--nginx", "n"], 2, "--nginx cannot be used with --runner compose"),
        (["--vegeta-binary", "/no/such"], 4, "/no/such: cannot read the vegeta binary"),
        (["--runner", "compose"], 4, "no docker command found on PATH"),
    ],
)
def test_options_that_cannot_be(words: list[str], status: int, message: str, only: Path) -> None:
    """Options that contradict each other, and what is not there, end the call before anything is made."""
    result = CliRunner().invoke(nginxopt, ["bench", "hop", *words])
    assert isinstance(result.exception, NginxoptError)
    assert result.exception.exit_code == status
    assert message in result.exception.message
    assert [path.name for path in only.iterdir()] == ["sh"]


def test_emit_writes_a_folder(tmp_path: Path) -> None:
    """`--emit` writes the folder, with what is run executable, and runs nothing."""
    (tmp_path / "vegeta").write_bytes(b"\x7fELF")
    words = ["bench", "hop", "--emit", str(tmp_path / "made"), "--vegeta-binary", str(tmp_path / "vegeta")]
    result = CliRunner().invoke(nginxopt, words, standalone_mode=False)
    assert (result.exception, result.return_value) == (None, 0)
    folder = tmp_path / "made"
    assert all(path.stat().st_mode & 0o100 for path in (folder / "run", folder / "images" / "load" / "vegeta"))
    assert {path.name for path in folder.iterdir()} == {
        *["README.md", "compose.yaml", "images", "inside", "nginx", "run", "targets"]
    }
