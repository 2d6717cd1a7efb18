"""`Connection: close` to an upstream with a pool: every request closes its connection

Flags a `proxy_pass` that sends `Connection: close`, or the client's own header (`$http_connection`), to an upstream
that keeps connections. `close` is the default before nginx 1.29.7, or set by `proxy_set_header`. Where requests use
HTTP/1.0 as well, `proxy-http-version` reports both, and an upstream without a pool is reported by
`upstream-keepalive-missing`; they have the same fix.

Does not flag other values, which keep the pool in use: an empty one, `Keep-Alive`, the `upgrade` of a WebSocket, maps
(see `websocket-map-close`), and checks (`/health`, `/metrics`). An explicit `close` is changed only with
`--unsafe-fixes`.

## Why it matters
The upstream closes the connection after its response because nginx asks it to. Counted on nginx 1.22.1 with a pool and
HTTP/1.1: 20 requests open 20 connections with the default header and 1 with an empty one.

A location with its own `proxy_set_header` inherits none, so the fix adds the line next to the existing headers if they
apply to this upstream only, or else copies them.

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
Starting with 1.29.7, nginx does not send the header by default:
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

## Fix safety
May change: upstream requests, connections.

The fix is the one of `upstream-keepalive-missing`: the pool, HTTP/1.1 and an empty `Connection` header, or nothing. It
needs the premises `http11-backends` and `idle-connections`, and `whole-configuration` if a part of the configuration
could not be read. That page explains how to check them, and when there is no fix.

## When to ignore it
If the upstream servers cannot hold idle connections; then declare it with `keepalive 0;` (1.29.7 and later).

## References
- https://nginx.org/en/docs/http/ngx_http_upstream_module.html#keepalive
- https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_set_header
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.lint import Finding, Fix, Model, Safety, Saving, Severity, rule
from nginxopt.lint.queries import headers, pooling, pools
from nginxopt.semantics import PIVOT, Pass, Upstream


@rule(
    severity=Severity.WARNING,
    category="proxy",
    fix=(pooling.KEPT, Safety.UNSAFE),
    scenario="keepalive",
    about=("proxy_pass",),
)
def check(model: Model) -> Iterator[Finding]:
    """Find passes that leave a pool unused because they close their connections."""
    pooled, offered = pools.stated(model), pooling.offers(model)
    for pass_ in model.passes:
        if pass_.upstream is not None and _is_meant(pass_, pooled) and not pools.is_check(pass_):
            kind = pools.connection(model, pass_)
            offer = _offer(model, pass_, offered[pass_.upstream])
            is_old = model.target < PIVOT and pass_.setting("http_version").value != "1.0"
            if kind is pools.Connection.DEFAULT and is_old:
                yield _missing(pass_, offer)
            elif kind in (pools.Connection.CLOSE, pools.Connection.CLIENT):
                yield _written(model, pass_, kind, offer)


def _is_meant(pass_: Pass, pooled: set[Upstream]) -> bool:
    return pass_.protocol == "proxy" and pass_.upstream in pooled and not pools.states_http10(pass_)


def _missing(pass_: Pass, offer: pooling.Offer) -> Finding:
    return Finding(
        pass_.directive.source,
        pass_.directive.name.span,
        f'nginx sends "Connection: close" to upstream "{pass_.host}": every request opens a new connection',
        offer.fix,
        offer.why_not,
        saves=Saving(connections=1),
        cause="",
    )


def _written(model: Model, pass_: Pass, kind: pools.Connection, offer: pooling.Offer) -> Finding:
    directive = pools.culprit(model, pass_, kind)
    value = directive.args[1]
    closes = kind is pools.Connection.CLOSE
    why = "closes the connection after each request" if closes else "closes the connections of clients that send close"
    return Finding(
        directive.source,
        value.span,
        f'Connection "{value}" to upstream "{pass_.host}" {why}: no connection is kept',
        offer.fix,
        offer.why_not,
        cause=f"{value} in {directive.source.path}",
    )


def _offer(model: Model, pass_: Pass, offer: pooling.Offer) -> pooling.Offer:
    return offer if offer.why_not or pooling.may_keep(model, pass_) else _on_request(model, pass_)


def _on_request(model: Model, pass_: Pass) -> pooling.Offer:
    """Return the fix for a pass that may need to close its connection: `close` is explicit, or bodies are streamed."""
    if any(headers.heirs(model, pass_, "set_header")):
        return pooling.Offer(None, headers.why_not(model, pass_, "set_header"))
    changes = pooling.cleared(model, pass_, ())
    return (
        pooling.Offer(Fix("send no Connection header", changes, Safety.UNSAFE))
        if changes
        else pooling.Offer(None, headers.why_not(model, pass_, "set_header"))
    )
