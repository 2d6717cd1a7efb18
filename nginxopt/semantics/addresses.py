"""Parses the address of a `listen`, like `ngx_parse_url` in ngx_inet.c."""

from __future__ import annotations

import ipaddress

from nginxopt import lazy
from nginxopt.records import record
from nginxopt.semantics.values import number
from nginxopt.text import encode
from nginxopt.version import Version

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
    octets = [number(octet or "0") for octet in text.split(".")]
    known = [octet for octet in octets if octet is not None and octet <= 255]
    return known if len(known) == len(octets) == 4 and known != [255] * 4 else None


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
