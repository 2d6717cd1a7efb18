"""Load balancing without a `zone`: every worker counts separately

Flags upstreams without `zone` that have several servers and `least_conn`, `least_time` or `random two`, or that have
`max_conns`, if there is more than one worker. By default, it speaks of `max_conns`, and of a method only if
`worker_processes` states four or more: few workers balance well enough each on its own. If the rule is selected by
name, or with `--host`, it always does.

## Why it matters
Without shared memory, a worker knows only the connections it opened itself. With 8 workers, `least_conn` compares an
eighth of all connections, and `max_conns=10` lets 80 through.

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
A single worker knows of all connections:
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

## Fix safety
May change: upstream requests, limits, start.

The fix may change which server of the upstream gets a request: all workers then count together, and together take a
server out after `max_fails` failures, which each had to see itself before; `max_conns` counts together as well. The
zone has a unique name, quoted if necessary, and room for twice its servers. There is no fix if a server is a host name,
which may stand for any number of addresses: nginx refuses a zone that is too small for them.

## When to ignore it
If `max_conns` is meant per worker.

## References
- https://nginx.org/en/docs/http/ngx_http_upstream_module.html#zone
- https://nginx.org/en/docs/http/ngx_http_upstream_module.html#max_conns
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import layout
from nginxopt.lint import Finding, Fix, Model, Safety, Severity, pattern, rule
from nginxopt.lint.queries import pools, zones
from nginxopt.semantics import Upstream, values

# The number of servers that fit into a zone was tested with `nginx -t` of 1.22.1 and 1.31.3 and long paths of sockets,
# which need most: 53 in 64k, 264 in 256k, 1,109 in 1m. Half of that is used here, to leave room for TLS sessions.
_SIZES = ((24, "64k"), (128, "256k"), (512, "1m"), (2048, "4m"))

_ADDRESS = pattern(r"unix:.+|(?:\d{1,3}(?:\.\d{1,3}){3}|\[[0-9A-Fa-f:.]+\])(?::\d+)?")
"""Matches a server that is one address; a name may resolve to several."""


_MANY = 4


@rule(severity=Severity.INFO, category="proxy", fix=Safety.UNSAFE, since="1.9.0", about=("upstream",), under_load=True)
def check(model: Model) -> Iterator[Finding]:
    """Find upstreams that each worker balances by its own connections only."""
    workers = model.root.setting("worker_processes").value
    if workers in (None, "1"):
        return
    for upstream in pools.may_be_used(model):
        what = _counting(upstream)
        block = upstream.level.block
        if what and block and upstream.level.setting("zone").is_unset:
            line = _zone(model, upstream)
            yield Finding(
                block.source,
                upstream.level.span,
                f'upstream "{upstream.name}" has no zone: {what} counts only the connections of one worker',
                Fix(f"add `{line}`", (layout.prepend(block, [line]),), Safety.UNSAFE) if line else None,
                "" if line else "add a `zone` with a unique name that is large enough for all server addresses",
                cause="",
                is_small=what != "max_conns" and (values.number(workers) or 0) < _MANY,
            )


def _counting(upstream: Upstream) -> str | None:
    """Return the setting that depends on the connections of all workers."""
    if any(word.startswith("max_conns=") for server in upstream.servers for word in server.args):
        return "max_conns"
    method = upstream.method
    if method is None or len(upstream.servers) < 2:
        return None
    if method.name == "random":
        return "random two" if method.args[:1] == ("two",) else None
    return str(method.name) if method.name in ("least_conn", "least_time") else None


def _zone(model: Model, upstream: Upstream) -> str | None:
    """Return the `zone` statement; None if its size or a free name is unknown."""
    if upstream.level.is_open or not all(
        _ADDRESS.fullmatch(word) for server in upstream.servers for word in server.args[:1]
    ):
        return None
    size = next((size for most, size in _SIZES if len(upstream.servers) <= most), None)
    name = zones.free_name(model, upstream.name)
    return f"zone {layout.quoted(name)} {size};" if size and name else None
