"""HTTP/3 without `Alt-Svc`: browsers never use it

Flags servers that listen with `quic` and send no `Alt-Svc` header in any response. Does not flag servers of which a
part was not read, and those whose upstream may send the header.

## Why it matters
Browsers connect over TCP, and change to HTTP/3 only where a response says so in `Alt-Svc`, or a DNS record of the type
HTTPS does. Without either, nobody uses the UDP port.

## Bad
```nginx http 1.25.1
server {
    listen 443 ssl;
    listen 443 quic reuseport;
    ssl_certificate shop.pem;
    ssl_certificate_key shop.key;
    root /srv/www;
}
```

## Good
```nginx http 1.25.1
server {
    listen 443 ssl;
    listen 443 quic reuseport;
    ssl_certificate shop.pem;
    ssl_certificate_key shop.key;
    root /srv/www;
    add_header Alt-Svc 'h3=":443"; ma=86400';
}
```

## Silent
```nginx http 1.25.1
add_header Alt-Svc 'h3=":443"; ma=86400';
server {
    listen 443 ssl;
    listen 443 quic reuseport;
    ssl_certificate shop.pem;
    ssl_certificate_key shop.key;
    root /srv/www;
}
server {
    listen 443 ssl;
    listen 443 quic;
    server_name app.example.com;
    ssl_certificate shop.pem;
    ssl_certificate_key shop.key;
    location / {
        proxy_pass http://127.0.0.1:8080;
    }
}
```

## When to ignore it
If a DNS record of the type HTTPS announces HTTP/3 (`alpn="h3"`).

## References
- https://nginx.org/en/docs/http/ngx_http_v3_module.html
- https://www.rfc-editor.org/rfc/rfc9114#name-discovering-an-http-3-endpo
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.lint import Finding, Model, Severity, rule
from nginxopt.lint.queries import inheritance, tls
from nginxopt.semantics import PROTOCOLS, Level

_HEADER = "alt-svc"
_ELSEWHERE = frozenset(["more_set_headers", *(f"{protocol}_pass" for protocol in PROTOCOLS)])
"""Directives with which something else may write the header."""


@rule(severity=Severity.INFO, category="tls", since="1.25.0")
def check(model: Model) -> Iterator[Finding]:
    """Find HTTP/3 that no response names."""
    listens = [listen for at in tls.endpoints(model) if at.has("quic") for listen in at.listens]
    reported: set[Level] = set()
    for listen in listens:
        server = listen.level
        if listen.source is None or server in reported or _may_send_it(server) or _is_off(server):
            continue
        reported.add(server)
        yield Finding(
            listen.source,
            listen.span,
            "no response has Alt-Svc: browsers do not know that they can use HTTP/3",
            help=f"""add `add_header Alt-Svc 'h3=":{listen.addresses[0].port}"; ma=86400';`""",
        )


def _may_send_it(server: Level) -> bool:
    levels = [server, *server.walk()]
    has_header = any(_HEADER in inheritance.effective(level, "add_header") for level in levels)
    is_elsewhere = any(not _ELSEWHERE.isdisjoint(level.names) for level in levels)
    return has_header or is_elsewhere or not all(level.setting("add_header").known for level in levels)


def _is_off(server: Level) -> bool:
    return server.setting("http3").value == "off" or server.setting("ssl_reject_handshake").value == "on"
