"""Compares a slow page that is proxied every time, cached, and cached with a lock."""

from __future__ import annotations

from nginxopt.bench.nodes import BODY, answers_itself, node, origin
from nginxopt.bench.probe import ROUND
from nginxopt.bench.scenario import (
    Asks,
    Attack,
    ClosedLoop,
    Count,
    ExpectedResponse,
    Experiment,
    Node,
    Probe,
    Published,
    Scenario,
    ScenarioSettings,
    Target,
    Variant,
    VariantPair,
)

AT_ONCE = 100
PER_SECOND = 50

COLD = f"{AT_ONCE} at once, page not cached"
WARM = f"{AT_ONCE} at once, page cached"

_EXPECTS = (
    "Requests for a cached page do not reach the origin. Until the page is cached, all of them do, unless"
    " proxy_cache_lock lets one request fetch it while the others wait."
)
_PUBLISHED = (
    Published("time of 100 requests at once", "1.765 s", "1.247 s", 0.71),
    Published("50th percentile", "113 ms", "116 ms", 1.03, "p50", ("pass-through", "cache")),
    Published("99th percentile", "260 ms", "207 ms", 0.80, "p99", ("pass-through", "cache")),
)
_PASS = "location / {\n    proxy_pass http://@app@;\n}"
_ZONE = "proxy_cache_path temp/cache keys_zone=pages:1m;"
_CACHE = """\
location / {{
    proxy_pass http://@app@;
    proxy_cache pages;
    proxy_cache_valid 200 1h;
    proxy_cache_lock {lock};
    add_header X-Cache $upstream_cache_status always;
}}"""


def build(settings: ScenarioSettings) -> Experiment:  # noqa: ARG001 - it has none
    """Return the experiment. The origin handles one request at a time, in 20 ms."""
    app = origin(per_second=PER_SECOND, server="location /page { try_files /answer =404; }")
    through, plain, locked = "pass-through", "cache", "cache with lock"
    variants = (
        Variant(
            through, "every request goes to the origin", (app, node("edge", _PASS)), probes=(answers_itself("app"),)
        ),
        Variant(plain, "proxy_cache", (app, _edge("off")), probes=_caches()),
        Variant(locked, "proxy_cache with proxy_cache_lock", (app, _edge("on")), probes=_caches()),
    )
    # vegeta sends this number of requests in total. wrk continues until its time is over, so more of its requests hit
    # the cache.
    cold, warm = ClosedLoop(AT_ONCE, 2, requests=AT_ONCE), ClosedLoop(AT_ONCE, 1)
    new, old = (
        (Target(f"/page?{ROUND}", ExpectedResponse(200, body=BODY.decode())),),
        (Target("/page", ExpectedResponse(200, body=BODY.decode())),),
    )
    all_of_them, none_of_them = Count("requests", "app", least=0.95, most=1.05), Count("requests", "app", most=0)
    attacks = (
        Attack(through, COLD, new, cold, (all_of_them,)),
        Attack(plain, COLD, new, cold),
        Attack(locked, COLD, new, cold, (Count("requests", "app", most=1 / AT_ONCE),)),
        Attack(through, WARM, old, warm, (all_of_them,)),
        Attack(plain, WARM, old, warm, (none_of_them,)),
        Attack(locked, WARM, old, warm, (none_of_them,)),
    )
    return Experiment(
        "cache",
        "Responses without and with a cache",
        _EXPECTS,
        variants,
        attacks,
        (VariantPair(through, plain), VariantPair(through, locked), VariantPair(plain, locked)),
        "latency",
        _PUBLISHED,
        figures=("requests.app",),
        notes=(f"origin: {app.says}.",),
    )


def _edge(lock: str) -> Node:
    return node("edge", _CACHE.format(lock=lock), http=_ZONE)


def _caches() -> tuple[Probe, ...]:
    """Return the probes: the origin answers, and the edge serves a repeated request from its cache."""
    again = Asks("edge", Target("/page", ExpectedResponse(200, header=("X-Cache", "HIT"))), times=2)
    return (answers_itself("app"), again)


SCENARIO = Scenario("cache", "Compare no cache, proxy_cache and proxy_cache_lock", build)
