"""Writes a benchmark as a folder that runs anywhere with Docker and without nginxopt: the output of `--emit`."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from nginxopt import __version__
from nginxopt.bench import containers, run_folder
from nginxopt.bench.containers import Images
from nginxopt.bench.load.wrk import MARK
from nginxopt.bench.probe import in_round
from nginxopt.bench.rendering import template
from nginxopt.bench.scenario import Asks, Attack, ExpectedResponse, Experiment, Node, OpenFiles, Target, Variant
from nginxopt.bench.site import Generator

_MOST_TARGETS = 10  # the number of targets of an attack that are checked before it
_MILLION = 1_000_000
_ROUND = "@ROUND@"
_PER_MICROSECOND = {"vegeta": 1000, "wrk": 1}  # the unit of their latencies


def files(experiment: Experiment, generator: Generator, images: Images, rounds: int) -> dict[str, bytes]:
    """Return the files of the folder, by path. Open loops must have a rate, which `Generator.command` needs."""
    addresses = containers.addresses(experiment)
    files = containers.files(experiment, images, published=False)
    for attack in experiment.attacks:
        address = addresses[attack.variant, experiment.variant(attack.variant).place(attack)]
        files |= generator.files(f"targets/{run_folder.attack_name(attack)}", attack.targets, address, attack.load)
    files["run"] = _run(experiment, generator, images, rounds)
    files["README.md"] = _readme(experiment, generator, images, rounds)
    return files


def _run(experiment: Experiment, generator: Generator, images: Images, rounds: int) -> bytes:
    return _render(
        "run-containers.j2",
        rounds=rounds,
        prefixes=[run_folder.prefix(variant, node.role) for variant in experiment.variants for node in variant.nodes],
        builds=bool(images.files()),
        probes=list(_probes(experiment)),
        attacks=[_attack(experiment, attack, generator) for attack in experiment.attacks],
        generator=generator.name,
        unit=_PER_MICROSECOND[generator.name],
        mark=MARK,
    )


def _readme(experiment: Experiment, generator: Generator, images: Images, rounds: int) -> bytes:
    return _render(
        "README-containers.md.j2",
        experiment=experiment,
        generator=generator.name,
        images=images,
        rounds=rounds,
        limits=containers.LIMITS,
        names=list(dict.fromkeys(map(run_folder.attack_name, experiment.attacks))),
        version=__version__,
    )


def _render(name: str, **values: Any) -> bytes:
    return template(f"{name}").render(**values).encode()


def _attack(experiment: Experiment, attack: Attack, generator: Generator) -> dict[str, Any]:
    """Return the values of an attack for the script."""
    variant = experiment.variant(attack.variant)
    addresses = containers.addresses(experiment)
    name = run_folder.attack_name(attack)
    paths, address = f"results/{_ROUND}/{name}", addresses[variant.name, variant.place(attack)]
    command = generator.command(paths, address, attack.load, paths, attack.tls)
    slack = attack.load.connections if generator.name == "wrk" else 0
    counts = (
        f"count {count.figure} {containers.service(variant, count.role)} {round(count.least * _MILLION)}"
        f" {'any' if count.most == float('inf') else round(count.most * _MILLION)} {slack}"
        for count in attack.counts
    )
    return {
        "name": name,
        "nodes": [
            f"{containers.service(variant, node.role)}={_counters(variant, node, addresses)}" for node in variant.nodes
        ],
        "command": shlex.join(command).replace(_ROUND, '"$round"'),
        "checks": [*([] if attack.may_fail else ["statuses"]), *counts],
    }


def _counters(variant: Variant, node: Node, addresses: run_folder.Addresses) -> str:
    """Return the address of the counters of a node; empty if it has none."""
    return f"http://{addresses[variant.name, f'{node.role}/status']}/" if node.status else ""


def _probes(experiment: Experiment) -> Iterator[str]:
    """Yield the probes as lines of the script."""
    addresses = containers.addresses(experiment)
    for variant in experiment.variants:
        for probe in variant.probes:
            service = containers.service(variant, probe.role)
            if isinstance(probe, OpenFiles):
                yield _line("open_files", f"{variant.name}: {probe.role}", service, str(probe.limit))
            else:
                again = _line("ask", service, *_curl(_first(probe.target), addresses[variant.name, probe.role]))
                yield from [f"{again} >/dev/null"] * (probe.times - 1)
                yield _probe("", variant, probe, addresses, 0)
    known: dict[tuple[str, Target], int] = {}
    for attack in experiment.attacks:
        variant = experiment.variant(attack.variant)
        step = max(1, len(attack.targets) // _MOST_TARGETS)
        for target in attack.targets[::step]:
            number = known.setdefault((attack.case, replace(target, expected=None)), len(known) + 1)
            asks = Asks(variant.place(attack), target)
            yield _probe(run_folder.attack_name(attack), variant, asks, addresses, number)


def _probe(attack: str, variant: Variant, asks: Asks, addresses: run_folder.Addresses, number: int) -> str:
    """Return a line that sends a request. `number` is its number, if the response depends on that."""
    target, address = _first(asks.target), addresses[variant.name, asks.role]
    expected = target.expected
    role = asks.role.partition("/")[0]
    what = f"{variant.name}: {role}: {target.method} {target.path}"
    status = f"={number}" if expected is None else str(expected.status)
    headers = "\n".join(_headers(expected, variant, addresses)) if expected else ""
    body = (expected.body or "").strip("\n") if expected else ""
    service = containers.service(variant, role)
    return _line("probe", attack, what, service, status, headers, body, *_curl(target, address))


def _first(target: Target) -> Target:
    """Return a target in the form that is requested before the first round."""
    return in_round([target], "probe")[0]


def _headers(expected: ExpectedResponse, variant: Variant, addresses: run_folder.Addresses) -> Iterator[str]:
    """Yield the header lines of a response that are compared."""
    if expected.location is not None:
        entry = f"@{variant.entry}@"
        yield f"Location: {expected.location.replace(entry, addresses[variant.name, variant.entry])}"
    if expected.header is not None:
        yield ": ".join(expected.header)


def _curl(target: Target, address: str) -> list[str]:
    method = {"GET": [], "HEAD": ["--head"]}.get(target.method, ["--request", target.method])
    headers = [word for name, value in target.headers for word in ("--header", f"{name}: {value}")]
    if target.tls is None:
        return [*method, *headers, f"http://{address}{target.path}"]
    host, _, port = address.rpartition(":")
    named = f"{target.tls.server_name or host}:{port}"
    over_tls = ["--insecure", "--http1.1", "--connect-to", f"{named}:{address}"]
    return [*method, *headers, *over_tls, f"https://{named}{target.path}"]


def _line(function: str, *words: str) -> str:
    return shlex.join([function, *words])
