"""Every client can choose the address that nginx sees

Flags a `set_real_ip_from` for all addresses, `0.0.0.0/0` or `::/0`, in servers that clients from outside can reach. The
severity is warning with `real_ip_recursive on` and `X-Forwarded-For`, otherwise info.

Does not flag networks, sockets, `real_ip_header proxy_protocol`, and servers that listen on loopback addresses or
sockets only.

## Why it matters
With `real_ip_recursive on`, nginx uses the last address of the header that it does not trust. If it trusts all of them,
it uses the first one, which the client wrote, even behind proxies that append theirs: `X-Forwarded-For: 127.0.0.1` is
enough. `allow` and `deny`, `limit_req`, logs and the application then see that address. Without `real_ip_recursive`,
nginx uses the last one, so only clients that bypass the proxy can choose it. With another header, such as `X-Real-IP`,
clients can also choose it if the proxy does not replace that header. Seen on nginx 1.22.1 and 1.31.3.

## Bad
```nginx http
set_real_ip_from 0.0.0.0/0;
real_ip_header X-Forwarded-For;
real_ip_recursive on;
server {
    listen 80;
}
```
```nginx server
set_real_ip_from ::/0;
real_ip_header X-Real-IP;
```

## Good
```nginx http
set_real_ip_from 10.0.0.0/8;
real_ip_header X-Forwarded-For;
real_ip_recursive on;
server {
    listen 80;
}
```

## Silent
```nginx http
set_real_ip_from unix:;
server {
    listen unix:/run/nginx.sock;
    set_real_ip_from 0.0.0.0/0;
}
server {
    listen 80 proxy_protocol;
    set_real_ip_from 0.0.0.0/0;
    real_ip_header proxy_protocol;
}
server {
    listen 127.0.0.1:8080;
    set_real_ip_from 0.0.0.0/0;
}
```

## When to ignore it
If only a proxy that replaces the header can connect, for example because of a firewall or a container network.

## References
- https://nginx.org/en/docs/http/ngx_http_realip_module.html
- ngx_http_get_forwarded_addr_internal in ngx_http_core_module.c
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import Directive
from nginxopt.lint import Finding, Model, Severity, rule
from nginxopt.lint.queries import access
from nginxopt.semantics import Level

_ALL = {"0.0.0.0/0", "::/0"}


@rule(severity=Severity.INFO, highest=Severity.WARNING, category="security", about=("set_real_ip_from",))
def check(model: Model) -> Iterator[Finding]:
    """Find addresses of clients that all clients may state."""
    found: dict[Directive, bool] = {}
    for level in model.levels("server", "location"):
        trusted = _trusted(level)
        if not trusted:
            continue
        header = (level.setting("real_ip_header").value or "X-Real-IP").lower()
        if header == "proxy_protocol" or not level.setting("real_ip_header").known or not access.is_public(level):
            continue
        is_first = header == "x-forwarded-for" and level.setting("real_ip_recursive").value == "on"
        for directive in trusted:
            found[directive] = found.get(directive, False) or is_first
    for directive, is_first in found.items():
        yield _finding(directive, is_first=is_first)


def _trusted(level: Level) -> list[Directive]:
    """Return the directives in force that trust all addresses."""
    stated = level.setting("set_real_ip_from").directives
    return [directive for directive in stated if directive.args and directive.args[0] in _ALL]


def _finding(directive: Directive, *, is_first: bool) -> Finding:
    return Finding(
        directive.source,
        directive.args[0].span,
        f"set_real_ip_from {directive.args[0]} lets every client state its address"
        + (": nginx takes the first in X-Forwarded-For" if is_first else ""),
        help="list only the addresses of the proxies in front of nginx",
        severity=Severity.WARNING if is_first else Severity.INFO,
    )
