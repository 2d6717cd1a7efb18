"""Writes the files of an experiment in containers: compose.yaml, the Dockerfiles, and the scripts in them.

Without side effects: `nginxopt.bench.runner.compose` runs these files, and `nginxopt.bench.emit` exports them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from nginxopt.bench import run_folder
from nginxopt.bench.rendering import template
from nginxopt.bench.scenario import Experiment, Node, Variant
from nginxopt.records import record

BASE = "debian:bookworm-slim"
LOAD = "load"
"""The service of the load generator."""

FIRST_PORT = 8080
LIMITS: Mapping[str, str | int] = {"nginx_memory": "1g", "load_memory": "2g", "pids": 512}
"""The limits of containers: memory, and the number of processes and threads."""

START_SECONDS = 60
"""The time limit for nginx to start listening."""

_INSIDE = ("start", "ready", "usage", "check", "load", "wait")
_FEWEST_CPUS = 4
_RELEASE: Mapping[str, Any] = {
    "version": "12.13.0",
    "url": "https://github.com/tsenart/vegeta/releases/download/v12.13.0/vegeta_12.13.0_linux_${arch}.tar.gz",
    "sums": {
        "amd64": "e8759ce45c14e18374bdccd3ba6068197bc3a9f9b7e484db3837f701b9d12e61",
        "arm64": "950381173a5575e25e8e086f36fc03bf65d61a2433329b48e41e1cb5e4133bba",
    },
}


@record(eq=True)
class Images:
    """The sources of the images.

    Attributes:
        generator: The load generator.
        base: The base image of images that are built; it must have apt-get.
        nginx: An existing image with nginx; None to build one.
        load: An existing image with the load generator; None to build one.
        vegeta: The vegeta binary to build in; None for the published release.
    """

    generator: Literal["vegeta", "wrk"]
    base: str = BASE
    nginx: str | None = None
    load: str | None = None
    vegeta: bytes | None = None

    @property
    def nginx_name(self) -> str:
        """The name of the nginx image; for one that is built, it contains a checksum of its files."""
        return self.nginx or _name("nginx", self._nginx_dockerfile(), self.base.encode())

    @property
    def load_name(self) -> str:
        """The name of the image of the load generator, like `nginx_name`."""
        return self.load or _name(self.generator, self._load_dockerfile(), self.base.encode(), self.vegeta or b"")

    def files(self) -> dict[str, bytes]:
        """Return the files from which the images are built, by path in the folder."""
        files = {}
        if self.nginx is None:
            files["images/nginx/Dockerfile"] = self._nginx_dockerfile()
        if self.load is None:
            files["images/load/Dockerfile"] = self._load_dockerfile()
            if self.vegeta is not None:
                files["images/load/vegeta"] = self.vegeta
        return files

    def _nginx_dockerfile(self) -> bytes:
        return _render("nginx.Dockerfile", base=self.base)

    def _load_dockerfile(self) -> bytes:
        has_binary = self.vegeta is not None
        return _render("load.Dockerfile", base=self.base, load=self.generator, binary=has_binary, release=_RELEASE)


def service(variant: Variant, role: str) -> str:
    """Return the name of the service of a node, which is also its host name: `819-rewrites-edge`."""
    return f"{run_folder.slug(variant.name)}-{role}"


def addresses(experiment: Experiment) -> dict[tuple[str, str], str]:
    """Return host:port of all places (`run_folder.places`) in the network of the containers."""
    return {
        (variant.name, place): f"{service(variant, node.role)}:{port}"
        for variant in experiment.variants
        for node in variant.nodes
        for place, port in ports(node).items()
    }


def ports(node: Node) -> dict[str, int]:
    """Return the ports of a node by place; that of its role comes first."""
    places = [node.role, *([f"{node.role}/status"] if node.status else []), *node.ports]
    return {place: FIRST_PORT + number for number, place in enumerate(places)}


def cpu_sets(cpus: Sequence[int]) -> dict[str, str]:
    """Return disjoint sets of CPUs for LOAD, EDGE and APP; empty if there are fewer than four CPUs.

    The load generator gets half of them, because a request costs it as much time as nginx.
    """
    if len(cpus) < _FEWEST_CPUS:
        return {}
    half, quarter = len(cpus) // 2, len(cpus) - len(cpus) // 4
    parts = {"LOAD": cpus[:half], "EDGE": cpus[half:quarter], "APP": cpus[quarter:]}
    return {role: ",".join(map(str, part)) for role, part in parts.items()}


def files(experiment: Experiment, images: Images, *, published: bool) -> dict[str, bytes]:
    """Return all files of the containers, by path in the folder; `published`: whether ports are on 127.0.0.1.

    The folder also needs the directories `targets` and `results`, and each prefix `html` and `temp`.
    """
    return {
        "compose.yaml": _compose(experiment, images, published=published),
        **images.files(),
        **{f"inside/{name}": _render(f"inside-{name}", port=FIRST_PORT) for name in _INSIDE},
        **run_folder.nginx_files(experiment, addresses(experiment)),
    }


def _compose(experiment: Experiment, images: Images, *, published: bool) -> bytes:
    services = [_service(variant, node) for variant in experiment.variants for node in variant.nodes]
    return _render(
        "compose.yaml",
        title=experiment.title,
        base=images.base,
        nginx={"image": images.nginx_name, "build": images.nginx is None},
        load={
            "image": images.load_name,
            "build": images.load is None,
            "release": images.generator == "vegeta" and images.vegeta is None,
            "says": f"Load generator: {images.generator}.",
        },
        services=services,
        limits=LIMITS,
        start_seconds=START_SECONDS,
        published=published,
    )


def _service(variant: Variant, node: Node) -> dict[str, Any]:
    """Return the values of a node for the template."""
    says = node.says or variant.says
    return {
        "name": service(variant, node.role),
        "says": f"{variant.name}, {node.role}: {' '.join(says.split())}.",
        "cpus": "EDGE" if node.role == variant.entry else "APP",
        "nofile": node.nofile,
        "prefix": run_folder.prefix(variant, node.role),
        "ports": list(ports(node).values()),
        "behind": [service(variant, role) for role in _behind(variant, node)],
    }


def _behind(variant: Variant, node: Node) -> list[str]:
    """Return the roles whose addresses occur in the configuration of a node: it resolves them when it starts."""
    texts = b"\n".join([node.config, *node.files.values()])
    others = (other.role for other in variant.nodes if other.role != node.role)
    return [role for role in others if b"@%s@" % role.encode() in texts]


def _name(what: str, *parts: bytes) -> str:
    digest = hashlib.sha256(b"\0".join(parts)).hexdigest()
    return f"nginxopt-bench-{what}:{digest[:12]}"


def _render(name: str, **values: Any) -> bytes:
    return template(f"{name}.j2").render(**values).encode()
