"""Cached responses are first written elsewhere, and copied if that is another file system

Flags a `proxy_cache_path` (`fastcgi_`, `uwsgi_`, `scgi_`) without `use_temp_path=off`, unless `proxy_temp_path` is set
to a directory next to it or inside it.

Off by default: the configuration does not show file systems, and usually both are on the same one.

## Why it matters
nginx writes a response to `proxy_temp_path` and then renames the file into the cache. It cannot rename across file
systems: if the two are on different ones, the worker copies the file and serves nobody else until it is done.

## Bad
```nginx http
proxy_cache_path /data/cache levels=1:2 keys_zone=pages:10m max_size=2g;
```

## Good
```nginx http
proxy_cache_path /data/cache levels=1:2 keys_zone=pages:10m max_size=2g use_temp_path=off;
```

## Silent
Both are in the same directory:
```nginx http
proxy_temp_path /data/temp;
proxy_cache_path /data/cache keys_zone=pages:10m max_size=2g;
```

## Fix safety
May change: responses, files, limits.

nginx then receives each response to be cached in the file system of the cache, where `max_size` does not count it until
it is complete. Seen on nginx 1.22.1 and 1.31.3 with a cache on a tmpfs of 8 MB: a response of 20 MB arrives complete,
though it is not cached, if nginx receives it elsewhere, and truncated if nginx receives it in the cache. So the fix
needs the premise `fast-disk`.

## When to ignore it
If both are on the same file system anyway; then nothing changes.

## References
- https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_cache_path
- ngx_ext_rename_file in ngx_file.c (the copy, at `EXDEV`)
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath

from nginxopt.config import Change, Directive, Edit, Span
from nginxopt.lint import FAST_DISK, Finding, Fix, Model, Safety, Severity, rule

PROTOCOLS = ("proxy", "fastcgi", "uwsgi", "scgi")
OFF = "use_temp_path=off"


@rule(severity=Severity.INFO, category="cache", fix=Safety.under(FAST_DISK), since="1.7.10", default=False)
def check(model: Model) -> Iterator[Finding]:
    """Find caches to which responses may be copied from another file system."""
    for protocol in PROTOCOLS:
        temporary = [directive for directive, _ in model.each(f"{protocol}_temp_path") if directive.args]
        for directive, level in model.each(f"{protocol}_cache_path"):
            if not temporary and not level.setting(f"{protocol}_temp_path").known:
                continue
            stated = any(word.startswith("use_temp_path=") for word in directive.args)
            near = bool(temporary) and all(_is_near(other, directive) for other in temporary)
            if directive.args and not stated and not near:
                end = directive.args[-1].span.end
                change = Change(directive.source, Edit(Span(end, end), f" {OFF}".encode()))
                message = (
                    f"responses are written to {protocol}_temp_path first, and copied if that is another file system"
                )
                yield Finding(
                    directive.source,
                    directive.name.span,
                    message,
                    Fix(f"add `{OFF}`", (change,), Safety.under(FAST_DISK)),
                )


def _is_near(temporary: Directive, cache: Directive) -> bool:
    """Return whether one path is in the other, or both are in one directory."""
    temporary_path, cache_path = PurePosixPath(temporary.args[0]), PurePosixPath(cache.args[0])
    return (
        temporary_path.parent == cache_path.parent
        or temporary_path.is_relative_to(cache_path)
        or cache_path.is_relative_to(temporary_path)
    )
