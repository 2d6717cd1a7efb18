"""`Connection: close` to an upstream with a pool: every request ends its connection

Flagged is a `proxy_pass` to an upstream that keeps connections, or will once `upstream-keepalive-missing` is heard, if
it sends `Connection: close`: by default before nginx 1.29.7, or because `proxy_set_header` says so; and if it sends
what the client said (`$http_connection`).

Not flagged are other values, which keep the pool in use: empty, `Keep-Alive`; the `upgrade` of a WebSocket; maps, for
which see `websocket-map-close`; and health checks. A written `close` is only changed with `--unsafe-fixes`.

## Why it matters
The upstream closes the connection after its answer because it is told to. Counted on nginx 1.22.1 with a pool and
HTTP/1.1: 20 requests open 20 connections with the default header and 1 with an empty one.

A location that has a `proxy_set_header` inherits none, so the fix adds the line where the set of headers stands, or
copies the set.

## Bad
```nginx http 1.22.1
upstream app {
    server 10.0.0.1:8080;
    keepalive 32;
}
server {
    proxy_set_header Host $host;
    proxy_http_version 1.1;
    location / {
        proxy_pass http://app;
    }
    location /other/ {
        proxy_pass http://10.0.0.9;
    }
}
```

## Good
```nginx http 1.22.1
upstream app {
    server 10.0.0.1:8080;
    keepalive 32;
}
server {
    proxy_set_header Host $host;
    proxy_http_version 1.1;
    location / {
        proxy_pass http://app;
        proxy_set_header Host $host;
        proxy_set_header Connection "";
    }
    location /other/ {
        proxy_pass http://10.0.0.9;
    }
}
```

## Silent
A WebSocket needs its header:
```nginx http 1.22.1
upstream app {
    server 10.0.0.1:8080;
    keepalive 32;
}
server {
    location /ws {
        proxy_pass http://app;
        proxy_http_version 1.1;
        proxy_set_header Upgrade $http_upgrade;
        proxy_set_header Connection "upgrade";
    }
}
```
From 1.29.7 on the header is not sent by default:
```nginx http 1.29.7
upstream app {
    server 10.0.0.1:8080;
    keepalive 32;
}
server {
    location / {
        proxy_pass http://app;
    }
}
```

## When to ignore it
Where the servers behind cannot hold idle connections; then say so with `keepalive 0;` (from 1.29.7 on).

## References
- https://nginx.org/en/docs/http/ngx_http_upstream_module.html#keepalive
- https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_set_header
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.defaults import PIVOT
from nginxopt.diagnostic import Finding, Fix, Safety, Severity
from nginxopt.headers import NOT_IN_IF, owners, with_header
from nginxopt.inherit import Level
from nginxopt.layout import replace
from nginxopt.model import Model
from nginxopt.pools import Connection, connection, culprit, is_check, pools, states_http10
from nginxopt.rule import rule
from nginxopt.upstreams import Pass, Upstream

CLEARED = 'proxy_set_header Connection "";'


@rule(severity=Severity.WARNING, category="proxy", fix=(Safety.SAFE, Safety.UNSAFE), scenario="keepalive")
def check(model: Model) -> Iterator[Finding]:
    """Find passes that leave a pool unused because they end their connections."""
    pooled = pools(model)
    levels = owners(model, lambda one: _is_meant(one, pooled)).get(True, set())
    for one in model.passes:
        if _is_meant(one, pooled) and not is_check(one):
            said = connection(model, one)
            if said is Connection.DEFAULT and model.target < PIVOT:
                yield _missing(one, levels)
            elif said in (Connection.CLOSE, Connection.CLIENT):
                yield _written(model, one, said)


def _is_meant(one: Pass, pooled: set[Upstream]) -> bool:
    return one.protocol == "proxy" and one.upstream in pooled and not states_http10(one)


def _missing(one: Pass, levels: set[Level]) -> Finding:
    changes = with_header(one, [CLEARED], levels)
    return Finding(
        one.directive.source,
        one.directive.name.span,
        f'nginx sends "Connection: close" to upstream "{one.host}": no connection is kept, every request opens one',
        Fix(f"add `{CLEARED}`", changes) if changes else None,
        "" if changes else NOT_IN_IF,
    )


def _written(model: Model, one: Pass, said: Connection) -> Finding:
    directive = culprit(model, one, said)
    value = directive.args[1]
    closes = said is Connection.CLOSE
    why = "ends the connection with each request" if closes else "ends the connection of clients that say close"
    return Finding(
        directive.source,
        value.span,
        f'Connection "{value}" to upstream "{one.host}" {why}: none is kept',
        Fix("send no Connection header", (replace(directive, value, ""),), Safety.UNSAFE if closes else Safety.SAFE),
    )
