"""Cache without `max_size`: it may fill the disk

Flags a `proxy_cache_path` (`fastcgi_`, `uwsgi_`, `scgi_`) with neither `max_size` nor `min_free`. The severity is info
if only a file that was not read may use the zone. Does not flag a zone that nothing uses, and one with room for fewer
than 1,000 files.

## Why it matters
Without a limit, nginx removes only what nobody requested during `inactive`, 10 minutes by default, and the least
recently used file when the zone has no room for another key. A zone holds about 8,000 keys per megabyte, so 10m is a
limit of some 80,000 files, whatever their size. The responses to a crawler or an attacker that varies the arguments all
stay that long. On a full disk, nginx no longer caches responses, and truncates large ones, which it buffers there.

## Bad
```nginx http
proxy_cache_path /var/cache/nginx levels=1:2 keys_zone=pages:10m inactive=1d;
server {
    location / {
        proxy_pass http://10.0.0.1:8080;
        proxy_cache pages;
    }
}
```

## Good
```nginx http
proxy_cache_path /var/cache/nginx levels=1:2 keys_zone=pages:10m inactive=1d max_size=2g;
server {
    location / {
        proxy_pass http://10.0.0.1:8080;
        proxy_cache pages;
    }
}
```

## Silent
nginx 1.19.1 and later have another limit:
```nginx http
proxy_cache_path /var/cache/nginx keys_zone=pages:10m min_free=5g;
server {
    location / {
        proxy_pass http://10.0.0.1:8080;
        proxy_cache pages;
    }
}
```
A zone of 64k has room for some 500 files, and nothing is stored for a zone that nothing uses:
```nginx http
proxy_cache_path /var/cache/small keys_zone=small:64k;
proxy_cache_path /var/cache/spare keys_zone=spare:10m;
server {
    location / {
        proxy_pass http://10.0.0.1:8080;
        proxy_cache small;
    }
}
```

## When to ignore it
If the cache has its own file system, which may be full.

## References
- https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_cache_path
- ngx_http_file_cache_manager and ngx_http_file_cache_forced_expire in ngx_http_file_cache.c
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import Directive
from nginxopt.lint import Finding, Model, Severity, rule
from nginxopt.lint.queries import whole
from nginxopt.semantics import values

PROTOCOLS = ("proxy", "fastcgi", "uwsgi", "scgi")
HELP = "add `max_size=` with some room below the free disk space"
FILES_PER_MEGABYTE = 8_000
"""The keys that a megabyte of a zone holds (nginx.org, proxy_cache_path)."""
FEW_FILES = 1_000


@rule(
    severity=Severity.INFO,
    highest=Severity.WARNING,
    category="cache",
    about=tuple(f"{protocol}_cache_path" for protocol in PROTOCOLS),
)
def check(model: Model) -> Iterator[Finding]:
    """Find caches without a size limit."""
    for protocol in PROTOCOLS:
        for directive, _ in model.each(f"{protocol}_cache_path"):
            if not any(word.startswith(("max_size=", "min_free=")) for word in directive.args):
                yield from _unbounded(model, protocol, directive)


def _unbounded(model: Model, protocol: str, directive: Directive) -> Iterator[Finding]:
    name, _, written = _parameter(directive, "keys_zone").partition(":")
    size = values.size(written)
    is_used = _is_used(model, protocol, name)
    if not name or size is None or not (is_used or not whole.is_known(model)):
        return
    files = size * FILES_PER_MEGABYTE >> 20
    if files >= FEW_FILES:
        inactive = _parameter(directive, "inactive") or "10m, the default"
        message = f"no max_size: the cache may hold {_about(files)} files of any size, each until unused for {inactive}"
        severity = Severity.WARNING if is_used else Severity.INFO
        yield Finding(directive.source, directive.name.span, message, help=HELP, severity=severity)


def _parameter(directive: Directive, name: str) -> str:
    words = (word.partition("=") for word in directive.args)
    return next((value for key, _, value in words if key == name), "")


def _is_used(model: Model, protocol: str, zone: str) -> bool:
    """Return whether a part that was read uses a cache."""
    named = [directive.args[0] for directive, _ in model.each(f"{protocol}_cache") if directive.args]
    return zone in named or any("$" in word for word in named)


def _about(files: int) -> str:
    """Return a number of files, with one digit."""
    unit = 10 ** (len(str(files)) - 1)
    return f"{files // unit * unit:,}"
