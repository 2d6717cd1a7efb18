"""Variable in a certificate path: the file is read and parsed in every handshake

Flags an `ssl_certificate` or `ssl_certificate_key` with a variable in a server without `ssl_certificate_cache`,
available since nginx 1.27.4. A value that begins with `data:` is not a file.

## Why it matters
nginx reads a certificate with a fixed name at startup. With a variable in the name, the worker opens, reads and parses
the certificate and the key in each full handshake, and serves nobody else meanwhile. Measured on nginx 1.31.5: a
handshake takes 1.6 ms of processor time with RSA 2048 and 1.1 ms with ECDSA P-256; with the cache, 0.65 and 0.38 ms,
the same as with a fixed name. The cache does not check for a minute (`valid`) whether a file has changed, so the fix
needs `--unsafe-fixes`.

## Bad
```nginx http 1.28.0
server {
    listen 443 ssl;
    ssl_certificate /etc/ssl/$ssl_server_name.pem;
    ssl_certificate_key /etc/ssl/$ssl_server_name.key;
}
```

## Good
```nginx http 1.28.0
server {
    listen 443 ssl;
    ssl_certificate /etc/ssl/$ssl_server_name.pem;
    ssl_certificate_key /etc/ssl/$ssl_server_name.key;
    ssl_certificate_cache max=1000 inactive=60s valid=60s;
}
```

## Silent
nginx reads no file:
```nginx http 1.28.0
map $ssl_server_name $certificate {
    default "";
}
server {
    listen 443 ssl;
    ssl_certificate data:$certificate;
    ssl_certificate_key data:$certificate;
}
```

## Fix safety
May change: connections, limits.

nginx notices a new certificate, or a deleted file, up to a minute later.

## When to ignore it
If nginx must use a new certificate at once and handshakes are few.

## References
- https://nginx.org/en/docs/http/ngx_http_ssl_module.html#ssl_certificate_cache
- CHANGES 1.27.4, https://nginx.org/en/CHANGES
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import Directive, layout
from nginxopt.lint import Finding, Fix, Model, Safety, Severity, rule
from nginxopt.semantics import Level

CACHE = "ssl_certificate_cache max=1000 inactive=60s valid=60s;"


@rule(
    severity=Severity.WARNING,
    category="tls",
    fix=Safety.UNSAFE,
    since="1.27.4",
    about=("ssl_certificate", "ssl_certificate_key"),
)
def check(model: Model) -> Iterator[Finding]:
    """Find servers that read a certificate in each handshake without a cache."""
    for server in model.levels("server"):
        by_variable = _by_variable(server)
        if not by_variable or not server.setting("ssl_certificate_cache").is_unset:
            continue
        first, last = by_variable[0], by_variable[-1]
        yield Finding(
            first.source,
            first.args[0].span,
            f"{first.name} has a variable: nginx reads and parses the file in every full handshake",
            Fix(
                "cache parsed certificates; changed files are noticed within a minute",
                (layout.after(last, [CACHE]),),
                Safety.UNSAFE,
            ),
        )


def _by_variable(server: Level) -> list[Directive]:
    """The directives that name a certificate file of a server by a variable."""
    return [
        directive
        for name in ("ssl_certificate", "ssl_certificate_key")
        for directive in server.setting(name).directives
        if directive.args and "$" in directive.args[0] and not directive.args[0].startswith("data:")
    ]
