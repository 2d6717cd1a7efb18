"""WebSocket map with `'' close`: other requests close their connection

Flags a `map` of `$http_upgrade` that maps requests without an `Upgrade` header to `close`, if its variable is the
`Connection` header of a `proxy_pass` to an upstream that keeps connections. Of an upstream without a pool, only
`upstream-keepalive-missing` is reported; once it has one, this rule looks at it.

The fix does not change upgrades. If the variable is used for more than that header, the fix needs `--unsafe-fixes`.

## Why it matters
The map comes from nginx's own page on WebSockets, which has no pool. Counted on nginx 1.22.1 and 1.31.4 with a pool and
HTTP/1.1: 20 requests open 20 connections with `'' close` and 1 with `'' ''`.

## Bad
```nginx http
map $http_upgrade $connection_upgrade {
    default upgrade;
    '' close;
}
upstream app {
    server 10.0.0.1:8080;
    keepalive 32;
}
server {
    location / {
        proxy_pass http://app;
        proxy_http_version 1.1;
        proxy_set_header Upgrade $http_upgrade;
        proxy_set_header Connection $connection_upgrade;
    }
}
```

## Good
```nginx http
map $http_upgrade $connection_upgrade {
    default upgrade;
    '' "";
}
upstream app {
    server 10.0.0.1:8080;
    keepalive 32;
}
server {
    location / {
        proxy_pass http://app;
        proxy_http_version 1.1;
        proxy_set_header Upgrade $http_upgrade;
        proxy_set_header Connection $connection_upgrade;
    }
}
```

## Silent
There is no pool to keep connections in:
```nginx http
map $http_upgrade $connection_upgrade {
    default upgrade;
    '' close;
}
server {
    location / {
        proxy_pass http://10.0.0.1:8080;
        proxy_http_version 1.1;
        proxy_set_header Upgrade $http_upgrade;
        proxy_set_header Connection $connection_upgrade;
    }
}
```

The same holds for an upstream without one, which `upstream-keepalive-missing` reports:
```nginx http 1.22.1
map $http_upgrade $connection_upgrade {
    default upgrade;
    '' close;
}
upstream app {
    server 10.0.0.1:8080;
}
server {
    location / {
        proxy_pass http://app;
    }
    location /live/ {
        proxy_pass http://app;
        proxy_http_version 1.1;
        proxy_set_header Upgrade $http_upgrade;
        proxy_set_header Connection $connection_upgrade;
    }
}
```

## Fix safety
May change: upstream requests, connections.

Safe if `http11-backends` and `idle-connections` hold, as for `proxy-connection-not-cleared`: requests other than
WebSockets no longer announce the end of their connection. Upgrades are requested as before. The fix is unsafe if the
variable has or may have other uses: in another directive or a log, in Lua, njs, Perl or SSI, which read variables by
name, in the `Connection` header of a pass to something that keeps no connections, or in an include that was not read.
There is no fix if passes to the upstream may not share connections.

## When to ignore it
If the upstream servers cannot hold idle connections.

## References
- https://nginx.org/en/docs/http/websocket.html
- https://nginx.org/en/docs/http/ngx_http_upstream_module.html#keepalive
"""

from __future__ import annotations

from collections.abc import Container, Iterator

from nginxopt.config import Change, Directive, layout
from nginxopt.lint import Finding, Fix, Model, Related, Safety, Severity, rule
from nginxopt.lint.queries import pooling, pools, whole
from nginxopt.semantics import Level, Pass, Upstream


@rule(
    severity=Severity.WARNING, category="proxy", fix=(pooling.KEPT, Safety.UNSAFE), scenario="keepalive", about=("map",)
)
def check(model: Model) -> Iterator[Finding]:
    """Find maps that close the connection of requests without an upgrade."""
    by_map: dict[Level, Pass] = {}
    reasons: dict[Level, str] = {}
    pooled, stated, offered = pools.pooled(model), pools.stated(model), pooling.offers(model)
    for pass_ in model.passes:
        if pass_.protocol != "proxy" or pass_.upstream not in stated or pools.states_http10(pass_):
            continue
        if pools.connection(model, pass_) is pools.Connection.MAPPED:
            name = pools.variable(pools.culprit(model, pass_, pools.Connection.MAPPED).args[1]) or ""
            level = model.maps.get(name)
            if level:
                by_map.setdefault(level, pass_)
                reasons[level] = reasons.get(level) or offered[pass_.upstream].why_not
    for level, pass_ in by_map.items():
        safety = _safety(model, pools.variable(level.args[1]) or "", pooled)
        yield from _finding(level, pass_, reasons[level], safety)


def _finding(level: Level, pass_: Pass, why_not: str, safety: Safety) -> Iterator[Finding]:
    closing = pools.row(level, "")
    if closing is None:
        return
    change = None if why_not else _change(level, closing)
    yield Finding(
        closing.source,
        closing.args[0].span,
        f'requests other than WebSockets send "Connection: close" to upstream "{pass_.host}": no connection is kept',
        Fix("send no Connection header", (change,), safety) if change else None,
        "" if change else why_not or "add a row `'' '';` to the map",
        (Related(pass_.directive.source, pass_.directive.name.span, "the value is sent from here"),),
    )


def _change(level: Level, closing: Directive) -> Change | None:
    if closing.name != "default":
        return layout.replace(closing, closing.args[0], "")
    return layout.append(level.block, ["'' '';"]) if level.block else None


def _safety(model: Model, name: str, pooled: Container[Upstream]) -> Safety:
    """Return UNSAFE if the variable is used for more than the `Connection` header of passes to pools."""
    is_certain = model.is_whole and not whole.is_read_by_code(model)
    if not is_certain or not all(map(_is_connection, whole.readers(model, [name]))):
        return Safety.UNSAFE
    sending = (pass_ for pass_ in model.passes if pass_.protocol == "proxy" and _sends(pass_, name))
    keeping = (
        pass_.upstream in pooled and pools.connection(model, pass_) is pools.Connection.MAPPED for pass_ in sending
    )
    return pooling.KEPT if all(keeping) else Safety.UNSAFE


def _sends(pass_: Pass, name: str) -> bool:
    """Return whether a pass sends a `Connection` header with the variable."""
    return any(name in header.args[1].lower() for header in pools.header_directives(pass_, "connection"))


def _is_connection(directive: Directive) -> bool:
    return (
        directive.name == "proxy_set_header" and directive.args[:1] != () and directive.args[0].lower() == "connection"
    )
