"""Chooses the listener of a configuration to which requests go, as the requests of clients would.

The configuration does not say what a host name resolves to. So a URL goes to the address with its scheme and port where
a server has the name. A path goes to the content of the site, and not to a server that only redirects to another.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Sequence
from functools import cached_property

from nginxopt.bench.scenario import Scheme, Target
from nginxopt.config import Config
from nginxopt.errors import InputError, UsageError
from nginxopt.records import record
from nginxopt.request.client import PORTS, RequestForm, Url, UrlError, is_named, read_url
from nginxopt.request.locations import absolute
from nginxopt.request.model import OutcomeForm, SiteModel, World, location_of
from nginxopt.request.redirects import REDIRECTS
from nginxopt.semantics import Address, Level
from nginxopt.semantics.site import Build, Nodes
from nginxopt.semantics.site.form import SocketForm
from nginxopt.semantics.site.levels import latin, read_names
from nginxopt.semantics.site.lowering import http_level, placed, read_sockets
from nginxopt.version import Version

_NO_HOSTS = frozenset(["", "_"])
"""Names of servers that no client sends."""
_MOST_PATHS = 8
"""The number of paths to try before a server counts as one that only redirects."""
_MOST_SITES = 3
"""The number of sites that a message names."""
_PATTERN, _MAYBE, _NO_RANK = (3, 0), (4, 0), (9, 0)
"""How well a pattern fits a host. One that is not understood may match, unless an earlier one does."""
_WORLD = World(may_send_more=True)


@record(eq=True)
class RequestTarget:
    """Where requests go, as a URL says it.

    Attributes:
        host: The host to connect to, in lower case.
        port: None if the URL states none.
        sent: The value of `Host`.
    """

    scheme: Scheme
    host: str
    port: int | None
    sent: str


@record(eq=True)
class Listener:
    """An address of a configuration, and the server that answers a host there.

    Attributes:
        host: The value of `Host`; None for the address to which requests are sent.
        server_name: The name in the TLS handshake; None for none.
        address: The address.
        http2: Whether it offers HTTP/2.
        server: The place of the server: `conf.d/shop.conf:12`.
    """

    scheme: Scheme
    host: str | None
    server_name: str | None
    address: Address
    http2: bool
    server: str

    @property
    def origin(self) -> str:
        """The scheme and the host of its requests: `https://shop.example`."""
        return f"{self.scheme}://{self.address if self.host is None else self.host}"


@record()
class _Candidate:
    """A socket with the server that answers a host there.

    Attributes:
        has_content: Whether the server answers the paths itself.
        is_open: Whether load generators can send requests to it.
    """

    socket: SocketForm
    server: int
    host: str | None
    has_content: bool
    is_open: bool

    @property
    def scheme(self) -> Scheme:
        return "https" if self.socket["tls"] else "http"


class Listeners:
    """The listeners of a configuration; `name` is the name of its variant."""

    def __init__(self, name: str, config: Config, version: Version) -> None:
        """Read a configuration for an nginx. Raises `InputError` for a `listen` that it refuses, and without http."""
        self._name, self._config, self._version = name, config, version
        self._levels = [level for level in http_level(placed(config), version).levels if level.kind == "server"]
        self._nodes = Nodes(config)
        self._every = read_sockets({level: number for number, level in enumerate(self._levels)}, self._nodes)
        self._names = [[name["text"] for name in read_names(level, 0, self._nodes)] for level in self._levels]

    def of_site(self, site: RequestTarget, targets: Sequence[Target]) -> Listener:
        """Return the listener of a URL. Raises `UsageError` if there is none, or if load cannot be sent to it."""
        sockets = self._with_scheme(site.scheme)
        at_port = [socket for socket in sockets if socket["port"] == (site.port or PORTS[site.scheme])]
        if site.port is None and not at_port:
            at_port = self._only_port(site, sockets)
        reached = self._reached(site.host, at_port)
        if not reached:
            raise self._error(f"no server listens for {_url(site)}", hint=self._listens())
        server_name = site.host if site.scheme == "https" and _ip(site.host) is None else None
        return self._listener(self._best(site, self._without_proxy_protocol(reached)), site.sent, server_name, targets)

    def of_paths(self, host: str | None, targets: Sequence[Target]) -> Listener:
        """Return the listener of requests without a site; `host` is their `Host`.

        That is the content of the site, over TLS if it is served so; with several sites, that of the default server at
        port 443 or else 80. Raises `UsageError` if there is none, or if load cannot be sent to the content.
        """
        candidates = list(self._candidates(host, targets))
        if not candidates:
            raise self._error("no server can be asked for a path alone", hint=f"use a URL; {self._listens()}")
        contents = [candidate for candidate in candidates if candidate.has_content] or candidates
        chosen = self._preferred([candidate for candidate in contents if candidate.is_open] or contents)
        self._without_proxy_protocol([chosen.socket])
        name = None if chosen.host is None else _without_port(chosen.host)
        tls_name = name if chosen.socket["tls"] and name is not None and _ip(name) is None else None
        return self._listener(chosen.socket, chosen.host, tls_name, targets)

    def like(self, other: Listener, *, stated: RequestTarget | None, targets: Sequence[Target]) -> Listener:
        """Return the listener that clients of another configuration's listener come to here.

        `stated` is the site of their URLs; None if these are only paths. Raises `UsageError` if there is none.
        """
        if stated is not None:
            return self.of_site(stated, targets)
        scheme, address = other.scheme, other.address
        if other.host is not None:
            name = _without_port(other.host)
            return self.of_site(RequestTarget(scheme, name, address.port, other.host), targets)
        sockets = [socket for socket in self._with_scheme(scheme) if socket["port"] == address.port]
        if not sockets:
            raise self._error(f"no server listens for {scheme} at port {address.port}", hint=self._listens())
        same = [socket for socket in sockets if _address(socket) == address]
        return self._listener(self._without_proxy_protocol(same or sockets)[0], None, None, targets)

    def _listener(
        self, socket: SocketForm, host: str | None, server_name: str | None, targets: Sequence[Target]
    ) -> Listener:
        """Return a listener. Raises `UsageError` if its server refuses the clients that load generators are."""
        scheme: Scheme = "https" if socket["tls"] else "http"
        server = self._server(socket, None if host is None else _without_port(host))
        if server_name is not None and not server_name.isascii():
            raise self._error(
                f"{server_name} is no name for TLS", hint="use the form of the name that begins with xn--"
            )
        if scheme == "https":
            for asked in (self._server(socket, server_name), server):
                self._refuse_handshake(self._levels[asked], server_name)
        outcomes = [self._outcome(socket, host, server_name, target) for target in targets[:_MOST_PATHS]]
        if all(_is_closed(outcome) for outcome in outcomes):
            where = self._server_place(server)
            raise self._error(f"the server closes the connection without a response ({where})", hint=self._listens())
        http2 = socket["http2"] or self._levels[server].setting("http2").value == "on"
        return Listener(
            scheme, host, server_name, _address(socket), scheme == "https" and http2, self._server_place(server)
        )

    def _refuse_handshake(self, level: Level, server_name: str | None) -> None:
        for name, values, does in (
            ("ssl_verify_client", ("on",), "requires a certificate of clients, which load generators do not have"),
            ("ssl_reject_handshake", ("on",), "rejects the TLS handshake"),
        ):
            setting = level.setting(name)
            if setting.value in values:
                where = self._place(self._nodes.number(setting.directives[-1])) if setting.directives else name
                raise self._error(f"the server for {server_name or 'no name'} {does} ({where})", hint=self._listens())

    # ---- URLs

    def _with_scheme(self, scheme: Scheme) -> list[SocketForm]:
        return [socket for socket in self._sockets if socket["tls"] == (scheme == "https")]

    def _only_port(self, site: RequestTarget, sockets: Sequence[SocketForm]) -> list[SocketForm]:
        """Return the sockets of the only port of a scheme, which a balancer or a container may publish as its usual
        one. Raises `UsageError` if there are several."""
        fitting = [socket for socket in sockets if self._has_name(socket, site.host)] or list(sockets)
        ports = sorted({socket["port"] for socket in fitting})
        if len(ports) > 1:
            where = ", ".join(map(str, ports))
            raise self._error(
                f"{_url(site)} may be at several ports: {where}", hint=f"state one, such as {_url(site)}:{ports[0]}/"
            )
        return fitting

    def _reached(self, host: str, sockets: Sequence[SocketForm]) -> list[SocketForm]:
        """Return the sockets that a client reaches with an address or a name."""
        address = _ip(host)
        if address is None:
            return list(sockets)
        family, everywhere = ("inet", "0.0.0.0") if address.version == 4 else ("inet6", "::")
        own = [socket for socket in sockets if (socket["family"], socket["host"]) == (family, str(address))]
        return own or [
            socket
            for socket in sockets
            if (socket["family"], socket["host"]) == (family, everywhere)
            or (address.version == 4 and socket["host"] == "::" and socket["takes_ipv4"])
            or socket["family"] == "name"
        ]

    def _without_proxy_protocol(self, sockets: Sequence[SocketForm]) -> list[SocketForm]:
        usable = [socket for socket in sockets if not socket["proxy_protocol"]]
        if not usable:
            where = self._place(sockets[0]["node"])
            raise self._error(
                f"{_address(sockets[0])} expects the PROXY protocol, which no load generator sends ({where})",
                hint="add a listen without proxy_protocol to both configurations",
            )
        return usable

    def _best(self, site: RequestTarget, sockets: Sequence[SocketForm]) -> SocketForm:
        """Return the socket where a server has the name; otherwise one that listens everywhere, or any.

        Raises `UsageError` if several have it, with different servers.
        """
        named = sorted((socket for socket in sockets if self._has_name(socket, site.host)), key=_order)
        servers = {self._server(socket, site.host): socket for socket in reversed(named)}
        if len(servers) > 1 and _ip(site.host) is None:
            places = ", ".join(
                f"{_address(socket)} ({self._server_place(server)})" for server, socket in reversed(servers.items())
            )
            raise self._error(
                f"several servers answer {_url(site)}, at different addresses: {places}",
                hint="use a URL with the address, and the header Host below it",
            )
        return min(named or sockets, key=_order)

    def _has_name(self, socket: SocketForm, host: str) -> bool:
        if socket["family"] == "name" and socket["host"] == host:
            return True
        return self._found(socket, host)[1]

    # ---- Paths

    def _candidates(self, host: str | None, targets: Sequence[Target]) -> Iterator[_Candidate]:
        """Yield the sockets and servers that requests without a site may mean."""
        for socket in self._sockets:
            hosts = [host] if host is not None else list(dict.fromkeys(self._hosts(socket)))
            for name in hosts:
                bare = None if name is None else _without_port(name)
                server = self._server(socket, bare)
                if socket["tls"] and self._levels[server].setting("ssl_reject_handshake").value == "on":
                    continue
                outcomes = [self._outcome(socket, name, bare, target) for target in targets[:_MOST_PATHS]]
                if not all(map(_is_closed, outcomes)):
                    content = any(self._is_content(socket, name, outcome) for outcome in outcomes)
                    asks = socket["tls"] and self._levels[server].setting("ssl_verify_client").value == "on"
                    yield _Candidate(socket, server, name, content, not (asks or socket["proxy_protocol"]))

    def _hosts(self, socket: SocketForm) -> Iterator[str | None]:
        """Yield a host for each server of a socket that a client can ask for; None for the default one without name."""
        for server in socket["servers"]:
            names = map(str.lower, self._names[server])
            exact = (name for name in names if name not in _NO_HOSTS and not set(name) & set("~*$") and name[0] != ".")
            own = next((name for name in exact if self._server(socket, name) == server), None)
            if own is not None or server == socket["default"]:
                yield own

    def _is_content(self, socket: SocketForm, host: str | None, outcome: OutcomeForm | None) -> bool:
        """Return whether an outcome is an answer, and not a redirect to another site of this configuration."""
        location = None if outcome is None else location_of(outcome)
        if outcome is None or location is None or outcome["status"] not in REDIRECTS:
            return not _is_closed(outcome)
        own = Url("https" if socket["tls"] else "http", _without_port(host or "localhost"), socket["port"], b"/")
        try:
            url = read_url(absolute(location, own))
        except UrlError:
            return True
        there = url.host.strip("[]").lower().rstrip(".")
        if (url.scheme, there, url.port) == (own.scheme, own.host, own.port):
            return True
        fitting = [other for other in self._sockets if other["tls"] == url.is_tls]
        is_here = any(other["port"] == url.port and self._has_name(other, there) for other in fitting)
        return not (is_here or (there == own.host and fitting))

    def _preferred(self, contents: Sequence[_Candidate]) -> _Candidate:
        if len({candidate.server for candidate in contents}) == 1:
            return min(contents, key=lambda candidate: (not candidate.socket["tls"], _order(candidate.socket)))
        ports = {443: 0, 80: 1}
        first = min(contents, key=lambda candidate: (ports.get(candidate.socket["port"], 2), _order(candidate.socket)))
        there = [candidate for candidate in contents if candidate.socket is first.socket]
        default = [candidate for candidate in there if candidate.server == first.socket["default"]]
        if default or len(there) == 1:
            return (default or there)[0]
        sites = [f"{candidate.scheme}://{candidate.host}" for candidate in there]
        more = " ..." if len(sites) > _MOST_SITES else ""
        raise self._error(
            f"a path may mean several sites: {', '.join(sites[:_MOST_SITES])}{more}",
            hint=f"use a URL, such as {sites[0]}/path, or the header Host below the path",
        )

    # ---- The model

    @cached_property
    def _sockets(self) -> list[SocketForm]:
        """The sockets that a client reaches over TCP."""
        return [socket for socket in self._every if socket["family"] != "unix" and not socket["quic"]]

    def _server(self, socket: SocketForm, host: str | None) -> int:
        """Return the number of the server that answers a host at a socket."""
        return self._found(socket, host)[0]

    def _found(self, socket: SocketForm, host: str | None) -> tuple[int, bool]:
        """Return the number of the server that answers a host, and whether by its name.

        As `ngx_http_find_virtual_server` finds it; the model of requests does not say it where it knows no answer.
        Raises `UsageError` if it is not known whether a pattern matches.
        """
        ranks = [
            (_rank(name, latin(host)), place, server, name)
            for place, server in enumerate(socket["servers"] if host is not None else ())
            for name in self._names[server]
            if host is not None
        ]
        # Of patterns the first one counts, whether it is understood or not.
        best = min(
            ranks,
            key=lambda found: (min(found[0], _PATTERN) if found[0] != _NO_RANK else _NO_RANK, found[1]),
            default=None,
        )
        rank, _, server, name = best or (_NO_RANK, 0, 0, "")
        if rank == _MAYBE:
            raise self._error(
                f'whether "server_name {name}" is a name for {host} is not known ({self._server_place(server)})',
                hint="use a host that a server has as an exact name",
            )
        return (socket["default"], False) if rank == _NO_RANK else (server, True)

    def _outcome(self, socket: SocketForm, host: str | None, sni: str | None, target: Target) -> OutcomeForm | None:
        """Return how nginx answers a request; None without a model."""
        name = None if sni is None or _ip(sni) is not None else sni
        return None if self._model is None else self._model.trace(_form(socket, host, name, target), _WORLD)["outcome"]

    @cached_property
    def _model(self) -> SiteModel | None:
        """The model of requests; None if it refuses the configuration, which another nginx or a module may accept."""
        try:
            return SiteModel(self._config, Build(self._version))
        except InputError:
            return None

    def _server_place(self, server: int) -> str:
        source, span = self._levels[server].source, self._levels[server].span
        return self._config.main.path if source is None else f"{source.path}:{source.position(span.start).line}"

    def _place(self, node: int | None) -> str:
        if node is None:
            return "a server without listen"
        place = self._nodes.place(node)
        return f"{place.path}:{place.line}"

    def _listens(self) -> str:
        """Return the listeners of this configuration, for the hint of an error."""
        shown = [
            f"{_address(socket)}{' (TLS)' if socket['tls'] else ''} ({self._place(socket['node'])})"
            for socket in self._sockets
        ]
        others = len(self._every) - len(shown)
        without = f", and {others} that no TCP client reaches" if others else ""
        return f"these listen: {', '.join(shown) or 'none'}{without}"

    def _error(self, message: str, *, hint: str) -> UsageError:
        return UsageError(f"{self._name}: {message}", hint=hint)


def site(target: Target) -> RequestTarget | None:
    """Return the site of a target; None if it is only a path."""
    if not target.site:
        return None
    url = read_url(f"{target.site}/")
    has_port = target.site.rpartition("]")[2].partition("://")[2].partition(":")[1] or "]:" in target.site
    scheme: Scheme = "https" if url.is_tls else "http"
    return RequestTarget(
        scheme,
        url.host.strip("[]").lower().rstrip("."),
        url.port if has_port else None,
        sent_host(target) or url.authority.lower(),
    )


def sent_host(target: Target) -> str | None:
    """Return the header `Host` of a target; None without it."""
    return next((value for name, value in target.headers if name.lower() == "host"), None)


def _url(site: RequestTarget) -> str:
    host = f"[{site.host}]" if ":" in site.host else site.host
    return f"{site.scheme}://{host}" + ("" if site.port in (None, PORTS[site.scheme]) else f":{site.port}")


def _form(socket: SocketForm, host: str | None, sni: str | None, target: Target) -> RequestForm:
    others = [(latin(name), latin(value)) for name, value in target.headers if name.lower() != "host"]
    return {
        "method": target.method,
        "target": latin(target.path),
        "version": (1, 1),
        "headers": [("Host", latin(host or "localhost")), *others],
        "connection": {
            "family": socket["family"],
            "host": socket["host"],
            "port": socket["port"],
            "tls": socket["tls"],
            "sni": latin(sni) if sni is not None and socket["tls"] else None,
            "client": None,
        },
    }


def _rank(name: str, host: str) -> tuple[int, int]:
    """Return how a name of a server fits a host, the best first: exact, the longest wildcard, or the first pattern."""
    if name.startswith("~"):
        try:
            return _PATTERN if is_named(name, host) else _NO_RANK
        except ValueError:  # PCRE libraries differ, or the pattern is not understood
            return _MAYBE
    text = name.lower()
    if not is_named(text, host):
        return _NO_RANK
    if text.removeprefix(".") == host:
        return 0, 0
    return (2 if text.endswith(".*") else 1), -len(text.lstrip("*"))


def _order(socket: SocketForm) -> tuple[bool, bool, str]:
    """Return a key that does not depend on the order of listens: IPv4 first, and what listens everywhere."""
    return socket["family"] == "inet6", socket["host"] not in ("0.0.0.0", "::"), socket["host"]


def _address(socket: SocketForm) -> Address:
    return Address(socket["family"], socket["host"], socket["port"], socket["quic"])


def _is_closed(outcome: OutcomeForm | None) -> bool:
    """Return whether nginx closes the connection without a response."""
    return outcome is not None and outcome["kind"] == "closed"


def _without_port(host: str) -> str:
    """Return the host of a `Host` header."""
    name, colon, port = host.rpartition(":")
    return (name if colon and port.isdigit() else host).strip("[]").lower().rstrip(".")


def _ip(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
