"""Upstream without `keepalive`: every request opens a new connection

Flags upstreams without `keepalive` whose connections could be reused, for nginx before 1.29.7. Starting with 1.29.7,
nginx keeps 32 connections by default.

Does not flag upstreams that opt out: `keepalive` is commented out, or every pass to the upstream sends `Connection:
close`, sets HTTP/1.0, serves a WebSocket (`Connection: upgrade`), or uses FastCGI without `fastcgi_keep_conn on`. uwsgi
and SCGI cannot keep connections, and Unicorn and the default workers of Gunicorn do not: upstreams with these names are
left out. So are files for developers (`nginx.dev.conf`) and of exercises (`examples/nginx.conf`), and sockets (`unix:`)
of a configuration that shows no load, as `implicit-upstream` has it: connecting to one takes no round trip and no port.
So are those whose connections depend on variables, such as `proxy_bind $server_addr`: a pool would mix them. A literal
`Connection: upgrade` in `location /` is sent with every request of the site, and nginx keeps these connections in a
pool. An upstream that a variable always names (`set $app http://app; proxy_pass $app;`) is one like any other.

Only requests that use HTTP/1.1 and leave the connection open use a pool, so the fix also adds `proxy_http_version 1.1`
and an empty `Connection` header to the locations that lack them. For an upstream with a pool, `proxy-http-version` and
`proxy-connection-not-cleared` report these; for one without, this finding is the only one.

## Why it matters
Without a pool, nginx opens a connection for each request, which takes one round trip (with TLS, one or two more). After
the response, the connection is closed, and the side that closed it keeps its addresses and ports in use for a minute
(`TIME_WAIT`). In the report from the field that this rule comes from (4 workers, 200 clients, `keepalive 8`),
throughput rose from 9,000 to 20,000 requests a second; `nginxopt bench keepalive` measures it. Counted on nginx 1.22.1:
20 requests open 20 connections without a pool, and 1 with all three settings.

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

```nginx http 1.22.1
upstream app {
    server 10.0.0.1:8080;
}
server {
    set $app http://app;
    location / {
        proxy_pass $app;
        proxy_http_version 1.1;
        proxy_set_header Upgrade $http_upgrade;
        proxy_set_header Connection "upgrade";
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
Starting with 1.29.7, the pool is the default:
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
Unicorn closes the connection after each response:
```nginx http 1.22.1
upstream app {
    server unix:/run/unicorn.sock;
}
server {
    location / {
        proxy_pass http://app;
    }
}
```
A pool would mix connections from several addresses of this machine:
```nginx http 1.22.1
upstream app {
    server 10.0.0.1:8080;
}
server {
    location / {
        proxy_bind $server_addr;
        proxy_pass http://app;
    }
}
```
A socket costs little:
```nginx http 1.22.1
upstream app {
    server unix:/run/puma.sock;
}
server {
    location / {
        proxy_pass http://app;
    }
}
```
uwsgi cannot keep connections:
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

One fix serves three rules: `upstream-keepalive-missing`, `proxy-http-version` and `proxy-connection-not-cleared`. It
adds the pool, HTTP/1.1 and an empty `Connection` header to each location that passes requests to the upstream, or
changes nothing. All other headers are sent as before, and no other location inherits the new lines.

The fix is safe under two premises:

- `http11-backends`: a server may compress responses for HTTP/1.1 only, which `sub_filter` then misses and `proxy_cache`
  serves to every client; it may also offer `Upgrade: h2c`, send a 103, or respond with 505.
- `idle-connections`: idle connections block a server with few threads or children (2 of 4 parallel requests ended in
  504); a server that authenticates connections mistakes the next client for the previous one; and a server that closes
  connections early turns every second POST into a 502.

If a part of the configuration could not be read, such as an include, the fix also needs `whole-configuration`. In a
fragment, it then adds every line, whatever the file that includes the fragment sets. If a missing include may change
how a location passes requests on, there is no fix, and the help lists the lines.

There is no fix, regardless of premises, if:

- passes to the upstream differ in TLS, protocol or local address, or a variable may make them differ;
- a request may have a `Content-Length` and no body (`proxy_pass_request_body off` without an empty `Content-Length`,
  `auth_request`, some error pages), or a body and no length (an empty `Content-Length` for requests with a body);
- a server may send `X-Accel-Redirect` before it has read a request (`proxy_request_buffering off`, `grpc_pass`), unless
  that header is ignored;
- a block within the location would inherit the lines and passes to another server;
- the upstream sets `max_conns`;
- all pools together would hold more than a quarter of a worker's connections. New pools are made smaller to fit.

To check the premises for each server of the upstream:

    nginxopt probe http://10.0.0.1:8080/            # HTTP/1.1 as 1.0, keep-alive, idle time, serial servers
    curl -sI http://10.0.0.1:8080/ | grep -i ^www   # NTLM or Negotiate: the server authenticates connections
    pm.max_children, threads, workers of the server # more than keepalive x worker_processes x nginx machines
    keep-alive timeout of the server                # longer than keepalive_timeout of the upstream, 60s by default

## When to ignore it
If the upstream servers cannot hold idle connections: each worker keeps up to 32 open.

## References
- https://nginx.org/en/docs/http/ngx_http_upstream_module.html#keepalive
- CHANGES 1.29.7, https://nginx.org/en/CHANGES
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.lint import Finding, Model, Saving, Severity, rule
from nginxopt.lint.queries import load, names, pooling, pools, sharing
from nginxopt.semantics import Upstream


@rule(
    severity=Severity.WARNING,
    category="proxy",
    fix=pooling.KEPT,
    since="1.1.4",
    until="1.29.6",
    scenario="keepalive",
    about=("upstream",),
)
def check(model: Model) -> Iterator[Finding]:
    """Find upstreams in use without a pool."""
    offered = pooling.offers(model)
    for upstream in pools.without_pool(model):
        block, offer = upstream.level.block, offered[upstream]
        if block is None or offer.why_not == sharing.BY_REQUEST:
            continue
        if _is_quiet(model, upstream):
            continue
        yield Finding(
            block.source,
            upstream.level.span,
            f'upstream "{upstream.name}" has no keepalive: every request opens a new connection',
            offer.fix,
            offer.why_not,
            saves=Saving(connections=1),
            cause="",
        )


def _is_quiet(model: Model, upstream: Upstream) -> bool:
    """Return whether a connection for each request is no loss: nobody notices, or it is a socket without load."""
    is_cheap = all(server.args and server.args[0].startswith("unix:") for server in upstream.servers)
    return names.is_without_service(model.config.main.path) or (is_cheap and not load.is_shown(model))
