"""Balancing without a `zone`: every worker counts for itself

Flagged is an upstream of several servers with `least_conn`, `least_time` or `random two`, or one with `max_conns`, that
has no `zone` while there is more than one worker.

A `zone` for `max_conns` is added with `--unsafe-fixes` only: the limit, which each worker had to itself, is then one
for all.

## Why it matters
Without shared memory a worker knows only the connections that it opened itself. With 8 workers "least connections" are
the least of an eighth of all, and `max_conns=10` lets 80 through.

## Bad
```nginx
worker_processes auto;
events {}
http {
    upstream app {
        least_conn;
        server 10.0.0.1:8080;
        server 10.0.0.2:8080;
    }
}
```

## Good
```nginx
worker_processes auto;
events {}
http {
    upstream app {
        zone app 64k;
        least_conn;
        server 10.0.0.1:8080;
        server 10.0.0.2:8080;
    }
}
```

## Silent
There is one worker, which knows of all connections:
```nginx
events {}
http {
    upstream app {
        least_conn;
        server 10.0.0.1:8080;
        server 10.0.0.2:8080;
    }
}
```

## When to ignore it
Where `max_conns` is meant for each worker.

## References
- https://nginx.org/en/docs/http/ngx_http_upstream_module.html#zone
- https://nginx.org/en/docs/http/ngx_http_upstream_module.html#max_conns
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, count

from nginxopt.diagnostic import Finding, Fix, Safety, Severity
from nginxopt.layout import prepend
from nginxopt.model import Model
from nginxopt.rule import rule
from nginxopt.upstreams import Upstream

# How many servers a zone holds, tried with `nginx -t` of 1.22.1: 48 in 64k, 128 in 128k, 256 in 256k. Names may stand
# for several addresses, so each holds a third of that here.
_SIZES = ((16, "64k"), (80, "256k"), (320, "1m"), (1280, "4m"))

_ZONES = re.compile(r"(?:zone=|keys_zone=|shared:)([^:]+)")


@rule(severity=Severity.INFO, category="proxy", fix=(Safety.SAFE, Safety.UNSAFE), since="1.9.0")
def check(model: Model) -> Iterator[Finding]:
    """Find upstreams that each worker balances by what it did itself."""
    workers = model.root.setting("worker_processes").value
    if workers in (None, "1"):
        return
    taken = _zones(model)
    for upstream in model.upstreams.values():
        what = _counting(upstream)
        block = upstream.level.block
        if what and block and upstream.level.setting("zone").is_unset:
            line = _zone(upstream, taken)
            safety = Safety.UNSAFE if what == "max_conns" else Safety.SAFE
            yield Finding(
                block.source,
                upstream.level.span,
                f'upstream "{upstream.name}" has no zone: {what} counts the connections of one worker only',
                Fix(f"add `{line}`", (prepend(block, [line]),), safety) if line else None,
                "" if line else "add a `zone` that is large enough for its servers",
            )


def _counting(upstream: Upstream) -> str | None:
    """Return what in an upstream depends on the connections of all workers."""
    if any(word.startswith("max_conns=") for server in upstream.servers for word in server.args):
        return "max_conns"
    method = upstream.method
    if method is None or len(upstream.servers) < 2:
        return None
    if method.name == "random":
        return "random two" if method.args[:1] == ("two",) else None
    return str(method.name) if method.name in ("least_conn", "least_time") else None


def _zones(model: Model) -> set[str]:
    """Return the names of all shared memory: a name has one use."""
    words = (word for directive, _ in model.config.outline() for word in directive.args)
    taken = {name for word in words for name in _ZONES.findall(word)}
    return taken | {str(zone.args[0]) for zone, _ in model.each("zone") if zone.args}


def _zone(upstream: Upstream, taken: set[str]) -> str | None:
    """Return the statement that makes a zone; None if there are too many servers."""
    size = next((size for most, size in _SIZES if len(upstream.servers) <= most), None)
    names = chain([upstream.name], (f"{upstream.name}_{number}" for number in count(2)))
    return f"zone {next(name for name in names if name not in taken)} {size};" if size else None
