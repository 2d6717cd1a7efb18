"""No cache lock: simultaneous requests for an uncached page all go to the upstream

Flags a `proxy_cache` (`fastcgi_`, `uwsgi_`, `scgi_`) where requests are passed on without `proxy_cache_lock`, or
without `updating` in `proxy_cache_use_stale`.

## Why it matters
Until the first response is complete, every request for the same resource goes to the upstream: 20 simultaneous requests
reached it 20 times, and once with the lock (counted on nginx 1.22.1). The lock applies to resources that were never
cached; for expired ones, `updating` lets one request fetch the new response while the others get the old one.

## Bad
```nginx http
proxy_cache_path /var/cache/nginx keys_zone=pages:10m max_size=2g;
server {
    location / {
        proxy_pass http://127.0.0.1:8080;
        proxy_cache pages;
    }
}
```

## Good
```nginx http
proxy_cache_path /var/cache/nginx keys_zone=pages:10m max_size=2g;
server {
    location / {
        proxy_pass http://127.0.0.1:8080;
        proxy_cache pages;
        proxy_cache_lock on;
        proxy_cache_use_stale updating;
        proxy_cache_background_update on;
    }
}
```

## Silent
Both are set explicitly:
```nginx http
proxy_cache_path /var/cache/nginx keys_zone=pages:10m max_size=2g;
server {
    location / {
        proxy_pass http://127.0.0.1:8080;
        proxy_cache pages;
        proxy_cache_lock off;
        proxy_cache_use_stale off;
    }
}
```

## Fix safety
May change: responses, upstream requests.

Requests for the same resource wait for the first one, clients get an expired response while nginx fetches a new one,
and the upstream gets fewer requests.

## When to ignore it
If most responses turn out not to be cacheable: requests for the same one then wait for each other, each up to five
seconds (`proxy_cache_lock_timeout`). Or if an old response is worse than a slow one.

## References
- https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_cache_lock
- ngx_http_file_cache_lock and ngx_http_file_cache_read in ngx_http_file_cache.c; CHANGES 1.11.10 (background update)
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import Change, Directive, Edit, Span, layout
from nginxopt.lint import Finding, Fix, Model, Safety, Severity, Version, rule
from nginxopt.semantics import Pass, Setting, values

CACHED = ("proxy", "fastcgi", "uwsgi", "scgi")
BACKGROUND = Version(1, 11, 10)


@rule(
    severity=Severity.INFO,
    category="cache",
    fix=Safety.UNSAFE,
    since="1.1.12",
    scenario="cache",
    about=tuple(f"{protocol}_cache" for protocol in CACHED),
)
def check(model: Model) -> Iterator[Finding]:
    """Find caches that let simultaneous requests through until they are filled."""
    for pass_ in model.passes:
        cache = pass_.setting("cache") if pass_.protocol in CACHED else None
        if cache is None or cache.directive is None or cache.value == "off":
            continue
        if finding := _judged(pass_, cache.directive, model.target):
            yield finding


def _judged(pass_: Pass, cache: Directive, target: Version) -> Finding | None:
    lock, stale = pass_.setting("cache_lock"), pass_.setting("cache_use_stale")
    if lock.is_unset:
        message = "no cache lock: all simultaneous requests for a new page go to the upstream"
    elif lock.known and values.flag(lock.value or "") and _lacks_updating(stale):
        name = f"{pass_.protocol}_cache_use_stale"
        message = f"no updating in {name}: all simultaneous requests for an expired page go to the upstream"
    else:
        return None
    changes = _changes(pass_, cache, target)
    fix = Fix("let one request fetch the page", changes, Safety.UNSAFE)
    return Finding(cache.source, cache.name.span, message, fix)


def _lacks_updating(stale: Setting) -> bool:
    """Return whether stale responses are not served during an update, without an explicit decision."""
    words = {word for directive in stale.directives for word in directive.args}
    return stale.known and words.isdisjoint({"updating", "off"})


def _changes(pass_: Pass, cache: Directive, target: Version) -> tuple[Change, ...]:
    lines, changes = [], []
    stale = pass_.setting("cache_use_stale")
    if pass_.setting("cache_lock").is_unset:
        lines.append(f"{pass_.protocol}_cache_lock on;")
    if _lacks_updating(stale) and stale.directive:
        end = stale.directive.args[-1].span.end
        changes.append(Change(stale.directive.source, Edit(Span(end, end), b" updating")))
    elif stale.is_unset:
        lines.append(f"{pass_.protocol}_cache_use_stale updating;")
    if _lacks_updating(stale) and target >= BACKGROUND and pass_.setting("cache_background_update").is_unset:
        lines.append(f"{pass_.protocol}_cache_background_update on;")
    if lines:
        changes.append(layout.after(cache, lines))
    return tuple(changes)
