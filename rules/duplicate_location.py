"""Location twice in one block: nginx refuses the configuration

Flags a second location with the same path in a server or location, including its includes. `location /a` and
`location ^~ /a` are the same to nginx. Does not flag regex and named locations, which nginx accepts twice, and
`location = /a` beside `location /a`, nor locations of two files one of which has placeholders (`${NAME}`): what fills
them in may also choose which files there are.

## Why it matters
nginx does not start, and a reload keeps the old configuration. The second one often comes from an include, where nobody
sees it.

## Bad
```nginx server
location /files/ {
    root /srv;
}
location ^~ /files/ {
    expires 1d;
}
```

## Good
```nginx server
location ^~ /files/ {
    root /srv;
    expires 1d;
}
```

## Silent
```nginx server
location /a {
    return 200 a;
}
location = /a {
    return 200 b;
}
location ~ ^/a {
    return 200 c;
}
```

## When to ignore it
Never: nginx does not start.

## References
- `ngx_http_join_exact_locations` in ngx_http.c: "duplicate location"
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.lint import Finding, Model, Related, Severity, rule


@rule(severity=Severity.ERROR, category="refused", about=("location",))
def check(model: Model) -> Iterator[Finding]:
    """Find second locations that nginx refuses."""
    for level in model.levels("server", "location"):
        for first, second in level.second_locations():
            if first.opener is None or second.opener is None:
                continue
            yield Finding(
                second.opener.source,
                second.opener.name.span,
                f'duplicate location "{second.path}" in this block: nginx does not start',
                help="merge the two locations",
                related=(Related(first.opener.source, first.opener.name.span, "the first one"),),
            )
