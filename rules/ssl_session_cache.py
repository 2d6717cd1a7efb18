"""TLS sessions that cannot be resumed: every connection pays for a full handshake

Flagged is `ssl_session_tickets off` where the sessions are not in a cache that the workers share: there is no
`ssl_session_cache`, or it is `none` or `off`, or it is `builtin` alone with several workers. The cache that counts is
that of the default server of the address, whatever the server with the name of the request says.

## Why it matters
A client resumes a session by a ticket that it keeps, or from a cache that nginx keeps. With neither each connection
costs a signature with the private key, and in TLS 1.2 one more round trip. Measured on nginx 1.22.1 and 1.31.5: without
tickets and cache no second connection is resumed, with a shared cache each is, in TLS 1.2 and 1.3, and after a reload;
a cache in a server other than the default one of its address changes nothing. A request on a new connection, with a key
of RSA 2048, takes 0.63 ms of processor time in TLS 1.2 and 0.70 ms in TLS 1.3, resumed 0.13 and 0.34 ms (1.22.1).

## Bad
```nginx http
ssl_certificate cert.pem;
ssl_certificate_key cert.key;
ssl_session_tickets off;
server {
    listen 443 ssl;
}
```

```nginx http
ssl_certificate cert.pem;
ssl_certificate_key cert.key;
ssl_session_tickets off;
server {
    listen 443 ssl;
    ssl_session_cache off;
}
```

## Good
```nginx http
ssl_certificate cert.pem;
ssl_certificate_key cert.key;
ssl_session_tickets off;
ssl_session_cache shared:SSL:10m;
server {
    listen 443 ssl;
}
```

## Silent
With tickets, which are on by default, clients resume without a cache:
```nginx http
ssl_certificate cert.pem;
ssl_certificate_key cert.key;
ssl_session_cache none;
server {
    listen 443 ssl;
}
```

## When to ignore it
Where sessions must never be resumed.

## References
- https://nginx.org/en/docs/http/ngx_http_ssl_module.html#ssl_session_cache
- `ngx_ssl_session_cache` in ngx_event_openssl.c
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.diagnostic import Finding, Fix, Safety, Severity
from nginxopt.inherit import Level, Setting
from nginxopt.model import Model
from nginxopt.rule import rule
from nginxopt.tls import BY_HAND, cache_fix, endpoints, has_shared_cache


@rule(severity=Severity.WARNING, category="tls", fix=Safety.SAFE, since="1.5.9")
def check(model: Model) -> Iterator[Finding]:
    """Find servers without tickets whose sessions no shared cache keeps."""
    for endpoint in endpoints(model):
        why = _nothing_kept(model, endpoint.default)
        for server in endpoint.servers:
            tickets = server.setting("ssl_session_tickets")
            off = tickets.directive
            if why and off and tickets.value == "off":
                fix = _fix(model, endpoint.default, tickets)
                yield Finding(
                    off.source,
                    off.args[0].span,
                    f"without tickets {why}: TLS sessions are not resumed, each connection is a full handshake",
                    fix,
                    "" if fix else BY_HAND,
                )


def _nothing_kept(model: Model, default: Level) -> str:
    """Say why the default server of an address keeps no session for all workers; empty if it does."""
    cache = default.setting("ssl_session_cache")
    if has_shared_cache(default):
        return ""
    if cache.value is not None and cache.value.startswith("builtin"):
        workers = model.root.setting("worker_processes")
        several = workers.known and workers.value != "1"
        return "and with a cache for each worker" if several else ""
    return f"and with `ssl_session_cache {cache.value}`" if cache.is_set else "and without a session cache"


def _fix(model: Model, default: Level, tickets: Setting) -> Fix | None:
    """State the cache beside the tickets if that holds for the default server, else in this."""
    holds = tickets.level is not None and default in tickets.level.walk()
    return cache_fix(model, default, tickets.directive if holds else None)
