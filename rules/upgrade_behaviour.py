"""nginx 1.29.7 changes requests to upstreams: the effects on this configuration

Reports once, for nginx 1.29.7 and later, how many passes rely on a default that this version changed. The rule is off
by default: select it while you upgrade.

## Why it matters
nginx 1.29.7 (stable: 1.30.0) passes requests on over HTTP/1.1 instead of 1.0, sends no `Connection: close`, and keeps
32 connections for each worker and `upstream` block. Most upstreams are faster with it. A server with a faulty HTTP/1.1
implementation caused no trouble before, and causes a 502 now; one that serves one connection at a time, such as a
simple worker process, waits for idle ones; and a server that closes idle connections early makes requests fail that
nginx sends on them at that moment.

## Bad
```nginx http 1.29.7
upstream app {
    server 10.0.0.1:8080;
}
server {
    location / {
        proxy_pass http://app;
    }
    location /old/ {
        proxy_pass http://10.0.0.2;
    }
}
```

## Good
```nginx http 1.29.7
upstream app {
    server 10.0.0.1:8080;
    keepalive 32;
}
server {
    proxy_http_version 1.1;
    proxy_set_header Connection "";
    location / {
        proxy_pass http://app;
    }
}
```

## Silent
An earlier nginx:
```nginx http 1.29.6
server {
    location / {
        proxy_pass http://10.0.0.1;
    }
}
```

## When to ignore it
After the upgrade, or if the upstreams are known to keep HTTP/1.1 connections reliably.

## References
- CHANGES 1.29.7, https://nginx.org/en/CHANGES
- https://github.com/nginx/nginx/issues/1228
- https://github.com/nginx/nginx/issues/1436
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.lint import Finding, Model, Related, Severity, count, rule
from nginxopt.lint.queries import pools
from nginxopt.semantics import Pass

OLD = "proxy_http_version 1.0; proxy_set_header Connection close;"


@rule(severity=Severity.INFO, category="proxy", since="1.29.7", default=False)
def check(model: Model) -> Iterator[Finding]:
    """Find passes that rely on defaults that nginx 1.29.7 changed."""
    changes = [(pass_, change) for pass_ in model.passes if (change := _change(model, pass_))]
    new_pools = [up for up, _ in pools.users(model).items() if up.keepalive.is_unset]
    if not changes:
        return
    first, _ = changes[0]
    kept = f", with keepalive connections to {count(len(new_pools), 'upstream')}" if new_pools else ""
    yield Finding(
        first.directive.source,
        first.directive.name.span,
        f"nginx 1.29.7 and later change requests to upstreams in {count(len(changes), 'place')}{kept}",
        help=f"for the old behavior: {OLD} `keepalive 0;` keeps no connections",
        related=tuple(Related(pass_.directive.source, pass_.directive.name.span, change) for pass_, change in changes),
    )


def _change(model: Model, pass_: Pass) -> str:
    """Return what changes for a pass; empty if it sets everything explicitly."""
    if pass_.protocol != "proxy":
        return ""
    changes = []
    if pass_.setting("http_version").is_unset:
        changes.append("HTTP/1.1 instead of 1.0")
    if pools.connection(model, pass_) is pools.Connection.DEFAULT:
        changes.append("no Connection: close")
    if pass_.upstream and pass_.upstream.keepalive.is_unset:
        changes.append("keepalive connections")
    return ", ".join(changes)
