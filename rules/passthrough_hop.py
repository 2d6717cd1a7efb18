"""Server that only passes requests on: each request is handled twice

Flags servers that only pass all their requests to one application on the same machine (loopback or a socket), and
locations with no job of their own that pass requests to another server of the same configuration. The report lists what
the hop still provides, so that you can decide.

Does not flag a hop with a job: TLS, HTTP/2, several servers, files, a cache, limits, access rules, compression,
rewriting, headers of its own, error pages, or a choice among several names or targets.

Reports by default only what shows load: 2,000 `worker_connections` or more, an upstream with several servers, a pool or
a cache, `worker_rlimit_nofile`, `open_file_cache`, or the machine (`--host`). If the rule is selected by name, it
reports all.

## Why it matters
A hop costs a second connection, parsing the request and the response, and two copies of each body, on the processors
that the application needs as well. If clients are slow, nginx's buffers are worth that cost.

## Bad
```nginx http
server {
    listen 80;
    location / {
        proxy_pass http://127.0.0.1:8080;
    }
}
server {
    listen 127.0.0.1:8080;
    location / {
        root /srv/www;
    }
}
```

## Good
```nginx http
server {
    listen 80;
    location / {
        root /srv/www;
    }
}
```

## Silent
TLS ends here:
```nginx server
listen 443 ssl;
ssl_certificate cert.pem;
ssl_certificate_key cert.key;
location / {
    proxy_pass http://127.0.0.1:8080;
}
```
This server also serves files:
```nginx server
location / {
    proxy_pass http://127.0.0.1:8080;
}
location /static/ {
    root /srv/www;
}
```

## When to ignore it
If the application should not face clients itself: slow ones, many idle ones, malformed requests.

## References
- https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_buffering
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from nginxopt.facts import group
from nginxopt.lint import Finding, Model, Related, Severity, pattern, rule
from nginxopt.lint.queries import pools
from nginxopt.semantics import Level, Pass, Upstream

# The directives that give a hop a purpose, at any level.
JOBS = group("job")
_USUAL_HEADERS = pattern(r"host|connection|upgrade|forwarded|x-real-ip|x-forwarded-.*|accept-encoding")
_OFF = {"off", "none"}
_LOCAL = pattern(r"(?:localhost|127(?:\.\d+){3}|\[::1\])(?::\d+)?|unix:.*")


@rule(severity=Severity.INFO, category="proxy", scenario="hop", about=("proxy_pass",), under_load=True)
def check(model: Model) -> Iterator[Finding]:
    """Find hops without a purpose."""
    plain, alone = _plain(model), _alone(model)
    jobs = [name for name in JOBS if next(model.each(name), None)]
    for pass_ in model.passes:
        server = pass_.level.around("server")
        if pass_.protocol != "proxy" or server is None or server not in plain or not _has_no_job(pass_, server, jobs):
            continue
        target = _reached(model, pass_)
        if target is not None and target is not server:
            yield _inner(pass_, target)
        elif _target(pass_)[0] and target is None and server in alone and _only_location(pass_, server):
            yield _local(pass_)


def _inner(pass_: Pass, target: Level) -> Finding:
    source = target.source or pass_.directive.source
    return Finding(
        pass_.directive.source,
        pass_.directive.args[0].span,
        f"{_shown(pass_)} is a server in this configuration: nginx handles each request twice",
        help=f"let that server handle the requests; this hop only provides {_gives(pass_)}",
        related=(Related(source, target.span, "this server"),),
    )


def _local(pass_: Pass) -> Finding:
    return Finding(
        pass_.directive.source,
        pass_.directive.args[0].span,
        f"this server only passes requests to {_shown(pass_)} on the same machine",
        help=f"this hop provides {_gives(pass_)}; otherwise, let clients connect to the application directly",
    )


def _gives(pass_: Pass) -> str:
    """Return what a hop without a purpose still provides."""
    gives = []
    if pass_.setting("buffering").value == "on":
        gives.append("buffered responses for slow clients")
    if pass_.setting("request_buffering").value == "on":
        gives.append("buffered request bodies")
    if any(pools.header_directives(pass_, name) for name in ("x-forwarded-for", "x-real-ip", "forwarded")):
        gives.append("the client's address in a header")
    logged = pass_.level.setting("access_log")
    if logged.value not in _OFF:
        gives.append("an access log")
    return ", ".join(gives) or "nothing"


def _has_no_job(pass_: Pass, server: Level, jobs: list[str]) -> bool:
    """Return whether a hop has no purpose: all levels are known, and no directive in effect gives it one."""
    level: Level | None = pass_.level
    if level is None or level.kind != "location" or pass_.uri not in (None, "/") or pass_.has_variable:
        return False
    while level is not None:
        if level.is_open or level.bulks:
            return False
        level = level.parent
    if any(_works(pass_.level, name) or _works(server, name) for name in jobs):
        return False
    sent = (header.args[0].lower() for header in pass_.setting("set_header").directives if header.args)
    return all(_USUAL_HEADERS.fullmatch(name) for name in sent)


def _works(level: Level, name: str) -> bool:
    setting = level.setting(name)
    return setting.is_set and setting.value not in _OFF


def _only_location(pass_: Pass, server: Level) -> bool:
    """Return whether a location is the only content of its server."""
    locations = [level for level in server.levels if level.kind == "location"]
    return locations == [pass_.level] and pass_.level.args == ("/",) and not pass_.level.levels


def _plain(model: Model) -> set[Level]:
    """Return the servers whose addresses do not use TLS, HTTP/2, QUIC or the PROXY protocol."""
    flags = ("http2", "quic", "proxy_protocol")
    ending = [endpoint for endpoint in model.endpoints.values() if endpoint.is_tls or any(map(endpoint.has, flags))]
    return set(model.levels("server")).difference(*(endpoint.servers for endpoint in ending))


def _alone(model: Model) -> set[Level]:
    """Return the servers that share no address with another."""
    shared = [endpoint.servers for endpoint in model.endpoints.values() if len(endpoint.servers) > 1]
    return set(model.levels("server")).difference(*shared)


def _single(upstream: Upstream) -> str | None:
    """Return the only server of an upstream."""
    servers = [str(server.args[0]) for server in upstream.servers if server.args]
    return servers[0] if len(servers) == 1 and not upstream.level.is_open else None


def _reached(model: Model, pass_: Pass) -> Level | None:
    """Return the server in this configuration that a pass reaches; None if there is none or more than one."""
    host, port = _target(pass_)
    for address, endpoint in model.endpoints.items():
        here = address.is_wildcard or "localhost" in (host, address.host) or address.host == host
        if address.port == port and here and not address.datagram:
            return endpoint.default if len(endpoint.servers) == 1 else None
    return None


def _target(pass_: Pass) -> tuple[str, int]:
    """Return host and port of a target on this machine, path and 0 for a socket; empty and -1 for another target."""
    server = _single(pass_.upstream) if pass_.upstream else _written(pass_)
    if server is None or not _LOCAL.fullmatch(server):
        return "", -1
    if server.startswith("unix:"):
        return server.removeprefix("unix:"), 0
    host, port = re.fullmatch(r"(.*?)(?::(\d+))?", server).groups()  # type: ignore[union-attr] # it matches anything
    return host.strip("[]"), int(port or (443 if pass_.scheme == "https" and not pass_.upstream else 80))


def _written(pass_: Pass) -> str:
    """Return the server that a pass names, as in an upstream block."""
    return pass_.host if pass_.port is None else f"{pass_.host}:{pass_.port}"


def _shown(pass_: Pass) -> str:
    return f'"{pass_.upstream.name}"' if pass_.upstream else _written(pass_)
