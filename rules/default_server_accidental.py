"""No `default_server`: the first server answers requests for unknown hosts

Flags addresses with several servers and no `default_server`, where the first server is a site with a name of its own.

Does not flag addresses with one server, a first server without a name or with `_`, and one that only refuses or
redirects.

## Why it matters
nginx takes the first server of an address as its default (`ngx_http_add_server`). Requests for the bare address, for
foreign names that point to it, and for subdomains that no longer exist get the pages of that site. Which server is
first depends on the order in which files are included.

## Bad
```nginx http
server {
    listen 80;
    server_name shop.example.com;
    root /srv/shop;
}
server {
    listen 80;
    server_name blog.example.com;
    root /srv/blog;
}
```

## Good
```nginx http
server {
    listen 80 default_server;
    return 444;
}
server {
    listen 80;
    server_name shop.example.com;
    root /srv/shop;
}
server {
    listen 80;
    server_name blog.example.com;
    root /srv/blog;
}
```

## Silent
```nginx http
server {
    listen 80;
    server_name _;
    return 444;
}
server {
    listen 80;
    server_name shop.example.com;
    root /srv/shop;
}
server {
    listen 8080;
    server_name blog.example.com;
    root /srv/blog;
}
```

## When to ignore it
If the first server is meant to take all other hosts; then say so with `default_server`.

## References
- https://nginx.org/en/docs/http/request_processing.html
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.lint import AskedRequest, Finding, Model, Related, Severity, rule
from nginxopt.semantics import FRAGMENT, Endpoint, Level

_FOREIGN = "host.invalid"
_NOBODY = {"_", "", "localhost"}


@rule(severity=Severity.INFO, category="correctness", default=False, witness=True)
def check(model: Model) -> Iterator[Finding]:
    """Find default servers that no `default_server` selects."""
    if any(level.is_open for level in model.levels(FRAGMENT, "http")):
        return
    reported: set[Level] = set()
    for endpoint in model.endpoints.values():
        server = endpoint.default
        if server in reported or not _is_accidental(endpoint):
            continue
        reported.add(server)
        yield from _finding(model, endpoint, server)


def _is_accidental(endpoint: Endpoint) -> bool:
    stated = any(listen.is_default for listen in endpoint.listens)
    server = endpoint.default
    names = [word for directive in server.own("server_name") for word in directive.args]
    serves = not server.own("return") and bool(set(names) - _NOBODY)
    return not stated and serves and len(endpoint.servers) > 1 and not server.is_open


def _finding(model: Model, endpoint: Endpoint, server: Level) -> Iterator[Finding]:
    """Yield a finding with a request for a foreign host that the server takes."""
    for answer in model.requests.ask(server, AskedRequest(b"/", headers=(f"Host: {_FOREIGN}",))):
        other = next(second for second in endpoint.servers if second is not server)
        if server.source is None or other.source is None or answer.is_at in ("redirect", "closed"):
            continue
        yield Finding(
            server.source,
            server.span,
            f"this server answers all unknown hosts at {endpoint.address}, only because it is the first there",
            help="add a server with default_server that refuses them: return 444, or ssl_reject_handshake on",
            related=(Related(other.source, other.span, "this server also listens there"),),
            witness=answer.witness("this server answers"),
        )
        return
