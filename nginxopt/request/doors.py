"""How clients reach the servers of a site, and where an absolute `Location` leads them.

Which address a name resolves to is not in the configuration. A client that is sent to the same scheme, host and port
stays where it is; with another one, it comes to a server of the site only if one alone has the name.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cached_property
from itertools import islice

from nginxopt import lazy
from nginxopt.records import record
from nginxopt.request.client import ClientGate, RequestForm, Url, UrlError, read_url
from nginxopt.request.model import SiteModel, World
from nginxopt.semantics.site.form import SocketForm
from nginxopt.semantics.subjects import shortest

WORLD = World(may_send_more=True)
"""What is known of these requests: nothing but the URL, as clients may send anything else."""

_EXACT = lazy.pattern(r"[a-z0-9_-]+(?:\.[a-z0-9_-]+)*")
_HOST = rb"^[a-z0-9]+(?:[.-][a-z0-9]+)*$"
_MOST_NAMES = 8
"""The number of hosts that are tried for a server."""
_NO_NAMES = ("localhost", "host.invalid")
"""Hosts that servers without a name of their own answer as the default of an address."""


@record()
class Door:
    """A host at an address of nginx, to which clients of a site send their requests. Each such pair has one door.

    Attributes:
        url: The root of the site.
        site: How its URLs begin.
        address: The place of the address among the sockets of nginx.
        form: A request for the model, whose target is to be replaced.
    """

    url: Url
    site: str
    address: int
    form: str


class Doors:
    """The doors of a site.

    Servers whose only names are patterns have a door if `by_patterns`: a host that a pattern matches may not exist.

    Attributes:
        world: What is known of the world, as the model reads it: clients may send more than the requests have.
    """

    def __init__(self, model: SiteModel, *, by_patterns: bool = False) -> None:
        self._by_patterns = by_patterns
        self.world = json.dumps(WORLD.form())
        self._model = model
        self._form = model.site.site
        self._gate = ClientGate(self._form)
        self._doors: dict[tuple[int, str], Door] = {}
        self._ways: dict[tuple[Door, str], Door | None] = {}

    def of_server(self, server: int) -> Iterator[Door]:
        """Yield a door to a server for each scheme, TLS first."""
        sockets = self._by_server.get(server, [])
        for tls in (True, False):
            addresses = (address for address in sockets if self._form["sockets"][address]["tls"] is tls)
            for address in islice(addresses, 1):
                hosts = filter(_EXACT.fullmatch, self._hosts(server, address))
                doors = (self._door(address, host) for host in hosts)
                yield from islice((door for door in doors if self._server(door) == server), 1)

    def way(self, door: Door, site: str) -> Door | None:
        """Return the door to which `http://host:port` leads a client; None if that is not certain."""
        key = (door, site)
        if key not in self._ways:
            self._ways[key] = self._way(door, site)
        return self._ways[key]

    def _way(self, door: Door, site: str) -> Door | None:
        try:
            url = read_url(site)
        except UrlError:
            return None
        host = url.host.lower()
        if (url.scheme, host, url.port) == (door.url.scheme, door.url.host, door.url.port):
            return door
        doors = [self._door(address, host) for address in self._reached(door, url, host)]
        servers = {self._server(other) for other in doors}
        return doors[0] if len(servers) == 1 and None not in servers else None

    def _reached(self, door: Door, url: Url, host: str) -> list[int]:
        """Return the addresses that a client may come to."""
        sockets = self._form["sockets"]
        fitting = [
            address
            for address in self._sockets
            if sockets[address]["port"] == url.port and sockets[address]["tls"] == url.is_tls
        ]
        if host == door.url.host:
            here = [address for address in fitting if _place(sockets[address]) == _place(sockets[door.address])]
            return here or fitting
        is_named = (url.port, host) in self._owners or self._gate.serves(url)
        return fitting if is_named else []

    def _hosts(self, server: int, address: int) -> Iterator[str]:
        """Yield hosts by which a client may reach a server: first those that no other server has."""
        socket = self._form["sockets"][address]
        names = [name["text"].lower() for name in self._form["servers"][server]["names"]]
        exact = [name for name in names if _EXACT.fullmatch(name) and name != "_"][:_MOST_NAMES]
        yield from (name for name in exact if len(self._owners[socket["port"], name]) == 1)
        yield from (f"www{name[1:]}" for name in names if name.startswith("*."))
        yield from (name[1:] for name in names if name.startswith("."))
        yield from (f"{name[:-1]}test" for name in names if name.endswith(".*") and _EXACT.fullmatch(name[:-2]))
        if self._by_patterns:
            yield from (host for name in names if name.startswith("~") for host in _matching(name[1:]))
        if socket["default"] == server:
            yield from _NO_NAMES
        yield from (name for name in exact if len(self._owners[socket["port"], name]) > 1)

    @cached_property
    def _owners(self) -> dict[tuple[int, str], set[int]]:
        """The servers that have a name at a port."""
        owners: dict[tuple[int, str], set[int]] = {}
        for socket in map(self._form["sockets"].__getitem__, self._sockets):
            for server in socket["servers"]:
                for name in self._form["servers"][server]["names"]:
                    owners.setdefault((socket["port"], name["text"].lower()), set()).add(server)
        return owners

    @cached_property
    def _by_server(self) -> dict[int, list[int]]:
        """The places of the sockets of each server."""
        places: dict[int, list[int]] = {}
        for place in self._sockets:
            for server in self._form["sockets"][place]["servers"]:
                places.setdefault(server, []).append(place)
        return places

    @cached_property
    def _sockets(self) -> list[int]:
        """The places of the sockets that a client reaches over TCP."""
        sockets = enumerate(self._form["sockets"])
        return [place for place, socket in sockets if socket["family"] != "unix" and not socket["quic"]]

    def _server(self, door: Door) -> int | None:
        """Return the server that answers there; None if that is not known."""
        return self._model.native.of_targets(door.form, [b"/"], self.world)[0][0]

    def _door(self, address: int, host: str) -> Door:
        if (address, host) not in self._doors:
            self._doors[address, host] = self._opened(address, host)
        return self._doors[address, host]

    def _opened(self, address: int, host: str) -> Door:
        socket = self._form["sockets"][address]
        url = Url("https" if socket["tls"] else "http", host, socket["port"], b"/")
        form: RequestForm = {
            "method": "GET",
            "target": "/",
            "version": (1, 1),
            "headers": [("Host", url.authority), ("User-Agent", "Mozilla/5.0")],
            "connection": {
                "family": socket["family"],
                "host": socket["host"],
                "port": socket["port"],
                "tls": socket["tls"],
                "sni": host if socket["tls"] else None,
                "client": None,
            },
        }
        return Door(url, url.site, address, json.dumps(form))


def _matching(pattern: str) -> Iterator[str]:
    """Yield a host that a pattern matches, if there is one."""
    host = shortest((b"(?i)" + pattern.encode("latin-1"), _HOST))
    if host is not None:
        yield host.decode("ascii")


def _place(socket: SocketForm) -> tuple[str, str]:
    return socket["family"], socket["host"]
