"""Minutes for the header of a request: a few slow clients take all connections

Flags `client_header_timeout` of more than two minutes, in servers that strangers reach. Does not flag shorter ones,
files for developers (`nginx.dev.conf`) or of exercises (`examples/nginx.conf`), and `client_body_timeout`, which is for
slow uploads.

## Why it matters
`client_header_timeout` is the time for the whole header. A client that sends a byte now and then (Slowloris) keeps a
connection and its memory for that long: with 10 minutes, one machine with two new connections a second holds 1,200 of
them. An ordinary client needs less than a second.

## Bad
```nginx http
client_header_timeout 10m;
server {
    listen 80;
}
```

## Good
```nginx http
client_header_timeout 60s;
server {
    listen 80;
}
```

## Silent
```nginx http
client_header_timeout 2m;
client_body_timeout 10m;
server {
    listen 80;
}
server {
    listen 127.0.0.1:8080;
    client_header_timeout 10m;
}
```

## Fix safety
May change: responses, connections.

Clients that need longer than the default of 60 seconds get 408, or their connection is closed.

## When to ignore it
If the clients are few and known, and send their requests by hand or over links that stand still for minutes.

## References
- https://nginx.org/en/docs/http/ngx_http_core_module.html#client_header_timeout
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import layout
from nginxopt.lint import Finding, Fix, Model, Safety, Severity, rule
from nginxopt.lint.queries import access, names
from nginxopt.semantics import values

_MOST = 120_000
"""Milliseconds."""


@rule(severity=Severity.INFO, category="client", fix=Safety.UNSAFE, about=("client_header_timeout",))
def check(model: Model) -> Iterator[Finding]:
    """Find timeouts of minutes."""
    if names.is_without_service(model.config.main.path):
        return
    for directive, level in model.each("client_header_timeout"):
        time = values.milliseconds(directive.args[0]) if directive.args else None
        if time is None or time <= _MOST or not access.is_public(level):
            continue
        yield Finding(
            directive.source,
            directive.args[0].span,
            f"a client that sends half a header keeps its connection for {time // 60_000} minutes",
            Fix("wait for 60 seconds", (layout.replace(directive, directive.args[0], "60s"),), Safety.UNSAFE),
        )
