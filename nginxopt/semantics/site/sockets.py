"""Converts the `listen` and `server_name` directives of servers to forms of the request model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from nginxopt.config import Directive
from nginxopt.semantics.inherit import Level
from nginxopt.semantics.listens import Endpoint, Listen, endpoints, read_listens
from nginxopt.semantics.site.form import NameForm, Node, SocketForm
from nginxopt.semantics.site.nodes import Nodes
from nginxopt.semantics.site.script import latin
from nginxopt.version import Version

_FLAGS = {
    "bind", "default", "default_server", "deferred", "http2", "multipath", "proxy_protocol", "quic", "reuseport",
    "spdy", "ssl",
}  # fmt: skip
_VALUES = (
    "accept_filter=", "backlog=", "fastopen=", "ipv6only=", "rcvbuf=", "setfib=", "sndbuf=", "so_keepalive=",
)  # fmt: skip
"""The parameters of a `listen` of http (`ngx_http_core_listen`)."""

_QUIC = Version(1, 25, 0)
_NOT_QUIC = ("ssl", "http2", "proxy_protocol")
"""The parameters that nginx refuses beside `quic`, in the order in which it looks for them."""


def read_sockets(servers: Mapping[Level, int], nodes: Nodes) -> list[SocketForm]:
    """Return the sockets of the servers, which are referred to by number.

    Raises `InputError` for a `listen` that nginx refuses.
    """
    listens = [*read_listens(servers)]
    for listen in listens:
        if listen.directive is not None:
            _refuse(listen, listen.directive)
    addresses = endpoints(listens)
    for endpoint in addresses.values():
        _refuse_duplicates(endpoint)
    return [_socket(endpoint, servers, nodes) for endpoint in addresses.values()]


def _refuse(listen: Listen, directive: Directive) -> None:
    """Raise `InputError` for an address or a parameter that nginx refuses."""
    if not listen.addresses:
        raise directive.error("nginx refuses this address", at=next(iter(directive.args), None))
    for word in directive.args[1:]:
        is_early = word == "quic" and listen.level.target < _QUIC
        if is_early or (word not in _FLAGS and not word.startswith(_VALUES)):
            message = f'invalid parameter "{word}"'
            raise directive.error(message, at=word, nginx=directive.located(message))
    if listen.has("quic"):
        for word in sorted((word for word in directive.args[1:] if word in _NOT_QUIC), key=_NOT_QUIC.index):
            message = f'"{word}" parameter is incompatible with "quic"'
            raise directive.error(message, at=word, nginx=directive.located(f'"listen" directive {message}'))


def _refuse_duplicates(endpoint: Endpoint) -> None:
    """Raise `InputError` for a repeated `listen` of a server, or a second default server (`ngx_http_add_addresses`)."""
    levels: set[Level] = set()
    default: Listen | None = None
    for listen in endpoint.listens:
        if listen.directive is not None and listen.level in levels:
            message = f"a duplicate listen {endpoint.address.numeric}"
            raise listen.directive.error(message, nginx=listen.directive.located(message))
        if listen.directive is not None and listen.is_default and default is not None:
            message = f"a duplicate default server for {endpoint.address.numeric}"
            raise listen.directive.error(message, nginx=listen.directive.located(message))
        levels.add(listen.level)
        default = listen if listen.is_default else default


def _socket(endpoint: Endpoint, servers: Mapping[Level, int], nodes: Nodes) -> SocketForm:
    stated = [listen.directive for listen in endpoint.listens if listen.directive]
    address = endpoint.address
    return {
        "node": nodes.number(stated[0]) if stated else None,
        "family": address.family,
        "host": latin(address.host),
        "port": address.port,
        "tls": endpoint.is_tls,
        "http2": endpoint.has("http2") or endpoint.default.setting("http2").value == "on",
        "quic": endpoint.has("quic"),
        "proxy_protocol": endpoint.has("proxy_protocol"),
        "takes_ipv4": any(listen.value("ipv6only") == "off" for listen in endpoint.listens),
        "servers": [servers[server] for server in endpoint.servers],
        "default": servers[endpoint.default],
    }


def read_names(server: Level, node: Node, nodes: Nodes) -> list[NameForm]:
    """Return the names of a server; without `server_name`, this is the empty name (`ngx_http_core_merge_srv_conf`)."""
    named = _names(server.own("server_name"), nodes)
    return named or [{"node": node, "text": ""}]


def _names(directives: Iterable[Directive], nodes: Nodes) -> list[NameForm]:
    return [
        {"node": nodes.number(directive), "text": latin(name)} for directive in directives for name in directive.args
    ]
