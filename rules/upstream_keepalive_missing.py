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

One fix for three rules, `upstream-keepalive-missing`, `proxy-http-version` and `proxy-connection-not-cleared`: the
pool, HTTP/1.1 and an empty `Connection` header in each location that passes to the upstream, all of it or nothing.
Every other header is sent as before, and nothing else inherits the lines.

It is safe if two premises hold. `http11-backends`: a server may compress for HTTP/1.1 what it does not for 1.0, which
`sub_filter` then does not see and `proxy_cache` gives to everybody; it may offer `Upgrade: h2c`, send a 103, or refuse
with 505. `idle-connections`: a server with few threads or children is blocked by idle connections (2 of 4 parallel
requests ended in 504), one that authenticates connections takes the next client for the last, and one that closes
without a word turns every second POST into a 502.

Where something was not read, such as an include, `whole-configuration` is needed as well: it may pass to the upstream.

There is no fix, whatever is assumed, where passes to the upstream differ in TLS, protocol or local address, or may by a
variable that can name it, as its pool would mix their connections; where a request may state a body and have none
(`proxy_pass_request_body off`); where a block within a location would inherit the lines and passes to another server;
where the upstream states `max_conns`; and where all pools together would hold more than a quarter of the connections of
a worker. New pools are made smaller than 32 to fit.

To find out whether they hold, for each server of the upstream:

    nginxopt probe http://10.0.0.1:8080/            # HTTP/1.1 as 1.0, keep-alive, idle time, serial servers
    curl -sI http://10.0.0.1:8080/ | grep -i ^www   # NTLM or Negotiate: the server authenticates connections
    pm.max_children, threads, workers of the server # more than keepalive x worker_processes x nginx machines
    keep-alive time-out of the server               # longer than keepalive_timeout of the upstream, 60s by default

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
from nginxopt.lint.pools import lacking


@rule(severity=Severity.WARNING, category="proxy", fix=KEPT, since="1.1.4", until="1.29.6", scenario="keepalive")
def check(model: Model) -> Iterator[Finding]:
    """Find upstreams that are passed to and have no pool."""
    offered = offers(model)
    for upstream, _ in lacking(model):
        block = upstream.level.block
        if block is None:
            continue
        yield Finding(
            block.source,
            upstream.level.span,
            f'upstream "{upstream.name}" has no keepalive: every request opens a connection of its own',
            offered[upstream].fix,
            offered[upstream].why_not,
        )
