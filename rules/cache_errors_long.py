"""`proxy_cache_valid any` for long: errors of the upstream are served from the cache

Flags `proxy_cache_valid any` of more than ten minutes, and that of FastCGI, uwsgi and SCGI, in levels with a cache.
Does not flag shorter times, and lists of statuses.

## Why it matters
`any` includes 500, 502 and 404: a page that fails once, while the upstream restarts, fails for everybody until the time
is over, though the upstream is well again. Without a status, `proxy_cache_valid 1h` is for 200, 301 and 302.

## Bad
```nginx http
proxy_cache_path /var/cache/nginx keys_zone=pages:10m;
server {
    location / {
        proxy_cache pages;
        proxy_cache_valid any 1h;
        proxy_pass http://127.0.0.1:8080;
    }
}
```

## Good
```nginx http
proxy_cache_path /var/cache/nginx keys_zone=pages:10m;
server {
    location / {
        proxy_cache pages;
        proxy_cache_valid 1h;
        proxy_pass http://127.0.0.1:8080;
    }
}
```

## Silent
```nginx http
proxy_cache_path /var/cache/nginx keys_zone=pages:10m;
server {
    location / {
        proxy_cache pages;
        proxy_cache_valid 200 1d;
        proxy_cache_valid any 1m;
        proxy_pass http://127.0.0.1:8080;
    }
}
```

## Fix safety
May change: responses, upstream requests.

Responses other than 200, 301 and 302 are no longer stored, unless the upstream says so.

## When to ignore it
If the upstream answers errors with `Cache-Control` or `X-Accel-Expires`, which precede this.

## References
- https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_cache_valid
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import Directive, layout
from nginxopt.lint import Finding, Fix, Model, Safety, Severity, count, rule
from nginxopt.semantics import values

_CACHED = ("proxy", "fastcgi", "uwsgi", "scgi")
_MOST = 600
"""Seconds."""
_UNITS = {"day": 86_400, "hour": 3_600, "minute": 60}


@rule(
    severity=Severity.INFO,
    category="cache",
    fix=Safety.UNSAFE,
    about=tuple(f"{protocol}_cache_valid" for protocol in _CACHED),
)
def check(model: Model) -> Iterator[Finding]:
    """Find errors that outlive their cause."""
    for pass_ in model.passes:
        if pass_.protocol not in _CACHED or pass_.setting("cache").value in (None, "off"):
            continue
        for directive in pass_.setting("cache_valid").directives:
            *statuses, time = directive.args or ("",)
            seconds = values.seconds(time)
            if "any" in statuses and seconds is not None and seconds > _MOST:
                yield _finding(directive, seconds)


def _finding(directive: Directive, seconds: int) -> Finding:
    word = next(word for word in directive.args if word == "any")
    fix = Fix("store 200, 301 and 302", layout.without(directive, [word]), Safety.UNSAFE)
    is_alone = len(directive.args) == 2
    return Finding(
        directive.source,
        word.span,
        f"errors of the upstream, such as 500, are served from the cache for {_lasting(seconds)}",
        fix if is_alone else None,
        "" if is_alone else "name the statuses, and store others for a minute at most",
    )


def _lasting(seconds: int) -> str:
    """Return a time in the largest unit that it has a whole number of, such as `2 hours`, or in minutes."""
    unit = next((unit for unit, length in _UNITS.items() if seconds % length == 0), "minute")
    return count(seconds // _UNITS[unit], unit)
