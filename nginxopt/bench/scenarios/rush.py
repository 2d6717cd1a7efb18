"""Measures many clients that wait at the same time, for nginx with default limits and with raised limits."""

from __future__ import annotations

from nginxopt.bench.nodes import node, origin
from nginxopt.bench.scenario import (
    Asks,
    Attack,
    ExpectedResponse,
    Experiment,
    OpenFiles,
    OpenLoop,
    Published,
    Scenario,
    ScenarioSettings,
    Target,
    Variant,
    VariantPair,
)

OPEN = (100, 1000, 2000)
"""The numbers of clients that wait at the same time."""

DEFAULT_CONNECTIONS, DEFAULT_FILES = 512, 1024
RAISED_CONNECTIONS, RAISED_FILES = 8192, 16384

_TARGETS = (Target("/", ExpectedResponse(200)),)
_EXPECTS = (
    "Each waiting client takes two connections of nginx. With the default of 512 connections, clients fail beyond some"
    " 250; with raised limits, none fails."
)
_PUBLISHED = (
    Published("0 to 2,000 connections in 120 s, limits raised", None, "115,077 requests, 929 req/s, mean 28 ms", None),
)
_PASS = 'location / {\n    proxy_pass http://app;\n    proxy_http_version 1.1;\n    proxy_set_header Connection "";\n}'
_UPSTREAM = "upstream app {\n    server @app@;\n    keepalive 2000;\n}"

# Of a response of 1,500 bytes, nginx sends 1,024 at once, and the rest a second later (ngx_http_write_filter).
_SLOW = "limit_rate 1k;"
_SLOW_BODY = b"x" * 1500


def build(settings: ScenarioSettings) -> Experiment:  # noqa: ARG001 - it has none
    """Return the experiment. Responses take a second, so the number of waiting clients is the rate per second."""
    variants = (
        _variant("default limits", DEFAULT_CONNECTIONS, DEFAULT_FILES, listen=""),
        _variant("raised limits", RAISED_CONNECTIONS, RAISED_FILES, listen="backlog=4096"),
    )
    attacks = tuple(
        Attack(
            variant.name,
            f"{count:,} clients wait",
            _TARGETS,
            OpenLoop(count, 3, fixed=True, connections=count),
            may_fail=variant is variants[0] and 2 * count > DEFAULT_CONNECTIONS,
        )
        for count in OPEN
        for variant in variants
    )
    return Experiment(
        "rush",
        "Many simultaneous clients with default and raised limits",
        _EXPECTS,
        variants,
        attacks,
        (VariantPair(variants[0].name, variants[1].name),),
        "throughput",
        _PUBLISHED,
        figures=("hits_a_day",),
        notes=("origin: nginx, one second per response, many at a time.",),
    )


def _variant(name: str, connections: int, files: int, *, listen: str) -> Variant:
    app = origin(server=_SLOW, answer=_SLOW_BODY, nofile=RAISED_FILES)
    limit = f"worker_rlimit_nofile {files};"
    edge = node("edge", _PASS, http=_UPSTREAM, main=limit, listen=listen, connections=connections)
    return Variant(
        name,
        f"worker_connections {connections}, {files:,} open files",
        (app, edge),
        probes=(OpenFiles("edge", files), Asks("app", Target("/", ExpectedResponse(200, header=("X-Node", "app"))))),
    )


SCENARIO = Scenario("rush", "Compare default with raised limits under many clients", build)
