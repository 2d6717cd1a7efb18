"""Compression behind a proxy: off for proxied requests, and without `Vary` for caches

Flags `gzip on` where `gzip_proxied` or `gzip_vary` is not set, in a configuration that takes the client's address from
a proxy (`set_real_ip_from`).

## Why it matters
nginx does not compress responses to requests with a `Via` header, which CloudFront, Google's load balancers, Varnish
and Squid add, unless `gzip_proxied` allows it. And without `Vary: Accept-Encoding` (`gzip_vary`), a cache on the way
may send the compressed response to a client that cannot read it, or the plain one to every client.

## Bad
```nginx http
set_real_ip_from 10.0.0.0/8;
gzip on;
gzip_types text/css;
```

## Good
```nginx http
set_real_ip_from 10.0.0.0/8;
gzip on;
gzip_vary on;
gzip_proxied any;
gzip_types text/css;
```

## Silent
No proxy is configured:
```nginx http
gzip on;
gzip_types text/css;
```
Both are set explicitly:
```nginx http
set_real_ip_from 10.0.0.0/8;
gzip on;
gzip_proxied off;
gzip_vary off;
```

## Fix safety
May change: responses.

Responses to requests with `Via` are compressed, and all responses of those types have `Vary: Accept-Encoding`.

## When to ignore it
If the proxy compresses, or balances TCP only and adds no `Via`. A proxy that uses HTTP/1.0 also needs
`gzip_http_version 1.0`.

## References
- https://nginx.org/en/docs/http/ngx_http_gzip_module.html#gzip_proxied
- ngx_http_gzip_ok in ngx_http_core_module.c
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import layout
from nginxopt.lint import Finding, Fix, Model, Safety, Severity, rule
from nginxopt.semantics import values

LINES = {"gzip_vary": "gzip_vary on;", "gzip_proxied": "gzip_proxied any;"}
WHY = {
    "gzip_vary": "gzip without gzip_vary: a cache in front may send compressed responses to all clients",
    "gzip_proxied": "gzip without gzip_proxied does not compress responses to requests with a Via header",
}


@rule(severity=Severity.INFO, category="client", fix=Safety.UNSAFE, about=("gzip",))
def check(model: Model) -> Iterator[Finding]:
    """Find compression that does not suit a proxy in front of nginx."""
    if not any(True for _ in model.each("set_real_ip_from")):
        return
    for directive, level in model.each("gzip"):
        missing = [name for name in LINES if level.setting(name).is_unset]
        if directive.args and values.flag(directive.args[0]) and missing and level.kind != "if":
            lines = [LINES[name] for name in missing]
            fix = Fix(f"add `{' '.join(lines)}`", (layout.after(directive, lines),), Safety.UNSAFE)
            yield Finding(directive.source, directive.name.span, WHY[missing[-1]], fix)
