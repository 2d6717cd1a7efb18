"""`fastcgi_pass` to a pool without `fastcgi_keep_conn on`: the pool stays empty

Flagged is a `fastcgi_pass` to an upstream that states a `keepalive`, if `fastcgi_keep_conn` is off, its default.

The fix is made with `--unsafe-fixes` only: a PHP-FPM child serves one connection at a time, and an idle one keeps it
from all others. `pm.max_children` must be greater than `keepalive` times `worker_processes`.

## Why it matters
Without it nginx asks the FastCGI server to close the connection after the answer. Counted on nginx 1.22.1 with a pool:
20 requests open 20 connections, and 1 with `fastcgi_keep_conn on`.

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
No pool is stated; to a local PHP-FPM a new connection costs next to nothing:
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

## When to ignore it
Where the servers behind cannot hold idle connections; then delete `keepalive`.

## References
- https://nginx.org/en/docs/http/ngx_http_fastcgi_module.html#fastcgi_keep_conn
- https://nginx.org/en/docs/http/ngx_http_upstream_module.html#keepalive
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.diagnostic import Change, Finding, Fix, Safety, Severity
from nginxopt.headers import takes_directives
from nginxopt.layout import after, replace
from nginxopt.model import Model
from nginxopt.rule import rule
from nginxopt.upstreams import Pass

ON = "fastcgi_keep_conn on;"


@rule(severity=Severity.WARNING, category="proxy", fix=Safety.UNSAFE, since="1.1.4", scenario="keepalive")
def check(model: Model) -> Iterator[Finding]:
    """Find FastCGI pools that stay empty."""
    for one in model.passes:
        pooled = one.upstream is not None and one.upstream.keepalive.value not in (None, "0")
        if one.protocol == "fastcgi" and pooled and one.setting("keep_conn").value == "off":
            change = _change(one)
            yield Finding(
                one.directive.source,
                one.directive.name.span,
                f'fastcgi_keep_conn is off, so the keepalive connections of upstream "{one.host}" are not used',
                Fix(f"add `{ON}`", (change,), Safety.UNSAFE) if change else None,
                "" if change else f"`{ON}` may not stand in this block: put it into the location",
            )


def _change(one: Pass) -> Change | None:
    written = one.setting("keep_conn").directive
    if written:
        return replace(written, written.args[0], "on")
    return after(one.directive, [ON]) if takes_directives(one) else None
