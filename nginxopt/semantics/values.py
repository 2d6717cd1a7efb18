"""Reads arguments as nginx does: flags, numbers, sizes and times, addresses, and the addresses that servers share.

Functions return None for invalid arguments. The sources are `ngx_conf_set_flag_slot` in ngx_conf_file.c, `ngx_atoi` in
ngx_string.c, ngx_parse.c, `ngx_parse_url` in ngx_inet.c, and `ngx_http_add_addresses` in ngx_http.c.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache

from nginxopt import lazy
from nginxopt.config import Directive, Token
from nginxopt.records import record
from nginxopt.semantics.inherit import Level
from nginxopt.text import Source, Span, encode
from nginxopt.version import Version

_MANY = 1 << 12
"""The number of words that are remembered with what they mean: a configuration repeats most of its times and sizes, and
several rules ask for the same address."""

_MAX = 2**63 - 1  # NGX_MAX_INT_T_VALUE where a pointer has eight bytes

_NUMBER = lazy.pattern(r"[0-9]+")
_SIZE = lazy.pattern(r"([0-9]+)([kmg]?)", re.IGNORECASE)
_QUAD = lazy.pattern(r"([0-9]*)\.([0-9]*)\.([0-9]*)\.([0-9]*)")
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}

# Units occur in this order and at most once. A number without a unit is in seconds; another may follow after a blank.
_TIME = lazy.pattern(
    r"(?:([0-9]*)y *)?(?:([0-9]*)M *)?(?:([0-9]*)w *)?(?:([0-9]*)d *)?(?:([0-9]*)h *)?(?:([0-9]*)m(?!s) *)?"
    r"(?:(?:([0-9]*)s *)?(?:([0-9]*)ms *)?|([0-9]*) +)([0-9]*)"
)
_MILLISECONDS = (31_536_000_000, 2_592_000_000, 604_800_000, 86_400_000, 3_600_000, 60_000, 1000, 1, 1000, 1000)
_YEAR, _MONTH, _MS = 0, 1, 7


def flag(text: str) -> bool | None:
    """Return True for `on` and False for `off`, in any case of letters."""
    return {"on": True, "off": False}.get(text.lower())


def is_url(text: str) -> bool:
    """Return whether `rewrite` and `return` redirect to a text without a flag or code, by how it begins.

    The text is compared, not its value (`ngx_http_rewrite`, `ngx_http_rewrite_return`).
    """
    return text.startswith(("http://", "https://", "$scheme"))


def number(text: str) -> int | None:
    """Return the value of a decimal number."""
    return _bounded(int(text)) if _NUMBER.fullmatch(text) else None


@lru_cache(maxsize=_MANY)
def size(text: str, *, giga: bool = False) -> int | None:
    """Return a size such as `64k` in bytes. `giga`: whether `g` is a unit, too, as in offsets (`max_size=10g`)."""
    match = _SIZE.fullmatch(text)
    if match is None or (match[2].lower() == "g" and not giga):
        return None
    return _bounded(int(match[1]) * _UNITS[match[2].lower()])


@lru_cache(maxsize=_MANY)
def milliseconds(text: str) -> int | None:
    """Return a time such as `1m 30s` or `500ms` in milliseconds, for timeouts, which have no years and months."""
    parts = _parts(text)
    if parts is None or parts[_YEAR] is not None or parts[_MONTH] is not None:
        return None
    return _bounded(_sum(parts))


@lru_cache(maxsize=_MANY)
def seconds(text: str) -> int | None:
    """Return a time such as `1y` or `30d` in seconds, for `expires`, `valid=` and the like, which have no `ms`."""
    parts = _parts(text)
    if parts is None or parts[_MS] is not None:
        return None
    return _bounded(_sum(parts) // 1000)


def _parts(text: str) -> tuple[str | None, ...] | None:
    """Return the number of each unit, in the order of `_MILLISECONDS`; None if the text is not a time."""
    match = _TIME.fullmatch(text)
    return match.groups() if match and any(char.isdigit() for char in text) else None


def _sum(parts: tuple[str | None, ...]) -> int:
    return sum(int(part or 0) * unit for part, unit in zip(parts, _MILLISECONDS, strict=True))


def _bounded(value: int) -> int | None:
    return value if value <= _MAX else None


PORT = 80
"""The default port of a `listen`, and of a server without `listen` if root starts nginx (otherwise that is 8000)."""

RANGES = Version(1, 15, 10)
"""The first version in which a `listen` may have a port range (CHANGES 1.15.10)."""

_MOST_PORT = 65_535
_MOST_PATH = 107
"""The maximum length of the path of a UNIX socket on Linux (`sun_path` in unix(7)), without the final NUL."""

_HEXTET = lazy.pattern(r"[0-9a-fA-F]{1,4}")


@record(eq=True, order=True)
class Address:
    """An address of a `listen`. Equal addresses are the same socket to nginx.

    Attributes:
        family: `inet`, `inet6`, `unix`, or `name` for a host name, which nginx resolves when it starts. Two different
            names may have the same address.
        host: The address in canonical form (`0.0.0.0` for all), the path of a UNIX socket, or the name in lower case.
        port: The port; 0 for a UNIX socket.
        datagram: Whether it uses UDP, as `quic` does. UDP and TCP at the same port are two addresses
            (`ngx_http_add_listen`).
    """

    family: str
    host: str
    port: int
    datagram: bool = False

    @property
    def is_wildcard(self) -> bool:
        """Whether it covers all addresses of the machine."""
        return self.host in ("0.0.0.0", "::") and self.family in ("inet", "inet6")

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can connect to it."""
        if self.family == "name":
            return self.host == "localhost"
        return self.family == "unix" or ipaddress.ip_address(self.host).is_loopback

    @property
    def numeric(self) -> str:
        """The address as nginx writes it in messages (`ngx_sock_ntop`): `0.0.0.0:80` for port 80 of all addresses."""
        return self._text.replace("*", "0.0.0.0", 1)

    def __str__(self) -> str:
        return f"{self._text} (QUIC)" if self.datagram else self._text

    @property
    def _text(self) -> str:
        if self.family == "unix":
            return f"unix:{self.host}"
        host = "*" if self.host == "0.0.0.0" else self.host
        return f"[{host}]:{self.port}" if self.family == "inet6" else f"{host}:{self.port}"


