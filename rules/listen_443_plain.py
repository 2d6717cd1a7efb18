"""`listen 443` without `ssl`: nginx speaks plain HTTP at the port of HTTPS

Flags servers with a certificate that listen at port 443 where no `listen` of the address has `ssl`. Does not flag
servers without a certificate, which a load balancer with TLS may be in front of, and `ssl on` before nginx 1.25.1.

## Why it matters
The certificate alone turns nothing on. Browsers begin with a TLS handshake, nginx takes it for a request that is not
valid and answers 400 in plain text, and browsers show `ERR_SSL_PROTOCOL_ERROR`. `ssl on`, which old instructions add,
is gone since nginx 1.25.1.

## Bad
```nginx http
server {
    listen 443;
    ssl_certificate shop.pem;
    ssl_certificate_key shop.key;
}
```

## Good
```nginx http
server {
    listen 443 ssl;
    ssl_certificate shop.pem;
    ssl_certificate_key shop.key;
}
```

## Silent
```nginx http
server {
    listen 443;
    server_name a.example.com;
    ssl_certificate shop.pem;
    ssl_certificate_key shop.key;
}
server {
    listen 443 ssl;
    server_name b.example.com;
    ssl_certificate shop.pem;
    ssl_certificate_key shop.key;
}
server {
    listen 8080;
    ssl_certificate shop.pem;
    ssl_certificate_key shop.key;
}
```

## Fix safety
May change: responses.

The address speaks TLS, for all servers that listen there.

## When to ignore it
If a load balancer ends TLS and passes plain HTTP to port 443; then delete the certificate.

## References
- https://nginx.org/en/docs/http/configuring_https_servers.html
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import Change, Edit, Span
from nginxopt.lint import Finding, Fix, Model, Safety, Severity, rule
from nginxopt.semantics import FRAGMENT

_PORT = 443


@rule(severity=Severity.WARNING, category="tls", fix=Safety.UNSAFE)
def check(model: Model) -> Iterator[Finding]:
    """Find certificates that no handshake uses."""
    if any(level.is_open for level in model.levels(FRAGMENT, "http", "server")):
        return
    for address, endpoint in model.endpoints.items():
        if address.port != _PORT or endpoint.is_tls or any(server.own("ssl") for server in endpoint.servers):
            continue
        for listen in endpoint.listens:
            words = listen.directive.args if listen.directive else ()
            if listen.directive and listen.level.own("ssl_certificate") and "$" not in words[0]:
                end = words[0].span.end
                change = Change(listen.directive.source, Edit(Span(end, end), b" ssl"))
                yield Finding(
                    listen.directive.source,
                    listen.span,
                    f"{address} speaks plain HTTP, and the certificate of this server is never used",
                    Fix("add `ssl`", (change,), Safety.UNSAFE),
                )
