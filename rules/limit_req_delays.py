"""`limit_req` with `burst` and without `nodelay`: requests wait for their turn

Flags a `limit_req` with `burst=` and neither `nodelay` nor `delay=`, if its zone is known, with the time that the last
request of a burst waits: two seconds or more. Does not flag a block that states `nodelay` or `delay=` for
another zone: there, waiting is a choice.

## Why it matters
A browser requests the files of a page all at once. With `rate=1r/s burst=20`, nginx answers the first request at once
and each further one a second later, so the page takes 20 seconds. `nodelay` answers up to `burst` requests at once and
rejects the same requests as before; `delay=` does so for the first few. Timed on nginx 1.22.1 and 1.31.3 with a rate of
5r/s: three requests take 0.4 s, and no time with `nodelay`.

## Bad
```nginx http
limit_req_zone $binary_remote_addr zone=clients:10m rate=1r/s;
server {
    location / {
        limit_req zone=clients burst=20;
        root /srv/www;
    }
}
```

## Good
```nginx http
limit_req_zone $binary_remote_addr zone=clients:10m rate=1r/s;
server {
    location / {
        limit_req zone=clients burst=20 nodelay;
        root /srv/www;
    }
}
```

## Silent
A delay that was chosen, and a short one:
```nginx http
limit_req_zone $binary_remote_addr zone=clients:10m rate=1r/s;
limit_req_zone $server_name zone=servers:10m rate=100r/s;
server {
    location / {
        limit_req zone=clients burst=20 delay=8;
        limit_req zone=servers burst=100;
        root /srv/www;
    }
}
```
A block that has both, as it is known there what `nodelay` does:
```nginx http
limit_req_zone $binary_remote_addr zone=clients:10m rate=1r/s;
limit_req_zone $server_name zone=servers:10m rate=25r/s;
server {
    location / {
        limit_req zone=clients burst=5 nodelay;
        limit_req zone=servers burst=50;
        root /srv/www;
    }
}
```

## When to ignore it
If requests are meant to wait, to slow down a log-in form or to smooth what an upstream gets.

## References
- https://nginx.org/en/docs/http/ngx_http_limit_req_module.html#limit_req
- ngx_http_limit_req_account in ngx_http_limit_req_module.c
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import Directive
from nginxopt.lint import Finding, Model, Severity, pattern, rule
from nginxopt.semantics import values

_RATE = pattern(r"(\d+)r/([sm])")
_PER = {"s": 1, "m": 60}
NOTICED = 2.0
"""Seconds from which a client notices."""


@rule(severity=Severity.INFO, category="client", about=("limit_req",))
def check(model: Model) -> Iterator[Finding]:
    """Find bursts that wait."""
    rates = {_parameter(zone, "zone").partition(":")[0]: _parameter(zone, "rate") for zone, _ in _zones(model)}
    for directive, level in model.each("limit_req"):
        burst = values.number(_parameter(directive, "burst"))
        rate = rates.get(_parameter(directive, "zone"), "")
        seconds = _wait(burst or 0, rate)
        if seconds >= NOTICED and not any(map(_is_chosen, level.own("limit_req"))):
            yield Finding(
                directive.source,
                directive.name.span,
                f"burst={burst} without nodelay: requests wait for their turn, up to {seconds:,.0f} s at {rate}",
                help="add `nodelay`, or `delay=` for the first few (1.15.7): the same requests are rejected, but "
                "a burst reaches the upstream at once",
            )


def _is_chosen(directive: Directive) -> bool:
    """Return whether a `limit_req` states which requests are delayed."""
    return "nodelay" in directive.args or bool(_parameter(directive, "delay"))


def _zones(model: Model) -> Iterator[tuple[Directive, object]]:
    return model.each("limit_req_zone")


def _wait(burst: int, rate: str) -> float:
    """Return the seconds that the last request of a burst waits; 0 if the rate is unknown."""
    match = _RATE.fullmatch(rate)
    return burst * _PER[match[2]] / int(match[1]) if match and int(match[1]) else 0.0


def _parameter(directive: Directive, name: str) -> str:
    words = (word.partition("=") for word in directive.args)
    return next((value for key, _, value in words if key == name), "")