def read_addresses(text: str, *, datagram: bool = False, ranges: bool = True) -> tuple[Address, ...]:
    """Parse the first argument of a `listen`. Return an address for each port; none if nginx refuses the argument.

    `ranges`: whether the nginx version supports port ranges (`RANGES`).
    """
    if text[:5].lower() == "unix:":
        path = text[5:]
        return (Address("unix", path, 0, datagram),) if 1 <= len(encode(path)) <= _MOST_PATH else ()
    family, host, ports = _inet6(text, ranges) if text.startswith("[") else _inet(text, ranges)
    return tuple(Address(family, host, port, datagram) for port in ports)


_Reading = tuple[str, str, range]
"""A parsed address: family, host and ports."""

_REFUSED: _Reading = ("name", "", range(0))


@lru_cache(maxsize=_MANY)
def _inet(text: str, ranges: bool) -> _Reading:
    """Parse `port`, `host` or `host:port` (`ngx_parse_inet_url`)."""
    host, colon, port = text.partition(":")
    ports = _ports(port if colon else host, ranges)
    if not text or "/" in text or "?" in text or (colon and (ports is None or not host)):
        return _REFUSED
    if not colon and ports is not None:
        return "inet", "0.0.0.0", ports
    if ports is None:
        ports = range(PORT, PORT + 1)
    if host == "*":
        return "inet", "0.0.0.0", ports
    octets = quad(host)
    return ("name", host.lower(), ports) if octets is None else ("inet", ".".join(map(str, octets)), ports)


@lru_cache(maxsize=_MANY)
def _inet6(text: str, ranges: bool) -> _Reading:
    """Parse `[address]` or `[address]:port` (`ngx_parse_inet6_url`)."""
    host, bracket, rest = text[1:].partition("]")
    ports = _ports(rest[1:], ranges) if rest else range(PORT, PORT + 1)
    packed = packed_inet6(host)
    if not bracket or (rest and rest[0] != ":") or ports is None or packed is None:
        return _REFUSED
    return "inet6", str(ipaddress.IPv6Address(packed)), ports


def _ports(text: str, ranges: bool) -> range | None:
    """Parse `80` or `8000-8010`. Empty if a port is out of bounds; None if the text is not a number or range."""
    first, dash, last = text.partition("-") if ranges else (text, "", "")
    low, high = number(first), number(last if dash else first)
    if low is None or high is None:
        return None
    return range(low, high + 1) if 1 <= low <= high <= _MOST_PORT else range(0)


def quad(text: str) -> list[int] | None:
    """Return the four numbers of an IPv4 address; None for anything else (`ngx_inet_addr`).

    Like nginx, accepts an empty number as 0, and refuses 255.255.255.255, which is nginx's value for an error.
    """
    match = _QUAD.fullmatch(text)
    octets = [int(octet or 0) for octet in match.groups()] if match else []
    return octets if octets and max(octets) <= 255 and octets != [255] * 4 else None


@record(eq=True)
class Cidr:
    """A network as nginx reads it (`ngx_cidr_t`): the bytes of an address, and the length of its prefix in bits."""

    address: bytes
    length: int

    def up_to(self, length: int) -> Cidr:
        """Return the network of a shorter prefix, or of the same one: the bits behind it are 0."""
        behind = 8 * len(self.address) - length
        value = int.from_bytes(self.address, "big") >> behind << behind
        return Cidr(value.to_bytes(len(self.address), "big"), length)

    def __str__(self) -> str:
        return f"{ipaddress.ip_address(self.address)}/{self.length}"


def network(text: str) -> Cidr | None:
    """Return a network by its prefix, or an address as the network of it alone; None for others (`ngx_ptocidr`)."""
    address, slash, prefix = text.partition("/")
    octets = [255] * 4 if slash and address == "255.255.255.255" else quad(address)
    packed = packed_inet6(address) if octets is None else bytes(octets)
    if packed is None:
        return None
    length = number(prefix) if slash else 8 * len(packed)
    return None if length is None or length > 8 * len(packed) else Cidr(packed, length)


