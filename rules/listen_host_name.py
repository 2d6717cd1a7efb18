"""Host name in `listen`: nginx does not start if it cannot be resolved

Flags a `listen` with the name of a host other than `localhost`. Does not flag addresses, `*`, ports, UNIX-domain
sockets, and blanks to be filled in (`IP:80`, `your-server:80`).

## Why it matters
nginx resolves the name when it starts. After a reboot, the network or the name server may not be there yet, and nginx
then stops with `host not found`: all sites are down. If the name resolves to an address that the machine does not have,
as behind a load balancer or NAT, nginx stops with `Cannot assign requested address`. Which server answers a name is
what `server_name` is for.

## Bad
```nginx http
server {
    listen localhost.localdomain:8080;
    server_name www.example.com;
}
```

## Good
```nginx http
server {
    listen 8080;
    server_name www.example.com;
}
```

## Silent
```nginx http
server {
    listen localhost:8080;
}
server {
    listen *:8081;
    listen [::]:8081;
    listen unix:/run/nginx.sock;
}
server {
    listen SERVER_IP:8082;
    listen PORT;
}
```

## When to ignore it
If `/etc/hosts` has the name.

## References
- https://nginx.org/en/docs/http/ngx_http_core_module.html#listen
- https://www.nginx.com/resources/wiki/start/topics/tutorials/config_pitfalls/#using-a-hostname-to-resolve-addresses
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.lint import Finding, Model, Severity, pattern, rule
from nginxopt.lint.queries import names

_NAME = pattern(r"[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?")


@rule(severity=Severity.WARNING, category="correctness")
def check(model: Model) -> Iterator[Finding]:
    """Find sockets whose address has to be looked up."""
    for listen in model.listens:
        hosts = [at.host for at in listen.addresses if at.family == "name" and _is_name(at.host)]
        if hosts and listen.directive is not None:
            yield Finding(
                listen.directive.source,
                listen.span,
                f"nginx does not start if {hosts[0]} cannot be resolved, or is not an address of this machine",
                help="listen at a port or an address, and put the name into server_name",
            )


def _is_name(host: str) -> bool:
    """Return whether a host is one that has to be looked up, and no placeholder."""
    return host != "localhost" and _NAME.fullmatch(host) is not None and not names.is_blank(host)
