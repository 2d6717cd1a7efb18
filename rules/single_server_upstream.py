"""Upstream with one server: no failover, no load balancing

Flags upstreams whose only server is an address, a socket or `localhost`. Does not flag a host name, which may stand for
several addresses.

This rule is off by default: an upstream with one server is a good place for a pool.

## Why it matters
If the server is down or busy, every request to it fails or waits: there is no other server to try. nginx ignores its
`max_fails`, `fail_timeout` and `slow_start`, and the load balancing method.

## Bad
```nginx http
upstream app {
    server 10.0.0.1:8080;
    keepalive 32;
}
```

## Good
```nginx http
upstream app {
    server 10.0.0.1:8080;
    server 10.0.0.2:8080;
    keepalive 32;
}
```

## Silent
```nginx http
upstream app {
    server 10.0.0.1:8080;
    server 10.0.0.9:8080 backup;
    keepalive 32;
}
```

## When to ignore it
If the server is itself a load balancer, or the site may be down when the server is.

## References
- https://nginx.org/en/docs/http/ngx_http_upstream_module.html#server
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.lint import Finding, Model, Severity, pattern, rule
from nginxopt.semantics import Upstream

_ONE_ADDRESS = pattern(r"(?:unix:.*|localhost|\d+(?:\.\d+){3}|\[[^]]*\])(?::\d+)?")
_WITHOUT_BACKUP = ("hash", "ip_hash", "random")
_IGNORED = ("max_fails", "fail_timeout", "slow_start", "weight")


@rule(severity=Severity.INFO, category="proxy", default=False, scenario="balance")
def check(model: Model) -> Iterator[Finding]:
    """Find upstreams with a single server and no backup."""
    for upstream in model.upstreams.values():
        servers = [server for server in upstream.servers if server.args and "down" not in server.args]
        if len(servers) != 1 or upstream.level.is_open or not _ONE_ADDRESS.fullmatch(servers[0].args[0]):
            continue
        server = servers[0]
        ignored = _ignored(upstream)
        have = "has" if len(ignored) == 1 else "have"
        unused = f", and {', '.join(ignored)} {have} no effect" if ignored else ""
        yield Finding(
            server.source,
            server.args[0].span,
            f'upstream "{upstream.name}" has one server, {server.args[0]}: no failover, no load balancing{unused}',
            help=f"add a second server{_as_backup(upstream)}",
        )


def _as_backup(upstream: Upstream) -> str:
    """Return an example, unless the method refuses it (`balancing method does not support parameter "backup"`)."""
    return "" if upstream.method and upstream.method.name in _WITHOUT_BACKUP else ", for example as `backup`"


def _ignored(upstream: Upstream) -> list[str]:
    """Return the parameters that only matter with several servers."""
    words = [word.partition("=")[0] for server in upstream.servers for word in server.args[1:]]
    method = [str(upstream.method.name)] if upstream.method and upstream.method.name != "ntlm" else []
    return [word for word in _IGNORED if word in words] + method
