"""`ip_hash` uses only the first three octets of an IPv4 address: a whole network goes to one server

Flags `ip_hash` in upstreams with several servers.

## Why it matters
The key is a /24 network (ngx_http_upstream_init_ip_hash_peer takes three bytes), so all clients of an office, a
carrier's gateway or a proxy in front go to the same server, whatever its load. `hash $binary_remote_addr consistent`
uses the whole address, and moves few clients when servers come or go; a client changes its server once when it is
introduced.

## Bad
```nginx http
upstream app {
    ip_hash;
    server 10.0.0.1:8080;
    server 10.0.0.2:8080;
}
```

## Good
```nginx http
upstream app {
    hash $binary_remote_addr consistent;
    server 10.0.0.1:8080;
    server 10.0.0.2:8080;
}
```

## Silent
```nginx http
upstream app {
    ip_hash;
    server 10.0.0.1:8080;
}
```

## When to ignore it
If clients change their address within a network and must keep their server.

## References
- https://nginx.org/en/docs/http/ngx_http_upstream_module.html#ip_hash
- https://www.f5.com/company/blog/nginx/avoiding-top-10-nginx-configuration-mistakes
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.lint import Finding, Model, Severity, rule
from nginxopt.lint.queries import pools


@rule(severity=Severity.INFO, category="proxy", about=("ip_hash",))
def check(model: Model) -> Iterator[Finding]:
    """Find upstreams that are balanced by network."""
    for upstream in pools.may_be_used(model):
        method = upstream.method
        if method is not None and method.name == "ip_hash" and len(upstream.servers) > 1:
            yield Finding(
                method.source,
                method.name.span,
                f'ip_hash sends all clients of a /24 network to one of the {len(upstream.servers)} servers of "'
                f'{upstream.name}"',
                help="use the whole address: `hash $binary_remote_addr consistent;`",
            )
