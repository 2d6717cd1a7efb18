"""`ssl_stapling on` staples nothing

Flags `ssl_stapling on` without a `resolver` that nginx could ask for the name of the responder, and with a certificate
of Let's Encrypt, whose responders are gone.

Does not flag `ssl_stapling_file`, a `ssl_stapling_responder` with an address, and configurations of which not all that
may state a resolver was read.

## Why it matters
nginx starts, logs "no resolver defined to resolve" or "no OCSP responder URL" for each try, and sends no response.
Let's Encrypt ended OCSP in 2025: its certificates have no URL of a responder since May, and the responders are off
since August.

## Bad
```nginx http
server {
    listen 443 ssl;
    ssl_certificate a.pem;
    ssl_certificate_key a.key;
    ssl_stapling on;
}
```
```nginx http
resolver 127.0.0.53;
server {
    listen 443 ssl;
    ssl_certificate /etc/letsencrypt/live/example.com/fullchain.pem;
    ssl_certificate_key /etc/letsencrypt/live/example.com/privkey.pem;
    ssl_stapling on;
}
```

## Good
```nginx http
server {
    listen 443 ssl;
    ssl_certificate a.pem;
    ssl_certificate_key a.key;
}
```

## Silent
```nginx http
resolver 127.0.0.53;
server {
    listen 443 ssl;
    ssl_certificate a.pem;
    ssl_certificate_key a.key;
    ssl_stapling on;
}
```

## Fix safety
May change: logs.

nginx stapled nothing, and says so no longer.

## When to ignore it
Never.

## References
- https://nginx.org/en/docs/http/ngx_http_ssl_module.html#ssl_stapling
- https://letsencrypt.org/2024/12/05/ending-ocsp
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import Directive, layout
from nginxopt.lint import Finding, Fix, Model, Safety, Severity, rule
from nginxopt.semantics import Level, read_listens

_OF_LETS_ENCRYPT = ("letsencrypt", "certbot", "/.acme.sh/")


@rule(severity=Severity.INFO, category="correctness", fix=Safety.UNSAFE)
def check(model: Model) -> Iterator[Finding]:
    """Find stapling that cannot work."""
    for directive, level in model.each("ssl_stapling"):
        servers = [server for server in level.walk() if server.kind == "server" and _speaks_tls(server)]
        using = [server for server in servers if directive in server.setting("ssl_stapling").directives]
        reasons = {_why_dead(server) for server in using}
        if directive.args[:1] == ("on",) and len(reasons) == 1 and (reason := reasons.pop()):
            yield _finding(directive, reason)


def _speaks_tls(server: Level) -> bool:
    return any(listen.has("ssl") or listen.has("quic") for listen in read_listens([server]))


def _why_dead(server: Level) -> str | None:
    """Return why a server staples nothing; None if it may staple."""
    if server.setting("ssl_stapling_file").is_set or server.is_open:
        return None
    certificates = [word for stated in server.setting("ssl_certificate").directives for word in stated.args]
    if certificates and all(any(name in word for name in _OF_LETS_ENCRYPT) for word in certificates):
        return "Let's Encrypt has no OCSP responders any more"
    if server.setting("resolver").is_unset and server.setting("ssl_stapling_responder").is_unset:
        return "there is no resolver to ask for the name of the responder"
    return None


def _finding(directive: Directive, reason: str) -> Finding:
    return Finding(
        directive.source,
        directive.name.span,
        f"this staples nothing: {reason}",
        Fix("delete `ssl_stapling on`", (layout.delete(directive),), Safety.UNSAFE),
    )
