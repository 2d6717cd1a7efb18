"""Writes the files of an experiment: the configurations of all nodes, with addresses, and scripts.

nginx/VARIANT/ROLE/   the prefix of a node: nginx.conf and its other files
targets/              the requests of the load generator
run  README.md        only in a folder that runs elsewhere (`files`)
results/ROUND/        the results of the load generator
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from nginxopt import lazy
from nginxopt.bench.rendering import template
from nginxopt.bench.scenario import Attack, Experiment, Node, OpenLoop, Variant
from nginxopt.bench.site import Generator
from nginxopt.errors import RunError
from nginxopt.text import encode

FIRST_PORT = 18080
PARTS = ("nginx", "targets", "results")
"""The directories that a run creates in the folder."""

Addresses = Mapping[tuple[str, str], str]
"""host:port by variant and place: see `places`."""

_PLACE = lazy.pattern(rb"@([a-z][a-z0-9]*(?:/[a-z0-9]+)?)@")


def slug(name: str) -> str:
    """Return a name as a part of a path: lowercase letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def places(experiment: Experiment) -> Iterator[tuple[str, str]]:
    """Yield everything that needs an address, as a variant and a place: the role of each node, its counters
    (`ROLE/status`) and its further addresses."""
    for variant in experiment.variants:
        for node in variant.nodes:
            yield variant.name, node.role
            if node.status:
                yield variant.name, f"{node.role}/status"
            yield from ((variant.name, port) for port in node.ports)


def prefix(variant: Variant, role: str) -> str:
    """Return the path of the prefix of a node in the folder: `nginx/819-rewrites/edge`."""
    return f"nginx/{slug(variant.name)}/{role}"


def put(text: bytes, variant: Variant, addresses: Addresses) -> bytes:
    """Return a text of a variant with addresses in place of placeholders. Unknown placeholders stay."""

    def address(match: re.Match[bytes]) -> bytes:
        host_port = addresses.get((variant.name, match[1].decode()))
        return match[0] if host_port is None else host_port.encode()

    return _PLACE.sub(address, text)


def node_files(variant: Variant, node: Node, addresses: Addresses) -> dict[str, bytes]:
    """Return the files of a node, by path in its prefix."""
    texts = {"nginx.conf": node.config, **node.files}
    return {path: put(text, variant, addresses) for path, text in texts.items()}


def nginx_files(experiment: Experiment, addresses: Addresses) -> dict[str, bytes]:
    """Return the files of all nodes, by path in the folder. Each prefix also needs empty `html` and `temp`."""
    return {
        f"{prefix(variant, node.role)}/{path}": text
        for variant in experiment.variants
        for node in variant.nodes
        for path, text in node_files(variant, node, addresses).items()
    }


def fixed_addresses(experiment: Experiment) -> dict[tuple[str, str], str]:
    """Return addresses for a folder that runs elsewhere: ports from 18080 on, below those of outgoing connections.

    They work on a machine, and for containers that share a network namespace, such as those of a pod.
    """
    return {place: f"127.0.0.1:{FIRST_PORT + number}" for number, place in enumerate(places(experiment))}


def files(experiment: Experiment, generator: Generator, rounds: int) -> dict[str, bytes]:
    """Return the files of a folder that runs without nginxopt, including `run` (a shell script) and a README.

    Raises `ValueError` if an open loop has no rate, which the folder must state.
    """
    addresses = fixed_addresses(experiment)
    targets: dict[str, bytes] = {}
    attacks = []
    for attack in experiment.attacks:
        if isinstance(attack.load, OpenLoop) and attack.load.rate is None:
            raise ValueError(f"{attack.case} has no rate yet")
        name, address = attack_name(attack), addresses[attack.variant, experiment.variant(attack.variant).place(attack)]
        targets |= generator.files(f"targets/{name}", attack.targets, address, attack.load)
        paths = f"results/$round/{name}"
        command = generator.command(paths, address, attack.load, paths, attack.tls)
        label = f"{attack.variant}, {attack.case}"
        attacks.append({"name": name, "label": label, "command": " ".join(map(_shell, command))})
    values = {
        **_about(experiment, addresses),
        "attacks": attacks,
        "suffix": next(iter(targets)).rpartition(".")[2],
        "generator": generator.name,
        "rounds": rounds,
    }
    texts = {"run": "run.j2", "README.md": "README.md.j2"}
    scripts = {path: encode(template(name).render(values)) for path, name in texts.items()}
    return {**nginx_files(experiment, addresses), **targets, **scripts}


def attack_name(attack: Attack) -> str:
    """Return the name of the files of an attack."""
    return f"{slug(attack.variant)}.{slug(attack.case)}"


def _about(experiment: Experiment, addresses: Addresses) -> dict[str, Any]:
    """Return the values of an experiment for the templates."""
    nodes = [
        {"prefix": prefix(variant, node.role), "nofile": node.nofile}
        for variant in experiment.variants
        for node in variant.nodes
    ]
    variants = [
        {
            "name": variant.name,
            "says": variant.says,
            "paths": [f"`{prefix(variant, node.role)}/nginx.conf`" for node in variant.nodes],
        }
        for variant in experiment.variants
    ]
    ports = [int(address.rpartition(":")[2]) for address in addresses.values()]
    return {
        "title": experiment.title,
        "expects": experiment.expects,
        "notes": experiment.notes,
        "published": experiment.published,
        "nodes": nodes,
        "variants": variants,
        "first": min(ports),
        "last": max(ports),
    }


def _shell(word: str) -> str:
    """Return a word of a command for the script: quoted if necessary, with `$round` as a variable."""
    return word if re.fullmatch(r"[\w@%+=:,./$-]+", word) else shlex.quote(word)


def write(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files into a folder, with their directories. Raises `RunError` if that fails."""
    try:
        for path, data in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(data)
            if is_program(data):
                (folder / path).chmod(0o755)
    except OSError as error:
        raise RunError(f"{folder} cannot be written: {error.strerror}") from None


def is_program(data: bytes) -> bool:
    """Return whether a file can be run: a script, or a Linux program."""
    return data.startswith((b"#!", b"\x7fELF"))
