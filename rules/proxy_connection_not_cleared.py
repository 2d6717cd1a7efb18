"""`Connection: close` to an upstream with a pool: every request ends its connection

Flagged is a `proxy_pass` to an upstream that keeps connections, or will once `upstream-keepalive-missing` is heard, if
it sends `Connection: close`: by default before nginx 1.29.7, or because `proxy_set_header` says so; and if it sends
what the client said (`$http_connection`).

Not flagged are other values, which keep the pool in use: empty, `Keep-Alive`; the `upgrade` of a WebSocket; maps, for
which see `websocket-map-close`; and health checks. A written `close` is only changed with `--unsafe-fixes`.

## Why it matters
The upstream closes the connection after its answer because it is told to. Counted on nginx 1.22.1 with a pool and
HTTP/1.1: 20 requests open 20 connections with the default header and 1 with an empty one.

A location that has a `proxy_set_header` inherits none, so the fix adds the line where the set of headers stands if it
holds for this upstream only, or copies the set.

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
Where the servers behind cannot hold idle connections; then say so with `keepalive 0;` (from 1.29.7 on).

## References
- https://nginx.org/en/docs/http/ngx_http_upstream_module.html#keepalive
- https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_set_header
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.lint import Finding, Fix, Model, Safety, Severity, rule
from nginxopt.lint.headers import NOT_IN_IF, heirs
from nginxopt.lint.pooling import KEPT, Offer, cleared, may_keep, offers
from nginxopt.lint.pools import Connection, connection, culprit, is_check, pools, states_http10
from nginxopt.semantics import PIVOT, Pass, Upstream


@rule(severity=Severity.WARNING, category="proxy", fix=(KEPT, Safety.UNSAFE), scenario="keepalive")
def check(model: Model) -> Iterator[Finding]:
    """Find passes that leave a pool unused because they end their connections."""
    pooled, offered = pools(model), offers(model)
    for one in model.passes:
        if one.upstream is not None and _is_meant(one, pooled) and not is_check(one):
            said = connection(model, one)
            offer = _offer(model, one, offered[one.upstream])
            if said is Connection.DEFAULT and model.target < PIVOT:
                yield _missing(one, offer)
            elif said in (Connection.CLOSE, Connection.CLIENT):
                yield _written(model, one, said, offer)


def _is_meant(one: Pass, pooled: set[Upstream]) -> bool:
    return one.protocol == "proxy" and one.upstream in pooled and not states_http10(one)


def _missing(one: Pass, offer: Offer) -> Finding:
    return Finding(
        one.directive.source,
        one.directive.name.span,
        f'nginx sends "Connection: close" to upstream "{one.host}": no connection is kept, every request opens one',
        offer.fix,
        offer.why_not,
    )


def _written(model: Model, one: Pass, said: Connection, offer: Offer) -> Finding:
    directive = culprit(model, one, said)
    value = directive.args[1]
    closes = said is Connection.CLOSE
    why = "ends the connection with each request" if closes else "ends the connection of clients that say close"
    return Finding(
        directive.source,
        value.span,
        f'Connection "{value}" to upstream "{one.host}" {why}: none is kept',
        offer.fix,
        offer.why_not,
    )


def _offer(model: Model, one: Pass, offer: Offer) -> Offer:
    return offer if offer.why_not or may_keep(model, one) else _on_request(model, one)


def _on_request(model: Model, one: Pass) -> Offer:
    """Return the fix for a pass that may need to end its connection: `close` is written, or bodies are streamed."""
    if any(heirs(model, one, "set_header")):
        return Offer(None, NOT_IN_IF)
    changes = cleared(model, one, ())
    return Offer(Fix("send no Connection header", changes, Safety.UNSAFE)) if changes else Offer(None, NOT_IN_IF)
