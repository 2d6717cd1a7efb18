"""Parses `*_pass` directives and finds the upstreams that they name."""

from __future__ import annotations

import re

from nginxopt import lazy
from nginxopt.config import Directive
from nginxopt.facts import group
from nginxopt.records import record
from nginxopt.semantics.inherit import Level, Setting

PROTOCOLS = ("proxy", "fastcgi", "uwsgi", "scgi", "grpc", "memcached")
"""The modules that pass requests to upstreams; their directives are `proxy_pass` and so on."""

METHODS = group("balancing")
"""The directives that select a balancing method; the default is round robin."""

_LITERAL_HOST = lazy.pattern(r"localhost|\d+(?:\.\d+){0,3}|\[[0-9a-f:.]+\]|unix", re.IGNORECASE)
_SCHEME = lazy.pattern(r"(?!unix:)([^:/?]*)://", re.IGNORECASE)
_PATH = r"[/?]|\$\{?(?:request_uri|uri|document_uri|is_args)\b"  # and variables that begin with one of these
_ADDRESS = lazy.pattern(
    rf"(\[[^]]*\]|(?:(?!{_PATH})[^:])*)(?::((?:(?!{_PATH}).)*))?((?:{_PATH}).*)?", re.DOTALL | re.IGNORECASE
)


@record()
class Upstream:
    """An `upstream` block of http."""

    name: str
    level: Level

    @property
    def servers(self) -> tuple[Directive, ...]:
        """Its `server` directives."""
        return self.level.own("server")

    @property
    def method(self) -> Directive | None:
        """The directive of its balancing method (the last if there are several); None for round robin."""
        return next((directive for directive in reversed(self.level.directives) if directive.name in METHODS), None)

    @property
    def keepalive(self) -> Setting:
        """The setting `keepalive`: the size of its pool of idle connections. `keepalive 0` disables the pool."""
        return self.level.setting("keepalive")


@record()
class Pass:
    """A `proxy_pass`, `fastcgi_pass` or similar directive, at its level.

    Attributes:
        protocol: One of `PROTOCOLS`.
        directive: The directive.
        level: The level in which it stands.
        scheme: The part before `://`; empty if there is none.
        host: The host as written, which may contain variables: an address, the name of a host or upstream, or `unix`.
        port: The port, or the path of a UNIX socket; None if there is none.
        uri: The part after the host (`proxy_pass` only); None if there is none, and nginx passes on the request's URI.
        upstream: The `upstream` block that it names; None if no such block was read.
    """

    directive: Directive
    level: Level
    protocol: str
    scheme: str
    host: str
    port: str | None
    uri: str | None
    upstream: Upstream | None

    @property
    def has_variable(self) -> bool:
        """Whether the target depends on the request."""
        return bool(self.directive.args) and "$" in self.directive.args[0]

    @property
    def names_an_address(self) -> bool:
        """Whether the target is certainly a server and not an upstream: an address, `localhost`, a socket, or a host
        with a port. A name alone may be an upstream in a file that was not read.
        """
        return self.upstream is None and (self.port is not None or bool(_LITERAL_HOST.fullmatch(self.host)))

    def setting(self, name: str) -> Setting:
        """Return the setting of a directive of its protocol: `setting("buffering")` for `proxy_buffering`."""
        return self.level.setting(f"{self.protocol}_{name}")


def read_pass(
    directive: Directive, level: Level, upstreams: dict[str, Upstream], target: str | None = None
) -> Pass | None:
    """Parse a `*_pass` directive; None if it has no argument. `target` replaces its argument.

    It is split like in `ngx_parse_url`. Upstreams are found by name, ignoring case, if the target has no port
    (`ngx_http_upstream_add`); also if variables follow the name (`ngx_http_upstream_init_request`).
    """
    protocol = directive.name.removesuffix("_pass")
    if not directive.args:
        return None
    text = str(directive.args[0]) if target is None else target
    scheme = _SCHEME.match(text)
    address = text[scheme.end() :] if scheme else text
    host, port, uri = _split(address, has_uri=protocol == "proxy")
    upstream = upstreams.get(host.lower()) if port is None else None
    return Pass(directive, level, protocol, scheme[1].lower() if scheme else "", host, port, uri, upstream)


def _split(address: str, *, has_uri: bool) -> tuple[str, str | None, str | None]:
    """Return host, port and URI of `host:port/uri` or `unix:/path:/uri`."""
    if address[:5].lower() == "unix:":
        path, _, uri = address[5:].partition(":") if has_uri else (address[5:], "", "")
        return "unix", path, uri or None
    match = _ADDRESS.fullmatch(address)
    if match is None:
        return address, None, None
    return match[1], match[2], match[3]
