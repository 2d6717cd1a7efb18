"""`fastcgi_pass` to a keepalive pool without `fastcgi_keep_conn on`: the pool stays empty

Flags a `fastcgi_pass` to an upstream with an explicit `keepalive`, if `fastcgi_keep_conn` is off, its default.

## Why it matters
Without `fastcgi_keep_conn`, nginx asks the FastCGI server to close the connection after the response. Counted on nginx
1.22.1 with a pool: 20 requests open 20 connections, and 1 with `fastcgi_keep_conn on`.

## Bad
```nginx http
upstream php {
    server 10.0.0.1:9000;
    keepalive 8;
}
server {
    location / {
        fastcgi_pass php;
    }
}
```

## Good
```nginx http
upstream php {
    server 10.0.0.1:9000;
    keepalive 8;
}
server {
    location / {
        fastcgi_pass php;
        fastcgi_keep_conn on;
    }
}
```

## Silent
There is no explicit pool; a new connection to a local PHP-FPM costs next to nothing:
```nginx http
upstream php {
    server unix:/run/php-fpm.sock;
}
server {
    location / {
        fastcgi_pass php;
    }
}
```

## Fix safety
May change: connections.

Safe if `idle-connections` holds: a PHP-FPM child serves one connection at a time, and an idle connection makes it
unavailable to all others, so `pm.max_children` must be greater than `keepalive` times `worker_processes`.

There is no fix if passes to the upstream differ, or may differ, in TLS, protocol or local address, as the pool would
mix their connections, or if all pools together may hold more than a quarter of a worker's connections.

To check the premise for each server of the upstream:

    nginxopt probe http://10.0.0.1:8080/            # HTTP/1.1 as 1.0, keep-alive, idle time, serial servers
    curl -sI http://10.0.0.1:8080/ | grep -i ^www   # NTLM or Negotiate: the server authenticates connections
    pm.max_children, threads, workers of the server # more than keepalive x worker_processes x nginx machines
    keep-alive timeout of the server               # longer than keepalive_timeout of the upstream, 60s by default

## When to ignore it
If the upstream servers cannot hold idle connections; then delete `keepalive`.

## References
- https://nginx.org/en/docs/http/ngx_http_fastcgi_module.html#fastcgi_keep_conn
- https://nginx.org/en/docs/http/ngx_http_upstream_module.html#keepalive
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import Change, layout
from nginxopt.lint import Finding, Fix, Model, Saving, Severity, rule
from nginxopt.lint.queries import capacity, headers, pooling, sharing
from nginxopt.semantics import Pass

ON = "fastcgi_keep_conn on;"


CHILDREN = (
    "each idle connection occupies a child of PHP-FPM: keepalive x worker_processes must be below pm.max_children"
)


@rule(
    severity=Severity.WARNING,
    category="proxy",
    fix=pooling.POOLED,
    since="1.1.4",
    scenario="keepalive",
    about=("fastcgi_pass",),
)
def check(model: Model) -> Iterator[Finding]:
    """Find FastCGI pools that stay empty."""
    mixed = sharing.obstacles(model)
    for pass_ in model.passes:
        pooled = pass_.upstream is not None and pass_.upstream.keepalive.value not in (None, "0")
        if pass_.protocol == "fastcgi" and pooled and pass_.setting("keep_conn").value == "off":
            why_not = _why_not(model, pass_, mixed)
            yield Finding(
                pass_.directive.source,
                pass_.directive.name.span,
                f'fastcgi_keep_conn is off: the keepalive connections of upstream "{pass_.host}" are not used',
                None if why_not else Fix(f"add `{ON}`", (_change(pass_),), pooling.POOLED),
                why_not or CHILDREN,
                saves=Saving(connections=1),
            )


def _why_not(model: Model, pass_: Pass, mixed: sharing.Obstacles) -> str:
    """Return why the line cannot be added for this pass alone; empty if it can."""
    if not headers.takes_directives(pass_):
        return f"`{ON}` is not allowed in this block: add it to the location"
    if any(headers.heirs(model, pass_, "keep_conn")):
        return f"a nested location would inherit `{ON}`: move it to a separate location"
    return (
        mixed.of(pass_.upstream) or pooling.peculiar(pass_.upstream) if pass_.upstream else ""
    ) or capacity.overflow(model)


def _change(pass_: Pass) -> Change:
    written = pass_.setting("keep_conn")
    if written.directive and written.level is pass_.level:
        return layout.replace(written.directive, written.directive.args[0], "on")
    return layout.after(pass_.directive, [ON])
