"""Limit keyed by `X-Forwarded-For`: clients choose the key, and are never limited

Flags `limit_req_zone` and `limit_conn_zone` whose key is a header that clients write: `$http_x_forwarded_for`,
`$proxy_add_x_forwarded_for`, `$http_x_real_ip` and the like, without an address beside it.

Does not flag keys with `$binary_remote_addr` or `$remote_addr`, and headers that identify clients, such as an API key,
or that a content delivery network replaces.

## Why it matters
A client that sends another X-Forwarded-For with each request has a new key, and a new limit, each time; the zone fills
up with keys that nobody uses again. Behind a proxy that appends the address, the header still begins with what the
client made up. Requests without the header have an empty key and are not limited at all.

## Bad
```nginx http
limit_req_zone $http_x_forwarded_for zone=perip:10m rate=10r/s;
```

## Good
```nginx http
limit_req_zone $binary_remote_addr zone=perip:10m rate=10r/s;
```

## Silent
```nginx http
limit_req_zone $http_x_api_key zone=perkey:10m rate=10r/s;
limit_conn_zone $binary_remote_addr$http_x_forwarded_for zone=conns:10m;
```

## Fix safety
May change: responses, limits.

Clients are limited by their address. Behind a proxy, that is the proxy's, unless `set_real_ip_from` names it and
`real_ip_header` the header.

## When to ignore it
If nobody but a proxy that replaces the header can connect; `set_real_ip_from` says so to nginx.

## References
- https://nginx.org/en/docs/http/ngx_http_limit_req_module.html
- https://nginx.org/en/docs/http/ngx_http_realip_module.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from nginxopt.config import layout
from nginxopt.lint import Finding, Fix, Model, Safety, Severity, pattern, rule

_FORGED = pattern(
    r"\$\{?(http_x_forwarded_for|proxy_add_x_forwarded_for|http_x_real_ip|http_forwarded|http_client_ip|http_x_client_ip)\b",
    re.IGNORECASE,
)
_ADDRESS = pattern(r"\$\{?(?:binary_)?remote_addr\b", re.IGNORECASE)


@rule(severity=Severity.WARNING, category="security", fix=Safety.UNSAFE, about=("limit_req_zone", "limit_conn_zone"))
def check(model: Model) -> Iterator[Finding]:
    """Find limits whose key clients write."""
    for directive, _ in model.each("limit_req_zone", "limit_conn_zone"):
        key = directive.args[0] if directive.args else None
        forged = _FORGED.search(key) if key else None
        if key is None or forged is None or _ADDRESS.search(key):
            continue
        is_whole = "$" not in key[1:]
        change = layout.replace(directive, key, "$binary_remote_addr")
        yield Finding(
            directive.source,
            key.span,
            f"clients write ${forged[1]}: one that sends another value each time is never limited",
            Fix("use the address of the client", (change,), Safety.UNSAFE) if is_whole else None,
            "" if is_whole else "use $binary_remote_addr, with set_real_ip_from behind a proxy",
        )
