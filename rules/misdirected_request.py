"""Default server that rejects handshakes answers HTTP/2 requests of other connections

Flags a default server with `ssl_reject_handshake on` at an address with HTTP/2 where other servers accept handshakes,
if it answers requests with something else than a refusal.

Does not flag a server that returns an error or closes the connection, and addresses at which no other server is.

## Why it matters
With HTTP/2, a browser uses a connection for all names of its certificate that lead to the same address (RFC 9113,
section 9.1.1). A request for a name that no server has then comes to the default server, without a handshake that could
be rejected, and gets nginx's welcome page or 404. With 421 (Misdirected Request), the browser makes a new connection.

## Bad
```nginx http 1.25.1
http2 on;
server {
    listen 443 ssl default_server;
    ssl_reject_handshake on;
}
server {
    listen 443 ssl;
    server_name shop.example.com;
    ssl_certificate shop.pem;
    ssl_certificate_key shop.key;
}
```

## Good
```nginx http 1.25.1
http2 on;
server {
    listen 443 ssl default_server;
    ssl_reject_handshake on;
    return 421;
}
server {
    listen 443 ssl;
    server_name shop.example.com;
    ssl_certificate shop.pem;
    ssl_certificate_key shop.key;
}
```

## Silent
```nginx http 1.25.1
http2 on;
server {
    listen 443 ssl default_server;
    ssl_reject_handshake on;
    location / {
        return 444;
    }
}
server {
    listen 443 ssl;
    server_name shop.example.com;
    ssl_certificate shop.pem;
    ssl_certificate_key shop.key;
}
server {
    listen 8443 ssl default_server;
    ssl_reject_handshake on;
}
```

## Fix safety
May change: responses.

The default server answers all requests with 421.

## When to ignore it
If the certificates have no names that other machines serve.

## References
- https://www.rfc-editor.org/rfc/rfc9113#section-9.1.1
- https://nginx.org/en/docs/http/ngx_http_ssl_module.html#ssl_reject_handshake
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import layout
from nginxopt.lint import Finding, Fix, Model, Safety, Severity, pattern, rule
from nginxopt.lint.queries import tls
from nginxopt.semantics import Endpoint, Level

_REFUSALS = pattern(r"4\d\d")
_LINE = "return 421;"


@rule(severity=Severity.INFO, category="hardening", default=False, fix=Safety.UNSAFE, since="1.19.4")
def check(model: Model) -> Iterator[Finding]:
    """Find servers that answer though they reject handshakes."""
    for endpoint in tls.endpoints(model):
        server, rejecting = endpoint.default, endpoint.default.own("ssl_reject_handshake")
        if not rejecting or rejecting[0].args != ("on",) or not _is_shared(endpoint) or _refuses(server):
            continue
        fix = Fix(f"add `{_LINE}`", (layout.after(rejecting[0], [_LINE]),), Safety.UNSAFE)
        yield Finding(
            rejecting[0].source,
            rejecting[0].name.span,
            "HTTP/2 requests for unknown names come here over connections of other servers, and are answered",
            fix,
        )


def _is_shared(endpoint: Endpoint) -> bool:
    """Return whether HTTP/2 connections to other servers of an address are possible."""
    others = [server for server in endpoint.servers if server is not endpoint.default]
    has_http2 = endpoint.has("http2") or endpoint.has("quic") or endpoint.default.setting("http2").value == "on"
    return has_http2 and any(server.setting("ssl_reject_handshake").value != "on" for server in others)


def _refuses(server: Level) -> bool:
    """Return whether a server, or its location for all URIs, refuses requests."""
    roots = (level for level in server.levels if level.kind == "location" and level.args[-1:] == ("/",))
    returns = (stated for level in (server, *roots) for stated in level.own("return") if stated.args)
    return server.is_open or any(_REFUSALS.fullmatch(stated.args[0]) for stated in returns)
