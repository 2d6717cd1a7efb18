"""Where servers listen: the `listen` directives of http as nginx reads them, and the addresses that servers share.

The parameters of a `listen` hold for its address and port, not for its server: `ssl`, `http2`, `quic` and
`proxy_protocol` of any of them hold for all of one address (`ngx_http_add_addresses` in ngx_http.c), and what belongs
to a connection before a server name is known is that of the default server.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

from nginxopt.config import Directive, Token
from nginxopt.semantics.inherit import Level
from nginxopt.text import Source, Span
from nginxopt.version import Version

PORT = 80
"""The port of a `listen` that names none, and of a server without `listen` if root starts nginx (else 8000)."""

BACKLOG = 511
"""The `backlog` that nginx asks for on Linux (`NGX_LISTEN_BACKLOG`)."""

_PORT_LIMIT = 65_535
_SSL_GONE = Version(1, 25, 1)
_BINDING = ("bind", "deferred", "reuseport", "multipath")
_BINDING_VALUES = ("setfib", "fastopen", "backlog", "rcvbuf", "sndbuf", "accept_filter", "ipv6only", "so_keepalive")


@dataclass(frozen=True, slots=True, order=True)
class Address:
    """What a server listens at, as nginx compares it: two that are equal are one.

    Attributes:
        family: `inet`, `inet6`, `unix`, or `name` for a host that nginx looks up when it starts: such a one is only
            known to be the same as one with the same name.
        host: The address in its usual form (`0.0.0.0` for all), the path of the socket, or the name in lower case.
        port: 0 for a socket of a path.
        datagram: Whether it is of UDP, as `quic` needs it.
    """

    family: str
    host: str
    port: int
    datagram: bool = False

    @property
    def is_wildcard(self) -> bool:
        """Whether it stands for every address of the machine."""
        return self.host in ("0.0.0.0", "::") and self.family in ("inet", "inet6")

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can connect to it."""
        if self.family == "name":
            return self.host == "localhost"
        return self.family == "unix" or ipaddress.ip_address(self.host).is_loopback

    def __str__(self) -> str:
        if self.family == "unix":
            return f"unix:{self.host}"
        host = "*" if self.host == "0.0.0.0" else self.host
        return f"[{host}]:{self.port}" if self.family == "inet6" else f"{host}:{self.port}"


@dataclass(frozen=True, slots=True, eq=False)
class Listen:
    """One `listen` of a server, or where a server listens that has none.

    Attributes:
        directive: None for a server without `listen`.
        level: The server.
        addresses: One, or one for each port of a range; none if nginx refuses what is written.
    """

    directive: Directive | None
    level: Level
    addresses: tuple[Address, ...]

    def has(self, flag: str) -> bool:
        """Return whether it has a parameter without a value: `ssl`, `http2`, `quic`, `reuseport` ..."""
        return flag in self._words

    def value(self, name: str) -> str | None:
        """Return the value of a parameter such as `backlog`; None if it does not have it."""
        word = self.word(name)
        return None if word is None else word.partition("=")[2]

    def word(self, name: str) -> Token | None:
        """Return the parameter `name=...` as it is written; None if it does not have it."""
        return next((word for word in self._words if word.startswith(f"{name}=")), None)

    @property
    def backlog(self) -> int:
        """How many connections may wait to be accepted, as it is asked of the system."""
        value = self.value("backlog")
        return int(value) if value and value.isdecimal() else BACKLOG

    @property
    def is_default(self) -> bool:
        """Whether it makes its server the default one of the address."""
        return self.has("default_server") or self.has("default")

    @property
    def binds(self) -> bool:
        """Whether it makes a socket of its own, although another one listens at all addresses of the port."""
        return any(word in _BINDING or word.partition("=")[0] in _BINDING_VALUES for word in self._words)

    @property
    def source(self) -> Source | None:
        """The file in which it stands."""
        return self.directive.source if self.directive else self.level.source

    @property
    def span(self) -> Span:
        """Where to point at: the address, or the server that has no `listen`."""
        return self.directive.args[0].span if self.directive and self.directive.args else self.level.span

    @property
    def _words(self) -> tuple[Token, ...]:
        return self.directive.args[1:] if self.directive else ()


