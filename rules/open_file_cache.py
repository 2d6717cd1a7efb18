"""No `open_file_cache`: every request opens its file again

If selected, flags an `http` block without `open_file_cache` although files are served below it.

## Why it matters
For each request, nginx looks up and opens the file, with `try_files` each candidate, and closes it again. With the
cache, it keeps descriptors, sizes and times of the files in use, and checks again when they are 30 seconds old.

## Bad
```nginx http
server {
    root /srv/www;
    location / {
        try_files $uri $uri/ =404;
    }
}
```

## Good
```nginx http
open_file_cache max=1000 inactive=20s;
open_file_cache_valid 30s;
open_file_cache_min_uses 2;
server {
    root /srv/www;
    location / {
        try_files $uri $uri/ =404;
    }
}
```

## Silent
It is set explicitly:
```nginx http
open_file_cache off;
server {
    root /srv/www;
}
```

## Fix safety
May change: responses, limits.

nginx sends a replaced or deleted file as it was for up to 30 seconds, and each worker has up to 1,000 more files open.

## When to ignore it
If files are overwritten in place: for up to half a minute a client may get the old length with the new content. If they
are replaced by renaming, as most tools do, nginx sends the old file for that time. There are up to 1000 more open
files: see `worker-rlimit-nofile`.

## References
- https://nginx.org/en/docs/http/ngx_http_core_module.html#open_file_cache
- ngx_open_cached_file in ngx_open_file_cache.c
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import layout
from nginxopt.lint import Finding, Fix, Model, Safety, Severity, rule
from nginxopt.lint.queries import static
from nginxopt.semantics import Level

# The example of nginx's documentation, without `open_file_cache_errors`, so that a new file is found immediately.
LINES = ("open_file_cache max=1000 inactive=20s;", "open_file_cache_valid 30s;", "open_file_cache_min_uses 2;")


@rule(severity=Severity.INFO, category="static", fix=Safety.UNSAFE, default=False)
def check(model: Model) -> Iterator[Finding]:
    """Find files that are opened for each request."""
    unset: dict[Level, None] = {}
    for level in static.senders(model):
        http = level.around("http")
        if http and level.setting("open_file_cache").is_unset:
            unset[http] = None
    for http in unset:
        if http.block:
            lines = [line for line in LINES if not http.own(line.split()[0])]
            fix = Fix("keep files open", (layout.prepend(http.block, lines),), Safety.UNSAFE)
            message = "open_file_cache is not set: every request opens its file again"
            yield Finding(http.block.source, http.span, message, fix)
