"""The `listen` directives of http as nginx reads them, and the addresses that servers share.

The parameters of a `listen` apply to its address and port, not to its server: if one `listen` of an address has `ssl`,
`http2`, `quic` or `proxy_protocol`, all have it (`ngx_http_add_addresses` in ngx_http.c). Settings that nginx needs
before it knows the server name are those of the default server.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from nginxopt.config import Directive, Token
from nginxopt.records import record
from nginxopt.semantics.addresses import PORT, RANGES, Address, read_addresses
from nginxopt.semantics.inherit import Level
from nginxopt.text import Source, Span
from nginxopt.text.decimal import number
from nginxopt.version import Version

BACKLOG = 511
"""The default `backlog` on Linux (`NGX_LISTEN_BACKLOG`)."""

_SSL_GONE = Version(1, 25, 1)
_BINDING = ("bind", "deferred", "reuseport", "multipath")
_BINDING_VALUES = ("setfib", "fastopen", "backlog", "rcvbuf", "sndbuf", "ipv6only", "so_keepalive")
"""The parameters that set options of the socket (`lsopt.set`). `accept_filter` is ignored on Linux."""


@record()
class Listen:
    """A `listen` of a server, or the implied one of a server without `listen`.

    Attributes:
        directive: The directive; None for a server without `listen`.
        level: The server.
        addresses: One address, or one for each port of a range; empty if nginx refuses the directive.
    """

    directive: Directive | None
    level: Level
    addresses: tuple[Address, ...]

    def has(self, flag: str) -> bool:
        """Return whether the `listen` has a flag: `ssl`, `http2`, `quic`, `reuseport` ..."""
        return flag in self._words

    def value(self, name: str) -> str | None:
        """Return the value of a parameter such as `backlog`; None without it."""
        word = self.word(name)
        return None if word is None else word.partition("=")[2]

    def word(self, name: str) -> Token | None:
        """Return the parameter `name=...` as written; None without it."""
        return next((word for word in self._words if word.startswith(f"{name}=")), None)

    @property
    def backlog(self) -> int:
        """The length of the accept queue that nginx requests from the system."""
        stated = number(self.value("backlog") or "")
        return BACKLOG if stated is None else stated

    @property
    def is_default(self) -> bool:
        """Whether it makes its server the default server of the address."""
        return self.has("default_server") or self.has("default")

    @property
    def binds(self) -> bool:
        """Whether it gets a separate socket even if another socket listens on all addresses of its port."""
        return binds(self._words)

    @property
    def source(self) -> Source | None:
        """The file of the `listen`, or of the server without one."""
        return self.directive.source if self.directive else self.level.source

    @property
    def span(self) -> Span:
        """The place of a finding: the address, or the server if it has no `listen`."""
        return self.directive.args[0].span if self.directive and self.directive.args else self.level.span

    @property
    def _words(self) -> tuple[Token, ...]:
        return self.directive.args[1:] if self.directive else ()


@record(slots=False)
class Endpoint:
    """An address with all its `listen` directives, in the order in which nginx reads them."""

    address: Address
    listens: tuple[Listen, ...]

    def has(self, flag: str) -> bool:
        """Return whether the address has a flag, because at least one of its `listen` directives has it."""
        return any(listen.has(flag) for listen in self.listens)

    @cached_property
    def default(self) -> Level:
        """The default server, which answers if no name matches, and whose TLS settings apply to the session cache."""
        return next((listen for listen in self.listens if listen.is_default), self.listens[0]).level

    @cached_property
    def servers(self) -> tuple[Level, ...]:
        """The servers that listen on the address."""
        return tuple(dict.fromkeys(listen.level for listen in self.listens))

    @property
    def is_tls(self) -> bool:
        """Whether connections begin with a TLS handshake: by `ssl` or `quic`, or by `ssl on` of the default server.

        From 1.25.1 on nginx refuses `ssl on` (CHANGES 1.25.1).
        """
        on = self.default.target < _SSL_GONE and self.default.setting("ssl").value == "on"
        return on or self.has("ssl") or self.has("quic")

    @property
    def backlog(self) -> int:
        """The effective `backlog`: that of the only `listen` that sets it, otherwise the default."""
        stated = [listen for listen in self.listens if listen.value("backlog")]
        return (stated or self.listens)[0].backlog


def read_listens(servers: Iterable[Level]) -> Iterator[Listen]:
    """Yield the `listen`s of `server` levels of http, like `ngx_http_core_listen` and `ngx_http_core_server`.

    A server without `listen` yields nothing if a part of it was not read, which may have one.
    """
    for level in servers:
        directives = level.own("listen")
        for directive in directives:
            yield Listen(directive, level, addresses(directive.args, level.target))
        if not directives and not level.is_open:
            yield Listen(None, level, (Address("inet", "0.0.0.0", PORT),))


def addresses(args: Sequence[str], target: Version) -> tuple[Address, ...]:
    """Return the addresses of a `listen` by its arguments; none if nginx refuses it."""
    if not args:
        return ()
    address, *parameters = args
    return read_addresses(address, datagram="quic" in parameters or "udp" in parameters, ranges=target >= RANGES)


def binds(parameters: Iterable[str]) -> bool:
    """Return whether one of the parameters of a `listen` sets options of its socket, which then is one of its own."""
    return any(word in _BINDING or word.partition("=")[0] in _BINDING_VALUES for word in parameters)


def endpoints(listens: Iterable[Listen]) -> dict[Address, Endpoint]:
    """Group `listens` by address, in the order in which nginx reads them."""
    listens_at: dict[Address, list[Listen]] = {}
    for listen in listens:
        for address in listen.addresses:
            listens_at.setdefault(address, []).append(listen)
    return {address: Endpoint(address, tuple(group)) for address, group in listens_at.items()}


def sockets(endpoints: Iterable[Endpoint]) -> tuple[Endpoint, ...]:
    """Return the endpoints for which nginx opens a separate socket (`ngx_http_init_listening`).

    A single address shares the socket that listens on all addresses of its port, unless a parameter separates it.
    """
    candidates = tuple(endpoints)
    wildcards = {_port(endpoint.address) for endpoint in candidates if endpoint.address.is_wildcard}
    return tuple(
        endpoint
        for endpoint in candidates
        if endpoint.address.is_wildcard
        or endpoint.address.family == "unix"
        or _port(endpoint.address) not in wildcards
        or any(listen.binds for listen in endpoint.listens)
    )


def _port(address: Address) -> tuple[str, int, bool]:
    return address.family, address.port, address.datagram
