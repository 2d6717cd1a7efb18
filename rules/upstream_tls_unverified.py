"""TLS to an upstream without `proxy_ssl_verify`: anybody can answer in its place

Flags `proxy_pass https://` without `proxy_ssl_verify on`, and the same of `grpc_pass grpcs://` and `uwsgi_pass
suwsgi://`. Does not flag addresses of this machine.

## Why it matters
nginx does not check the certificate of an upstream by default: whoever gets between, by DNS, ARP or a router, can show
one of his own, and reads and changes all requests with their cookies and passwords. The encryption then only keeps out
who listens without taking part.

## Bad
```nginx server
location / {
    proxy_pass https://api.example.com;
}
```

## Good
```nginx server
location / {
    proxy_ssl_verify on;
    proxy_ssl_trusted_certificate /etc/ssl/certs/ca-certificates.crt;
    proxy_pass https://api.example.com;
}
```

## Silent
```nginx server
location /a/ {
    proxy_pass https://127.0.0.1:8443;
}
location /b/ {
    proxy_pass http://api.example.com;
}
```

## When to ignore it
If nobody else can reach the network between both.

## References
- https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_ssl_verify
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from nginxopt.lint import Finding, Model, Severity, pattern, rule

_TLS = {"https", "grpcs", "suwsgi"}
_OWN = pattern(r"localhost|127(?:\.\d+){3}|\[::1\]|unix", re.IGNORECASE)


@rule(severity=Severity.INFO, category="hardening", default=False, since="1.7.0")
def check(model: Model) -> Iterator[Finding]:
    """Find upstreams whose certificate nobody checks."""
    for pass_ in model.passes:
        verify = pass_.setting("ssl_verify")
        if pass_.scheme in _TLS and verify.known and verify.value != "on" and not _OWN.fullmatch(pass_.host):
            yield Finding(
                pass_.directive.source,
                pass_.directive.args[0].span,
                "nginx does not check the certificate of this upstream: anybody between can answer",
                help=f"add `{pass_.protocol}_ssl_verify on;` and `{pass_.protocol}_ssl_trusted_certificate`",
            )