def packed_inet6(text: str) -> bytes | None:
    """Return the bytes of an IPv6 address; None for anything else (`ngx_inet6_addr`).

    nginx accepts some invalid addresses: those with one colon too many before the first group or after the last.
    """
    *heads, tail = text.removeprefix(":").split(":")
    groups: list[int] = []
    gap: int | None = None
    for head in heads:
        if _HEXTET.fullmatch(head):
            groups.append(int(head, 16))
        elif head or gap is not None:
            return None
        else:
            gap = len(groups)
    last = _last_groups(tail, is_only=not heads, has_gap=gap is not None)
    if last is None:
        return None
    groups += last
    if gap is not None and len(groups) < 8:
        groups[gap:gap] = [0] * (8 - len(groups))
    elif gap is not None or len(groups) != 8:
        return None
    return b"".join(group.to_bytes(2, "big") for group in groups)


def _last_groups(tail: str, *, is_only: bool, has_gap: bool) -> list[int] | None:
    """Return the groups after the last colon: one, or two that are written as an IPv4 address."""
    if not tail:
        return [0] if has_gap else None
    if _HEXTET.fullmatch(tail):
        return [int(tail, 16)]
    octets = quad(tail) if _HEXTET.fullmatch(tail.partition(".")[0]) and not is_only else None
    return None if octets is None else [octets[0] << 8 | octets[1], octets[2] << 8 | octets[3]]


@record(eq=True)
class ParsedAddress:
    """An address that was parsed.

    Attributes:
        error: Why nginx refuses it, as `ngx_parse_url` says it; None if it does not.
        host: The host; empty for a UNIX socket.
        port: The port that the text states; None if it states none.
        is_numeric: Whether the host is an IP address or a socket, so that nothing is resolved.
        uri: The URI part, for addresses that may have one.
    """

    error: str | None
    host: str = ""
    port: int | None = None
    is_numeric: bool = False
    uri: str = ""


@lru_cache(maxsize=_MANY)
def parse_url(text: str, *, uri: bool = False) -> ParsedAddress:
    """Parse an address of a server, which may have a URI part with `uri`. Names are not resolved."""
    if text[:5].lower() == "unix:":
        return _parsed_unix(text[5:], uri)
    return _parsed_inet6(text, uri) if text.startswith("[") else _parsed_inet(text, uri)


def parse_address(text: str) -> bool:
    """Return whether a text is an address with or without a port (`ngx_parse_addr_port`)."""
    host, _, port = text[1:].partition("]") if text.startswith("[") else text.partition(":")
    if text.startswith("["):
        return packed_inet6(host) is not None and (not port or (port[0] == ":" and _parsed_port(port[1:]) is not None))
    if text.count(":") > 1:
        return packed_inet6(text) is not None
    return quad(host) is not None and (":" not in text or _parsed_port(port) is not None)


def _parsed_unix(text: str, may_have_uri: bool) -> ParsedAddress:
    path, _, uri = text.partition(":") if may_have_uri else (text, "", "")
    if not path:
        return ParsedAddress("no path in the unix domain socket")
    if len(encode(path)) > _MOST_PATH:
        return ParsedAddress("too long path in the unix domain socket")
    return ParsedAddress(None, is_numeric=True, port=0, uri=uri)


def _parsed_inet6(text: str, may_have_uri: bool) -> ParsedAddress:
    host, bracket, rest = text[1:].partition("]")
    if not bracket:
        return ParsedAddress("invalid host")
    uri = ""
    if may_have_uri and "/" in rest:
        rest, _, uri = rest.partition("/")
        uri = f"/{uri}"
    port: int | None = None
    if rest:
        port = _parsed_port(rest[1:])
        if rest[0] != ":":
            return ParsedAddress("invalid host")
        if port is None:
            return ParsedAddress("invalid port")
    if not host:
        return ParsedAddress("no host")
    if packed_inet6(host) is None:
        return ParsedAddress("invalid IPv6 address")
    return ParsedAddress(None, host, port, True, uri)


def _parsed_inet(text: str, may_have_uri: bool) -> ParsedAddress:
    end = min((at for at in (text.find("/"), text.find("?")) if at >= 0), default=len(text))
    if end < len(text) and not may_have_uri:
        return ParsedAddress("invalid host")
    host, colon, digits = text[:end].partition(":")
    port = _parsed_port(digits) if colon else None
    if colon and port is None:
        return ParsedAddress("invalid port")
    if not host:
        return ParsedAddress("no host")
    return ParsedAddress(None, host, port, quad(host) is not None, text[end:])


def _parsed_port(text: str) -> int | None:
    port = number(text)
    return port if port is not None and 1 <= port <= _MOST_PORT else None


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

    @property
    def takes_ipv4(self) -> bool:
        """Whether it takes connections of IPv4 as well, if it is one of IPv6."""
        return any(listen.value("ipv6only") == "off" for listen in self.listens)

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
