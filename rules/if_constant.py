r"""Condition that is never true, or always: the variable has other values than the one it is compared with

Flags an `if` whose outcome does not depend on the request, as the variable has

- only the values `http` and `https` (`$scheme`), `on` and nothing (`$https`), `?` and nothing (`$is_args`);
- only capital letters (`$request_method`): nginx answers any other method with 400;
- no capital letters, no port and no scheme (`$host`).

The rule decides this with automata over all values that the variable may have. Does not flag a pattern with groups
that always matches, as its captures may be what it is there for; hosts with a part in capital letters, which a script
replaces (`www.DOMAIN`); and `$host` in a server one of whose names has a colon, which `$host` is for a request without
a `Host`.

## Why it matters
A block that is never entered protects nothing, and redirects nobody: `if ($scheme ~ ^http:)` is meant to lead to TLS
and leaves all requests as they are. One that is always entered answers what it should let through. Asked of nginx
1.22.1: a `Host: WWW.Example.com:8080` is `www.example.com` in `$host`.

## Bad
```nginx server
listen 8080;
server_name www.example.net;
if ($scheme ~ ^http:) {
    return 301 https://www.example.net$request_uri;
}
if ($host = "Shop.Example.net") {
    return 301 http://www.example.net/shop/;
}
if ($host != "www.example.net:8080") {
    return 421;
}
if ($request_method !~ ^(get|head)$) {
    return 405;
}
```

## Good
```nginx server
listen 8080;
server_name www.example.net;
if ($scheme = http) {
    return 301 https://www.example.net$request_uri;
}
if ($host = "shop.example.net") {
    return 301 http://www.example.net/shop/;
}
if ($http_host != "www.example.net:8080") {
    return 421;
}
if ($request_method !~ ^(GET|HEAD)$) {
    return 405;
}
```

## Silent
```nginx server
listen 8080;
server_name www.example.net;
if ($host ~* ^WWW\\.) {
    return 301 http://example.net$request_uri;
}
if ($request_method ~* ^(get|head)$) {
    set $kind read;
}
if ($https = "") {
    return 301 https://www.example.net$request_uri;
}
if ($scheme ~ ^(.*)$) {
    set $kind $1;
}
if ($host ~ ^https) {
    return 301 http://www.example.net/tls/;
}
if ($host = www.DOMAIN) {
    return 301 http://www.example.net/;
}
```

## When to ignore it
If a script replaces the value.

## References
- https://nginx.org/en/docs/http/ngx_http_core_module.html#var_host
- ngx_http_validate_host in ngx_http_request.c, ngx_http_parse_request_line in ngx_http_parse.c
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from nginxopt.config import encode, has_placeholder
from nginxopt.lint import Finding, Model, Severity, pattern, rule
from nginxopt.lint.queries import names
from nginxopt.semantics import Level, subjects


class _Domain(NamedTuple):
    values: bytes
    said: str
    has_nothing: bool = True


_DOMAINS = {
    "$scheme": _Domain(rb"^https?\z", "http or https", has_nothing=False),
    "$https": _Domain(rb"^on\z", "on or empty"),
    "$is_args": _Domain(rb"^\?\z", "? or empty"),
    "$request_method": _Domain(rb"^[A-Z_-]+\z", "in capital letters", has_nothing=False),
    "$host": _Domain(rb"^([^A-Z:/]+|\[.*)\z", "in lower case, without a port or a scheme"),
}
"""The values of variables, as a pattern and in words, and whether they may be empty, which automata do not look at.

Only IPv6 addresses have colons, in brackets.
"""

_CAPITALS = pattern(r"[A-Z][A-Z0-9_-]{2,}")
"""What a script replaces."""


@rule(severity=Severity.WARNING, category="correctness", about=("if",))
def check(model: Model) -> Iterator[Finding]:
    """Find conditions of which the outcome is certain."""
    for level in model.levels("if"):
        domain = _DOMAINS.get(level.args[0].lower()) if len(level.args) == 3 else None
        if domain is None or level.opener is None or _is_to_replace(level):
            continue
        outcome = _outcome(domain, *map(str, level.args[1:]))
        if outcome is None:
            continue
        what, effect = ("always", "applies to all requests") if outcome else ("never", "has no effect")
        yield Finding(
            level.opener.source,
            level.opener.name.span,
            f"this condition is {what} true: {level.args[0].lower()} is {domain.said}",
            help=f"the block {effect}: compare with a value that the variable may have",
        )


def _is_to_replace(level: Level) -> bool:
    """Whether a script fills in the value, or a name of the server may be one that no client sends."""
    name, _, value = map(str, level.args)
    if has_placeholder(value) or names.is_blank(value):
        return True
    if name.lower() != "$host":
        return False
    server = level.around("server")
    written = server.own("server_name") if server is not None else ()
    return _CAPITALS.search(value) is not None or any(":" in word for named in written for word in named.args)


def _outcome(domain: _Domain, sign: str, value: str) -> bool | None:
    """Return whether a condition is true for all values of a domain, or for none; None if neither is certain."""
    is_negated = sign.startswith("!")
    if sign in ("=", "!="):
        if "$" in value:
            return None
        compared = b"^" + encode(re.escape(value)) + rb"\z"
    elif sign in ("~", "!~", "~*", "!~*"):
        compared = (b"(?i)" if sign.endswith("*") else b"") + encode(value)
    else:
        return None
    of_nothing = subjects.matches(compared, b"") if domain.has_nothing else None
    if domain.has_nothing and of_nothing is None:
        return None
    if of_nothing is not True and subjects.is_none((domain.values, compared)):
        return is_negated
    if of_nothing is not False and "(" not in value and subjects.is_none((domain.values,), (compared,)):
        return not is_negated
    return None
