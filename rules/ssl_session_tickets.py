"""TLS sessions resumed only by tickets: every reload discards them

Flags an address with TLS whose default server has no `ssl_session_cache shared:...` and no
`ssl_session_ticket_key`, for nginx from 1.23.2 on.

## Why it matters
Without a shared cache each worker generation has its own random key for tickets. After a reload no ticket can be read,
and all clients make full handshakes at once; the key is never changed in between. From 1.23.2 on a shared cache also
holds the ticket keys, which are changed over time and outlive a reload. Measured on nginx 1.31.5: after a reload no
session of TLS 1.2 or 1.3 is resumed without a shared cache, and every one with it. Clients of TLS 1.2 without tickets
are never resumed without a cache.

## Bad
```nginx http
server {
    listen 443 ssl;
    ssl_certificate cert.pem;
    ssl_certificate_key cert.key;
}
```

## Good
```nginx http
server {
    listen 443 ssl;
    ssl_certificate cert.pem;
    ssl_certificate_key cert.key;
    ssl_session_cache shared:SSL:10m;
}
```

## Silent
A key from a file outlives a reload:
```nginx http
server {
    listen 443 ssl;
    ssl_certificate cert.pem;
    ssl_certificate_key cert.key;
    ssl_session_ticket_key ticket.key;
}
```

## Fix safety
May change: connections, limits.

Sessions are resumed as before, and now also by another generation of workers, which no response shows. Before, a reload
ended all of them, and with them what full handshakes decide: who is revoked, above all. So the fix needs the premise
`no-client-revocation` where clients are asked for certificates, `sessions-by-name` where servers of several names
differ in what holds before a request is read, and is made on request only where something may tell a
full handshake from another: see `ssl-session-cache`, whose cache this is.

## When to ignore it
Where nginx is hardly ever reloaded, or has few clients.

## References
- CHANGES 1.23.2, https://nginx.org/en/CHANGES
- https://nginx.org/en/docs/http/ngx_http_ssl_module.html#ssl_session_ticket_key
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.lint import NO_CLIENT_REVOCATION, SESSIONS_BY_NAME, Finding, Model, Safety, Severity, rule
from nginxopt.lint.tls import by_hand, cache_fix, endpoints, has_shared_cache


@rule(
    severity=Severity.INFO,
    category="tls",
    fix=(Safety.SAFE, Safety.under(NO_CLIENT_REVOCATION, SESSIONS_BY_NAME), Safety.UNSAFE),
    since="1.23.2",
)
def check(model: Model) -> Iterator[Finding]:
    """Find addresses whose ticket keys are lost at a reload."""
    for endpoint in endpoints(model):
        server = endpoint.default
        keys = server.setting("ssl_session_ticket_key")
        tickets = server.setting("ssl_session_tickets").value != "off"
        rejecting = server.setting("ssl_reject_handshake").value == "on"
        if not tickets or rejecting or keys.is_set or has_shared_cache(server) or not server.opener:
            continue
        stated = server.setting("ssl_session_cache").directive
        place = stated or server.opener
        fix = cache_fix(model, server)
        yield Finding(
            place.source,
            stated.args[0].span if stated and stated.args else place.name.span,
            "without a shared session cache, a reload discards the ticket key: every client needs a full handshake",
            fix,
            "" if fix else by_hand(model, server),
        )
