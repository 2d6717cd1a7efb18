"""Upstream without `keepalive`: every request opens a connection

Flagged is an `upstream` that states no `keepalive` and that requests are passed to whose connections could be kept, for
nginx before 1.29.7. From 1.29.7 on nginx keeps 32 connections without being asked.

Not flagged is an upstream that has declined: `keepalive` stands there as a comment, or every pass to it says
`Connection: close`, states HTTP/1.0, is a WebSocket's (`Connection: upgrade`), or is FastCGI without
`fastcgi_keep_conn on`. uwsgi and SCGI cannot keep connections.

The pool is only used by requests that speak HTTP/1.1 and leave the connection open: see `proxy-http-version` and
`proxy-connection-not-cleared`, whose fixes belong to this one.

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
uwsgi connections end with the answer:
```nginx http 1.22.1
upstream app {
    server 10.0.0.1:8080;
}
server {
    location / {
        uwsgi_pass app;
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
from nginxopt.pools import SIZE, lacking, may_share
from nginxopt.rule import rule

APART = (
    "the passes to it differ in TLS, protocol or local address, and a pool would mix their connections: "
    f"give each kind an upstream of its own with `keepalive {SIZE};`"
)


@rule(severity=Severity.WARNING, category="proxy", fix=Safety.SAFE, until="1.29.6", scenario="keepalive")
def check(model: Model) -> Iterator[Finding]:
    """Find upstreams that are passed to and have no pool."""
    for upstream, passes in lacking(model):
        block = upstream.level.block
        if block is None:
            continue
        shared = may_share(passes)
        yield Finding(
            block.source,
            upstream.level.span,
            f'upstream "{upstream.name}" has no keepalive: every request opens a connection of its own',
            Fix(f"add `keepalive {SIZE};`", (append(block, [f"keepalive {SIZE};"]),)) if shared else None,
            "" if shared else APART,
        )
