"""`keepalive` before the load balancing method: nginx discards the pool

Flags a `keepalive` before `least_conn`, `ip_hash`, `hash`, `random` or `least_time` in its upstream, for nginx before
1.29.7.

## Why it matters
Up to 1.29.6, `keepalive` wraps the method before it, and a method after it replaces both: `nginx -t` only warns, "load
balancing method redefined". Counted on nginx 1.22.1 with HTTP/1.1 and an empty `Connection` header: 20 requests open 20
connections with any of the methods after `keepalive`, and 1 with it before.

## Bad
```nginx http 1.22.1
upstream app {
    keepalive 32;
    least_conn;
    server 10.0.0.1:8080;
    server 10.0.0.2:8080;
}
```

## Good
```nginx http 1.22.1
upstream app {
    least_conn;
    keepalive 32;
    server 10.0.0.1:8080;
    server 10.0.0.2:8080;
}
```

## Silent
The servers may come later:
```nginx http 1.22.1
upstream app {
    least_conn;
    keepalive 32;
    server 10.0.0.1:8080;
}
```
Starting with 1.29.7, the order does not matter:
```nginx http 1.29.7
upstream app {
    keepalive 32;
    least_conn;
    server 10.0.0.1:8080;
}
```

## Fix safety
May change: connections.

Safe if `idle-connections` holds: nginx uses the pool, which it discarded before the move.

There is no fix if passes to the upstream differ, or may differ, in TLS, protocol or local address, as the pool would
mix their connections, or if all pools together may hold more than a quarter of a worker's connections.

To check the premise for each server of the upstream:

    nginxopt probe http://10.0.0.1:8080/            # HTTP/1.1 as 1.0, keep-alive, idle time, serial servers
    curl -sI http://10.0.0.1:8080/ | grep -i ^www   # NTLM or Negotiate: the server authenticates connections
    pm.max_children, threads, workers of the server # more than keepalive x worker_processes x nginx machines
    keep-alive timeout of the server               # longer than keepalive_timeout of the upstream, 60s by default

## When to ignore it
Never: if you want no pool, delete `keepalive`.

## References
- https://nginx.org/en/docs/http/ngx_http_upstream_module.html#keepalive
- nginx 1.22.1, ngx_http_upstream_keepalive and ngx_http_upstream_least_conn
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import Directive, layout
from nginxopt.facts import group
from nginxopt.lint import Finding, Fix, Model, Severity, rule
from nginxopt.lint.queries import capacity, pooling, sharing
from nginxopt.semantics import Upstream

METHODS = group("balancing") - {"ntlm"}


@rule(
    severity=Severity.ERROR,
    category="proxy",
    fix=pooling.POOLED,
    until="1.29.6",
    scenario="keepalive",
    about=("keepalive",),
)
def check(model: Model) -> Iterator[Finding]:
    """Find pools that a later balancing method removes."""
    mixed = sharing.obstacles(model)
    for upstream in model.upstreams.values():
        keepalive, method = upstream.keepalive.directive, _last_method(upstream)
        order = upstream.level.directives
        if keepalive and method and order.index(keepalive) < order.index(method):
            why_not = (
                _apart(keepalive, method)
                or mixed.of(upstream)
                or pooling.peculiar(upstream)
                or capacity.overflow(model)
            )
            yield Finding(
                keepalive.source,
                keepalive.name.span,
                f'keepalive is before {method.name}, so upstream "{upstream.name}" has no pool: '
                "every request opens a connection",
                None if why_not else _fix(keepalive, method),
                why_not,
            )


def _last_method(upstream: Upstream) -> Directive | None:
    return next((directive for directive in reversed(upstream.level.directives) if directive.name in METHODS), None)


def _apart(keepalive: Directive, method: Directive) -> str:
    return "" if keepalive.source is method.source else f"move keepalive after {method.name}"


def _fix(keepalive: Directive, method: Directive) -> Fix:
    changes = (layout.delete(keepalive), layout.after(method, [layout.written(keepalive)]))
    return Fix(f"move keepalive after {method.name}", changes, pooling.POOLED)
