"""The address of nginx that a client connects to, for a request to a URL.

What a name resolves to is not in the configuration. So of the addresses with the port of the URL, that is taken where
a server has the name; else one that listens everywhere.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NotRequired, TypedDict

from nginxopt._native import Patterns
from nginxopt.errors import UsageError
from nginxopt.request.client import Request
from nginxopt.request.urls import PORTS, Url
from nginxopt.semantics.site.form import SiteForm, SocketForm

_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}
"""An address to connect to for each that listens everywhere."""
_NAMELESS = frozenset(["", "_", "localhost", "$hostname"])
"""Names of servers that no site has."""


class ConnectionForm(TypedDict):
    """What `Connection` of `rust/src/request/world.rs` reads. Text is bytes as Latin-1."""

    family: str
    host: str
    port: int
    tls: bool
    quic: NotRequired[bool]
    protocol: NotRequired[tuple[int, int] | None]
    sni: str | None
    client: str | None


class RequestForm(TypedDict):
    """What `Request` of `rust/src/request/world.rs` reads."""

    method: str
    target: str
    version: tuple[int, int]
    headers: list[tuple[str, str]]
    connection: ConnectionForm


class NobodyListensError(UsageError):
    """nginx does not listen where a request goes."""


@dataclass(frozen=True)
class ClientGate:
    """Connects clients to the sockets of a site.

    Attributes:
        to: An address to connect to whatever the URL says, as curl's `--connect-to`: host and port.
    """

    site: SiteForm
    to: tuple[str, int] | None = None

    def form(self, request: Request) -> RequestForm:
        """Return a request for the model. Raises `NobodyListensError`."""
        return {
            "method": request.method.decode("latin-1"),
            "target": request.url.target.decode("latin-1"),
            "version": request.version,
            "headers": [(name.decode("latin-1"), value.decode("latin-1")) for name, value in request.headers],
            "connection": {**self.connection(request.url, request.client), "protocol": request.protocol},
        }

    def connection(self, url: Url, client: bytes | None = None) -> ConnectionForm:
        """Return the connection of a client for a URL. Raises `NobodyListensError` if there is none."""
        key = (url.scheme, url.host, url.port)
        if key not in self._connections:
            self._connections[key] = self._connect(url)
        return {**self._connections[key], "client": None if client is None else client.decode("latin-1")}

    @cached_property
    def _connections(self) -> dict[tuple[str, str, int], ConnectionForm]:
        """The connections so far, by scheme, host and port."""
        return {}

    def _connect(self, url: Url) -> ConnectionForm:
        host, port = self.to or (url.host.strip("[]"), url.port)
        sockets = [socket for socket in self._sockets if socket["port"] == port]
        address = _address(host)
        socket = self._of_name(host.lower().rstrip("."), sockets) if address is None else _of_address(address, sockets)
        if socket is None or (url.is_tls and not socket["tls"]):
            raise self._nobody(url, port, without_tls=socket is not None)
        is_name = _address(url.host.strip("[]")) is None
        return {
            "family": "inet" if address and address.version == 4 else socket["family"],
            "host": str(address) if address else _EVERYWHERE.get(socket["host"], socket["host"]),
            "port": port,
            "tls": url.is_tls,
            "sni": url.host.rstrip(".") if url.is_tls and is_name else None,
            "client": None,
        }

    @cached_property
    def base(self) -> Url | None:
        """The site of a path without a host: that of the only host with a name, over TLS if it is served so.

        None if there are several hosts.
        """
        names = {name for names in self._names for name in names if name not in _NAMELESS}
        if len(names) > 1 or any(name.startswith(("~", "*", ".")) or name.endswith("*") for name in names):
            return None
        return self.likely(next(iter(names), "localhost"))

    def likely(self, name: str) -> Url:
        """Return the site that a client probably means by a host: over TLS if it is served so."""
        own = [socket for socket in self._sockets if self._has(socket, name.lower())] or self._sockets
        socket = next((socket for socket in own if socket["tls"]), next(iter(own), None))
        if socket is None:
            return Url("http", name, PORTS["http"], b"/")
        return Url("https" if socket["tls"] else "http", name, socket["port"], b"/")

    def is_tls(self, port: int) -> bool:
        """Return whether nginx begins with a TLS handshake at a port."""
        return any(socket["tls"] for socket in self._sockets if socket["port"] == port)

    def serves(self, url: Url) -> bool:
        """Return whether a server of the site has the host of a URL as a name, at its port."""
        host = url.host.lower().rstrip(".")
        sockets = [socket for socket in self._sockets if socket["port"] == url.port and socket["tls"] == url.is_tls]
        servers = {server for socket in sockets for server in socket["servers"]}
        return any(is_named(name, host) for server in servers for name in self._names[server])

    def _has(self, socket: SocketForm, name: str) -> bool:
        return any(name in self._names[server] for server in socket["servers"])

    @cached_property
    def _sockets(self) -> list[SocketForm]:
        """The sockets that a client reaches over TCP."""
        return [socket for socket in self.site["sockets"] if socket["family"] != "unix" and not socket["quic"]]

    def _of_name(self, name: str, sockets: Sequence[SocketForm]) -> SocketForm | None:
        """Return the socket that a name probably leads to."""
        chosen = [
            *(socket for socket in sockets if socket["family"] == "name" and socket["host"] == name),
            *(socket for socket in sockets if self._has(socket, name)),
            *(socket for socket in sockets if socket["host"] in _EVERYWHERE),
            *sockets,
        ]
        return next(iter(chosen), None)

    @cached_property
    def _names(self) -> list[frozenset[str]]:
        """The names of each server, in lower case."""
        return [frozenset(name["text"].lower() for name in server["names"]) for server in self.site["servers"]]

    def _nobody(self, url: Url, port: int, *, without_tls: bool) -> NobodyListensError:
        reason = f"nginx listens at port {port} without TLS" if without_tls else f"no server listens at port {port}"
        where = ", ".join(dict.fromkeys(map(_place, self._sockets))) or "no address"
        return NobodyListensError(f"{url.site}: {reason}", hint=f"it listens at {where}; choose one with --connect")


def _of_address(address: _Address, sockets: Sequence[SocketForm]) -> SocketForm | None:
    """Return the socket of an address, as nginx finds it: its own, or the one that listens everywhere.

    That may be one of IPv6 that takes connections of IPv4 as well.
    """
    family = "inet" if address.version == 4 else "inet6"
    own = {str(address): 0, "0.0.0.0" if family == "inet" else "::": 1}
    fitting = [socket for socket in sockets if socket["family"] == family and socket["host"] in own]
    mapped = (socket for socket in sockets if address.version == 4 and socket["takes_ipv4"] and socket["host"] == "::")
    return min(fitting, key=lambda socket: own[socket["host"]], default=next(mapped, None))


def is_named(name: str, host: str) -> bool:
    """Return whether a name of a server is that of a host: exact, with a wildcard, or a pattern."""
    if name.startswith("~"):
        return Patterns([b"(?i)" + name[1:].encode("latin-1")]).first(host.encode("latin-1")) is not None
    if name.startswith((".", "*.")):
        return host.endswith(name.lstrip("*")) or (name[0] == "." and host == name[1:])
    return host == name or (name.endswith(".*") and host.startswith(name[:-1]))


def _address(host: str) -> _Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None


def _place(socket: SocketForm) -> str:
    host = "*" if socket["host"] == "0.0.0.0" else socket["host"]
    place = f"[{host}]:{socket['port']}" if socket["family"] == "inet6" else f"{host}:{socket['port']}"
    return f"{place} (TLS)" if socket["tls"] else place
