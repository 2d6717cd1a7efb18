"""Client connections closed early: each new one costs round trips

Flags `keepalive_timeout 0`, and a `keepalive_requests` below 100, in `http` and `server`. The directives with the same
names in an `upstream` are different ones.

Does not flag servers that listen on a loopback address or a socket only, and what a comment says is meant
(`# no keep-alive behind the load balancer`).

## Why it matters
After a connection closes, the client connects again: one round trip, two or three with TLS, and a handshake that costs
the server a signature. With HTTP/2, one connection carries all requests of a page, so `keepalive_requests 20` ends it
in the middle of one.

## Bad
```nginx http
keepalive_requests 20;
```
```nginx http
keepalive_timeout 0;
```

## Good
```nginx http
keepalive_requests 1000;
```

## Silent
The default of nginx before 1.19.10:
```nginx http
keepalive_requests 100;
```
Somebody has thought about it:
```nginx http
# turned off for the health checks of the load balancer
keepalive_timeout 0;
keepalive_requests 1;
```
A location may have its reasons, and connections to an upstream are not those of clients:
```nginx http
upstream app {
    server 127.0.0.1:8080;
    keepalive 16;
    keepalive_requests 10;
}
server {
    location /health {
        keepalive_timeout 0;
        return 204;
    }
}
```

## Fix safety
May change: responses, connections, limits.

nginx sends `Connection: close` with the last response on a connection, which after the fix is a later one: seen on
nginx 1.22.1 and 1.31.3. The memory of a connection grows until it ends, and more connections are idle. A number in the
configuration may be there for that reason.

## When to ignore it
If nginx cannot spare idle connections, or a load balancer in front of nginx distributes connections, not requests.

## References
- https://nginx.org/en/docs/http/ngx_http_core_module.html#keepalive_requests
- CHANGES 1.19.10, https://nginx.org/en/CHANGES; ngx_http_update_location_config in ngx_http_core_module.c
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from nginxopt.config import Directive, layout
from nginxopt.lint import Finding, Fix, Model, Safety, Severity, pattern, rule
from nginxopt.lint.queries import purpose
from nginxopt.semantics import Level, default, values

_FEW = 100
"""The default of `keepalive_requests` before 1.19.10: fewer are few."""

_MEANT = pattern(r"disabl|turn|switch|avoid|prevent|without|no keep|close|balanc|\bLB\b", re.IGNORECASE)
_LOOPBACK = pattern(r"unix:|localhost\b|127\.|\[::1\]")


@rule(severity=Severity.INFO, category="client", fix=Safety.UNSAFE, about=("keepalive_requests", "keepalive_timeout"))
def check(model: Model) -> Iterator[Finding]:
    """Find settings that close client connections early."""
    usual = default("keepalive_requests", model.target) or ""
    for directive, level in model.each("keepalive_requests", "keepalive_timeout"):
        if level.kind not in ("http", "server") or not directive.args or _is_local(level):
            continue
        if purpose.says(directive, level, _MEANT):
            continue
        word = directive.args[0]
        if directive.name == "keepalive_timeout":
            if values.milliseconds(word) == 0:
                yield _one(directive, "keepalive_timeout 0 closes each connection after one request", "75s")
            continue
        count = values.number(word)
        closes_anyway = values.milliseconds(level.setting("keepalive_timeout").value or "75s") == 0
        if count is not None and count < _FEW and not closes_anyway:
            requests = "one request" if count <= 1 else f"{count} requests"
            yield _one(directive, f"clients must reconnect after {requests}: the default is {usual}", usual)


def _is_local(level: Level) -> bool:
    """Return whether a server has no clients but programs on its machine."""
    words = [listen.args[0] for listen in level.own("listen") if listen.args]
    return level.kind == "server" and bool(words) and all(map(_LOOPBACK.match, words))


def _one(directive: Directive, message: str, value: str) -> Finding:
    word = directive.args[0]
    fix = Fix(f"set it to the default, {value}", (layout.replace(directive, word, value),), Safety.UNSAFE)
    return Finding(directive.source, word.span, message, fix)
