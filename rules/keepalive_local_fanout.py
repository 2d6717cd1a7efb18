"""Default pool used from many locations: each location keeps separate connections

Flags upstreams without `keepalive` that at least 4 locations pass requests to, for nginx 1.29.7 and later, where the
default is `keepalive 32 local`. Does not flag upstreams whose connections differ between locations, for example in
their TLS settings: they must not be shared.

## Why it matters
With `local`, a kept connection serves only the location that opened it. All locations still share the 32 places of a
worker, so with many locations a request finds no connection of its own there, opens one, and evicts that of another
location. All locations share an explicit `keepalive 32`.

## Bad
```nginx http 1.29.7
upstream app {
    server 10.0.0.1:8080;
}
server {
    location /a/ { proxy_pass http://app; }
    location /b/ { proxy_pass http://app; }
    location /c/ { proxy_pass http://app; }
    location /d/ { proxy_pass http://app; }
}
```

## Good
```nginx http 1.29.7
upstream app {
    server 10.0.0.1:8080;
    keepalive 32;
}
server {
    location /a/ { proxy_pass http://app; }
    location /b/ { proxy_pass http://app; }
    location /c/ { proxy_pass http://app; }
    location /d/ { proxy_pass http://app; }
}
```

## Silent
```nginx http 1.29.7
upstream app {
    server 10.0.0.1:8080;
}
server {
    location /a/ { proxy_pass http://app; }
    location /b/ { proxy_pass http://app; }
}
```

## Fix safety
May change: connections.

Safe if `idle-connections` holds: locations share connections that they did not share before.

There is no fix if passes to the upstream differ, or may differ, in TLS, protocol or local address, as the pool would
mix their connections, or if all pools together may hold more than a quarter of a worker's connections.

To check the premise for each server of the upstream:

    nginxopt probe http://10.0.0.1:8080/            # HTTP/1.1 as 1.0, keep-alive, idle time, serial servers
    curl -sI http://10.0.0.1:8080/ | grep -i ^www   # NTLM or Negotiate: the server authenticates connections
    pm.max_children, threads, workers of the server # more than keepalive x worker_processes x nginx machines
    keep-alive timeout of the server               # longer than keepalive_timeout of the upstream, 60s by default

## When to ignore it
If the locations must not share connections, as with NTLM; then set `keepalive 32 local;`.

## References
- https://nginx.org/en/docs/http/ngx_http_upstream_module.html#keepalive
- nginx 1.29.7, ngx_http_upstream_get_keepalive_peer: the tag of a connection is its location's configuration
- https://github.com/nginx/nginx/issues/1436
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import layout
from nginxopt.lint import Finding, Fix, Model, Severity, rule
from nginxopt.lint.queries import capacity, pooling, pools, sharing

MANY = 4
"""The number of locations from which a finding is reported."""


@rule(severity=Severity.INFO, category="proxy", fix=pooling.POOLED, since="1.29.7", scenario="keepalive")
def check(model: Model) -> Iterator[Finding]:
    """Find default pools that are divided between many locations."""
    mixed = sharing.obstacles(model)
    for upstream, passes in pools.users(model).items():
        places = {pass_.level for pass_ in passes if pools.wants_pool(model, pass_)}
        block = upstream.level.block
        if block and upstream.keepalive.is_unset and len(places) >= MANY and sharing.may_share(passes):
            why_not = mixed.of(upstream)
            line = f"keepalive {capacity.SIZE};"
            fix = Fix(f"add `{line}`, shared by all", (layout.append(block, [line]),), pooling.POOLED)
            yield Finding(
                block.source,
                upstream.level.span,
                f'upstream "{upstream.name}" has the default pool, {capacity.SIZE} local: '
                f"{len(places)} locations do not share connections",
                None if why_not else fix,
                why_not,
            )
