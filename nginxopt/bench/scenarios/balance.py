"""Compares one upstream node with three, for clients that keep their connections and clients that do not."""

from __future__ import annotations

from nginxopt.bench.nodes import BODY, answers_itself, node, origin
from nginxopt.bench.scenario import (
    Attack,
    ClosedLoop,
    Count,
    ExpectedResponse,
    Experiment,
    Published,
    Scenario,
    ScenarioSettings,
    Target,
    Variant,
    VariantPair,
)
from nginxopt.text.display import count

NODES = 3
CLIENTS = 100
PER_SECOND = 500  # the capacity of a node: so low that three of them do not use up the CPU of a small machine

_TARGETS = (Target("/", ExpectedResponse(200, body=BODY.decode())),)
_CASES = {"clients keep connections": True, "one connection per request": False}
_LOCATION = (
    'location / {\n    proxy_pass http://nodes;\n    proxy_http_version 1.1;\n    proxy_set_header Connection "";\n}'
)
_EXPECTS = "Three servers handle about three times as many requests as one, a third each."
_PUBLISHED = (
    Published("time of 10,000 requests, 100 at once, 1 to 3 nodes and keep-alive", "7.208 s", "2.793 s", 0.387),
    Published("throughput of the same", "1,387 req/s", "3,580 req/s", 2.58),
)


def build(settings: ScenarioSettings) -> Experiment:  # noqa: ARG001 - it has none
    """Return the experiment. A node handles one request at a time, so that further nodes add capacity."""
    variants = tuple(_variant(nodes) for nodes in (1, NODES))
    attacks = tuple(
        Attack(variant.name, case, _TARGETS, ClosedLoop(CLIENTS, 2, keepalive=keep), _spread(variant))
        for case, keep in _CASES.items()
        for variant in variants
    )
    return Experiment(
        "balance",
        "One upstream server and three",
        _EXPECTS,
        variants,
        attacks,
        (VariantPair(variants[0].name, variants[1].name),),
        "throughput",
        _PUBLISHED,
        notes=(f"each node: {variants[0].nodes[0].says}.",),
    )


def _variant(nodes: int) -> Variant:
    roles = ["app", *(f"app{number}" for number in range(2, nodes + 1))]
    servers = "\n".join(f"    server @{role}@;" for role in roles)
    upstream = f"upstream nodes {{\n{servers}\n    keepalive {CLIENTS};\n}}"
    edge = node("edge", _LOCATION, http=upstream)
    return Variant(
        count(nodes, "node"),
        f"nginx before {count(nodes, 'node')}, in turn",
        (*(origin(role, per_second=PER_SECOND) for role in roles), edge),
        probes=tuple(answers_itself(role) for role in roles),
    )


def _spread(variant: Variant) -> tuple[Count, ...]:
    """Return the conditions that each node gets its share of requests, with a tolerance of a tenth."""
    roles = [node.role for node in variant.nodes if node.role != variant.entry]
    return tuple(Count("requests", role, least=0.9 / len(roles), most=1.1 / len(roles)) for role in roles)


SCENARIO = Scenario("balance", "Compare one upstream server with three", build)
