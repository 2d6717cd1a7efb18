"""Cache with buffering off: nothing is stored

Flags a `proxy_cache`, `fastcgi_cache`, `uwsgi_cache` or `scgi_cache` in force where `*_buffering` is off.

## Why it matters
nginx stores a response while it buffers it. Without buffering, every request goes to the upstream, and the cache
silently stays empty. Counted on nginx 1.22.1: 20 requests for a page that is valid for an hour reach the upstream 20
times, and once with buffering.

## Bad
```nginx http
proxy_cache_path cache keys_zone=pages:1m;
server {
    location / {
        proxy_pass http://10.0.0.1:8080;
        proxy_cache pages;
        proxy_buffering off;
    }
}
```

## Good
```nginx http
proxy_cache_path cache keys_zone=pages:1m;
server {
    location / {
        proxy_pass http://10.0.0.1:8080;
        proxy_cache pages;
        proxy_buffering on;
    }
}
```

## Silent
```nginx http
proxy_cache_path cache keys_zone=pages:1m;
server {
    proxy_cache pages;
    location /events {
        proxy_pass http://10.0.0.1:8080;
        proxy_cache off;
        proxy_buffering off;
    }
}
```

## Fix safety
May change: responses, upstream requests, files.

nginx stores what it never stored before: clients get responses from the cache, and streams arrive only as buffers fill.
There is no fix if a block within the location inherits `proxy_buffering off`, passes requests on and may need it.

## When to ignore it
If the upstream itself enables buffering, with `X-Accel-Buffering: yes`, for responses to be stored.

## References
- https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_buffering
- nginx 1.22.1, ngx_http_upstream_send_response: an answer that is not buffered is passed on before the cache is asked
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import Change, layout
from nginxopt.lint import Finding, Fix, Model, Safety, Severity, headers, rule
from nginxopt.semantics import Pass

CACHING = ("proxy", "fastcgi", "uwsgi", "scgi")


@rule(severity=Severity.ERROR, category="cache", fix=Safety.UNSAFE, scenario="cache")
def check(model: Model) -> Iterator[Finding]:
    """Find caches that cannot store anything."""
    for pass_ in model.passes:
        cache, buffering = pass_.setting("cache"), pass_.setting("buffering")
        if pass_.protocol not in CACHING or not cache.directive or cache.value == "off" or buffering.value != "off":
            continue
        change = _change(model, pass_)
        yield Finding(
            cache.directive.source,
            cache.directive.args[0].span,
            f"{pass_.protocol}_buffering is off, so the cache {cache.value} stores nothing",
            Fix(f"turn {pass_.protocol}_buffering on", (change,), Safety.UNSAFE) if change else None,
            "" if change else f"turn {pass_.protocol}_buffering on in the location, or remove the cache",
        )


def _change(model: Model, pass_: Pass) -> Change | None:
    """Return the change; None if a pass in a nested block would inherit it."""
    if any(headers.heirs(model, pass_, "buffering")):
        return None
    buffering = pass_.setting("buffering")
    if buffering.directive and buffering.level is pass_.level:
        return layout.replace(buffering.directive, buffering.directive.args[0], "on")
    return (
        layout.after(pass_.directive, [f"{pass_.protocol}_buffering on;"]) if headers.takes_directives(pass_) else None
    )
