"""Public name server for the names of upstreams: whoever answers first decides where requests go

Flags a `resolver` with a public address that looks up the host of a `proxy_pass` or similar directive with variables.

Does not flag a `resolver` in private or local networks, one that only OCSP uses, whose answers are signed, and that of
a proxy to whatever host its clients ask for (`proxy_pass http://$host`), as caches of downloads have: the name server
of the network would lead such a proxy to itself.

## Why it matters
nginx asks over UDP, without encryption and without DNSSEC. On the way to a public name server, anyone who sees the
question can answer it, and anyone who guesses its 16-bit id and port may: the answer is cached, and the requests of
clients, with their cookies, go there. The public server also learns each name, and is no faster than one nearby.

## Bad
```nginx http
server {
    resolver 8.8.8.8;
    location / {
        set $app app.example.com;
        proxy_pass http://$app:8080;
    }
}
```

## Good
```nginx http
server {
    resolver 127.0.0.53;
    location / {
        set $app app.example.com;
        proxy_pass http://$app:8080;
    }
}
```

## Silent
Answers about certificates are signed:
```nginx http
resolver 8.8.8.8;
ssl_stapling on;
server {
    location / {
        proxy_pass http://127.0.0.1:8080;
    }
}
```
```nginx http
server {
    server_name *.downloads.example.com;
    resolver 8.8.8.8;
    location / {
        proxy_pass http://$host;
    }
}
```

## When to ignore it
If upstreams are reached over TLS with `proxy_ssl_verify on`, or the network leads to that address by a tunnel.

## References
- https://nginx.org/en/docs/http/ngx_http_core_module.html#resolver: "To prevent DNS spoofing, it is recommended
  configuring DNS servers in a properly secured trusted local network"
- RFC 5452 (forged answers)
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator

from nginxopt.config import Directive, Token
from nginxopt.lint import Finding, Model, Severity, pattern, rule
from nginxopt.lint.queries import settled
from nginxopt.semantics import Level, Pass

_ADDRESS = pattern(r"[\d.]+|\[.*|unix|localhost")
"""Hosts that nobody looks up."""
_OF_CLIENT = pattern(r"\$\{?(?:http_)?host\}?", re.IGNORECASE)


@rule(severity=Severity.WARNING, category="security", about=("resolver",))
def check(model: Model) -> Iterator[Finding]:
    """Find public name servers that decide where requests go."""
    reported: set[Directive] = set()
    for pass_ in model.passes:
        directive = pass_.level.setting("resolver").directive
        if directive is None or directive in reported or not _is_looked_up(model, pass_) or _is_verified(pass_):
            continue
        word = next((word for word in directive.args if _is_public(word)), None)
        if word is not None:
            reported.add(directive)
            yield _finding(directive, word, pass_)


def _finding(directive: Directive, word: Token, pass_: Pass) -> Finding:
    message = f"{word} decides where {pass_.directive.name} {pass_.directive.args[0]} goes: its answers can be forged"
    return Finding(directive.source, word.span, message, help="use a name server on this machine or network")


def _is_looked_up(model: Model, pass_: Pass) -> bool:
    """Return whether the host of a pass is certainly a name for the resolver, and no upstream or address."""
    if "$" not in pass_.host or pass_.upstream is not None or _OF_CLIENT.fullmatch(pass_.host):
        return False
    target = settled.settled(model, pass_.level, pass_.host)
    if target is None:
        return not model.upstreams
    return target.lower() not in model.upstreams and not _ADDRESS.fullmatch(target)


def _is_verified(pass_: Pass) -> bool:
    level: Level = pass_.level
    return pass_.scheme in ("https", "grpcs") and level.setting(f"{pass_.protocol}_ssl_verify").value == "on"


def _is_public(word: str) -> bool:
    host = word[1 : word.index("]")] if word.startswith("[") and "]" in word else word.partition(":")[0]
    try:
        return ipaddress.ip_address(host).is_global
    except ValueError:  # a name, or a parameter
        return False
