"""The folder of an experiment: the configurations of all nodes with the addresses put in, by path."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from nginxopt.bench.scenario import Experiment, Node, Variant
from nginxopt.errors import RunError

Addresses = Mapping[tuple[str, str], str]
"""host:port by variant and what needs an address: see `places`."""

_PLACE = re.compile(rb"@([a-z][a-z0-9]*(?:/[a-z0-9]+)?)@")


def slug(name: str) -> str:
    """Return a name as a part of a path: small letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def places(experiment: Experiment) -> Iterator[tuple[str, str]]:
    """Yield what needs an address: the variant, and the role of each node, its counters (`/status`) and what else it
    listens at."""
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
    """Return a text of a variant with its addresses; what looks like a placeholder and is none stays."""

    def address(match: re.Match[bytes]) -> bytes:
        found = addresses.get((variant.name, match[1].decode()))
        return match[0] if found is None else found.encode()

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


def write(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files into a folder, in which their directories are made; `RunError` if the disk does not take them."""
    try:
        for path, data in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_bytes(data)
    except OSError as error:
        raise RunError(f"{folder} cannot be written: {error.strerror}") from None
