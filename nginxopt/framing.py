"""Requests that state a length and have no body: over a kept connection the next request would be taken for it.

`proxy_pass_request_body off` and the subrequests of `auth_request` and of `mirror` send no body, but `Content-Length`
as the client stated it, unless `proxy_set_header` clears it (ngx_http_proxy_create_request; seen on nginx 1.22.1 and
1.31.3: `Content-Length: 31` with nothing behind it). Over a connection that ends with its request that does no harm.
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.inherit import Level
from nginxopt.model import Model
from nginxopt.upstreams import Pass

_LENGTH, _CODING = "content-length", "transfer-encoding"


def may_lack_a_body(model: Model, one: Pass) -> bool:
    """Return whether a request of a `proxy_pass` may state a body that it has not."""
    if one.protocol != "proxy" or one.setting("set_body").is_set:
        return False
    stated = {_LENGTH: list(_values(one, _LENGTH)), _CODING: list(_values(one, _CODING))}
    if any(value for values in stated.values() for value in values):
        return True
    if stated[_LENGTH]:
        return False
    if one.setting("pass_request_body").value == "off":
        return True
    return any(_may_serve(one.level, uri) for uri in _bodiless(model))


def _values(one: Pass, header: str) -> Iterator[str]:
    for directive in one.setting("set_header").directives:
        if len(directive.args) == 2 and directive.args[0].lower() == header:
            yield directive.args[1]


def _bodiless(model: Model) -> Iterator[str]:
    """Yield the URIs of subrequests without a body."""
    for directive, level in model.each("auth_request", "mirror"):
        has_body = directive.name == "mirror" and level.setting("mirror_request_body").value in (None, "on")
        if directive.args and directive.args[0] != "off" and not has_body:
            yield directive.args[0]


def _may_serve(level: Level, uri: str) -> bool:
    """Return whether a location, or what is within it, may be that of a URI."""
    location, server = level.around("location"), level.around("server")
    if location is None or server is None:
        return True
    if any(other.args == ("=", uri) for other in server.walk() if other.kind == "location"):
        return location.args == ("=", uri)
    *modifier, pattern = location.args or ("",)
    return "$" in uri or modifier in (["~"], ["~*"]) or (modifier != ["="] and uri.startswith(pattern))
