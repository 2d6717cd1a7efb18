"""TLS to a public host without its name in the handshake: the host cannot choose its certificate

Flags `proxy_pass https://` to a public host name where `proxy_ssl_server_name` is `off`, as by default. Does not flag
addresses, names without a dot, and names of internal networks.

## Why it matters
Hosts with several names, which those behind Cloudflare, CloudFront, Fastly, GitHub and most object stores are, choose
the certificate and the site by the name in the handshake (SNI). Without one they refuse it (`handshake failure`, nginx
answers 502), or show a certificate of another name.

## Bad
```nginx server
location / {
    proxy_pass https://api.example.com;
}
```

## Good
```nginx server
location / {
    proxy_ssl_server_name on;
    proxy_pass https://api.example.com;
}
```

## Silent
```nginx http
upstream backend {
    server 192.0.2.1:443;
}
server {
    location /a/ {
        proxy_pass https://backend;
    }
    location /b/ {
        proxy_pass https://192.0.2.1;
    }
    location /c/ {
        proxy_pass https://api.internal;
    }
    location /d/ {
        proxy_pass http://api.example.com;
    }
}
```

## Fix safety
May change: upstream requests, responses.

The host gets the name in the handshake, and may answer with another certificate or site.

## When to ignore it
If the host has one name.

## References
- https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_ssl_server_name
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from nginxopt.config import layout
from nginxopt.lint import Finding, Fix, Model, Safety, Severity, pattern, rule
from nginxopt.lint.queries import headers

_PUBLIC = pattern(
    r"(?:[a-z0-9-]+\.)+(?!internal|local|localdomain|lan|home|intranet|corp|cluster|test)[a-z]{2,}", re.IGNORECASE
)
_SCHEMES = {"https": "proxy", "grpcs": "grpc"}


@rule(
    severity=Severity.INFO,
    category="proxy",
    fix=Safety.UNSAFE,
    since="1.7.0",
    about=("proxy_pass", "grpc_pass", "uwsgi_pass"),
)
def check(model: Model) -> Iterator[Finding]:
    """Find handshakes without a name."""
    for pass_ in model.passes:
        if _SCHEMES.get(pass_.scheme) != pass_.protocol or pass_.upstream or not _PUBLIC.fullmatch(pass_.host):
            continue
        name = pass_.setting("ssl_server_name")
        if not name.is_unset:
            continue
        line = f"{pass_.protocol}_ssl_server_name on;"
        fix = Fix(f"add `{line}`", (layout.before(pass_.directive, [line]),), Safety.UNSAFE)
        yield Finding(
            pass_.directive.source,
            pass_.directive.args[0].span,
            f"{pass_.host} gets no name in the TLS handshake, by which it may choose a certificate",
            fix if headers.takes_directives(pass_) else None,
            "" if headers.takes_directives(pass_) else f"add `{line}` around this block",
        )
