"""Fixed server behind a variable: name lookups, and no keepalive connections

Flags a `proxy_pass` or `grpc_pass` whose host consists of variables that only `set` or `map` fill, with literals that
name no upstream. Reports each server once.

Does not flag hosts that really depend on the request, configurations with code (Lua, njs, Perl), which may set any
variable, variables whose values are names of upstreams, names without a dot, and, before nginx 1.27.3, any host name:
there a variable is the only way to notice that its addresses change. A name without a dot is a container or a service
beside nginx, and the variable lets nginx start without it.

By default, it speaks only of a configuration that shows load, as `implicit-upstream` does.

## Why it matters
A host that is known only when a request arrives is not an upstream: nginx creates one for the request, discards it with
its connection, and queries the `resolver` for a name whenever the last answer has expired. This is a known way to
notice new addresses; since 1.27.3, `server NAME resolve` does it in an upstream, with a pool. Counted on nginx 1.22.1:
20 requests open 20 connections to a server behind a variable, and 1 to an upstream with a pool.

## Bad
```nginx server
resolver 127.0.0.11;
location / {
    set $app app.internal;
    proxy_pass http://$app:8080;
}
```

## Good
```nginx http
upstream app {
    server 10.0.0.1:8080;
    keepalive 32;
}
server {
    location / {
        set $app app;
        proxy_pass http://$app;
    }
}
```

## Silent
```nginx server
resolver 127.0.0.11;
location / {
    proxy_pass http://$arg_host;
}
```

nginx starts even if the container is not there:
```nginx server
resolver 127.0.0.11;
location / {
    set $upstream_app app;
    proxy_pass http://$upstream_app:8080;
}
```

## When to ignore it
If nginx passes on few requests, or each takes much longer than connecting to the server.

## References
- https://nginx.org/en/docs/http/ngx_http_upstream_module.html#resolve
- https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_pass
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import product

from nginxopt.lint import Finding, Model, Related, Severity, Version, pattern, rule
from nginxopt.lint.queries import pools, whole
from nginxopt.semantics import Level, Pass

RESOLVE = Version(1, 27, 3)
"""The first nginx whose `server` has `resolve` without a subscription (CHANGES 1.27.3)."""

MOST = 16
"""More targets than this are a routing table, not a fixed server."""

_ADDRESS = pattern(r"(?:\d+(?:\.\d+){3}|\[|localhost|unix:)")
_PART = pattern(r"(\$\w+|\$\{\w+\})")
Written = dict[tuple[Level | None, str], list[str]]
"""The values that `set` assigns to a variable, by server and name."""

_MAP_WORDS = ("hostnames", "volatile", "include")


@rule(severity=Severity.INFO, category="proxy", under_load=True)
def check(model: Model) -> Iterator[Finding]:
    """Find fixed servers whose names are in variables."""
    by_target: dict[tuple[str, ...], list[Pass]] = {}
    if whole.is_read_by_code(model):
        return
    written = _written(model)
    for pass_ in model.passes:
        if pass_.protocol in ("proxy", "grpc") and "$" in f"{pass_.host}{pass_.port}" and pass_.upstream is None:
            servers = _servers(model, pass_, written)
            if servers:
                by_target.setdefault(servers, []).append(pass_)
    for servers, passes in by_target.items():
        yield _finding(model, servers, passes)


def _finding(model: Model, servers: tuple[str, ...], passes: list[Pass]) -> Finding:
    first, *others = passes
    named = " or ".join(servers) if len(servers) < 3 else f"one of {len(servers)} servers"
    resolve = " resolve" if model.target >= RESOLVE else ""
    zone = "a zone, " if resolve else ""
    server = f"server {servers[0]}{resolve};"
    return Finding(
        first.directive.source,
        first.directive.args[0].span,
        f"proxy_pass has a variable for {named}: nginx keeps no connections to such a server",
        help=f"add an upstream with {zone}`{server}` and `keepalive 32;`, and pass to it{_kept(first)}",
        related=tuple(
            Related(pass_.directive.source, pass_.directive.name.span, "also passed to here") for pass_ in others
        ),
        cause="",
    )


def _kept(pass_: Pass) -> str:
    """Return what has to be set for the requests to stay as they are."""
    path = "; a path behind it then replaces that of the location" if pass_.uri else ""
    return pools.keeping_names(pass_) + path


def _servers(model: Model, pass_: Pass, written: Written) -> tuple[str, ...]:
    """Return the servers of a target as `host:port`; empty if they are unknown, or if it names an upstream."""
    start = f"{pass_.scheme}://{pass_.host}" if pass_.scheme else pass_.host
    parts = _PART.split(start if pass_.port is None else f"{start}:{pass_.port}")
    choices = [_values(model, pass_.level, part, written) if index % 2 else [part] for index, part in enumerate(parts)]
    targets: set[str] = set()
    for words in product(*choices):
        address = "".join(words).partition("://")[2]
        target = address.removesuffix(":") if address.startswith("unix:") else re.split(r"[/?]", address, maxsplit=1)[0]
        if "$" in target or target.endswith(":") or not _is_server(model, target.lower()):
            return ()
        targets.add(target)
        if len(targets) > MOST:
            return ()
    return tuple(sorted(targets))


def _is_server(model: Model, target: str) -> bool:
    """Return whether a target is a server that an upstream block can name, and certainly not an upstream."""
    if _ADDRESS.match(target):
        return True
    named = target in model.upstreams or not (model.is_whole or ":" in target)
    return "." in target and not named and model.target >= RESOLVE


def _written(model: Model) -> Written:
    by_variable: Written = {}
    for directive, level in model.each("set"):
        if len(directive.args) == 2:
            place = level.around("server"), pools.variable(directive.args[0]) or ""
            by_variable.setdefault(place, []).append(str(directive.args[1]))
    return by_variable


def _values(model: Model, level: Level, word: str, written: Written) -> list[str]:
    """Return the literal values of a variable, or the variable itself if it may have other values."""
    name = pools.variable(word) or ""
    values = written.get((level.around("server"), name))
    source = model.maps.get(name)
    if values is None and source is not None and not source.is_open:
        values = [str(row.args[0]) for row in source.directives if row.name not in _MAP_WORDS and row.args]
    if not values or any("$" in value for value in values):
        return [word]
    return list(dict.fromkeys(values))
