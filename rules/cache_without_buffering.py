"""Cache with buffering off: nothing is stored

Flags a `proxy_cache`, `fastcgi_cache`, `uwsgi_cache` or `scgi_cache` in effect where `*_buffering` is off.

A location that turns buffering off and inherits the cache, or that passes WebSockets or long streams, needs its
responses at once: there, the fix sets `proxy_cache off`. Elsewhere, it turns buffering on.

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

```nginx http
proxy_cache_path cache keys_zone=pages:1m;
server {
    proxy_cache pages;
    location /events {
        proxy_pass http://10.0.0.1:8080;
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

With buffering, nginx stores what it never stored before: clients get responses from the cache, and streams arrive only
as buffers fill. Without the cache, a response that another location stored is no longer served here. There is no fix if
a block within the location would inherit it and passes requests on.

## When to ignore it
If the upstream itself enables buffering, with `X-Accel-Buffering: yes`, for responses to be stored.

## References
- https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_buffering
- nginx 1.22.1, ngx_http_upstream_send_response: a response that is not buffered is passed on before the cache is
  involved
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from nginxopt.config import layout
from nginxopt.lint import Finding, Fix, Model, Safety, Severity, pattern, rule
from nginxopt.lint.queries import headers, pools
from nginxopt.semantics import Pass

_STREAM = pattern(r"stream|events?\b|\bsse\b|socket|\bws\b|live|poll", re.IGNORECASE)
CACHING = ("proxy", "fastcgi", "uwsgi", "scgi")


@rule(
    severity=Severity.ERROR,
    category="cache",
    fix=Safety.UNSAFE,
    scenario="cache",
    about=tuple(f"{protocol}_cache" for protocol in CACHING),
)
def check(model: Model) -> Iterator[Finding]:
    """Find caches that cannot store anything."""
    for pass_ in model.passes:
        cache, buffering = pass_.setting("cache"), pass_.setting("buffering")
        if pass_.protocol not in CACHING or not cache.directive or cache.value == "off" or buffering.value != "off":
            continue
        fix = _fix(model, pass_)
        yield Finding(
            cache.directive.source,
            cache.directive.args[0].span,
            f"{pass_.protocol}_buffering is off, so the cache {cache.value} stores nothing",
            fix,
            "" if fix else f"turn {pass_.protocol}_cache off if responses are streams, otherwise turn buffering on",
        )


def _fix(model: Model, pass_: Pass) -> Fix | None:
    """Return the fix; None if a pass in a nested block would inherit it."""
    name, value = ("cache", "off") if _streams(pass_) else ("buffering", "on")
    if any(headers.heirs(model, pass_, name)):
        return None
    directive, title = f"{pass_.protocol}_{name}", f"turn {pass_.protocol}_{name} {value}"
    setting = pass_.setting(name)
    if setting.directive and setting.level is pass_.level:
        change = layout.replace(setting.directive, setting.directive.args[0], value)
    elif headers.takes_directives(pass_):
        change = layout.after(pass_.directive, [f"{directive} {value};"])
    else:
        return None
    return Fix(title, (change,), Safety.UNSAFE)


def _streams(pass_: Pass) -> bool:
    """Return whether a location wants its responses at once: it turned buffering off, or looks like a stream."""
    is_own = pass_.setting("buffering").level is pass_.level
    inherits_cache = pass_.setting("cache").level is not pass_.level
    upgrades = bool(pools.header_directives(pass_, "upgrade"))
    return (is_own and inherits_cache) or upgrades or any(_STREAM.search(word) for word in pass_.level.args)
