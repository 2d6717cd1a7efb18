"""`Host` for the upstream comes from a header, a cookie or an argument: clients can choose another site

Flags `proxy_set_header Host` and `grpc_set_header Host` with `$http_host`, `$http_x_forwarded_host`, or another header,
cookie or argument of the request. The severity is warning unless it is `$http_host`.

Does not flag `$host`, `$server_name` and fixed names.

## Why it matters
nginx chooses the server by the host of the request line if it has one (`GET http://shop.example/ HTTP/1.1`), and
`$host` is that host. `$http_host` is the header, whatever it says: the upstream gets a name that no `server_name` of
this server allows. Applications build links from it, such as those in mails that reset passwords, and caches store the
page. `$http_host` is also empty for HTTP/2 requests without the header before nginx 1.25.

## Bad
```nginx server
location / {
    proxy_set_header Host $http_host;
    proxy_pass http://127.0.0.1:8080;
}
```
```nginx server
location / {
    proxy_set_header Host $http_x_forwarded_host;
    proxy_pass http://127.0.0.1:8080;
}
```

## Good
```nginx server
location / {
    proxy_set_header Host $host;
    proxy_pass http://127.0.0.1:8080;
}
```
```nginx server
location / {
    proxy_set_header Host $host:$server_port;
    proxy_pass http://127.0.0.1:8080;
}
```

## Silent
```nginx server
location / {
    proxy_set_header Host shop.example.com;
    proxy_set_header X-Forwarded-Host $http_host;
    proxy_pass http://127.0.0.1:8080;
}
```

## Fix safety
May change: upstream requests, responses.

The upstream gets no port, the name in lower case, and the host of the request line if there is one. `$host` is the name
of the server where a request names no host.

## When to ignore it
If the application needs the port that clients used, and checks the name by itself.

## References
- https://nginx.org/en/docs/http/ngx_http_core_module.html#var_host
- https://portswigger.net/web-security/host-header
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from nginxopt.config import layout
from nginxopt.lint import Finding, Fix, Model, Safety, Severity, pattern, rule

_OF_CLIENTS = pattern(r"\$\{?((?:http|arg|cookie)_\w+)", re.IGNORECASE)


@rule(severity=Severity.INFO, highest=Severity.WARNING, category="hardening", default=False, fix=Safety.UNSAFE)
def check(model: Model) -> Iterator[Finding]:
    """Find hosts that clients choose."""
    for directive, _ in model.each("proxy_set_header", "grpc_set_header"):
        name, value = directive.args[:2] if len(directive.args) > 1 else ("", "")
        chosen = _OF_CLIENTS.search(value) if name.lower() == "host" else None
        if chosen is None:
            continue
        is_header = chosen[1].lower() == "http_host"
        is_whole = value.lower() in ("$http_host", "${http_host}")
        fix = Fix("pass on $host", (layout.replace(directive, directive.args[1], "$host"),), Safety.UNSAFE)
        yield Finding(
            directive.source,
            directive.args[1].span,
            f"clients choose the host that the upstream gets: ${chosen[1]} may be any name",
            fix if is_whole else None,
            "" if is_whole else "use $host, or a map with the names that are allowed",
            severity=Severity.INFO if is_header else Severity.WARNING,
        )
