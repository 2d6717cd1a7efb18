"""HTTP/1.0 to an upstream with a pool: connections are not reused

Flags a `proxy_pass` over HTTP/1.0 to an upstream that keeps connections. HTTP/1.0 is the default before nginx 1.29.7,
or set by `proxy_http_version`. An upstream without a pool is reported by `upstream-keepalive-missing`, with this fix.

Does not flag passes that send `Connection: close` or `Connection: upgrade`, and checks (`/health`, `/metrics`). Nor
does it flag passes that send `Connection: keep-alive`: most servers then keep the connection open and answer in
HTTP/1.1, and nginx keeps it as well, though not after an answer in HTTP/1.0. An explicit 1.0 is changed only with
`--unsafe-fixes`, as the upstream may need it; so is a pass with `proxy_request_buffering off`, as the upstream gets
chunked bodies over HTTP/1.1. The fix includes the other two lines that a pool needs.

## Why it matters
A server closes an HTTP/1.0 connection after its response, so the pool stays empty. Counted on nginx 1.22.1 with a pool
and a cleared `Connection` header: 20 requests open 20 connections over HTTP/1.0 and 1 over HTTP/1.1.

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
HTTP/1.0 connections stay open if nginx asks for it and the upstream answers in HTTP/1.1:
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
HTTP/1.1 is the default starting with 1.29.7:
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

## Fix safety
May change: upstream requests, connections.

The fix is the one of `upstream-keepalive-missing`: the pool, HTTP/1.1 and an empty `Connection` header, or nothing. It
needs the premises `http11-backends` and `idle-connections`, and `whole-configuration` if a part of the configuration
could not be read. That page explains how to check them, and when there is no fix.

## When to ignore it
If the upstream does not implement HTTP/1.1 correctly: some servers respond with a chunked body that they do not mark as
such, which nginx then refuses with 502.

## References
- https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_http_version
- https://nginx.org/en/docs/http/ngx_http_upstream_module.html#keepalive
- https://github.com/nginx/nginx/issues/1228
- ngx_http_proxy_process_status_line in ngx_http_proxy_module.c (answers in HTTP/1.0)
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.lint import Finding, Fix, Model, Safety, Saving, Severity, rule
from nginxopt.lint.queries import headers, pooling, pools
from nginxopt.semantics import Pass

_OTHERWISE = (pools.Connection.CLOSE, pools.Connection.UPGRADE, pools.Connection.KEEP_ALIVE, pools.Connection.UNKNOWN)


@rule(severity=Severity.WARNING, category="proxy", fix=(pooling.KEPT, Safety.UNSAFE), scenario="keepalive")
def check(model: Model) -> Iterator[Finding]:
    """Find passes that leave a pool unused because they use HTTP/1.0."""
    pooled, offered = pools.stated(model), pooling.offers(model)
    for pass_ in model.passes:
        if pass_.protocol != "proxy" or pass_.upstream not in pooled or pass_.setting("http_version").value != "1.0":
            continue
        if pools.connection(model, pass_) not in _OTHERWISE and not pools.is_check(pass_):
            yield _finding(pass_, _offer(model, pass_, offered[pass_.upstream]))


def _finding(pass_: Pass, offer: pooling.Offer) -> Finding:
    written = pass_.setting("http_version").directive
    place = written.args[0] if written else pass_.directive.name
    return Finding(
        (written or pass_.directive).source,
        place.span,
        f'HTTP/1.0 to upstream "{pass_.host}": every request opens a new connection',
        offer.fix,
        offer.why_not,
        saves=Saving(connections=1),
        cause="",
    )


def _offer(model: Model, pass_: Pass, offer: pooling.Offer) -> pooling.Offer:
    return offer if offer.why_not or pooling.may_keep(model, pass_) else _on_request(model, pass_)


def _on_request(model: Model, pass_: Pass) -> pooling.Offer:
    """Return the fix for a pass that may need HTTP/1.0: it is explicit, or bodies are streamed."""
    changes = headers.with_version(model, pass_)
    if changes is None:
        return pooling.Offer(None, headers.why_not(model, pass_, "http_version"))
    return pooling.Offer(Fix("use HTTP/1.1", changes, Safety.UNSAFE))
