"""Public name server for the names of upstreams: whoever answers first decides where requests go

Flags a `resolver` with a public address that looks up the host of a `proxy_pass` or similar directive with variables.

Does not flag a `resolver` in private or local networks, nor one for names that only such a network has
(`.cluster.local`, `.internal`), whatever its address; one that only OCSP uses, whose answers are signed; and that of a
proxy to whatever host its clients ask for (`proxy_pass http://$host`), as caches of downloads have: the name server of
the network would lead such a proxy to itself. Addresses are not looked up, also those in a `map` or `geo`.

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

```nginx http
geo $node {
    default 10.0.0.1;
    10.2.0.0/16 10.0.0.2;
}
server {
    resolver 34.118.224.10;
    location / {
        proxy_pass http://$node:8080;
    }
    location ~ ^/api/([a-z]+) {
        proxy_pass http://$1.default.svc.cluster.local:80;
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
"""Hosts for which no lookup is needed."""
_OF_CLIENT = pattern(r"\$\{?(?:http_)?host\}?", re.IGNORECASE)
_OF_NETWORK = pattern(r".*\.(?:local|internal|lan|consul|svc|home\.arpa)", re.IGNORECASE)
"""Names that no public name server knows (RFC 6762, RFC 8375, those of clusters)."""
_VARIABLE = pattern(r"\$\{?(\w+)\}?")


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
    if _OF_NETWORK.fullmatch(pass_.host) or _is_address(model, pass_.host):
        return False
    target = settled.settled(model, pass_.level, pass_.host)
    if target is None:
        return not model.upstreams and (model.is_whole or _is_set(model, pass_.host))
    return target.lower() not in model.upstreams and not (_ADDRESS.fullmatch(target) or _OF_NETWORK.fullmatch(target))


def _is_set(model: Model, host: str) -> bool:
    """Return whether a host has a variable that is set in what was read, and not by a `map` somewhere else."""
    names = {match[1].lower() for match in _VARIABLE.finditer(host)}
    return any(directive.args and directive.args[0][1:].lower() in names for directive, _ in model.each("set"))


def _is_address(model: Model, host: str) -> bool:
    """Return whether a host is a variable that a `map` or `geo` gives nothing but addresses."""
    match = _VARIABLE.fullmatch(host)
    name = match[1].lower() if match else ""
    tables = [model.maps[name]] if name in model.maps else []
    tables += [level for level in model.levels("geo") if level.args and level.args[-1].strip("${}").lower() == name]
    values = [row.args[0] for level in tables for row in level.directives if row.args and row.name != "include"]
    return bool(values) and all(_ADDRESS.fullmatch(value) for value in values)


def _is_verified(pass_: Pass) -> bool:
    level: Level = pass_.level
    return pass_.scheme in ("https", "grpcs") and level.setting(f"{pass_.protocol}_ssl_verify").value == "on"


def _is_public(word: str) -> bool:
    host = word[1 : word.index("]")] if word.startswith("[") and "]" in word else word.partition(":")[0]
    try:
        return ipaddress.ip_address(host).is_global
    except ValueError:  # a name, or a parameter
        return False
