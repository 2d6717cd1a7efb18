"""Which server answers which host, on both sides, for each address that nginx listens at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from nginxopt.request.verify.side import Side
from nginxopt.semantics.site.form import SocketForm

Address = tuple[str, str, int]
"""Family, host and port."""


@dataclass(frozen=True, slots=True)
class Hosts:
    """Hosts that one server of each side answers at an address; `example` is one of them, None for no host at all."""

    old: int
    new: int
    address: Address
    example: str | None


def addresses(side: Side) -> dict[Address, SocketForm]:
    """Return the addresses that nginx listens at."""
    return {(socket["family"], socket["host"], socket["port"]): socket for socket in side.form["sockets"]}


def unlike(old: Side, new: Side) -> Iterator[tuple[Address, str]]:
    """Yield the addresses that only one side has, or that differ in how they are spoken to."""
    mine, theirs = addresses(old), addresses(new)
    for address in mine.keys() | theirs.keys():
        if address not in theirs:
            yield address, "only the old configuration listens there"
        elif address not in mine:
            yield address, "only the new configuration listens there"
        else:
            names = ("tls", "quic", "proxy_protocol")
            for name in names:
                if mine[address][name] != theirs[address][name]:  # type: ignore[literal-required]
                    yield address, f"{name} differs"


def pairs(old: Side, new: Side) -> Iterator[Hosts]:
    """Yield which servers answer which hosts, so that each host is in one of them.

    Hosts divide by the names of both sides: each plain name, each wildcard and each of two of them together, and all
    others. A server that a pattern of `server_name` chooses is one for an example of the pattern only.
    """
    mine, theirs = addresses(old), addresses(new)
    for address in mine.keys() & theirs.keys():
        sockets = mine[address], theirs[address]
        for example in _examples([*_names(old, sockets[0]), *_names(new, sockets[1])]):
            yield Hosts(choose(old, sockets[0], example), choose(new, sockets[1], example), address, example)


def has_patterns(side: Side, socket: SocketForm) -> bool:
    """Return whether a pattern chooses among the servers of an address."""
    return any(name.startswith("~") for name in _names(side, socket))


def _names(side: Side, socket: SocketForm) -> list[str]:
    return [name["text"] for server in socket["servers"] for name in side.server(server)["names"]]


def _examples(names: list[str]) -> Iterator[str | None]:
    """Yield a host of each class."""
    names = [name.lower() for name in names if not name.startswith("~")]
    heads = {name.removeprefix("*").removeprefix(".") for name in names if name.startswith(("*.", "."))}
    tails = {name.removesuffix(".*") for name in names if name.endswith(".*")}
    yield from sorted(
        {name for name in names if name.strip("_") and not name.startswith(("*", ".")) and name[-1] != "*"}
    )
    yield "other.invalid"
    yield None
    for name in sorted(names):
        if name.startswith("."):
            yield name[1:]
    for head in sorted(heads):
        yield f"a-host.{head}"
    for tail in sorted(tails):
        yield f"{tail}.invalid"
        for head in sorted(heads):
            yield f"{tail}.a-host.{head}"


def choose(side: Side, socket: SocketForm, host: str | None) -> int:
    """Return the server of an address for a host (`ngx_http_find_virtual_server`), patterns left aside."""
    tables = _Tables(side, socket)
    return tables.choose("" if host is None else host)


class _Tables:
    """The names of the servers of an address. Of equal names the first counts, as nginx ignores the others."""

    def __init__(self, side: Side, socket: SocketForm) -> None:
        self._default = socket["default"]
        self._exact: dict[str, int] = {}
        self._heads: dict[str, int] = {}
        self._tails: dict[str, int] = {}
        for server in socket["servers"]:
            for name in side.server(server)["names"]:
                self._add(name["text"].lower(), server)

    def _add(self, name: str, server: int) -> None:
        if name.startswith("~"):
            return
        if name.startswith("."):
            if name[1:] not in self._exact and name[1:] not in self._heads:
                self._exact[name[1:]] = self._heads[name[1:]] = server
        elif name.startswith("*."):
            self._heads.setdefault(name[2:], server)
        elif name.endswith(".*"):
            self._tails.setdefault(name[:-2], server)
        else:
            self._exact.setdefault(name, server)

    def choose(self, host: str) -> int:
        if host in self._exact:
            return self._exact[host]
        labels = host.split(".")
        for at in range(1, len(labels)):
            if (head := ".".join(labels[at:])) in self._heads:
                return self._heads[head]
        for end in range(len(labels) - 1, 0, -1):
            if (tail := ".".join(labels[:end])) in self._tails:
                return self._tails[tail]
        return self._default
