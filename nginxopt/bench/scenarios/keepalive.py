"""Compares upstream connections: a new one per request, and kept ones."""

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

CLIENTS = 200
LOAD = ClosedLoop(connections=CLIENTS, seconds=2)

_WORKERS = 4
_KEPT = 32  # as `nginxopt lint --fix` adds, and nginx 1.29.7 has by default; in the report it was 8
_TARGETS = (Target("/", ExpectedResponse(200, body=BODY.decode(), header=("X-Node", "app"))),)
_EXPECTS = (
    "With keepalive, nginx opens few upstream connections instead of one per request: more requests per second, and"
    " fewer sockets in TIME_WAIT."
)
_PUBLISHED = (
    Published(
        "throughput with keepalive 8, 4 workers, 200 clients",
        "9,000 req/s",
        "20,000 req/s",
        2.22,
        "throughput",
        ("no keepalive", "keepalive"),
    ),
)
_CLOSED = "location / {\n    proxy_pass http://app;\n}"
_OPEN = 'location / {\n    proxy_pass http://app;\n    proxy_http_version 1.1;\n    proxy_set_header Connection "";\n}'


def build(settings: ScenarioSettings) -> Experiment:  # noqa: ARG001 - it has none
    """Return the experiment, as in the report: 4 workers and 200 clients."""
    app, probes = origin(), (answers_itself("app"),)
    before = node("edge", _CLOSED, http="upstream app {\n    server @app@;\n}", workers=_WORKERS)
    kept = f"upstream app {{\n    server @app@;\n    keepalive {_KEPT};\n    keepalive_requests 1000000000;\n}}"
    after = node("edge", _OPEN, http=kept, workers=_WORKERS)
    variants = (
        Variant("no keepalive", "a new upstream connection for each request", (app, before), probes=probes),
        Variant("keepalive", f"each worker keeps up to {_KEPT} connections open", (app, after), probes=probes),
    )
    # With more clients than kept connections, requests that find no idle connection still open new ones.
    counts = {
        "no keepalive": Count("accepts", "app", least=0.95, most=1.1),
        "keepalive": Count("accepts", "app", most=0.95),
    }
    return Experiment(
        "keepalive",
        "Upstream without and with keepalive",
        _EXPECTS,
        variants,
        tuple(Attack(name, f"{CLIENTS} clients", _TARGETS, LOAD, (count,)) for name, count in counts.items()),
        (VariantPair("no keepalive", "keepalive"),),
        "throughput",
        _PUBLISHED,
        figures=("accepts.app", "time_wait"),
        notes=(f"origin: {app.says}.",),
    )


SCENARIO = Scenario("keepalive", "Compare upstreams without and with keepalive", build)
