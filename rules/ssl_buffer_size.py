"""TLS records of 16 KB: the first byte of a page waits for all 16 KB

Flags TLS servers whose `ssl_buffer_size` is nginx's default of 16k. Runs only if selected: large files benefit from
large records.

## Why it matters
A client cannot read any of a TLS record before all of it has arrived. A new connection sends about 14 KB (ten segments)
before it waits for an acknowledgment, so a record of 16 KB needs one round trip more than one of 4 KB to deliver its
first byte. Measured on nginx 1.22.1: a page of 40 KB arrives in 3 records of up to 16,384 bytes, and in 10 with
`ssl_buffer_size 4k`.

## Bad
```nginx http
server {
    listen 443 ssl;
    ssl_certificate cert.pem;
    ssl_certificate_key cert.key;
}
```

## Good
```nginx http
server {
    listen 443 ssl;
    ssl_certificate cert.pem;
    ssl_certificate_key cert.key;
    ssl_buffer_size 4k;
}
```

## Silent
```nginx http
server {
    listen 443 ssl;
    ssl_certificate cert.pem;
    ssl_certificate_key cert.key;
    ssl_buffer_size 8k;
}
```

## Fix safety
May change: nothing.

The same bytes arrive in more records; the buffer of each connection is smaller.

## When to ignore it
If downloads matter more than pages: each record adds about 25 bytes and a checksum to verify.

## References
- https://nginx.org/en/docs/http/ngx_http_ssl_module.html#ssl_buffer_size
- RFC 6928 (the first ten segments)
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import Change, layout
from nginxopt.lint import Finding, Fix, Model, Safety, Severity, rule
from nginxopt.lint.queries import tls
from nginxopt.semantics import Level

DEFAULT = ("16k", "16K", "16384")
SMALL = "4k"
"""The example of nginx's documentation."""


@rule(severity=Severity.INFO, category="tls", fix=Safety.SAFE, since="1.5.9", default=False)
def check(model: Model) -> Iterator[Finding]:
    """Find servers that send TLS records of the maximum size."""
    servers = dict.fromkeys(server for endpoint in tls.endpoints(model) for server in endpoint.servers)
    for server in servers:
        size = server.setting("ssl_buffer_size")
        if size.value not in DEFAULT or not server.opener:
            continue
        place = size.directive or server.opener
        yield Finding(
            place.source,
            size.directive.args[0].span if size.directive else place.name.span,
            "on a new connection, TLS records of 16 KB delay the first byte of a page by one round trip",
            Fix(f"send records of {SMALL}", _changes(server)),
        )


def _changes(server: Level) -> tuple[Change, ...]:
    stated = server.setting("ssl_buffer_size").directive
    if stated:
        return (layout.replace(stated, stated.args[0], SMALL),)
    own = [directive for directive in server.directives if directive.name.startswith("ssl_")]
    line = f"ssl_buffer_size {SMALL};"
    if own:
        return (layout.after(own[-1], [line]),)
    assert server.block is not None  # nothing around it is unknown: see `endpoints`
    return (layout.append(server.block, [line]),)
