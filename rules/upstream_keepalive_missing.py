"""Upstream without `keepalive`: every request opens a connection

Flagged is an `upstream` that requests are passed to and that states no `keepalive`, for nginx before 1.29.7. From
1.29.7 on nginx keeps 32 connections without being asked.

The pool is only used by requests that speak HTTP/1.1 and leave the connection open: see `proxy-http-version` and
`proxy-connection-not-cleared`, whose fixes belong to this one; for FastCGI `fastcgi-keep-conn`.

## Why it matters
Without a pool nginx connects, waits a round trip (with TLS two more), and closes for each request; the ports of closed
connections are blocked for a minute. In the field report behind this rule a proxy stuck at 9,000 requests a second
reached 20,000 with a pool. Counted on nginx 1.22.1: 20 requests open 20 connections without, 1 with all three settings.

## Bad
```nginx http 1.22.1
upstream app {
    server 10.0.0.1:8080;
    server 10.0.0.2:8080;
}
server {
    location / {
        proxy_pass http://app;
    }
}
```

## Good
```nginx http 1.22.1
upstream app {
    server 10.0.0.1:8080;
    server 10.0.0.2:8080;
    keepalive 32;
}
server {
    location / {
        proxy_pass http://app;
    }
}
```

## Silent
From 1.29.7 on the pool is there by default:
```nginx http 1.29.7
upstream app {
    server 10.0.0.1:8080;
}
server {
    location / {
        proxy_pass http://app;
    }
}
```

## When to ignore it
Where the servers behind cannot hold idle connections: each worker keeps up to 32 open.

## References
- https://nginx.org/en/docs/http/ngx_http_upstream_module.html#keepalive
- CHANGES 1.29.7, https://nginx.org/en/CHANGES
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.diagnostic import Finding, Fix, Safety, Severity
from nginxopt.layout import append
from nginxopt.model import Model
from nginxopt.rule import rule

SIZE = 32
"""The pool that nginx 1.29.7 makes by default."""


@rule(severity=Severity.WARNING, category="proxy", fix=Safety.SAFE, until="1.29.6", scenario="keepalive")
def check(model: Model) -> Iterator[Finding]:
    """Find upstreams that are passed to and have no pool."""
    used = {one.upstream for one in model.passes if one.upstream and one.protocol != "memcached"}
    for upstream in model.upstreams.values():
        block = upstream.level.block
        if upstream in used and block and upstream.keepalive.is_unset:
            yield Finding(
                block.source,
                upstream.level.span,
                f'upstream "{upstream.name}" has no keepalive: every request opens a connection of its own',
                Fix(f"add `keepalive {SIZE};`", (append(block, [f"keepalive {SIZE};"]),)),
            )
