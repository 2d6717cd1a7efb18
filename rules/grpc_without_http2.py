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

```nginx http 1.22.1
server {
    listen 8443 ssl;
    listen 80;
    ssl_certificate cert.pem;
    ssl_certificate_key cert.key;
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

The addresses speak HTTP/2. Without TLS, an address that speaks HTTP/2 before nginx 1.25.1 speaks nothing else, so there
is a fix only if all that its servers answer is gRPC.

## When to ignore it
If the clients send gRPC over HTTP/1.1, as some bridges do.

## References
- https://nginx.org/en/docs/http/ngx_http_grpc_module.html
- https://nginx.org/en/docs/http/ngx_http_v2_module.html
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from nginxopt.config import Change, Directive, Edit, Span, layout
from nginxopt.lint import Finding, Fix, Model, Safety, Severity, Version, rule
from nginxopt.semantics import FRAGMENT, Endpoint, Level, Pass, read_listens

DIRECTIVE = Version(1, 25, 1)
"""The first version with a directive `http2` (CHANGES 1.25.1)."""


@rule(severity=Severity.WARNING, category="proxy", fix=Safety.UNSAFE, since="1.13.10", about=("grpc_pass",))
def check(model: Model) -> Iterator[Finding]:
    """Find servers that gRPC clients do not understand."""
    reported: set[Level] = set()
    passes = [pass_ for pass_ in model.passes if pass_.protocol == "grpc"]
    if not passes or any(level.is_open for level in model.levels(FRAGMENT, "http", "server")):
        return
    addresses = _addresses(model)
    for pass_ in passes:
        server = pass_.level.around("server")
        if server is None or server in reported:
            continue
        reported.add(server)
        own = addresses.get(server, [])
        if own and not any(at.speaks for at in own):
            yield _finding(model, pass_, server, own)


class _At(NamedTuple):
    """What is known of an address, which may have thousands of servers.

    Attributes:
        endpoint: The address, with its servers.
        speaks: Whether it speaks HTTP/2 or HTTP/3, or a server there may have turned it on.
        is_tls: Whether its connections begin with a handshake.
        is_for_grpc: Whether gRPC alone answers the requests.
    """

    endpoint: Endpoint
    speaks: bool
    is_tls: bool
    is_for_grpc: bool


def _addresses(model: Model) -> dict[Level, list[_At]]:
    """Return the addresses of each server, without UNIX-domain sockets."""
    found: dict[Level, list[_At]] = {}
    for endpoint in model.endpoints.values():
        if endpoint.address.family != "unix":
            is_for_grpc = all(map(_is_for_grpc, endpoint.servers))
            at = _At(endpoint, _speaks(endpoint), endpoint.is_tls, is_for_grpc)
            for server in endpoint.servers:
                found.setdefault(server, []).append(at)
    return found


def _finding(model: Model, pass_: Pass, server: Level, own: list[_At]) -> Finding:
    secure = [at for at in own if at.is_tls]
    address = (secure or own)[0].endpoint.address
    fix = _fix(model, server, secure, own)
    help_ = ""
    if fix is None and secure:
        help_ = "add `http2` to a listen of this server"
    elif fix is None and model.target >= DIRECTIVE:
        help_ = f"add `http2 on;` to the default server of {address}"
    elif fix is None:
        help_ = f"give gRPC an address of its own, with `http2`: without TLS, {address} would speak nothing else"
    message = f"gRPC clients need HTTP/2, which {address} does not speak"
    return Finding(pass_.directive.source, pass_.directive.name.span, message, fix, help_)


def _speaks(endpoint: Endpoint) -> bool:
    """Return whether an address speaks HTTP/2 or HTTP/3, or a server there may have turned it on."""
    settings = [server.setting("http2") for server in endpoint.servers]
    return endpoint.has("http2") or endpoint.has("quic") or any(not at.known or at.value == "on" for at in settings)


def _fix(model: Model, server: Level, secure: list[_At], own: list[_At]) -> Fix | None:
    """Return the fix; None where other clients of the address would get no answer, or where it would not help.

    Without TLS, the default server decides (ngx_http_wait_request_handler), and before the directive `http2`, there is
    only one protocol.
    """
    listens = server.own("listen")
    if not listens or server.own("http2"):
        return None
    if model.target >= DIRECTIVE:
        if not secure and not any(at.endpoint.default is server for at in own):
            return None
        return Fix("add `http2 on;`", (layout.after(listens[-1], ["http2 on;"]),), Safety.UNSAFE)
    if not secure and not all(at.is_for_grpc for at in own):
        return None
    ports = {at.endpoint.address for at in secure or own}
    found = [listen for listen in read_listens([server]) if listen.directive and not ports.isdisjoint(listen.addresses)]
    changes = tuple(_with_http2(listen.directive) for listen in found if listen.directive)
    return Fix("add `http2`", changes, Safety.UNSAFE) if changes else None


def _is_for_grpc(server: Level) -> bool:
    """Return whether gRPC alone answers the requests to a server."""
    locations = [level for level in server.walk() if level.kind == "location" and not level.path.startswith("@")]
    return bool(locations) and all(level.own("grpc_pass") or level.own("internal") for level in locations)


def _with_http2(listen: Directive) -> Change:
    end = listen.args[-1].span.end
    return Change(listen.source, Edit(Span(end, end), b" http2"))
