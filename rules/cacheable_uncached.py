"""Static files from an upstream without a cache: every request fetches them again

Flags locations for files that seldom change, such as `~* \\.(css|js|png)$` or `/static/`, that proxy requests over HTTP
without a cache. Does not flag locations that authenticate clients, disable buffering, or set `proxy_cache off`, nor
those that let browsers keep the files, with `expires` or `Cache-Control`.

## Why it matters
The upstream sends the same bytes for each client. With a cache, nginx sends them as a file from disk, and the upstream
has more time for requests that only it can answer.

## Bad
```nginx http
server {
    location /static/ {
        proxy_pass http://127.0.0.1:8080;
    }
}
```

## Good
```nginx http
proxy_cache_path /var/cache/nginx keys_zone=files:10m max_size=1g;
server {
    location /static/ {
        proxy_pass http://127.0.0.1:8080;
        proxy_cache files;
        proxy_cache_valid 200 10m;
    }
}
```

## Silent
These may differ from client to client:
```nginx http
server {
    location / {
        proxy_pass http://127.0.0.1:8080;
    }
    location /assets/ {
        auth_basic closed;
        auth_basic_user_file users;
        proxy_pass http://127.0.0.1:8080;
    }
    location /static/ {
        expires 30d;
        proxy_pass http://127.0.0.1:8080;
    }
}
```

## When to ignore it
If the upstream is a file server next to nginx, or there is a cache in front of nginx.

## References
- https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_cache
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from nginxopt.lint import Finding, Model, Severity, pattern, rule
from nginxopt.lint.queries import purpose, static
from nginxopt.semantics import Level, Pass, values

HELP = (
    "if all clients of all hosts may see the same files, add a cache: `proxy_cache_path` in http, `proxy_cache` and "
    "`proxy_cache_valid` here"
)
KEY = "; also set `proxy_cache_key` with {}: the upstream gets it from the client, and the default key does not have it"
_CHOOSING = ("host", "x-forwarded-host", "x-forwarded-proto", "accept-encoding", "accept-language")
"""Request headers on which the response of an upstream may depend."""

_CACHES = pattern(r"varnish|squid", re.IGNORECASE)

WHO = ("auth_basic", "auth_request", "auth_jwt", "access_by_lua_block", "access_by_lua_file")


@rule(severity=Severity.INFO, category="cache", scenario="cache", about=("proxy_pass",))
def check(model: Model) -> Iterator[Finding]:
    """Find files that are proxied without a cache."""
    for pass_ in model.passes:
        level = pass_.level
        if (
            pass_.protocol == "proxy"
            and level.kind == "location"
            and level.source
            and static.is_for_files(level)
            and _may(pass_)
            and not purpose.says(pass_.directive, level, _CACHES)
        ):
            message = f"files at {level.args[-1]} are not cached: every request goes to the upstream"
            yield Finding(level.source, level.span, message, help=HELP + _in_key(pass_), cause="")


def _in_key(pass_: Pass) -> str:
    """Return advice on what to add to the cache key: all parts of the request, besides its URI, that are passed on.

    The usual key is `$scheme$proxy_host$request_uri` (`ngx_http_proxy_create_key`).
    """
    told = [
        f"{directive.args[1]}"
        for directive in pass_.setting("set_header").directives
        if len(directive.args) == 2 and directive.args[0].lower() in _CHOOSING and "$" in directive.args[1]
    ]
    return KEY.format(" and ".join(dict.fromkeys(told))) if told else ""


def _may(pass_: Pass) -> bool:
    """Return whether certainly nothing is cached yet, and nothing prevents it."""
    if not pass_.setting("cache").is_unset or not pass_.setting("store").is_unset:
        return False
    is_buffered = values.flag(pass_.setting("buffering").value or "") is True
    return is_buffered and not _asks_who(pass_.level) and not _is_kept(pass_.level)


def _is_kept(level: Level) -> bool:
    """Return whether browsers cache the files, so that each requests them once."""
    headers = [directive.args[0].lower() for directive in level.setting("add_header").directives if directive.args]
    return level.setting("expires").value not in (None, "off") or "cache-control" in headers


def _asks_who(level: Level) -> bool:
    """Return whether a response may depend on the client, or the request is a WebSocket."""
    settings = [level.setting(name) for name in WHO]
    headers = [
        directive.args[0].lower() for directive in level.setting("proxy_set_header").directives if directive.args
    ]
    return any(not setting.known or setting.value not in (None, "off") for setting in settings) or "upgrade" in headers
