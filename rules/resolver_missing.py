"""Variable in `proxy_pass` with a host name and no `resolver`: nginx answers 502

Flags `proxy_pass`, `grpc_pass` and the like with a variable, whose host is a name that is no upstream of the
configuration, where no `resolver` is in force; also if the variable has such a name as its only value.

Does not flag addresses, names of upstreams and of hosts that another directive passes to without a variable, which are
upstreams, too, and configurations that were not read as a whole.

## Why it matters
A `proxy_pass` without variables looks up its host when nginx starts. One with a variable, be it in the path alone, does
so for each request, and asks the `resolver`; without one, it answers 502 and logs `no resolver defined to resolve
api.example.com`. That holds for `localhost`, too. nginx starts without complaint.

## Bad
```nginx http
server {
    listen 80;
    location / {
        proxy_pass https://api.example.com$request_uri;
    }
}
```
```nginx http
server {
    listen 80;
    location / {
        set $backend api.example.com;
        proxy_pass http://$backend;
    }
}
```

## Good
```nginx http
resolver 127.0.0.53;
server {
    listen 80;
    location / {
        proxy_pass https://api.example.com$request_uri;
    }
}
```

## Silent
```nginx http
upstream backend {
    server 192.0.2.1:8080;
}
server {
    listen 80;
    location /a/ {
        proxy_pass http://backend$request_uri;
    }
    location /b/ {
        proxy_pass http://192.0.2.1:8080$request_uri;
    }
    location /c/ {
        proxy_pass http://api.example.com;
    }
    location /e/ {
        proxy_pass http://api.example.com$request_uri;
    }
    location /d/ {
        set $there 192.0.2.1;
        proxy_pass http://$there;
    }
}
```

## When to ignore it
Never.

## References
- https://nginx.org/en/docs/http/ngx_http_core_module.html#resolver
- https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_pass
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from nginxopt.lint import Finding, Model, Severity, pattern, rule
from nginxopt.lint.queries import settled
from nginxopt.semantics import Pass, read_pass

_ADDRESS = pattern(r"\d+(?:\.\d+){3}|\[.*|unix", re.IGNORECASE)
_NAME = pattern(r"[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?", re.IGNORECASE)


@rule(severity=Severity.ERROR, category="correctness")
def check(model: Model) -> Iterator[Finding]:
    """Find names that nginx cannot look up."""
    known = {pass_.host.lower() for pass_ in model.passes if not pass_.has_variable} | model.upstreams.keys()
    for pass_ in model.passes:
        if not pass_.has_variable or pass_.upstream is not None or not model.is_whole:
            continue
        host = _host(model, pass_)
        if host is not None and host.lower() not in known and pass_.level.setting("resolver").is_unset:
            yield Finding(
                pass_.directive.source,
                pass_.directive.args[0].span,
                f"nginx answers 502: without a resolver it cannot look up {host}",
                help="add a resolver, or an upstream with this name",
            )


def _host(model: Model, pass_: Pass) -> str | None:
    """Return the name of the host of a target with a variable; None if it is an address or an upstream, or unknown."""
    target = str(pass_.directive.args[0])
    if "$" in pass_.host:
        target = settled.settled(model, pass_.level, target) or target
    read = read_pass(pass_.directive, pass_.level, model.upstreams, target)
    if read is None or read.upstream is not None or _ADDRESS.fullmatch(read.host) or not _NAME.fullmatch(read.host):
        return None
    return read.host
