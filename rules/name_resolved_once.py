"""Public host name: nginx resolves it once, when it starts

Flags host names of the internet in `proxy_pass` and in a `server` of an upstream, as their addresses may change: names
with a dot that do not end in `.local`, `.internal` or the like and are not those of an upstream.

Does not flag addresses, names without a dot (containers, machines of the same network), names with `resolve`, blanks
to be filled in (`XX.XX.XX.XX`, `your-app.example.com`), machines of the domain that the server itself has
(`app1.example.net` behind `www.example.net`), and targets with variables, which are resolved for each request: see
`upstream-variable-target`.

## Why it matters
nginx resolves the name when it reads its configuration, and keeps the addresses until the next reload. Cloud load
balancers change theirs within hours: nginx then answers 502 or 504, or sends requests to the server of somebody else.

## Bad
```nginx http
server {
    location / {
        proxy_pass https://my-app-123456789.us-east-1.elb.amazonaws.com;
    }
}
```

## Good
```nginx http 1.27.3
resolver 127.0.0.53;
upstream app {
    zone app 64k;
    server my-app-123456789.us-east-1.elb.amazonaws.com:443 resolve;
}
server {
    location / {
        proxy_pass https://app;
        proxy_set_header Host my-app-123456789.us-east-1.elb.amazonaws.com;
    }
}
```

## Silent
```nginx http
upstream app {
    server 10.0.0.7:8080;
}
server {
    location / {
        proxy_pass http://app;
    }
    location /container/ {
        proxy_pass http://shop:8080;
    }
    location /inside/ {
        proxy_pass http://shop.internal:8080;
    }
    location /local/ {
        proxy_pass http://localhost:8080;
    }
    location /blank/ {
        proxy_pass http://XX.XX.XX.XX:8080;
    }
}
server {
    server_name www.shop.example.net;
    location / {
        proxy_pass http://app1.shop.example.net;
    }
}
```

## When to ignore it
If the addresses of the name never change.

## References
- https://nginx.org/en/docs/http/ngx_http_upstream_module.html#resolve
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from nginxopt.config import Directive
from nginxopt.lint import Finding, Model, Severity, Version, pattern, rule
from nginxopt.lint.queries import names, pools
from nginxopt.semantics import Pass

_RESOLVES = Version(1, 27, 3)
"""The first version with `resolve` outside of NGINX Plus (CHANGES 1.27.3)."""

_PUBLIC = pattern(r"(?:[a-z0-9_-]+\.)+[a-z][a-z0-9-]+\.?", re.IGNORECASE)
_PRIVATE = pattern(
    r"\.(?:local|localdomain|internal|intranet|lan|dmz|home|corp|private|svc|cluster|consul|docker|prod|staging|stage|test|example|server|service|srv|backend|upstream|domain|tld)\.?$",
    re.I,
)

_DOMAIN = pattern(r"[a-z0-9-]{4,}\.[a-z]+$")
"""Matches a domain that somebody has: not `com`, nor `co.uk`."""


@rule(severity=Severity.INFO, category="correctness")
def check(model: Model) -> Iterator[Finding]:
    """Find public names that are resolved once, each once."""
    reported: set[str] = set()
    for host, directive, kept in (*_of_passes(model), *_of_upstreams(model)):
        if _is_public(host) and host.lower() not in reported:
            reported.add(host.lower())
            yield Finding(
                directive.source,
                directive.args[0].span,
                f"{host} is resolved only once, when nginx starts",
                help=_advice(model) + kept,
                cause="",
            )


def _of_passes(model: Model) -> Iterator[tuple[str, Directive, str]]:
    """Yield hosts with the directives that name them, and what has to be set if an upstream takes their place."""
    for pass_ in model.passes:
        if pass_.upstream is None and not pass_.has_variable and pass_.scheme and not _is_of_same_domain(pass_):
            yield pass_.host, pass_.directive, pools.keeping_names(pass_)


def _is_of_same_domain(pass_: Pass) -> bool:
    """Return whether a host is beside a name of its server, such as `app1.example.net` beside `www.example.net`."""
    _, _, domain = pass_.host.lower().partition(".")
    server = pass_.level.around("server")
    if server is None or not _DOMAIN.search(domain):
        return False
    stated = (word.lower() for named in server.own("server_name") for word in named.args)
    return any(name == domain or name.endswith(f".{domain}") for name in stated)


def _of_upstreams(model: Model) -> Iterator[tuple[str, Directive, str]]:
    for upstream in model.upstreams.values():
        for server in upstream.servers:
            if server.args and "resolve" not in server.args:
                yield server.args[0].rpartition(":")[0] or str(server.args[0]), server, ""


def _is_public(host: str) -> bool:
    return bool(_PUBLIC.fullmatch(host)) and not _PRIVATE.search(host) and not names.is_blank(host)


def _advice(model: Model) -> str:
    if model.target >= _RESOLVES:
        return "use an upstream with zone and `server NAME resolve;`, and set a resolver"
    return "reload nginx when it changes, or use an upstream with zone and `server NAME resolve;` (nginx 1.27.3)"
