"""TLS sessions resumed only by tickets: every reload discards them

Flags TLS addresses whose default server has neither `ssl_session_cache shared:...` nor `ssl_session_ticket_key`, for
nginx 1.23.2 and later. Unless it is named, it reports only where the configuration shows load, as `implicit-upstream`
has it, or with `--host`. Does not flag those of a developer's own machine (`localhost`, `.test`).

## Why it matters
Without a shared cache, each generation of workers has its own random ticket key. After a reload no ticket can be read,
and all clients make full handshakes at once; the key never changes in between. Starting with 1.23.2, a shared cache
also holds the ticket keys, which rotate and survive a reload. Measured on nginx 1.31.5: after a reload, no session of
TLS 1.2 or 1.3 is resumed without a shared cache, and every one is with it. TLS 1.2 clients without tickets are never
resumed without a cache.

## Bad
```nginx http
server {
    listen 443 ssl;
    ssl_protocols TLSv1.3;
    ssl_certificate cert.pem;
    ssl_certificate_key cert.key;
}
```

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
    ssl_protocols TLSv1.3;
    ssl_certificate cert.pem;
    ssl_certificate_key cert.key;
    ssl_session_cache shared:SSL:10m;
}
```

## Silent
A key from a file survives a reload:
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

Sessions are resumed as before, and now also by another generation of workers. Before the fix, a reload ended all of
them, and with them what full handshakes decide: which ciphers and curves are left, and which clients are revoked. Seen
on nginx 1.31.3 with TLS 1.2: a client whose only cipher is deleted from `ssl_ciphers`, with a reload after that, fails
to connect before the fix, and gets 200 after it. So the fix needs the premise `no-cipher-removal` unless
`ssl_protocols` is `TLSv1.3` alone, `no-client-revocation` if clients are asked for certificates, and
`sessions-by-name` if servers with several names differ in what applies before a request is read. It needs
`--unsafe-fixes` if something may tell a full handshake from a resumed one: see `ssl-session-cache`, which sets the
same cache.

## When to ignore it
If nginx is hardly ever reloaded, or has few clients.

## References
- CHANGES 1.23.2, https://nginx.org/en/CHANGES
- https://nginx.org/en/docs/http/ngx_http_ssl_module.html#ssl_session_ticket_key
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.lint import (
    NO_CIPHER_REMOVAL,
    NO_CLIENT_REVOCATION,
    SESSIONS_BY_NAME,
    Finding,
    Model,
    Safety,
    Severity,
    rule,
)
from nginxopt.lint.queries import names, tls


@rule(
    severity=Severity.INFO,
    category="tls",
    fix=(Safety.SAFE, Safety.under(NO_CIPHER_REMOVAL, NO_CLIENT_REVOCATION, SESSIONS_BY_NAME), Safety.UNSAFE),
    since="1.23.2",
    under_load=True,
)
def check(model: Model) -> Iterator[Finding]:
    """Find addresses that lose their ticket keys at a reload."""
    for endpoint in tls.endpoints(model):
        server = endpoint.default
        keys = server.setting("ssl_session_ticket_key")
        tickets = server.setting("ssl_session_tickets").value != "off"
        rejecting = server.setting("ssl_reject_handshake").value == "on"
        if not tickets or rejecting or keys.is_set or tls.has_shared_cache(server) or not server.opener:
            continue
        if names.is_of_developer(server):
            continue
        stated = server.setting("ssl_session_cache").directive
        place = stated or server.opener
        fix = tls.cache_fix(model, server)
        yield Finding(
            place.source,
            stated.args[0].span if stated and stated.args else place.name.span,
            "without a shared session cache, a reload discards the ticket key: every client needs a full handshake",
            fix,
            "" if fix else tls.by_hand(model, server),
        )
