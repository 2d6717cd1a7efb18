"""`ssl_stapling on` with a Let's Encrypt certificate: there is no OCSP responder to ask

Flags `ssl_stapling on` where all certificates of the servers come from Let's Encrypt, as their paths show.

Does not flag servers with `ssl_stapling_file` or `ssl_stapling_responder`, nor stapling without a `resolver`: nginx
then uses the addresses of the responder that it found when it read its configuration. Seen on nginx 1.22.1 and 1.31.3:
it warns "no resolver defined to resolve" and staples all the same.

## Why it matters
Let's Encrypt ended OCSP in 2025: since May, its certificates name no responder, and since August its responders are
off. nginx starts, warns that it ignores the directive ("no OCSP responder URL in the certificate"), and staples
nothing.

## Bad
```nginx http
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
    ssl_certificate /etc/letsencrypt/live/example.com/fullchain.pem;
    ssl_certificate_key /etc/letsencrypt/live/example.com/privkey.pem;
}
```

## Silent
```nginx http
server {
    listen 443 ssl;
    ssl_certificate a.pem;
    ssl_certificate_key a.key;
    ssl_stapling on;
}
```
acme.sh asks ZeroSSL for certificates by default:
```nginx http
server {
    listen 443 ssl;
    ssl_certificate /root/.acme.sh/example.com_ecc/fullchain.cer;
    ssl_certificate_key /root/.acme.sh/example.com_ecc/example.com.key;
    ssl_stapling on;
}
```

## Fix safety
May change: logs.

nginx stapled nothing before, and no longer warns about it. The fix needs `--unsafe-fixes`: the path of a certificate
does not prove who issued it.

## When to ignore it
If another authority issued the certificate.

## References
- https://nginx.org/en/docs/http/ngx_http_ssl_module.html#ssl_stapling
- https://letsencrypt.org/2024/12/05/ending-ocsp
- ngx_ssl_ocsp_request in ngx_event_openssl_stapling.c (without a resolver)
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import Directive, layout
from nginxopt.lint import Finding, Fix, Model, Safety, Severity, rule
from nginxopt.semantics import Level, read_listens

_OF_LETS_ENCRYPT = ("letsencrypt", "certbot")
_OTHERWISE = ("ssl_stapling_file", "ssl_stapling_responder")
"""Directives that name another source of OCSP responses."""


@rule(severity=Severity.INFO, category="correctness", fix=Safety.UNSAFE, about=("ssl_stapling",))
def check(model: Model) -> Iterator[Finding]:
    """Find stapling that cannot work."""
    for directive, level in model.each("ssl_stapling"):
        servers = [server for server in level.walk() if server.kind == "server" and _speaks_tls(server)]
        using = [server for server in servers if directive in server.setting("ssl_stapling").directives]
        if directive.args[:1] == ("on",) and using and all(map(_lacks_responder, using)):
            yield _finding(directive)


def _speaks_tls(server: Level) -> bool:
    return any(listen.has("ssl") or listen.has("quic") for listen in read_listens([server]))


def _lacks_responder(server: Level) -> bool:
    """Return whether no OCSP responder knows the certificates of a server."""
    if server.is_open or any(server.setting(name).is_set for name in _OTHERWISE):
        return False
    certificates = [word for stated in server.setting("ssl_certificate").directives for word in stated.args]
    return bool(certificates) and all(any(name in word for name in _OF_LETS_ENCRYPT) for word in certificates)


def _finding(directive: Directive) -> Finding:
    return Finding(
        directive.source,
        directive.name.span,
        "ssl_stapling has no effect: Let's Encrypt has had no OCSP responders since 2025",
        Fix("delete `ssl_stapling on`", (layout.delete(directive),), Safety.UNSAFE),
    )
