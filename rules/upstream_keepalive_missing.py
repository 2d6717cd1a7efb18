"""Upstream without `keepalive`: every request opens a new connection

Flags an `upstream` that has no `keepalive` and that requests are passed to whose connections could be kept, for
nginx before 1.29.7. From 1.29.7 on nginx keeps 32 connections by default.

Does not flag an upstream that has declined: `keepalive` stands there as a comment, or every pass to it says
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
        proxy_http_version 1.1;
        proxy_set_header Connection "";
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

## Fix safety
May change: upstream requests, connections.

One fix serves three rules: `upstream-keepalive-missing`, `proxy-http-version` and `proxy-connection-not-cleared`.
It adds the pool, HTTP/1.1 and an empty `Connection` header to each location that passes to the upstream, or nothing at
all. Every other header is sent as before, and no other location inherits the lines.

The fix is safe under two premises:

- `http11-backends`: a server may compress responses for HTTP/1.1 only, which `sub_filter` then misses and `proxy_cache`
  serves to every client; it may offer `Upgrade: h2c`, send a 103, or answer 505.
- `idle-connections`: idle connections block a server with few threads or children (2 of 4 parallel requests ended in
  504), a server that authenticates connections takes the next client for the previous one, and a server that closes
  connections early turns every second POST into a 502.

If a part of the configuration could not be read, such as an include, the fix also needs `whole-configuration`.

There is no fix, regardless of premises, if:

- passes to the upstream differ in TLS, protocol or local address, or a variable may make them differ;
- a request may state a body and have none (`proxy_pass_request_body off`);
- a block within the location would inherit the lines and passes to another server;
- the upstream states `max_conns`;
- all pools together would hold more than a quarter of a worker's connections. New pools are made smaller to fit.

To check the premises for each server of the upstream:

    nginxopt probe http://10.0.0.1:8080/            # HTTP/1.1 as 1.0, keep-alive, idle time, serial servers
    curl -sI http://10.0.0.1:8080/ | grep -i ^www   # NTLM or Negotiate: the server authenticates connections
    pm.max_children, threads, workers of the server # more than keepalive x worker_processes x nginx machines
    keep-alive timeout of the server                # longer than keepalive_timeout of the upstream, 60s by default

## When to ignore it
Where the servers behind cannot hold idle connections: each worker keeps up to 32 open.

## References
- https://nginx.org/en/docs/http/ngx_http_upstream_module.html#keepalive
- CHANGES 1.29.7, https://nginx.org/en/CHANGES
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.lint import Finding, Model, Severity, rule
from nginxopt.lint.pooling import KEPT, offers
from nginxopt.lint.pools import without_pool


@rule(severity=Severity.WARNING, category="proxy", fix=KEPT, since="1.1.4", until="1.29.6", scenario="keepalive")
def check(model: Model) -> Iterator[Finding]:
    """Find upstreams that are passed to and have no pool."""
    offered = offers(model)
    for upstream, _ in without_pool(model):
        block = upstream.level.block
        if block is None:
            continue
        yield Finding(
            block.source,
            upstream.level.span,
            f'upstream "{upstream.name}" has no keepalive: every request opens a new connection',
            offered[upstream].fix,
            offered[upstream].why_not,
        )
