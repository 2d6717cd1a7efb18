"""`tcp_nodelay off`: the end of a response may wait for an acknowledgement

Flags a `tcp_nodelay off` that applies to a server without TLS and HTTP/2 where `tcp_nopush` is off. With TLS or HTTP/2,
and with `tcp_nopush on`, measurements show no effect. Where one of these is unknown, as in a fragment of a
configuration, the rule reports nothing.

## Why it matters
With Nagle's algorithm, the kernel holds back a last, short segment until the client has acknowledged those before it,
and clients delay that by up to 40 ms and more. nginx turns the algorithm off where it matters: on kept connections,
with TLS, and for unbuffered responses. On one connection, a file of 4 kB sent with `sendfile` took 44 ms with
`tcp_nodelay off` on nginx 1.22.1 and 1.31.3, and 0.03 ms with `tcp_nopush on` beside it, over TLS, or by default.

## Bad
```nginx http
server {
    listen 80;
    tcp_nodelay off;
}
```

## Good
```nginx http
server {
    listen 80;
}
```

## Silent
`tcp_nopush` sends the last segment at once, and nginx writes a TLS record as a whole:
```nginx http
tcp_nodelay off;
tcp_nopush on;
server {
    listen 80;
}
server {
    listen 443 ssl;
    tcp_nopush off;
    ssl_reject_handshake on;
}
```

## Fix safety
May change: nothing.

The same bytes leave sooner, in more packets.

## When to ignore it
If a client pays for each packet and latency does not matter.

## References
- https://nginx.org/en/docs/http/ngx_http_core_module.html#tcp_nodelay
- RFC 896, and RFC 1122, 4.2.3.2 (delayed acknowledgements)
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import Directive, layout
from nginxopt.lint import Finding, Fix, Model, Safety, Severity, rule
from nginxopt.semantics import Level, read_listens, values

ENCRYPTED = ("ssl", "http2", "quic")


@rule(severity=Severity.INFO, category="client", fix=Safety.SAFE, about=("tcp_nodelay",))
def check(model: Model) -> Iterator[Finding]:
    """Find where short segments are delayed."""
    for directive, level in model.each("tcp_nodelay"):
        is_off = bool(directive.args) and values.flag(directive.args[0]) is False
        if is_off and any(_delays(inner, directive) for inner in _reached(level)):
            message = "with tcp_nodelay off, the end of a response waits for the client's acknowledgement"
            fix = Fix("remove it: the default is on", (layout.delete(directive),))
            yield Finding(directive.source, directive.args[0].span, message, fix)


def _reached(level: Level) -> Iterator[Level]:
    """Yield the servers and locations in which a directive of a level may apply."""
    return (inner for inner in level.walk() if inner.kind in ("server", "location"))


def _delays(level: Level, directive: Directive) -> bool:
    """Return whether a directive certainly applies to plain connections that nothing else flushes."""
    server, pushes = level.around("server"), level.setting("tcp_nopush")
    if server is None or level.setting("tcp_nodelay").directive is not directive:
        return False
    is_plain = not any(listen.has(flag) for listen in read_listens([server]) for flag in ENCRYPTED)
    is_certain = is_plain and not server.is_open and not (server.own("ssl") or server.own("http2"))
    return is_certain and pushes.known and values.flag(pushes.value or "off") is False
