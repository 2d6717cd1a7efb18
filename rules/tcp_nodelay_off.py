"""`tcp_nodelay off`: the end of a response may wait for an acknowledgement

Flags a `tcp_nodelay off`.

## Why it matters
With Nagle's algorithm, the kernel holds back a last, short segment until the client has acknowledged those before it,
and clients delay that by up to 40 ms and more. nginx turns the algorithm off where it matters: on kept connections,
with TLS, and for unbuffered responses.

## Bad
```nginx http
tcp_nodelay off;
```

## Good
```nginx http
```

## Silent
```nginx http
tcp_nodelay on;
tcp_nopush on;
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

from nginxopt.config import layout
from nginxopt.lint import Finding, Fix, Model, Safety, Severity, rule
from nginxopt.semantics import values


@rule(severity=Severity.WARNING, category="client", fix=Safety.SAFE)
def check(model: Model) -> Iterator[Finding]:
    """Find where short segments are delayed."""
    for directive, _ in model.each("tcp_nodelay"):
        if directive.args and values.flag(directive.args[0]) is False:
            message = "with tcp_nodelay off, the end of a response waits for the client's acknowledgement"
            fix = Fix("remove it: the default is on", (layout.delete(directive),))
            yield Finding(directive.source, directive.args[0].span, message, fix)
