"""`chunked_transfer_encoding off`: responses without a length end with their connection

Flags `chunked_transfer_encoding off`, unless connections end anyway (`keepalive_timeout 0`), buffering is off for the
same requests, or they are for live video (`flv_live`): a stream occupies its connection. Does not flag object stores
and registries.

## Why it matters
Over HTTP/1.1, nginx sends a response of unknown length in chunks: one that it compresses, or that the upstream sends in
chunks. Without chunks, only the end of the connection ends the response, so the client needs a new connection for its
next request, and with TLS a new handshake. Counted on nginx 1.22.1 and 1.31.3: five requests for a compressed file take
one connection by default and five with `chunked_transfer_encoding off`.

## Bad
```nginx http
server {
    listen 80;
    gzip on;
    chunked_transfer_encoding off;
    location / {
        proxy_pass http://10.0.0.1:8080;
    }
}
```

## Good
```nginx http
server {
    listen 80;
    gzip on;
    location / {
        proxy_pass http://10.0.0.1:8080;
    }
}
```

## Silent
Events arrive on a connection of their own:
```nginx http
server {
    location /events {
        proxy_pass http://10.0.0.1:8080;
        proxy_buffering off;
        chunked_transfer_encoding off;
    }
    location /once/ {
        keepalive_timeout 0;
        chunked_transfer_encoding off;
    }
}
```

The manuals of object stores and registries have it:
```nginx server
location / {
    proxy_pass http://minio:9000;
    chunked_transfer_encoding off;
}
```

## Fix safety
May change: responses, connections.

Unsafe: the directive exists for clients that claim to support HTTP/1.1 but do not understand chunks.

## When to ignore it
If there is such a client.

## References
- https://nginx.org/en/docs/http/ngx_http_core_module.html#chunked_transfer_encoding
- ngx_http_chunked_header_filter in ngx_http_chunked_filter_module.c
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from nginxopt.config import Directive, layout
from nginxopt.lint import Finding, Fix, Model, Safety, Severity, pattern, rule
from nginxopt.lint.queries import purpose
from nginxopt.semantics import PROTOCOLS, Level, values

_STORES = pattern(r"minio|\bs3\b|object|registry|/v2\b", re.IGNORECASE)


@rule(severity=Severity.INFO, category="client", fix=Safety.UNSAFE, about=("chunked_transfer_encoding",))
def check(model: Model) -> Iterator[Finding]:
    """Find where responses end with their connection."""
    for directive, level in model.each("chunked_transfer_encoding"):
        streams = any(level.setting(f"{protocol}_buffering").value == "off" for protocol in PROTOCOLS)
        streams = streams or bool(level.own("flv_live")) or level.setting("keepalive_timeout").value in ("0", "0s")
        is_off = bool(directive.args) and values.flag(directive.args[0]) is False
        if is_off and not streams and not _is_meant(directive, level):
            message = "without chunks, a response of unknown length ends with its connection: the client opens another"
            fix = Fix("remove it: the default is on", (layout.delete(directive),), Safety.UNSAFE)
            yield Finding(directive.source, directive.args[0].span, message, fix)


def _is_meant(directive: Directive, level: Level) -> bool:
    """Return whether it is for an object store or a registry, whose manuals recommend it."""
    targets = (word for pass_ in level.own("proxy_pass") for word in pass_.args)
    return purpose.says(directive, level, _STORES) or any(map(_STORES.search, targets))
