"""`grpc_pass` where the server does not speak HTTP/2: gRPC clients cannot connect

Flags servers with `grpc_pass` none of whose addresses speaks HTTP/2. Does not flag servers that listen only on
UNIX-domain sockets.

## Why it matters
gRPC is defined over HTTP/2: its messages need trailers and streams in both directions. A client that gets HTTP/1.1
stops with `UNAVAILABLE` or `INTERNAL: http2: frame too large`.

## Bad
```nginx http 1.25.1
server {
    listen 50051;
    location / {
        grpc_pass grpc://127.0.0.1:50052;
    }
}
```

## Good
```nginx http 1.25.1
server {
    listen 50051;
    http2 on;
    location / {
        grpc_pass grpc://127.0.0.1:50052;
    }
}
```

## Silent
```nginx http
server {
    listen 50051 http2;
    location / {
        grpc_pass grpc://127.0.0.1:50052;
    }
}
server {
    listen unix:/run/grpc.sock;
    location / {
        grpc_pass grpc://127.0.0.1:50052;
    }
}
```

## Fix safety
May change: responses.

The addresses speak HTTP/2. Without TLS, an address that speaks HTTP/2 before nginx 1.25.1 speaks nothing else.

## When to ignore it
If the clients send gRPC over HTTP/1.1, as some bridges do.

## References
- https://nginx.org/en/docs/http/ngx_http_grpc_module.html
- https://nginx.org/en/docs/http/ngx_http_v2_module.html
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import Change, Directive, Edit, Span, layout
from nginxopt.lint import Finding, Fix, Model, Safety, Severity, Version, rule
from nginxopt.semantics import FRAGMENT, Endpoint, Level

DIRECTIVE = Version(1, 25, 1)
"""The first version with a directive `http2` (CHANGES 1.25.1)."""


@rule(severity=Severity.WARNING, category="proxy", fix=Safety.UNSAFE, since="1.13.10", about=("grpc_pass",))
def check(model: Model) -> Iterator[Finding]:
    """Find servers that gRPC clients do not understand."""
    reported: set[Level] = set()
    if any(level.is_open for level in model.levels(FRAGMENT, "http", "server")):
        return
    for pass_ in model.passes:
        server = pass_.level.around("server")
        if pass_.protocol != "grpc" or server is None or server in reported:
            continue
        reported.add(server)
        own = [at for at in model.endpoints.values() if server in at.servers and at.address.family != "unix"]
        if own and not any(_speaks(endpoint) for endpoint in own):
            yield Finding(
                pass_.directive.source,
                pass_.directive.name.span,
                f"gRPC clients need HTTP/2, which {own[0].address} does not speak",
                _fix(model, server),
                "" if _fix(model, server) else "add `http2` to a listen of this server",
            )


def _speaks(endpoint: Endpoint) -> bool:
    """Return whether an address speaks HTTP/2 or HTTP/3, or a server there may have turned it on."""
    settings = [server.setting("http2") for server in endpoint.servers]
    return endpoint.has("http2") or endpoint.has("quic") or any(not at.known or at.value == "on" for at in settings)


def _fix(model: Model, server: Level) -> Fix | None:
    listens = server.own("listen")
    if not listens or server.own("http2"):
        return None
    if model.target >= DIRECTIVE:
        return Fix("add `http2 on;`", (layout.after(listens[-1], ["http2 on;"]),), Safety.UNSAFE)
    return Fix("add `http2`", (_with_http2(listens[-1]),), Safety.UNSAFE)


def _with_http2(listen: Directive) -> Change:
    end = listen.args[-1].span.end
    return Change(listen.source, Edit(Span(end, end), b" http2"))
