"""Cache without `max_size`: it grows until the disk is full

Flags a `proxy_cache_path` (`fastcgi_`, `uwsgi_`, `scgi_`) with neither `max_size` nor `min_free`.

## Why it matters
Without a limit, nginx removes only what nobody requested during `inactive`, 10 minutes by default. Everything that a
crawler or an attacker requests with ever new arguments stays that long. On a full disk, responses are no longer cached,
and large ones, which nginx buffers there, are cut off.

## Bad
```nginx http
proxy_cache_path /var/cache/nginx levels=1:2 keys_zone=pages:10m inactive=1d;
```

## Good
```nginx http
proxy_cache_path /var/cache/nginx levels=1:2 keys_zone=pages:10m inactive=1d max_size=2g;
```

## Silent
nginx 1.19.1 and later have another limit:
```nginx http
proxy_cache_path /var/cache/nginx keys_zone=pages:10m min_free=5g;
```

## When to ignore it
If the cache has its own file system, which may be full.

## References
- https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_cache_path
- ngx_http_file_cache_manager in ngx_http_file_cache.c
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.lint import Finding, Model, Severity, rule

PATHS = ("proxy_cache_path", "fastcgi_cache_path", "uwsgi_cache_path", "scgi_cache_path")
HELP = "add `max_size=` with some room below the free disk space"


@rule(severity=Severity.WARNING, category="cache")
def check(model: Model) -> Iterator[Finding]:
    """Find caches without a size limit."""
    for directive, _ in model.each(*PATHS):
        if directive.args and not any(word.startswith(("max_size=", "min_free=")) for word in directive.args):
            message = f"the cache in {directive.args[0]} has no max_size: it grows until the disk is full"
            yield Finding(directive.source, directive.name.span, message, help=HELP)
