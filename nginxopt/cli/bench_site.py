"""Where a benchmark runs, and what makes its load: the options of `nginxopt bench` about that, made into objects."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from nginxopt.errors import MissingError, UsageError

if TYPE_CHECKING:
    from nginxopt.bench.containers import Images
    from nginxopt.bench.scenario import Experiment
    from nginxopt.bench.site import Generator, Runner


class Asked(Protocol):
    """The options, as they were given."""

    @property
    def runner(self) -> Literal["auto", "compose", "local"]: ...  # noqa: D102
    @property
    def metric(self) -> str | None: ...  # noqa: D102
    @property
    def load(self) -> Literal["vegeta", "wrk"] | None: ...  # noqa: D102
    @property
    def nginx(self) -> str | None: ...  # noqa: D102
    @property
    def nginx_image(self) -> str | None: ...  # noqa: D102
    @property
    def vegeta_image(self) -> str | None: ...  # noqa: D102
    @property
    def vegeta_binary(self) -> str | None: ...  # noqa: D102
    @property
    def base_image(self) -> str | None: ...  # noqa: D102


def choose(asked: Asked) -> tuple[Runner, Generator]:
    """Return what runs nginx, and what makes the load there.

    `auto` are containers where an engine answers, unless a binary of nginx was named, or instructions are to be
    counted: callgrind runs on this machine. `MissingError` if something outside is needed and not there, `UsageError`
    for options that contradict each other.
    """
    from nginxopt.bench.runner import engine
    from nginxopt.bench.runner.compose import Compose
    from nginxopt.bench.runner.local import Local
    from nginxopt.system import nginx

    chosen = images(asked)
    may_be_contained = asked.nginx is None and asked.metric != "instructions"
    if asked.runner == "compose" or (asked.runner == "auto" and may_be_contained and engine.answers()):
        return Compose(engine.find(), chosen), generator(chosen.generator)
    return Local(nginx.find(asked.nginx)), generator(_here(asked.load))


def files(experiment: Experiment, asked: Asked, rounds: int) -> dict[str, bytes]:
    """Return the folder of a benchmark that runs without nginxopt: in containers, unless this machine is asked for."""
    from nginxopt.bench import emit, stage

    if asked.runner == "local":
        return stage.files(experiment, generator(_here(asked.load)), rounds)
    chosen = images(asked)
    return emit.files(experiment, generator(chosen.generator), chosen, rounds)


def images(asked: Asked) -> Images:
    """Return where images come from."""
    from nginxopt.bench.containers import BASE, Images

    if asked.load == "wrk" and (asked.vegeta_image or asked.vegeta_binary):
        raise UsageError("--load wrk cannot be used with --vegeta-image or --vegeta-binary")
    if asked.vegeta_image and asked.vegeta_binary:
        raise UsageError("--vegeta-image and --vegeta-binary cannot be used together")
    if asked.nginx and asked.runner == "compose":
        raise UsageError("--nginx cannot be used with --runner compose", hint="use --nginx-image")
    binary = None if asked.vegeta_binary is None else _binary(asked.vegeta_binary)
    return Images(asked.load or "vegeta", asked.base_image or BASE, asked.nginx_image, asked.vegeta_image, binary)


def generator(name: Literal["vegeta", "wrk"]) -> Generator:
    """Return the load generator of that name."""
    from nginxopt.bench.load.vegeta import Vegeta
    from nginxopt.bench.load.wrk import Wrk

    return Vegeta() if name == "vegeta" else Wrk()


def _here(load: Literal["vegeta", "wrk"] | None) -> Literal["vegeta", "wrk"]:
    """The load generator that was asked for, or that is on PATH, vegeta first."""
    if load is not None:
        return load
    if shutil.which("vegeta"):
        return "vegeta"
    if shutil.which("wrk"):
        return "wrk"
    raise MissingError("no load generator found on PATH", hint="install vegeta or wrk")


def _binary(path: str) -> bytes:
    try:
        return Path(path).read_bytes()
    except OSError as error:
        raise MissingError(
            f"{path}: cannot read the vegeta binary: {error.strerror}", hint="install vegeta, or correct the path"
        ) from None
