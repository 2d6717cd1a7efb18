"""Requests with a length but without a body: on a kept connection, the upstream reads the next request as the body.

nginx passes a request with the client's `Content-Length`, unless `proxy_set_header` clears it, but without a body
(ngx_http_proxy_create_request; verified on nginx 1.22.1 and 1.31.3: `Content-Length: 12` and no body)

- with `proxy_pass_request_body off`;
- in a subrequest whose parent has not read its body: `auth_request`, `mirror`, SSI, `add_before_body` and
  `add_after_body`, `ngx.location.capture` with a method that has a body;
- after the body was discarded, once `error_page` or code continues in another location: nginx discards a body that is
  too large (413), a handler that fails does (412 and 416 of files, 404 of memcached), and code may.

This is harmless if the connection closes after the request.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

from nginxopt.config import Directive
from nginxopt.lint.model import Model
from nginxopt.semantics import Level, Pass
from nginxopt.semantics.directives import BLOCKS, NAMES

_LENGTH, _CODING = "content-length", "transfer-encoding"

# Status codes of nginx itself after it discarded a body, or did not read it because the request is invalid.
_LATE = {"400", "408", "411", "412", "413", "414", "415", "416", "421", "431", "494", "495", "496", "497", "499"}
_FAILING = ("memcached_pass", "image_filter", "xslt_stylesheet")  # may fail after the body was discarded
_LUA = re.compile(r"(?:server_rewrite|rewrite|access|precontent|content)_by_lua(?:_block|_file)?")
_DROPS = re.compile(r"discard_body|capture|require|dofile|load")


class Framing:
    """The requests that the passes of a model send. What holds for all of them is computed once, on first use."""

    def __init__(self, model: Model) -> None:
        self._model = model

    def may_lack_a_body(self, pass_: Pass) -> bool:
        """Return whether a request of a `proxy_pass` may announce a body that it does not have."""
        if pass_.protocol != "proxy" or pass_.setting("set_body").is_set:
            return False
        stated = {_LENGTH: list(_values(pass_, _LENGTH)), _CODING: list(_values(pass_, _CODING))}
        if any(value for values in stated.values() for value in values):
            return True
        if stated[_LENGTH]:
            return False
        if pass_.setting("pass_request_body").value == "off":
            return True
        return self._has_code or any(_may_reach(pass_.level, uri) for uri in self._bodiless)

    @cached_property
    def _has_code(self) -> bool:
        """Whether SSI, Lua, Perl or an unknown module may pass a request without its body to any location."""
        return any(map(_may_drop, _all(self._model)))

    @cached_property
    def _bodiless(self) -> tuple[str, ...]:
        """The URIs of subrequests without a body, and those to which a request without its body may continue."""
        return tuple(_bodiless(self._model))


def _values(pass_: Pass, header: str) -> Iterator[str]:
    for directive in pass_.setting("set_header").directives:
        if len(directive.args) == 2 and directive.args[0].lower() == header:
            yield directive.args[1]


def _bodiless(model: Model) -> Iterator[str]:
    """Yield the URIs of subrequests without a body, and those to which a request without its body may continue."""
    subrequests = list(_subrequests(model))
    yield from subrequests
    may_fail_late = bool(subrequests) or any(model.each(*_FAILING)) or any(map(_streams, model.passes))
    pages = [page for page, _ in model.each("error_page")]
    intercepts = bool(pages) and any(directive.name.endswith("_intercept_errors") for directive in _all(model))
    early = set() if intercepts else {"401"}  # subrequests are not asked for a password
    for directive in pages:
        codes = {word for word in directive.args[:-1] if word.isdecimal()} - early
        if codes & _LATE or (codes and may_fail_late):
            yield directive.args[-1]


def _subrequests(model: Model) -> Iterator[str]:
    for directive, level in model.each("auth_request", "mirror", "add_before_body", "add_after_body"):
        has_body = directive.name == "mirror" and level.setting("mirror_request_body").value in (None, "on")
        if directive.args and directive.args[0] not in ("off", "") and not has_body:
            yield directive.args[0]


def _streams(pass_: Pass) -> bool:
    """Return whether an upstream may fail before the whole body is read."""
    return pass_.setting("request_buffering").value == "off"


def _all(model: Model) -> Iterator[Directive]:
    """Yield every directive, without rows of a `map` or similar block."""
    for scope in model.config.scope.tree():
        if BLOCKS.issuperset(scope.context):
            yield from scope.directives


def _may_drop(directive: Directive) -> bool:
    name = directive.name
    if name == "ssi":
        return directive.args != ("off",)
    if "_by_lua" in name and _LUA.fullmatch(name):
        return name.endswith("_file") or any(map(_DROPS.search, directive.args))
    return name == "perl" or name not in NAMES


def _may_reach(level: Level, uri: str) -> bool:
    """Return whether a location, or one inside it, may serve a URI or what it is rewritten to."""
    server = level.around("server")
    is_folder = uri.endswith("/")  # whose index has another URI
    if server is None or is_folder or _goes_on(server) or _may_serve(level, uri):
        return True
    within = (other for other in server.walk() if other.kind == "location" and _may_serve(other, uri))
    return any(_goes_on(inner) for other in within for inner in other.walk())


def _goes_on(level: Level) -> bool:
    """Return whether a request may leave a level for another location."""
    names = any(name in level.names for name in ("try_files", "index", "random_index"))
    rewrites = any(not rewrite.args[2:] or rewrite.args[2] == "last" for rewrite in level.own("rewrite"))
    return (
        names or rewrites or bool(level.bulks) or any(inner.kind == "if" and _goes_on(inner) for inner in level.levels)
    )


def _may_serve(level: Level, uri: str) -> bool:
    """Return whether a location, or one inside it, may serve a URI."""
    location, server = level.around("location"), level.around("server")
    if location is None or server is None:
        return True
    if any(other.args == ("=", uri) for other in server.walk() if other.kind == "location"):
        return location.args == ("=", uri)
    *modifier, pattern = location.args or ("",)
    return "$" in uri or modifier in (["~"], ["~*"]) or (modifier != ["="] and uri.startswith(pattern))
