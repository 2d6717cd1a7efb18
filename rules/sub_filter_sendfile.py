"""`sub_filter` over files with `sendfile on`: two system calls for each match

Flags `sub_filter` with `sub_filter_once off` where files are sent with `sendfile`.

## Why it matters
nginx reads the file into memory to search it, and yet sends each piece between two matches with a `sendfile` of its
own, and each replacement with a `writev`. With `sendfile off`, it writes the pieces from memory, many at once.

Measured on nginx 1.22.1 with a page of 20 KB and 99 matches: 101 `sendfile` and 102 `writev`, and 264 microseconds of
processor time a request; without `sendfile` 44 microseconds.

## Bad
```nginx http
server {
    root /srv/www;
    location /docs/ {
        sendfile on;
        sub_filter http:// https://;
        sub_filter_once off;
    }
}
```

## Good
```nginx http
server {
    root /srv/www;
    location /docs/ {
        sendfile off;
        sub_filter http:// https://;
        sub_filter_once off;
    }
}
```

## Silent
A response from an upstream is in memory anyway:
```nginx http
sendfile on;
server {
    location / {
        proxy_pass http://127.0.0.1:8080;
        sub_filter http:// https://;
        sub_filter_once off;
    }
}
```
Without `sub_filter_once off`, only the first match is replaced:
```nginx http
sendfile on;
server {
    root /srv/www;
    location / {
        sub_filter </head> '<script src=/a.js></script></head>';
    }
}
```

## Fix safety
May change: nothing.

nginx sends the same bytes, from memory instead of the cache of the kernel. There is a fix if the location states
`sub_filter` itself and has no other locations in it.

## When to ignore it
If hardly any page has a match.

## References
- https://nginx.org/en/docs/http/ngx_http_sub_module.html#sub_filter_once
- ngx_http_sub_body_filter in ngx_http_sub_filter_module.c: pieces of a file stay pieces of a file
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import Change, layout
from nginxopt.lint import Finding, Fix, Model, Safety, Saving, Severity, rule
from nginxopt.lint.queries import static
from nginxopt.semantics import Level

NANOSECONDS = 200_000
"""The additional cost of a page with a hundred matches (measured)."""


@rule(severity=Severity.INFO, category="static", fix=Safety.SAFE, about=("sub_filter",))
def check(model: Model) -> Iterator[Finding]:
    """Find texts that are replaced in files which the kernel sends."""
    for level in static.senders(model) if model.mentions("sub_filter") else ():
        replaced = level.setting("sub_filter").directive
        if replaced is None or not static.replaces_all(level) or level.setting("sendfile").value != "on":
            continue
        fix = Fix("add `sendfile off;`", _off(level)) if level.own("sub_filter") and not level.levels else None
        yield Finding(
            replaced.source,
            replaced.name.span,
            "with sendfile on, each match of sub_filter takes two system calls",
            fix,
            "" if fix else "set `sendfile off;` in the locations where texts are replaced",
            saves=Saving(nanoseconds=NANOSECONDS),
        )


def _off(level: Level) -> tuple[Change, ...]:
    own = level.own("sendfile")
    if own:
        return (layout.replace(own[-1], own[-1].args[0], "off"),)
    assert level.block is not None
    return (layout.prepend(level.block, ["sendfile off;"]),)
