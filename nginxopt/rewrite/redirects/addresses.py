"""The ports and names of a server, and the beginnings of URLs that lead to it."""

from __future__ import annotations

import re

from nginxopt.semantics import FRAGMENT, Level, read_listens
from nginxopt.semantics.addresses import PORT
from nginxopt.text import encode

_PORTS = {"http": 80, "https": 443}
_MOST_PORTS = 64  # of a range; URLs with other ports are not followed


def narrow_urls(server: Level) -> list[bytes]:
    """Return the beginnings of URLs that lead to this server whatever the conditions on scheme and host."""
    ports = {port for port, _ in listens(server)}
    ours = [b"$scheme://$http_host"]
    return [b"", *ours, b"$scheme://$host"] if ports <= {80, 443} else [b"", *ours]


def urls(server: Level, shared: frozenset[tuple[int, str]]) -> list[bytes]:
    """Return the beginnings of URLs that lead from this server to itself; `shared` as in `RedirectSite`."""
    if server.is_open or server.kind == FRAGMENT:
        return narrow_urls(server)
    beginnings = narrow_urls(server)
    for port, scheme in sorted(listens(server)):
        hosts = ["$host", *(name for name in names(server) if (port, name) not in shared)]
        ends = [f":{port}", ""] if port == _PORTS[scheme] else [f":{port}"]
        beginnings += [encode(f"{scheme}://{host}{end}") for host in hosts for end in ends]
    return beginnings


def listens(server: Level) -> set[tuple[int, str]]:
    """Return the ports on which a server listens, with their scheme; none for a socket file."""
    ports = {
        (address.port, "https" if listen.has("ssl") or listen.has("quic") else "http")
        for listen in read_listens([server])
        for address in listen.addresses[:_MOST_PORTS]
        if address.family != "unix"
    }
    return ports or {(PORT, "http")}


def names(server: Level) -> list[str]:
    """Return the names of a server without wildcards and patterns, in lower case."""
    names = [name.lower() for directive in server.own("server_name") for name in directive.args]
    return [name for name in names if re.fullmatch(r"[a-z0-9.-]+", name) and not name.startswith(".")]
