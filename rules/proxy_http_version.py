"""HTTP/1.0 to an upstream with a pool: its connections are never used again

Flagged is a `proxy_pass` to an upstream that keeps connections, or will once `upstream-keepalive-missing` is heard, if
`proxy_http_version` is 1.0: by default before nginx 1.29.7, or because it is written.

Not flagged are passes that say `Connection: close` or `Connection: upgrade`, those that say `Connection: keep-alive`,
for which HTTP/1.0 connections are kept as well, and health checks. A written 1.0 is only changed with `--unsafe-fixes`:
the upstream may need it. So it is where `proxy_request_buffering` is off: over HTTP/1.1 the upstream gets chunked
bodies.

## Why it matters
A server ends an HTTP/1.0 connection with its answer, so the pool stays empty. Counted on nginx 1.22.1 with a pool and a
cleared `Connection` header: 20 requests open 20 connections over HTTP/1.0 and 1 over HTTP/1.1.

## Bad
```nginx http 1.22.1
upstream app {
    server 10.0.0.1:8080;
    keepalive 32;
}
server {
    location / {
        proxy_pass http://app;
        proxy_set_header Connection "";
    }
}
```

## Good
```nginx http 1.22.1
upstream app {
    server 10.0.0.1:8080;
    keepalive 32;
}
server {
    location / {
        proxy_pass http://app;
        proxy_http_version 1.1;
        proxy_set_header Connection "";
    }
}
```

## Silent
HTTP/1.0 connections are kept if the upstream is asked to:
```nginx http 1.22.1
upstream app {
    server 10.0.0.1:8080;
    keepalive 32;
}
server {
    location / {
        proxy_pass http://app;
        proxy_set_header Connection "Keep-Alive";
    }
}
```
From 1.29.7 on 1.1 is the default:
```nginx http 1.29.7
upstream app {
    server 10.0.0.1:8080;
    keepalive 32;
}
server {
    location / {
        proxy_pass http://app;
    }
}
```

## When to ignore it
Where the upstream does not speak HTTP/1.1 as it should: some servers answer with a body in chunks that they do not
mark, which nginx then refuses with 502.

## References
- https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_http_version
- https://nginx.org/en/docs/http/ngx_http_upstream_module.html#keepalive
- https://github.com/nginx/nginx/issues/1228
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.diagnostic import Finding, Fix, Safety, Severity
from nginxopt.headers import NOT_IN_IF, takes_directives
from nginxopt.layout import after, replace
from nginxopt.model import Model
from nginxopt.pools import Connection, connection, is_check, pools
from nginxopt.rule import rule
from nginxopt.upstreams import Pass

_OTHERWISE = (Connection.CLOSE, Connection.UPGRADE, Connection.KEEP_ALIVE, Connection.UNKNOWN)


@rule(severity=Severity.WARNING, category="proxy", fix=(Safety.SAFE, Safety.UNSAFE), scenario="keepalive")
def check(model: Model) -> Iterator[Finding]:
    """Find passes that leave a pool unused because they speak HTTP/1.0."""
    pooled = pools(model)
    for one in model.passes:
        if one.protocol != "proxy" or one.upstream not in pooled or one.setting("http_version").value != "1.0":
            continue
        if connection(model, one) not in _OTHERWISE and not is_check(one):
            yield _finding(one)


def _finding(one: Pass) -> Finding:
    written = one.setting("http_version").directive
    place = written.args[0] if written else one.directive.name
    fix = _fix(one)
    return Finding(
        (written or one.directive).source,
        place.span,
        f'HTTP/1.0 to upstream "{one.host}": no connection is kept, every request opens one',
        fix,
        "" if fix else NOT_IN_IF,
    )


def _fix(one: Pass) -> Fix | None:
    written = one.setting("http_version").directive
    if written:
        return Fix("set proxy_http_version to 1.1", (replace(written, written.args[0], "1.1"),), Safety.UNSAFE)
    if not takes_directives(one):
        return None
    streams = one.setting("request_buffering").value != "on"
    safety = Safety.UNSAFE if streams else Safety.SAFE
    return Fix("add `proxy_http_version 1.1;`", (after(one.directive, ["proxy_http_version 1.1;"]),), safety)
