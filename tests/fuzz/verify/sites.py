"""Whole sites before and after edits."""

from __future__ import annotations

import random
from dataclasses import replace

from tests.fuzz.nodes import Node, render, walk
from tests.fuzz.sites.generate import site
from tests.fuzz.sites.requests import asks
from tests.fuzz.verify.case import Case, Edited
from tests.fuzz.verify.edits import edited


def case(seed: int, number: int, version: tuple[int, ...], edits: int, requests: int) -> Case:
    """Return a site and the same after one or two edits, several times."""
    made = site(seed, number, version)
    nodes = _with_few_servers(random.Random(made.name), _without_logs(made.nodes))
    sides = []
    for edit in range(edits):
        draw = random.Random(f"{seed}-{number}-{edit}")
        after, told = edited(draw, nodes, draw.choice((1, 1, 1, 2)))
        sides.append(Edited(_text(after), "; ".join(told)))
    listened = [port for port in made.ports if f"{{P{port or ''}}}" in _text(nodes)]
    return Case(made.name, _text(nodes), sides, asks(replace(made, ports=listened), 1, requests, range(requests)))


def _without_logs(nodes: list[Node]) -> list[Node]:
    """Return nodes without logs, which only the fuzzer of the model reads."""
    for body, node in walk(nodes):
        if node.head.startswith(b"access_log "):
            body.remove(node)
    return nodes


def _with_few_servers(draw: random.Random, nodes: list[Node]) -> list[Node]:
    """Return nodes with fewer servers, as an edit is in one of them; the first declares what the others use."""
    servers = [node for node in nodes if node.head == b"server"]
    left_out = servers[draw.choice((1, 1, 1, 2, 4)) :]
    return [node for node in nodes if node not in left_out]


def _text(nodes: list[Node]) -> str:
    return render("site", nodes).files["site"].decode("utf-8", "surrogateescape")
