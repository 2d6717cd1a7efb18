"""Static files without an expiration time: browsers request them again and again

If selected, flags a location for files such as `~* \\.(css|js|png)$` or `/static/` that sends them with neither
`expires` nor `Cache-Control`.

## Why it matters
Without an expiration time, a browser guesses one from `Last-Modified`, or asks again on each page and waits a round
trip for each 304.

## Bad
```nginx http
server {
    root /srv/www;
    location ~* \\.(?:css|js|jpe?g|png|woff2?)$ {
        access_log off;
    }
}
```

## Good
```nginx http
server {
    root /srv/www;
    location ~* \\.(?:css|js|jpe?g|png|woff2?)$ {
        access_log off;
        expires 1h;
    }
}
```

## Silent
```nginx http
server {
    root /srv/www;
    add_header Cache-Control "public, max-age=600";
    location /static/ {
    }
}
```
These pages may change:
```nginx http
server {
    root /srv/www;
    location ~ \\.html$ {
    }
}
```

## Fix safety
May change: responses.

Responses have `Expires` and `Cache-Control`, and browsers do not ask again for an hour.

## When to ignore it
If files keep their names and every change must be visible at once. If names contain a version or a hash, set far more
than an hour: `expires 1y;`.

## References
- https://nginx.org/en/docs/http/ngx_http_headers_module.html#expires
- RFC 9111, 4.2.2 (what is guessed without a time)
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import layout
from nginxopt.lint import Finding, Fix, Model, Safety, Severity, rule
from nginxopt.lint.queries import static
from nginxopt.semantics import Level

LINE = "expires 1h;"


@rule(severity=Severity.INFO, category="static", fix=Safety.UNSAFE, default=False)
def check(model: Model) -> Iterator[Finding]:
    """Find locations for files without an expiration time."""
    for level in static.senders(model):
        if level.block and static.is_for_files(level) and level.setting("expires").is_unset and _says_nothing(level):
            fix = Fix(f"add `{LINE}`", (layout.append(level.block, [LINE]),), Safety.UNSAFE)
            message = "files have no expiration time: browsers request them again"
            yield Finding(level.block.source, level.span, message, fix)


def _says_nothing(level: Level) -> bool:
    headers = level.setting("add_header")
    names = {directive.args[0].lower() for directive in headers.directives if directive.args}
    return headers.known and names.isdisjoint({"cache-control", "expires"})
