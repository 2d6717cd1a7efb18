"""Connect timeout that TCP never reaches: requests hang before nginx tries the next server

Flags a `proxy_connect_timeout` (`fastcgi_`, `uwsgi_`, `scgi_`, `grpc_`, `memcached_`) above 131 seconds, when Linux has
given up by itself. Does not flag one that only applies to connections within this machine, over loopback or a socket:
they succeed or fail at once.

## Why it matters
The timeout limits how long nginx waits for a connection, not for the response. If a server does not answer, each
request waits that long before nginx tries the next one. Linux gives up by itself after 127 seconds (131 since Linux
6.5), so a longer timeout has no effect; nginx's documentation notes that it cannot usually exceed 75 seconds.

## Bad
```nginx http
server {
    location / {
        proxy_pass http://10.0.0.1:8080;
        proxy_connect_timeout 2h;
    }
}
```

## Good
```nginx http
server {
    location / {
        proxy_pass http://10.0.0.1:8080;
        proxy_connect_timeout 2s;
        proxy_read_timeout 2h;
    }
}
```

## Silent
The default, a long one that still has an effect, and servers of this machine:
```nginx http
proxy_connect_timeout 60s;
fastcgi_connect_timeout 130s;
uwsgi_connect_timeout 300s;
upstream app {
    server 127.0.0.1:3031;
    server unix:/run/app.sock;
}
server {
    location / {
        uwsgi_pass app;
    }
}
```
One without effect, as nothing passes requests on that way:
```nginx http
server {
    uwsgi_connect_timeout 300s;
    location / {
        proxy_pass http://10.0.0.1:8080;
    }
}
```
In a location, that is a case of `foreign-setting`:
```nginx http
server {
    location ~ [.]php$ {
        proxy_connect_timeout 300s;
        fastcgi_pass 10.0.0.1:9000;
    }
}
```

## When to ignore it
If the kernel was told to try longer (`net.ipv4.tcp_syn_retries`), and clients wait that long.

## References
- https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_connect_timeout
- https://docs.kernel.org/networking/ip-sysctl.html: `tcp_syn_retries`, 6 by default, and `tcp_syn_linear_timeouts`
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import Directive
from nginxopt.lint import Finding, Model, Severity, pattern, rule
from nginxopt.semantics import PROTOCOLS, Level, Pass, values

LONGEST = 131_000
"""The time in milliseconds after which every Linux gives up: 1 + 2 + ... + 64 seconds, and 4 more since 6.5."""

_LOCAL = pattern(r"(?:unix|localhost|127(?:\.\d+){3}|\[::1\])(?::|$)")


@rule(severity=Severity.INFO, category="proxy", about=tuple(f"{protocol}_connect_timeout" for protocol in PROTOCOLS))
def check(model: Model) -> Iterator[Finding]:
    """Find connect timeouts that are longer than TCP waits."""
    local = _local(model)
    used = {pass_.setting("connect_timeout").directive for pass_ in model.passes}
    for directive, level in model.each(*(f"{protocol}_connect_timeout" for protocol in PROTOCOLS)):
        if directive not in used and _is_known(level):
            continue  # it has no effect
        written = " ".join(directive.args)
        if (values.milliseconds(written) or 0) > LONGEST and directive not in local:
            yield Finding(
                directive.source,
                directive.args[0].span,
                f"{directive.name} {written}: if the server is down, each request waits 2 minutes, until TCP gives up",
                help=f"set a few seconds; {directive.name.replace('connect', 'read')} limits the wait for the response",
            )


def _is_known(level: Level) -> bool:
    """Return whether all passes that inherit from a level were read."""
    main = level.around("main")
    is_inside = level.kind in ("server", "location") or (main is not None and main.scope is not None)
    return is_inside and not any(inner.is_open for inner in level.walk())


def _local(model: Model) -> set[Directive]:
    """Return the timeouts that are in effect for passes to this machine, and for no other."""
    local: dict[Directive, bool] = {}
    for pass_ in model.passes:
        directive = pass_.setting("connect_timeout").directive
        if directive is not None:
            local[directive] = local.get(directive, True) and all(map(_LOCAL.match, _servers(pass_)))
    return {directive for directive, is_local in local.items() if is_local}


def _servers(pass_: Pass) -> list[str]:
    """Return the servers of a pass, as they are written."""
    if pass_.upstream is None:
        return [pass_.host]
    return [str(server.args[0]) for server in pass_.upstream.servers if server.args]
