"""Location twice in one block: nginx refuses the configuration

Flags a second location with the same path in a server or location, including its includes. `location /a` and
`location ^~ /a` are the same to nginx. Does not flag regex and named locations, which nginx accepts twice, and
`location = /a` beside `location /a`.

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

from nginxopt.config import Directive
from nginxopt.lint import Finding, Model, Related, Severity, rule
from nginxopt.semantics import Level, locations


@rule(severity=Severity.ERROR, category="refused")
def check(model: Model) -> Iterator[Finding]:
    """Find second locations that nginx refuses."""
    for level in model.levels("server", "location"):
        seen: dict[tuple[bool, str], Directive] = {}
        for location in level.levels:
            opener = location.scope.opener if location.scope else None
            if location.kind != "location" or opener is None or not _is_of_path(location):
                continue
            path = locations.path(location)
            first = seen.setdefault((locations.modifier(location) == "=", path), opener)
            if first is not opener:
                yield Finding(
                    opener.source,
                    opener.name.span,
                    f'duplicate location "{path}" in this block: nginx does not start',
                    help="merge the two locations",
                    related=(Related(first.source, first.name.span, "the first one"),),
                )


def _is_of_path(location: Level) -> bool:
    """Return whether a location has a path, neither a pattern nor a name."""
    return bool(location.args) and not (
        locations.modifier(location).startswith("~") or locations.path(location).startswith("@")
    )
