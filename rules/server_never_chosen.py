"""A server that no request reaches: an earlier one has all of its names

Flags servers that are not the default server of any address where they listen, and all of whose names belong to earlier
servers there. A server without a name, or with one that no host has, such as `_`, gets requests only as the default
server: the second of two at one address is flagged as well.

Does not flag servers with a pattern or a wildcard of their own, those of which not all was read, and those that
another main configuration chooses (`nginx.conf` beside `nginx.prod.conf`).

## Why it matters
nginx starts, and only warns of a "conflicting server name". The redirects, restrictions and certificate of the server
are never used.

## Bad
```nginx http
server {
    listen 80 default_server;
    server_name example.com;
    root /srv/www;
}
server {
    listen 80;
    server_name example.com;
    return 301 https://example.com$request_uri;
}
```

The first server has all subdomains:

```nginx http
server {
    listen 80;
    server_name .example.com;
    root /srv/www;
}
server {
    listen 80;
    server_name *.example.com;
    root /srv/other;
}
```

## Good
```nginx http
server {
    listen 80 default_server;
    server_name example.com;
    return 301 https://example.com$request_uri;
}
```

## Silent
```nginx http
server {
    listen 80;
    server_name example.com;
    root /srv/www;
}
server {
    listen 80;
    listen 8080;
    server_name example.com;
    root /srv/other;
}
```

## When to ignore it
Never.

## References
- https://nginx.org/en/docs/http/request_processing.html
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.lint import Finding, Model, Related, Severity, rule
from nginxopt.lint.queries import names


@rule(severity=Severity.WARNING, category="correctness")
def check(model: Model) -> Iterator[Finding]:
    """Find servers that are never chosen."""
    for server, conflict in names.first_conflicts(model):
        if server.source is None or server not in names.never_chosen(model):
            continue
        related = names.place(conflict.first)
        yield Finding(
            server.source,
            server.span,
            f"no request reaches this server: an earlier one has {names.shown(conflict)} at {conflict.address}",
            related=(Related(*related, "this server answers"),) if related else (),
        )
