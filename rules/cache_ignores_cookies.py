"""Cache that stores responses with cookies: visitors get the session of someone else

Flags caches whose `proxy_ignore_headers` (or that of FastCGI, uwsgi and SCGI) has Set-Cookie, where neither
`proxy_hide_header Set-Cookie` removes the cookie nor `proxy_no_cache` depends on it. The severity is info with another
`proxy_no_cache`, which may keep such responses out of the cache.

Does not flag a `proxy_no_cache` that depends on cookies of the client, or on a variable that the configuration defines,
such as the `$skip_cache` of WordPress: it keeps the pages of visitors with a session out.

## Why it matters
nginx does not store a response with Set-Cookie. With `proxy_ignore_headers Set-Cookie` it does, cookie included, and
sends both to everybody who asks for the page: all visitors share the session of the first one, who may be logged in.

## Bad
```nginx http
proxy_cache_path /var/cache/nginx keys_zone=pages:10m;
server {
    location / {
        proxy_cache pages;
        proxy_cache_valid 10m;
        proxy_ignore_headers Set-Cookie Cache-Control;
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
        proxy_cache_valid 10m;
        proxy_ignore_headers Set-Cookie Cache-Control;
        proxy_hide_header Set-Cookie;
        proxy_pass http://127.0.0.1:8080;
    }
}
```

## Silent
```nginx http
proxy_cache_path /var/cache/nginx keys_zone=pages:10m;
proxy_ignore_headers Set-Cookie;
server {
    location / {
        proxy_pass http://127.0.0.1:8080;
    }
    location /shop/ {
        proxy_cache pages;
        proxy_no_cache $upstream_http_set_cookie;
        proxy_pass http://127.0.0.1:8080;
    }
    location /blog/ {
        set $skip_cache 0;
        if ($http_cookie ~ wordpress_logged_in) {
            set $skip_cache 1;
        }
        proxy_cache pages;
        proxy_cache_bypass $skip_cache;
        proxy_no_cache $skip_cache;
        proxy_pass http://127.0.0.1:8080;
    }
}
```

## Fix safety
May change: responses.

Responses of this location have no cookies, also those that are not stored.

## When to ignore it
If the cookies say nothing about a visitor, such as the one a load balancer sets.

## References
- https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_ignore_headers
- https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_cache_valid
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import layout
from nginxopt.lint import Finding, Fix, Model, Safety, Severity, pattern, rule
from nginxopt.semantics import Pass, Setting

_CACHED = ("proxy", "fastcgi", "uwsgi", "scgi")
_COOKIE = "set-cookie"
_KEEPING = pattern(r"cookie|\$\{?(?!arg_|http_)\w")
"""Matches what depends on cookies, and what may: another variable than a header or argument of the client."""


@rule(
    severity=Severity.INFO,
    highest=Severity.WARNING,
    category="security",
    fix=Safety.UNSAFE,
    about=tuple(f"{protocol}_cache" for protocol in _CACHED),
)
def check(model: Model) -> Iterator[Finding]:
    """Find caches that share cookies."""
    for pass_ in model.passes:
        if pass_.protocol in _CACHED and _is_cached(pass_) and not _is_kept_out(pass_):
            yield from _finding(pass_)


def _is_cached(pass_: Pass) -> bool:
    cache = pass_.setting("cache")
    return cache.directive is not None and cache.value != "off"


def _is_kept_out(pass_: Pass) -> bool:
    """Return whether cookies may be removed, or keep a response out of the cache."""
    hidden, kept = pass_.setting("hide_header"), pass_.setting("no_cache")
    is_hidden = any(word == _COOKIE for word in _words(hidden))
    return is_hidden or any(map(_KEEPING.search, _words(kept))) or not (hidden.known and kept.known)


def _words(setting: Setting) -> Iterator[str]:
    return (word.lower() for directive in setting.directives for word in directive.args)


def _finding(pass_: Pass) -> Iterator[Finding]:
    line = f"{pass_.protocol}_hide_header Set-Cookie;"
    hidden = pass_.setting("hide_header")
    is_free = not hidden.directives or hidden.level is pass_.level
    fix = Fix(f"add `{line}`", (layout.before(pass_.directive, [line]),), Safety.UNSAFE) if is_free else None
    for directive in pass_.setting("ignore_headers").directives:
        for word in directive.args:
            if word.lower() == _COOKIE:
                yield Finding(
                    directive.source,
                    word.span,
                    "the cache stores cookies, and sends those of one visitor to all others",
                    fix,
                    "" if fix else f"add `{line}` beside the other {pass_.protocol}_hide_header",
                    severity=Severity.INFO if pass_.setting("no_cache").directives else Severity.WARNING,
                )
