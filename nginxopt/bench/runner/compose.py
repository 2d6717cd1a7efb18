"""The runner in containers: Docker Compose starts every nginx and the load generator, each in a container of its own.

Commands run inside containers with `docker exec`, so the engine may be in a virtual machine. The ports of the nodes are
published on 127.0.0.1 for the probes; the load goes from container to container.
"""

from __future__ import annotations

import contextlib
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from nginxopt import lazy
from nginxopt.bench import containers, run_folder
from nginxopt.bench.containers import LIMITS, LOAD, Images
from nginxopt.bench.runner.engine import Engine
from nginxopt.bench.runner.local import ask, counters
from nginxopt.bench.scenario import Experiment, Target, Variant
from nginxopt.bench.site import Memory, Status
from nginxopt.errors import InputError, MissingError, RunError, UsageError
from nginxopt.system.process import Completed

_IMAGE_SECONDS = 900.0
_UP_SECONDS = 300.0
_NANO = 1e9
_KILO = 1024
_LOG_LINES = 15
_NO_COMMAND = (126, 127)  # statuses of a shell and of docker exec: the command cannot be run, or does not exist


class Compose:
    """Runs containers of `images` on `engine`."""

    name = "compose"

    def __init__(self, engine: Engine, images: Images) -> None:
        self._engine = engine
        self._images = images
        self._cpus = containers.cpu_sets(engine.cpus)
        self._about: dict[str, str] = {}

    @contextlib.contextmanager
    def deploy(self, experiment: Experiment, folder: Path) -> Iterator[ComposeSite]:
        """Start every variant; see `nginxopt.bench.site.Runner.deploy`.

        If anything fails, the logs of all containers are kept in `folder/logs`.
        """
        if experiment.metric == "instructions":
            raise UsageError(_NO_INSTRUCTIONS, hint=_LOCAL)
        write(folder, experiment, self._images, self._settings())
        with self._engine.project() as project:
            self._prepare(project, folder)
            try:
                self._up(project, folder)
                site = ComposeSite(self._engine, folder, experiment, self._engine.containers(project))
                self._about = self._versions(site, experiment)
                yield site
            except (RunError, InputError, MissingError) as error:
                raise self._explained(error, project, folder) from None

    def provenance(self) -> Mapping[str, str]:
        """Return the versions, the images and their ids, the CPUs and the limits. Available after `deploy`."""
        cpus = "; ".join(f"{role.lower()} {cpus}" for role, cpus in self._cpus.items())
        count = len(self._engine.cpus)
        return {
            **self._about,
            **self._engine.versions,
            "cpu_sets": cpus or f"none: {count} CPUs are too few for one per role",
            "limits": f"memory {LIMITS['nginx_memory']} for each nginx, {LIMITS['load_memory']} for the load generator",
        }

    def _settings(self) -> dict[str, str]:
        return {"BENCH_USER": self._engine.owner, **{f"CPUS_{role}": cpus for role, cpus in self._cpus.items()}}

    def _prepare(self, project: str, folder: Path) -> None:
        """Build the images, or pull ready ones. Raises `MissingError` for an unavailable image."""
        for image in filter(None, (self._images.nginx, self._images.load)):
            self._pull(image)
        if self._images.files():
            build = self._engine.run_compose(project, "build", "--force-rm", folder=folder, seconds=_IMAGE_SECONDS)
            if build.status:
                run_folder.write(folder, {"logs/build.log": build.output + build.errors})
                raise MissingError(f"cannot build the images: {_reason(build)}", hint=_HINT)

    def _pull(self, image: str) -> None:
        if self._engine.has_image(image):
            return
        pull = self._engine.run("pull", "--quiet", image, seconds=_IMAGE_SECONDS)
        if pull.status:
            raise MissingError(f"cannot pull the image {image}: {pull.last()}")

    def _up(self, project: str, folder: Path) -> None:
        up = self._engine.run_compose(project, "up", "-d", "--no-build", LOAD, folder=folder, seconds=_UP_SECONDS)
        if up.status:
            raise RunError(f"cannot start the containers: {up.last()}")

    def _versions(self, site: ComposeSite, experiment: Experiment) -> dict[str, str]:
        variant = experiment.variants[0]
        answer = site.inside(variant, variant.entry, "nginx", "-v")
        version = re.search(rb"nginx version: (\S+)", answer.errors + answer.output)
        names = {"nginx_image": self._images.nginx_name, "load_image": self._images.load_name}
        ids = {
            what: f"{name} {self._engine.ask('image', 'inspect', '--format', '{{.Id}}', name).strip()}"
            for what, name in names.items()
        }
        return {"nginx": version[1].decode().replace("/", " ") if version else "unknown", **ids}

    def _explained(self, error: RunError | InputError | MissingError, project: str, folder: Path) -> Exception:
        """Return the cause of an error, if a container ended or did not become healthy; otherwise the error itself.

        Also writes the logs of all containers to the folder.
        """
        ids = self._engine.containers(project)
        states = {service: self._state(id_) for service, id_ in ids.items()}
        logs = {service: self._log(id_) for service, id_ in ids.items()}
        run_folder.write(folder, {f"logs/{service}.log": log for service, log in logs.items()})
        for service, state in states.items():
            if state:
                lines = logs[service].decode(errors="replace").strip().splitlines()
                refused = [line.partition("[emerg] ")[2] for line in lines if "[emerg]" in line]
                if refused:
                    return InputError(f"{service}: nginx refuses its configuration: {_words(refused[-1])}")
                tail = "" if lines else " Its log is empty."
                return RunError(f"the container {service} {state}.{tail}", below=lines[-_LOG_LINES:])
        return error

    def _state(self, container: str) -> str:
        """Return what is wrong with a container; empty if nothing is."""
        form = "{{.State.Status}} {{.State.ExitCode}} {{.State.OOMKilled}} {{with .State.Health}}{{.Status}}{{end}}"
        state, status, killed, health = self._engine.ask("inspect", "--format", form, container).split(" ", 3)
        if state in ("exited", "dead"):
            return f"ended with status {status}{', out of memory' if killed == 'true' else ''}"
        return "is not healthy: nginx does not listen" if health.strip() == "unhealthy" else ""

    def _log(self, container: str) -> bytes:
        logs = self._engine.run("logs", container)
        return logs.output + logs.errors


