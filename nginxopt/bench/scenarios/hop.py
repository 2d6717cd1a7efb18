"""Measures the cost of a hop: clients reach the app through nginx, through a tuned nginx, and directly."""

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

LOAD = ClosedLoop(connections=10, seconds=2)

_TARGETS = (Target("/", ExpectedResponse(200, body=BODY.decode(), header=("X-Node", "app"))),)
_EXPECTS = (
    "Without the hop, throughput is higher, latency lower, and its CPU free. A hop with keepalive connections to the"
    " application costs less than one without."
)
_PUBLISHED = (
    Published("throughput without the hop", "3,783 req/s", "5,461 req/s", 1.44, "throughput", ("hop", "direct")),
    Published("mean latency without the hop", "1.2 ms", "0.8 ms", 0.67, "mean", ("hop", "direct")),
    Published("99th percentile without the hop", "6 ms", "4 ms", 0.67, "p99", ("hop", "direct")),
)
_PLAIN = "location / {\n    proxy_pass http://@app@;\n}"
_UPSTREAM = "upstream app {\n    server @app@;\n    keepalive 16;\n    keepalive_requests 1000000000;\n}"
_TUNED = 'location / {\n    proxy_pass http://app;\n    proxy_http_version 1.1;\n    proxy_set_header Connection "";\n}'


def build(settings: ScenarioSettings) -> Experiment:  # noqa: ARG001 - it has none
    """Return the experiment. The app is an nginx without a delay, so that the hop is a large part of the latency."""
    app, probes = origin(), (answers_itself("app"),)
    variants = (
        Variant("hop", "clients reach the app through nginx", (app, node("edge", _PLAIN)), probes=probes),
        Variant(
            "tuned hop",
            "clients reach the app through nginx with upstream keepalive",
            (app, node("edge", _TUNED, http=_UPSTREAM)),
            probes=probes,
        ),
        Variant("direct", "clients reach the app directly", (app,), entry="app", probes=probes),
    )
    counts = (Count("requests", "app", least=0.95, most=1.05),)
    return Experiment(
        "hop",
        "Through nginx and directly",
        _EXPECTS,
        variants,
        tuple(Attack(variant.name, "at full speed", _TARGETS, LOAD, counts) for variant in variants),
        (VariantPair("hop", "direct"), VariantPair("hop", "tuned hop"), VariantPair("direct", "tuned hop")),
        "throughput",
        _PUBLISHED,
        figures=("mean", "accepts.app"),
        notes=(f"origin: {app.says}.",),
    )


SCENARIO = Scenario("hop", "Compare a proxied application with a direct one", build)
