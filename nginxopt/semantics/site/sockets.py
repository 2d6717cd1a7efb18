"""Where servers listen, and their names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from nginxopt.config import Directive
from nginxopt.semantics.inherit import Level
from nginxopt.semantics.listens import Endpoint, Listen, endpoints, read_listens
from nginxopt.semantics.site.form import NameForm, Node, SocketForm
from nginxopt.semantics.site.nodes import Nodes
from nginxopt.semantics.site.script import latin


def read_sockets(servers: Mapping[Level, int], nodes: Nodes) -> list[SocketForm]:
    """Return the addresses that servers listen at, by their numbers. Raises `InputError` for one that nginx refuses."""
    listens = [*read_listens(servers)]
    for listen in listens:
        _refuse(listen)
    return [_socket(endpoint, servers, nodes) for endpoint in endpoints(listens).values()]


def _refuse(listen: Listen) -> None:
    if listen.directive is not None and not listen.addresses:
        raise listen.directive.error("nginx refuses this address", at=next(iter(listen.directive.args), None))


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
        "servers": [servers[server] for server in endpoint.servers],
        "default": servers[endpoint.default],
    }


def read_names(server: Level, node: Node, nodes: Nodes) -> list[NameForm]:
    """Return the names of a server; one without `server_name` has the empty name (`ngx_http_core_merge_srv_conf`)."""
    named = _names(server.own("server_name"), nodes)
    return named or [{"node": node, "text": ""}]


def _names(directives: Iterable[Directive], nodes: Nodes) -> list[NameForm]:
    return [
        {"node": nodes.number(directive), "text": latin(name)} for directive in directives for name in directive.args
    ]
