"""The container engine: its commands, and projects whose containers and networks are always removed."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from nginxopt.errors import MissingError, RunError
from nginxopt.records import record
from nginxopt.system import process
from nginxopt.system.process import Completed

_ASK_SECONDS = 60.0
_REMOVE_SECONDS = 120.0
_TAKE_LOCAL = "or use --runner local"
_PROJECT = "com.docker.compose.project"
_SERVICE = "com.docker.compose.service"

# A script that waits until its standard input ends: then nginxopt is done, or was killed, even with `kill -9`. If it
# was killed (no line on standard input), a command that makes containers may still be ending, so the script waits. It
# finds containers by label, so that it needs no file of the folder.
_KEEPER = """
docker=$1 label=label=$2
read -r _ || sleep 2
for try in 1 2 3 4 5; do
    "$docker" ps --all --quiet --filter "$label" | xargs -r "$docker" rm --force --volumes
    "$docker" network ls --quiet --filter "$label" | xargs -r "$docker" network rm
    left=$("$docker" ps --all --quiet --filter "$label"; "$docker" network ls --quiet --filter "$label") &&
        [ -z "$left" ] && exit 0
    sleep 1
done >/dev/null
exit 1
"""


@record(eq=True)
class Engine:
    """A container engine that answers.

    Attributes:
        docker: The path of the docker command.
        compose: The command of Compose: `docker compose`, or `docker-compose`.
        versions: The versions of `engine` and `compose`.
        cpus: The CPUs to which containers may be pinned.
        owner: The user and group of containers that write into mounted folders, such as `1000:1000`.
    """

    docker: str
    compose: tuple[str, ...]
    versions: dict[str, str]
    cpus: tuple[int, ...]
    owner: str

    def run(self, *arguments: str, folder: Path | None = None, seconds: float = _ASK_SECONDS) -> Completed:
        """Run a docker command to its end. Raises `RunError` if it does not end in time."""
        return _run([self.docker, *arguments], seconds, folder)

    def ask(self, *arguments: str) -> str:
        """Return the output of a docker command. Raises `RunError` with its last line if it fails."""
        completed = self.run(*arguments)
        if completed.status:
            raise RunError(f"docker {arguments[0]}: {completed.last()}")
        return completed.output.decode(errors="replace")

    def run_compose(self, project: str, *arguments: str, folder: Path, seconds: float) -> Completed:
        """Run a command of Compose on the folder's compose.yaml."""
        options = ["-p", project, "-f", str(folder / "compose.yaml"), "--project-directory", str(folder)]
        return _run([*self.compose, *options, *arguments], seconds, folder)

    @contextlib.contextmanager
    def project(self) -> Iterator[str]:
        """Yield the name of a new project, and remove its containers, networks and volumes at the end.

        A separate process removes them, even if this one is killed. Raises `RunError` if something is left.
        """
        name = f"nginxopt-{secrets.token_hex(4)}"
        keeper = subprocess.Popen(
            ["sh", "-c", _KEEPER, "keeper", self.docker, f"{_PROJECT}={name}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            yield name
        finally:
            with contextlib.suppress(subprocess.TimeoutExpired):
                keeper.communicate(b"done\n", timeout=_REMOVE_SECONDS)
            if keeper.returncode != 0:
                raise RunError(
                    f"cannot remove the containers of the project {name}",
                    hint=f"list them with docker ps --all --filter label={_PROJECT}={name}",
                )

    def containers(self, project: str) -> dict[str, str]:
        """Return the ids of the containers of a project, running or not, by service."""
        form = f'{{{{.Label "{_SERVICE}"}}}} {{{{.ID}}}}'
        lines = self.ask("ps", "--all", "--no-trunc", "--filter", f"label={_PROJECT}={project}", "--format", form)
        return dict(_pair(line) for line in lines.splitlines())

    def ports(self, container: str) -> dict[int, int]:
        """Return the published ports on 127.0.0.1, by port of the container."""
        published = json.loads(self.ask("inspect", "--format", "{{json .NetworkSettings.Ports}}", container))
        return {int(inner.partition("/")[0]): int(outer[0]["HostPort"]) for inner, outer in published.items() if outer}

    def has_image(self, image: str) -> bool:
        """Return whether an image is available locally."""
        return self.run("image", "inspect", image).status == 0


def find() -> Engine:
    """Return the engine. Raises `MissingError`, with what to install, if there is no engine or no Compose."""
    docker = shutil.which("docker")
    if docker is None:
        raise MissingError("no docker command found on PATH", hint=f"install Docker Engine, {_TAKE_LOCAL}")
    version = _run([docker, "version", "--format", "{{.Server.Version}}"])
    if version.status:
        raise MissingError(f"no container engine answers: {version.last()}", hint=f"start Docker, {_TAKE_LOCAL}")
    compose, compose_version = _compose(docker)
    about = _run([docker, "info", "--format", "{{.NCPU}} {{json .SecurityOptions}}"])
    count, options = _pair(about.output.decode(errors="replace").strip())
    # In the user namespace of a rootless engine, root is the user who runs it.
    owner = "0:0" if "rootless" in options else f"{os.getuid()}:{os.getgid()}"
    versions = {"engine": version.output.decode().strip(), "compose": compose_version}
    return Engine(docker, compose, versions, _cpus(int(count)), owner)


def answers() -> bool:
    """Return whether there is an engine with Compose that answers."""
    try:
        find()
    except (MissingError, RunError):
        return False
    return True


def _compose(docker: str) -> tuple[tuple[str, ...], str]:
    """Return the command of Compose, and its version."""
    alone = shutil.which("docker-compose")
    for command in ((docker, "compose"), *([(alone,)] if alone else [])):
        version = _run([*command, "version", "--short"])
        if version.status == 0:
            return command, version.output.decode(errors="replace").strip()
    raise MissingError(
        "neither `docker compose` nor `docker-compose` found",
        hint=f"install Docker Compose (Debian: the package docker-compose), {_TAKE_LOCAL}",
    )


def _cpus(count: int) -> tuple[int, ...]:
    """Return the usable CPUs of an engine: those of this process if it runs on this machine, otherwise the first."""
    mine = tuple(sorted(os.sched_getaffinity(0)))
    return mine if len(mine) == count else tuple(range(count))


def _run(command: Sequence[str], seconds: float = _ASK_SECONDS, folder: Path | None = None) -> Completed:
    return process.run(command, cwd=folder or Path.cwd(), seconds=seconds)


def _pair(line: str) -> tuple[str, str]:
    first, _, second = line.partition(" ")
    return first, second
