"""`proxy_set_header` in an inner level drops the headers that the outer one sends upstream

Flags levels whose own `proxy_set_header` drops inherited ones that tell the upstream about the client: Host, X-Real-IP,
Forwarded and X-Forwarded-*, an upgrade of the connection, and headers that the outer level removes from requests
(`""`). The rule asks the model of `nginxopt trace` for a request that is passed on from there.

Does not flag levels that set the headers again, with the same or another value, nor headers with the value that nginx
sends anyway (`Host $proxy_host`). Of a location for health checks, or one that states only the upgrade of a WebSocket,
only the loss of `Host` is reported: nobody reads the rest there.

## Why it matters
A level with a `proxy_set_header` inherits none (`ngx_http_proxy_merge_loc_conf`). Without `X-Real-IP` and the like,
nginx passes on what the client itself wrote into these headers, and an application that trusts them believes any
address. Without `Host`, the application gets the name of the upstream, and builds links, cookies and redirects with it.

## Bad
```nginx server
proxy_set_header Host $host;
proxy_set_header X-Real-IP $remote_addr;
location /api/ {
    proxy_set_header X-Request-ID $request_id;
    proxy_pass http://127.0.0.1:8080;
}
```

## Good
```nginx server
proxy_set_header Host $host;
proxy_set_header X-Real-IP $remote_addr;
location /api/ {
    proxy_set_header X-Request-ID $request_id;
    proxy_set_header Host $host;
    proxy_set_header X-Real-IP $remote_addr;
    proxy_pass http://127.0.0.1:8080;
}
```

## Silent
```nginx server
proxy_set_header Host $host;
proxy_set_header X-Request-Start $msec;
location /api/ {
    proxy_set_header Host api.example.com;
    proxy_pass http://127.0.0.1:8080;
}
location /app/ {
    proxy_pass http://127.0.0.1:8080;
}
```

```nginx server
proxy_set_header X-Real-IP $remote_addr;
location /healthz {
    proxy_set_header X-Probe yes;
    proxy_pass http://127.0.0.1:8080;
}
location /socket {
    proxy_set_header Upgrade $http_upgrade;
    proxy_set_header Connection upgrade;
    proxy_pass http://127.0.0.1:8080;
}
```

## Fix safety
May change: upstream requests, responses.

The upstream gets the headers that it lacked, and may answer differently.

## When to ignore it
If this upstream does not need the headers and trusts none of them.

## References
- https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_set_header
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from nginxopt.config import Directive
from nginxopt.lint import AskedRequest, Finding, Model, Safety, Severity, Sign, pattern, rule
from nginxopt.lint.queries import inheritance, reaching
from nginxopt.semantics import Level, Pass

_WHO = {"x-real-ip", "forwarded", "true-client-ip", "x-client-ip"}
_WHERE = {"host", "x-forwarded-host", "x-forwarded-proto", "x-forwarded-for", "x-forwarded-port", "x-forwarded-ssl"}
_CONNECTION = {"connection", "upgrade"}
_OF_LITTLE_INTEREST = {"host"}
_HEALTH = pattern(r"(?:^|[/_-])(?:health(?:z|check)?|livez?|readyz?|ping|status)\b", re.IGNORECASE)
_AS_ALWAYS = {"host": ("$proxy_host",), "connection": ("close", ""), "upgrade": ("",), "accept-encoding": ("",)}
"""Values that are as nginx sends them, or that no client can abuse."""


@rule(severity=Severity.WARNING, category="security", fix=Safety.UNSAFE, witness=True, about=("proxy_set_header",))
def check(model: Model) -> Iterator[Finding]:
    """Find levels that drop headers which the upstream should get."""
    yield from inheritance.once_a_line(_found(model))


def _found(model: Model) -> Iterator[Finding]:
    for level in model.levels("server", "location", "if"):
        lost = inheritance.lost(level, "proxy_set_header")
        named = _OF_LITTLE_INTEREST if _is_of_little_interest(level) else lost
        missing = {name: stated for name, stated in lost.items() if name in named and _matters(name, stated)}
        if not missing:
            continue
        for pass_ in _passes(model, level):
            answer = model.requests.first(pass_.level, *_requests(pass_, missing))
            if answer is not None and answer.is_at == "proxy":
                witness = answer.witness(*_shows(missing, pass_))
                yield inheritance.finding(level, "proxy_set_header", missing, witness)
                break


def _is_of_little_interest(level: Level) -> bool:
    """Return whether a level is for health checks, or states only the upgrade of a connection."""
    stated = {header.args[0].lower() for header in level.own("proxy_set_header") if header.args}
    location = level.around("location")
    return stated <= _CONNECTION or (location is not None and _HEALTH.search(location.path) is not None)


def _matters(name: str, stated: Directive) -> bool:
    value = str(stated.args[1])
    if value in _AS_ALWAYS.get(name, ()):
        return False
    return name in _WHO | _WHERE or not value or (name in _CONNECTION and "$" in value)


def _passes(model: Model, level: Level) -> Iterator[Pass]:
    """Yield the passes that have the headers of a level."""
    for inner in level.walk():
        for pass_ in model.passes_at.get(inner, ()):
            if pass_.protocol == "proxy" and pass_.setting("set_header").level is level:
                yield pass_


def _requests(pass_: Pass, missing: Mapping[str, Directive]) -> Iterator[AskedRequest]:
    """Yield requests with headers that the client makes up."""
    forged = tuple(f"{stated.args[0]}: {_forged(name)}" for name, stated in missing.items() if name not in _TAKEN)
    for asked in reaching.reaching(pass_.level):
        yield replace(asked, headers=(*asked.headers, *forged))


_TAKEN = {"host", *_CONNECTION}
"""Headers that a client cannot set, or not freely."""


def _forged(name: str) -> str:
    return {"x-forwarded-proto": "https", "x-forwarded-port": "443"}.get(name, "192.0.2.1")


def _shows(missing: Mapping[str, Directive], pass_: Pass) -> tuple[str, Sign]:
    """Return what the upstream wrongly gets for the first header, and the sign that shows it."""
    name, stated = next(iter(missing.items()))
    if name == "host":
        return f"the upstream gets Host: {pass_.host}", _ECHO
    if name in _CONNECTION:
        return f"the upstream gets no {stated.args[0]} of the client", _ECHO
    value = _forged(name)
    return f"the upstream gets {stated.args[0]}: {value}, as the client wrote it", Sign(passes=(name, value))


_ECHO = Sign(unasked="an echo stands for its upstream")