_NO_INSTRUCTIONS = "--metric instructions does not work in containers"
_LOCAL = "use --runner local: the counts are the same on any machine"
_HINT = (
    "name a base image with apt-get that is here (--base-image), a binary of vegeta (--vegeta-binary) or ready images"
    " (--nginx-image, --vegeta-image); --runner local needs none"
)


@dataclass(slots=True)
class ComposeSite:
    """An experiment that runs in containers."""

    engine: Engine
    folder: Path
    experiment: Experiment
    ids: Mapping[str, str]
    _addresses: dict[tuple[str, str], str] = field(default_factory=dict)
    _ports: dict[str, dict[int, int]] = field(default_factory=dict)
    _usages: dict[str, dict[str, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._addresses = containers.addresses(self.experiment)

    def address(self, variant: Variant, role: str) -> str:
        """Return host:port of a node in the network of the containers."""
        return self._addresses[variant.name, role]

    def execute(self, command: Sequence[str], *, seconds: float) -> bytes:
        """Run a command of the load generator to its end, in its container."""
        self._usages.clear()
        load = self.engine.run("exec", self.ids[LOAD], "sh", "/bench/inside/load", *command, seconds=seconds)
        if load.status in _NO_COMMAND:
            raise MissingError(f"cannot run {command[0]} in its image: {load.last()}")
        if load.status:
            raise RunError(f"{command[0]} ended with status {load.status}: {load.last(5)}")
        return load.output

    def inside(self, variant: Variant, role: str, *command: str) -> Completed:
        """Run a command in the container of a node, to its end."""
        return self.engine.run("exec", self.ids[containers.service(variant, role)], *command)

    def ask(self, variant: Variant, role: str, target: Target) -> bytes:
        """Return the raw answer of a node."""
        return ask(self.address(variant, role), target, port=self._published(variant, role.partition("/")[0], role))

    def status(self, variant: Variant, role: str) -> Status:
        """Return the counters of a node."""
        place = f"{role}/status"
        answer = ask(self.address(variant, place), Target("/"), port=self._published(variant, role, place))
        return counters(answer, f"{variant.name}: {role}")

    def clock(self, variant: Variant, role: str) -> float:
        """Return the CPU time of the workers of a node, in seconds."""
        return self._usage(variant, role)["clock"] / _NANO

    def memory(self, variant: Variant, role: str) -> Memory:
        """Return the memory of master and workers."""
        usage = self._usage(variant, role)
        return Memory(usage["rss"] * _KILO, usage["pss"] * _KILO)

    def open_files(self, variant: Variant, role: str) -> int:
        """Return the smallest soft limit of open files among the workers of a node."""
        return self._usage(variant, role)["files"]

    def time_wait(self, variant: Variant) -> int | None:
        """Return the sockets in TIME_WAIT of the nodes of a variant, each in its own network namespace."""
        return sum(self._usage(variant, node.role)["time_wait"] for node in variant.nodes)

    def test_seconds(self, variant: Variant, role: str) -> float:
        """Return how long `nginx -t` takes on the configuration of a node, by the clock of its container."""
        test = self.inside(variant, role, "sh", "/bench/inside/check")
        if test.status:
            raise RunError(f"{variant.name}: {role}: nginx -t: {test.last()}")
        return int(test.output) / _NANO

    def instructions(self, variant: Variant, targets: Sequence[Target], place: str) -> float:  # noqa: ARG002 - never counted here
        """Raise `UsageError`: callgrind only runs on this machine."""
        raise UsageError(_NO_INSTRUCTIONS, hint=_LOCAL)

    def _usage(self, variant: Variant, role: str) -> dict[str, int]:
        """Return the resources of a node, read once between two commands of the load generator, while it is idle."""
        service = containers.service(variant, role)
        if service not in self._usages:
            self._usages[service] = self._ask_usage(variant, role)
        return self._usages[service]

    def _ask_usage(self, variant: Variant, role: str) -> dict[str, int]:
        usage = self.inside(variant, role, "sh", "/bench/inside/usage")
        figures = dict(line.split(" ", 1) for line in usage.output.decode().splitlines())
        if usage.status or not all(value.isdigit() for value in figures.values()) or "time_wait" not in figures:
            raise RunError(f"{variant.name}: cannot read the resource usage of {role}: {usage.last()}")
        return {name: int(value) for name, value in figures.items()}

    def _published(self, variant: Variant, role: str, place: str) -> int:
        service = containers.service(variant, role)
        if service not in self._ports:
            self._ports[service] = self.engine.ports(self.ids[service])
        return self._ports[service][containers.ports(variant.node(role))[place]]


def write(folder: Path, experiment: Experiment, images: Images, settings: Mapping[str, str]) -> None:
    """Write all files for the containers into `folder`, with the settings of this machine in `.env`."""
    environment = "".join(f"{name}={value}\n" for name, value in settings.items()).encode()
    run_folder.write(folder, {**containers.files(experiment, images, published=True), ".env": environment})
    shutil.rmtree(folder / "logs", ignore_errors=True)  # those of an earlier run
    for variant in experiment.variants:
        for node in variant.nodes:
            for name in ("html", "temp"):
                (folder / run_folder.prefix(variant, node.role) / name).mkdir(exist_ok=True)
    for name in ("targets", "results"):
        (folder / name).mkdir(exist_ok=True)


# The last line of a failed build only names the failed command, which can be long.
_TELLING = lazy.pattern(
    r"(?:curl: |E: |.*(?:checksum|does not run|has no apt-get|no such host|denied|not found|dial tcp|did NOT match)).*"
)


def _reason(build: Completed) -> str:
    """Return the line with the reason from the output of a failed build, or the last line."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", (build.output + build.errors).decode(errors="replace"))
    lines = [re.sub(r"^#\d+ [\d.]+ ", "", line.strip()) for line in text.splitlines()]
    telling = [line for line in lines if _TELLING.fullmatch(line) and "&&" not in line]  # with &&: the command itself
    return telling[-1] if telling else build.last()


def _words(refusal: str) -> str:
    """Return nginx's message without the process and the path of the prefix in a container."""
    return re.sub(r"^\d+#\d+: ", "", refusal).replace("/bench/nginx/", "")
