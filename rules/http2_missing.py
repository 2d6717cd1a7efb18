"""TLS without HTTP/2: browsers send few requests at a time

Flags servers that listen with TLS on a public address and offer no HTTP/2. Does not flag servers that only redirect or
reject, listen on this machine only, have names or addresses of one network only (`localhost`, `.test`, `.lan`,
`192.168.0.7`), have a certificate that no browser trusts (`snakeoil`, `self-signed`), are behind another proxy
(`proxy_protocol` or `set_real_ip_from`), ask clients for certificates, or let only stated addresses in (`deny all`):
their clients may not be browsers. Nor does it flag an explicit `http2 off`, and files for developers
(`nginx.dev.conf`) or of exercises (`examples/nginx.conf`).

## Why it matters
Over HTTP/1.1, a browser opens about six connections to a host and sends one request at a time on each; a page of a
hundred resources waits in line, and each connection has its own TLS handshake. HTTP/2 carries all of them on one
connection. The handshake negotiates the protocol (ALPN): clients that support only HTTP/1.1 notice nothing, so
WebSockets work as before. Logs then show `HTTP/2.0`, and so does `$server_protocol` to upstreams, so the fix needs
`--unsafe-fixes`. Before 1.25.1, `http2` applies to the address and port, with all servers there.

## Bad
```nginx http 1.28.0
server {
    listen 443 ssl;
    listen [::]:443 ssl;
    server_name a.example;
    ssl_certificate cert.pem;
    ssl_certificate_key cert.key;
}
```

```nginx http 1.22.1
server {
    listen 443 ssl;
    ssl_certificate cert.pem;
    ssl_certificate_key cert.key;
}
```

## Good
For nginx 1.25.1 and later:
```nginx http 1.28.0
server {
    listen 443 ssl;
    listen [::]:443 ssl;
    http2 on;
    server_name a.example;
    ssl_certificate cert.pem;
    ssl_certificate_key cert.key;
}
```

```nginx http 1.22.1
server {
    listen 443 ssl http2;
    ssl_certificate cert.pem;
    ssl_certificate_key cert.key;
}
```

## Silent
Another server enables it for both on the same address:
```nginx http 1.22.1
ssl_certificate cert.pem;
ssl_certificate_key cert.key;
server {
    listen 443 ssl http2;
    server_name a.example;
}
server {
    listen 443 ssl;
    server_name b.example;
}
```

A redirect is a single response:
```nginx http 1.28.0
server {
    listen 443 ssl;
    server_name a.example;
    ssl_certificate cert.pem;
    ssl_certificate_key cert.key;
    return 301 https://www.a.example$request_uri;
}
```

A developer's own machine:
```nginx http 1.28.0
server {
    listen 443 ssl;
    server_name shop.localhost shop.test;
    ssl_certificate cert.pem;
    ssl_certificate_key cert.key;
}
server {
    listen 8443 ssl;
    server_name 192.168.0.7 nas.lan;
    ssl_certificate cert.pem;
    ssl_certificate_key cert.key;
}
```

Only one network is let in:
```nginx http 1.28.0
server {
    listen 9090 ssl;
    server_name metrics.a.example;
    ssl_certificate cert.pem;
    ssl_certificate_key cert.key;
    allow 10.0.0.0/8;
    deny all;
}
```

Browsers warn of this certificate, so it is not for the public:
```nginx http 1.28.0
server {
    listen 443 ssl;
    server_name intern.example;
    ssl_certificate self-signed.pem;
    ssl_certificate_key cert.key;
}
```

Another proxy connects here:
```nginx http 1.28.0
server {
    listen 443 ssl proxy_protocol;
    ssl_certificate cert.pem;
    ssl_certificate_key cert.key;
}
```

## Fix safety
May change: responses, upstream requests, connections, logs.

Clients that offer HTTP/2 in the handshake then use it, with header names in lower case and no reason phrase;
`$server_protocol` differs in logs and to upstreams, and one connection carries many requests at once.

## When to ignore it
If all clients are programs that use HTTP/1.1, if a connection is authenticated as a whole (NTLM), or if nginx was built
without its HTTP/2 module.

## References
- https://nginx.org/en/docs/http/ngx_http_v2_module.html
- CHANGES 1.25.1, https://nginx.org/en/CHANGES
- RFC 9113, section 3.2
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from nginxopt.config import Change, Directive, Edit, Span, layout
from nginxopt.lint import Finding, Fix, Model, Safety, Severity, Version, pattern, rule
from nginxopt.lint.queries import access, names, tls
from nginxopt.semantics import Endpoint, Level

DIRECTIVE = Version(1, 25, 1)
"""The first version with a directive `http2` (CHANGES 1.25.1)."""

_UNTRUSTED = pattern(r"snakeoil|self[-_]?signed|(?:^|[/._-])localhost(?:$|[._-])", re.IGNORECASE)
"""Names of certificates of which browsers warn, so that the server is for its own people."""


@rule(severity=Severity.INFO, category="tls", fix=Safety.UNSAFE, since="1.9.5")
def check(model: Model) -> Iterator[Finding]:
    """Find servers for browsers that offer only HTTP/1.1."""
    if names.is_without_service(model.config.main.path):
        return
    without: dict[Level, list[Directive]] = {}
    for endpoint in tls.endpoints(model):
        if _is_for_browsers(endpoint):
            for listen in endpoint.listens:
                if listen.directive and not _is_excused(listen.level):
                    without.setdefault(listen.level, []).append(listen.directive)
    for server, listens in without.items():
        first = listens[0]
        name = server.setting("server_name").value
        named = f'server "{name}"' if name else "this server"
        message = f"{named} has no HTTP/2: browsers send about six requests at a time and queue the rest"
        yield Finding(first.source, first.args[0].span, message, _fix(model, listens), cause="")


def _is_for_browsers(endpoint: Endpoint) -> bool:
    skipped = ("http2", "quic", "proxy_protocol")
    return not endpoint.address.is_loopback and not any(endpoint.has(flag) for flag in skipped)


def _is_excused(server: Level) -> bool:
    """Whether a server sets HTTP/2 explicitly, would not benefit from it, or has other clients than browsers."""
    return (
        server.setting("http2").is_set
        or names.is_inside(server)
        or _UNTRUSTED.search(server.setting("ssl_certificate").value or "") is not None
        or server.setting("ssl_reject_handshake").value == "on"
        or server.setting("ssl_verify_client").value in ("on", "optional", "optional_no_ca")
        or server.setting("set_real_ip_from").is_set
        or access.denies_others(server)
        or _only_answers_itself(server)
    )


def _only_answers_itself(server: Level) -> bool:
    """Whether a `return` or redirect answers all requests, apart from those in separate locations."""
    if server.own("return") or any(_is_redirect(rewrite.args) for rewrite in server.own("rewrite")):
        return True
    roots = [level for level in server.levels if level.kind == "location" and level.args == ("/",)]
    return any(root.own("return") for root in roots)


def _is_redirect(args: tuple[str, ...]) -> bool:
    everything = args[:1] and args[0] in ("^", "^/", "^(.*)$", "^/(.*)$", "^.*$", "^(.*)", "^/(.*)", ".*", "(.*)")
    return bool(everything) and (args[-1] in ("permanent", "redirect") or args[1].startswith(("http://", "https://")))


def _fix(model: Model, listens: list[Directive]) -> Fix:
    title = "offer HTTP/2; logs and $server_protocol then have HTTP/2.0"
    if model.target >= DIRECTIVE:
        return Fix(title, (layout.after(listens[-1], ["http2 on;"]),), Safety.UNSAFE)
    changes = tuple(_with_http2(listen) for listen in dict.fromkeys(listens))
    return Fix(f"{title} (for all servers of this address)", changes, Safety.UNSAFE)


def _with_http2(listen: Directive) -> Change:
    end = listen.args[-1].span.end
    return Change(listen.source, Edit(Span(end, end), b" http2"))