@dataclass(frozen=True, eq=False)
class Endpoint:
    """An address with all that listens at it, in the order of reading."""

    address: Address
    listens: tuple[Listen, ...]

    def has(self, flag: str) -> bool:
        """Return whether a parameter without a value holds here: one `listen` that has it is enough."""
        return any(listen.has(flag) for listen in self.listens)

    @cached_property
    def default(self) -> Level:
        """The server that answers where no name fits, and whose TLS settings hold for the session cache."""
        return next((listen for listen in self.listens if listen.is_default), self.listens[0]).level

    @cached_property
    def servers(self) -> tuple[Level, ...]:
        """The servers that listen here."""
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
        """The `backlog` that counts: that of the one `listen` that states it."""
        stated = [listen for listen in self.listens if listen.value("backlog")]
        return (stated or self.listens)[0].backlog


def read_listens(servers: Iterable[Level]) -> Iterator[Listen]:
    """Yield where these `server` levels of http listen; nothing for one without `listen` that was not wholly read.

    As `ngx_http_core_listen` and `ngx_http_core_server` do.
    """
    for level in servers:
        directives = level.own("listen")
        for directive in directives:
            yield Listen(directive, level, parse(directive))
        if not directives and not level.is_open:
            yield Listen(None, level, (Address("inet", "0.0.0.0", PORT),))


def endpoints(listens: Iterable[Listen]) -> dict[Address, Endpoint]:
    """Return the addresses of `listens`, in the order of reading, with all that listen there."""
    found: dict[Address, list[Listen]] = {}
    for listen in listens:
        for address in listen.addresses:
            found.setdefault(address, []).append(listen)
    return {address: Endpoint(address, tuple(group)) for address, group in found.items()}


def sockets(found: Iterable[Endpoint]) -> tuple[Endpoint, ...]:
    """Return the endpoints that have a socket of their own, as `ngx_http_init_listening` opens them.

    An address is left out whose port is bound for all addresses, unless a parameter makes it bind by itself.
    """
    all_of_them = tuple(found)
    wild = {_port(one.address) for one in all_of_them if one.address.is_wildcard}
    return tuple(
        one
        for one in all_of_them
        if one.address.is_wildcard
        or one.address.family == "unix"
        or _port(one.address) not in wild
        or any(listen.binds for listen in one.listens)
    )


def parse(directive: Directive) -> tuple[Address, ...]:
    """Return the addresses of a `listen`: several for a range of ports, none where nginx refuses it.

    As `ngx_parse_url` reads the first word.
    """
    if not directive.args:
        return ()
    text, datagram = str(directive.args[0]), "quic" in directive.args[1:]
    if text[:5].lower() == "unix:":
        return (Address("unix", text[5:], 0, datagram),) if text[5:] else ()
    return tuple(Address(family, host, port, datagram) for family, host, ports in _inet(text) for port in ports)


def _inet(text: str) -> Iterator[tuple[str, str, range]]:
    """Yield family, host and ports of `host`, `port`, `host:port` or `[address]:port`, if it is one."""
    match = re.fullmatch(r"(\[[^]]*\]|[^:/?\[]+)(?::([0-9-]+))?", text)
    if match is None:
        return
    host, ports = match[1], match[2]
    if ports is None and re.fullmatch(r"\d+(?:-\d+)?", host):
        host, ports = "*", host
    numbers = range(PORT, PORT + 1) if ports is None else _ports(ports)
    known = _host(host)
    if known and numbers:
        yield *known, numbers


def _ports(text: str) -> range:
    """The ports of `80` or `8000-8010`; none if they are not between 1 and 65535, in this order."""
    match = re.fullmatch(r"(\d+)(?:-(\d+))?", text)
    if match is None:
        return range(0)
    first, last = int(match[1]), int(match[2] or match[1])
    return range(first, last + 1) if 1 <= first <= last <= _PORT_LIMIT else range(0)


def _host(host: str) -> tuple[str, str] | None:
    """Return family and host in the form in which they are compared; None for what is no address."""
    if host == "*":
        return "inet", "0.0.0.0"
    if host.startswith("["):
        try:
            return "inet6", str(ipaddress.IPv6Address(host[1:-1]))
        except ValueError:
            return None
    parts = host.split(".")
    if len(parts) == 4 and all(part.isdecimal() and int(part) <= 255 for part in parts):  # ngx_inet_addr
        return "inet", ".".join(str(int(part)) for part in parts)
    return "name", host.lower()


def _port(address: Address) -> tuple[str, int, bool]:
    return address.family, address.port, address.datagram
