"""Which server answers which host, on both sides, for each address that nginx listens on.

nginx chooses a server by the address and the host alone. So the hosts at an address fall into classes, each with one
server on either side, and `pairs` yields an example of each class.

Files that were not read may have servers and locations of their own. Both sides include the same files, so both get the
same additions. These make no difference if both sides have the same names in the same order: then each addition takes
the same requests from the same others. If the names differ, they may make one. Of `location /a/` and `location ^~ /a/`,
only the first leaves a request to a regular expression in such a file; and of the servers at an address, the first one
answers the hosts that no server names (`unlike_locations`, `servers`).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from nginxopt import lazy
from nginxopt._native import common_subject
from nginxopt.records import record
from nginxopt.request.client import Url
from nginxopt.semantics import Level
from nginxopt.semantics.site.form import Node, SocketForm
from nginxopt.verify.canonical import folded
from nginxopt.verify.path_condition import Candidate, Matches, PathCondition
from nginxopt.verify.patterns import starts_with
from nginxopt.verify.reading import LocationName
from nginxopt.verify.side import VerifiedSide, unlike_settings
from nginxopt.verify.symbols import URI, Variable
from nginxopt.version import Version

_UNRESOLVED = lazy.pattern(rb"//|/\.\.?(?:/|\Z)|\0")


class ListenAddress(NamedTuple):
    """An address that nginx listens on. QUIC, which uses UDP, and TCP at the same port are two addresses."""

    family: str
    host: str
    port: int
    quic: bool

    def __str__(self) -> str:
        host = f"[{self.host}]" if self.family == "inet6" else self.host
        place = host if self.family == "unix" else f"{host}:{self.port}"
        return f"{place} (QUIC)" if self.quic else place


@record(eq=True)
class Part:
    """The requests to a host and port whose path starts with `path`, decoded."""

    host: str
    port: int
    path: bytes

    @classmethod
    def of(cls, url: Url) -> Part:
        """Return the part at a URL without arguments."""
        return cls(url.host.lower(), url.port, unquote_to_bytes(url.target))

    @property
    def region(self) -> PathCondition:
        """The requests."""
        if self.path == b"/":
            return PathCondition()
        return PathCondition().with_answer(Matches(Variable(URI), starts_with(self.path)), True)

    @property
    def is_resolved(self) -> bool:
        """Whether a path can start like this after nginx has resolved `//`, `.` and `..`."""
        return _UNRESOLVED.search(self.path) is None

    def is_at(self, address: ListenAddress) -> bool:
        """Return whether requests of the part may come to an address."""
        return address.family != "unix" and address.port == self.port

    def holds(self, request: Candidate) -> bool:
        """Return whether a request is one of them."""
        return request.path.startswith(self.path) and request.host in (None, self.host)


_HOST = "a-host."
_OTHER = "other.invalid"
_HOSTNAME = "$hostname"
_SHAPES = (b"", rb"^www\.", rb"^[^.]+\.[^.]+\.[^.]+\.", rb"^[^.]+-", rb"^[^.]*[0-9]", rb"^[a-z]{4}")


@record(eq=True)
class Hosts:
    """Hosts that one server of each side answers at an address.

    Attributes:
        example: One of them; None for no host at all.
        patterns: The pattern of the `server_name` by which each side chooses its server, which sets captures; None for
            a name without a pattern, and for the default server.
    """

    old: int
    new: int
    address: ListenAddress
    example: str | None
    patterns: tuple[str | None, str | None] = (None, None)


def addresses(side: VerifiedSide) -> dict[ListenAddress, SocketForm]:
    """Return the addresses that nginx listens at, those of TCP first."""
    sockets = sorted(side.form["sockets"], key=lambda socket: socket["quic"])
    return {ListenAddress(*(socket[part] for part in ListenAddress._fields)): socket for socket in sockets}  # type: ignore[literal-required]


def taken(side: VerifiedSide) -> Counter[tuple[ListenAddress, str]]:
    """Count how many servers have each name at each address. A server whose `listen` says `default_server` also has the
    empty name: it answers the hosts that no server names.

    A server that was not read may answer each host that no other server names. So both sides must have the same names,
    even those that make no difference among the servers that were read.
    """
    found: Counter[tuple[ListenAddress, str]] = Counter()
    for address, socket in addresses(side).items():
        for server in map(side.server, socket["servers"]):
            texts = (name["text"] for name in server["names"])
            found.update((address, text if text.startswith("~") else folded(text)) for text in texts)
            found.update([(address, "")] if is_default(side.site.levels[server["level"]]) else [])
    return found


def is_default(server: Level) -> bool:
    """Return whether a `listen` of a server says that it answers the hosts that no server names."""
    return any(not {"default_server", "default"}.isdisjoint(listen.args[1:]) for listen in server.own("listen"))


def alone(old: VerifiedSide, new: VerifiedSide, part: Part | None = None) -> Iterator[tuple[ListenAddress, int]]:
    """Yield the TCP addresses that clients reach on one side only, with the number of that side (0 or 1).

    An address counts only if nothing of the other side takes the connections of `request_of` to it.
    """
    sides = addresses(old), addresses(new)
    for number, (own, other) in enumerate(((sides[0], new), (sides[1], old))):
        by_port: dict[int, list[tuple[ListenAddress, bool]]] = {}
        for each, socket in sides[1 - number].items():
            if each.family != "unix" and not each.quic:
                is_open = socket["takes_ipv4"] or other.site.levels[0].target < _IPV6_ONLY
                by_port.setdefault(each.port, []).append((each, is_open))
        for address in own:
            is_asked = (part is None or part.is_at(address)) and address.family.startswith("inet") and not address.quic
            if is_asked and not any(_takes(*each, address) for each in by_port.get(address.port, ())):
                yield address, number


EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}
"""An address of the machine itself, by the address that stands for all of them."""

_MAPPED = "::ffff:"

_IPV6_ONLY = Version(1, 3, 4)
"""The first version in which a socket of IPv6 takes no connections of IPv4 unless a parameter says so."""


def _takes(listening: ListenAddress, takes_ipv4: bool, address: ListenAddress) -> bool:
    """Return whether connections to an address may come to a socket that listens at another one of this port.

    Those of a family come to the address itself, and to all addresses of the family. Those of IPv4 also come to a
    socket of IPv6 with `ipv6only=off`, and may be to an address of IPv6 that stands for one of IPv4. A name may be any
    address.
    """
    is_mapped = takes_ipv4 or any(each.host.startswith(_MAPPED) for each in (listening, address))
    if listening.family == "name" or (is_mapped and "inet6" in (listening.family, address.family)):
        return True
    return listening.family == address.family and (
        listening.host in EVERYWHERE or listening.host == EVERYWHERE.get(address.host, address.host)
    )


_SPOKEN = {"tls": "tls", "proxy_protocol": "proxy_protocol", "takes_ipv4": "ipv6only"}
"""What decides who can connect to an address and how, with the parameter of `listen` that sets it."""


def unlike(old: VerifiedSide, new: VerifiedSide, part: Part | None = None) -> Iterator[tuple[ListenAddress, str]]:
    """Yield each address where the sides listen differently, and how they differ. With `part`, only its address."""
    mine, theirs = addresses(old), addresses(new)
    for address in {**mine, **theirs}:
        if part is not None and not part.is_at(address):
            continue
        if address not in theirs:
            yield address, "only the old configuration listens there"
        elif address not in mine:
            yield address, "only the new configuration listens there"
        else:
            for name, parameter in _SPOKEN.items():
                if mine[address][name] != theirs[address][name]:  # type: ignore[literal-required]
                    yield address, f"{parameter} differs"
            is_seen = not mine[address]["tls"] or old.counts("http2")
            if is_seen and mine[address]["http2"] != theirs[address]["http2"]:
                yield address, "http2 differs"  # without TLS, nginx before 1.25.1 speaks nothing else there
            if _before_hostname(old, mine[address]) != _before_hostname(new, theirs[address]):
                yield address, f"{_HOSTNAME} may be the name of another server on one side"
    if any(address.quic for address in mine):
        yield from dict.fromkeys(_unlike_protocols(old, new, part))


def _before_hostname(side: VerifiedSide, socket: SocketForm) -> frozenset[str] | None:
    """Return the names at an address that count before `$hostname`, as any of them may be the name of the machine; None
    if no server has that name."""
    names = [folded(name) for name in _names(side, socket)]
    return frozenset(names[: names.index(_HOSTNAME)]) if _HOSTNAME in names else None


_HTTP3 = {"http3": "on", "http3_hq": "off"}
"""The directives that enable protocols over QUIC, with their defaults."""


def _unlike_protocols(old: VerifiedSide, new: VerifiedSide, part: Part | None) -> Iterator[tuple[ListenAddress, str]]:
    """Yield the addresses of QUIC with servers that allow other protocols than those of the same hosts did: nginx asks
    the server that the client names (`ngx_http_ssl_alpn_select`)."""
    for hosts in pairs(old, new, part):
        if hosts.address.quic:
            levels = [side.site.levels[side.server(key)["level"]] for side, key in ((old, hosts.old), (new, hosts.new))]
            for name, default in _HTTP3.items():
                if len({(level.setting(name).value or default).lower() for level in levels}) > 1:
                    yield hosts.address, f"{name} differs"


def pairs(old: VerifiedSide, new: VerifiedSide, part: Part | None = None) -> Iterator[Hosts]:
    """Yield classes of hosts with the server that answers them on each side; with `part`, only the class of its host.

    Together the classes hold every host. There is one for each plain name, for each wildcard, for each two wildcards
    that both match, and for all other hosts. A host that a side neither names nor matches by a wildcard may match any
    pattern of a `server_name` there, or none.
    """
    mine, theirs = addresses(old), addresses(new)
    for address in filter(theirs.__contains__, mine):
        before, after = ServerNames(old, mine[address]), ServerNames(new, theirs[address])
        if part is not None:
            if part.is_at(address):
                yield from _chosen(before, after, address, part.host)
            continue
        for example in _examples([*_names(old, mine[address]), *_names(new, theirs[address])]):
            yield from _chosen(before, after, address, example)


@record(eq=True)
class KnownValues:
    """What is known of variables in a pair of servers, as it answers these hosts at these addresses only.

    Attributes:
        values: The variables of which the value is known, by name: `host` where the pair answers a single plain name.
        never: Names of the servers that others answer, so none is `$host`. The first name of a server is left out, as
            it is `$host` in a request without a host.
    """

    values: Mapping[str, str] = field(default_factory=dict)
    never: frozenset[str] = frozenset()


def known_values(old: VerifiedSide, new: VerifiedSide, hosts: Iterable[Hosts]) -> dict[tuple[int, int], KnownValues]:
    """Return what is known in each pair of servers.

    Of `$host` nothing is known at an address with TLS: the handshake chooses a server, too, and a request whose host no
    server names stays with it (`ngx_http_set_virtual_server`). Nor is anything known at an address with patterns, as
    `hosts` may lack an example of the hosts that these match.
    """
    sides = [(side, addresses(side)) for side in (old, new)]
    plain: dict[ListenAddress, frozenset[str]] = {}
    answered: dict[tuple[int, int], dict[ListenAddress, set[str | None]]] = {}
    for each in hosts:
        if each.address not in plain:
            plain[each.address] = _plain_names([(side, sockets[each.address]) for side, sockets in sides])
        answered.setdefault((each.old, each.new), {}).setdefault(each.address, set()).add(each.example)
    found = {}
    for pair, examples in answered.items():
        servers = list(zip((old, new), pair, strict=True))
        names = {folded(name["text"]) for side, number in servers for name in side.server(number)["names"]}
        sent = names - {side.server_name(number).rstrip("\n") for side, number in servers}
        never = (name for name in sent if all(name in plain[at] and name not in examples[at] for at in examples))
        first, *more = {host if host in plain[at] else None for at, each in examples.items() for host in each}
        values = _of_connections([(at, sockets[at]) for at in examples for _, sockets in sides])
        has_pages = any("error_page" in side.stated for side, _ in sides)
        if has_pages and values.get("https"):  # a page for plain HTTP at this port may be sent without TLS
            del values["https"], values["scheme"]
        found[pair] = KnownValues(values if more or first is None else {**values, "host": first}, frozenset(never))
    return found


def _of_connections(sockets: Sequence[tuple[ListenAddress, SocketForm]]) -> dict[str, str]:
    """Return the variables that have one value in all connections to some addresses."""
    values = {}
    secure = {socket["tls"] or at.quic for at, socket in sockets}
    if len(secure) == 1:
        values = {"scheme": "https", "https": "on"} if secure.pop() else {"scheme": "http", "https": ""}
    ports = {at.port if at.family.startswith("inet") else None for at, _ in sockets}
    only = ports.pop() if len(ports) == 1 else None
    return values if only is None else {**values, "server_port": str(only)}


def _plain_names(sockets: Sequence[tuple[VerifiedSide, SocketForm]]) -> frozenset[str]:
    """Return the names at an address that are hosts; none at an address for which `known_values` says nothing."""
    names = {folded(name) for side, socket in sockets for name in _names(side, socket)}
    if any(name.startswith(("~", _HOSTNAME)) for name in names):
        return frozenset()
    if any(socket["tls"] or socket["quic"] for _, socket in sockets):
        return frozenset()
    return frozenset(name for name in names if name and name[0] not in "*." and name[-1] != "*") - {_OTHER}


def _chosen(old: ServerNames, new: ServerNames, address: ListenAddress, example: str | None) -> Iterator[Hosts]:
    """Yield the servers that may answer the hosts of a class."""
    named = example or ""
    mine, theirs = old.named(named), new.named(named)
    if mine is not None and theirs is not None:
        yield Hosts(mine, theirs, address, example)
    elif mine is None and theirs is None and list(old.patterns) == list(new.patterns):
        for pattern, server in old.patterns.items():
            yield Hosts(server, new.patterns[pattern], address, host_of([pattern]), (pattern, pattern))
        yield Hosts(old.default, new.default, address, example)
    else:
        for first, before in old.possible(mine):
            for second, after in new.possible(theirs):
                given = (before, after, _class(example))
                host = host_of([text for text in given if text is not None])
                yield Hosts(first, second, address, host or example, (before, after))


def _class(example: str | None) -> str | None:
    """Return a pattern for the hosts of a wildcard, given its example; None for other examples."""
    if example is None or not example.startswith(_HOST):
        return None
    return r"~\." + re.escape(example.removeprefix(_HOST)) + "$"


def host_of(patterns: Sequence[str], shape: bytes = b"") -> str | None:
    """Return a host that all patterns match, and `shape` as well; None if none is found that a client can send."""
    inside = [shape, *(pattern.removeprefix("~").encode("latin-1") for pattern in patterns)]
    host = common_subject([*inside, rb"^[a-z0-9.-]+\z"], [rb"^\.|\.\.|\.\z"], False)[1]
    return None if host is None else host.decode()


def unlike_hosts(patterns: Sequence[str]) -> Iterator[str]:
    """Yield hosts of several shapes that all patterns match, so that the patterns may capture different parts."""
    hosts = (host_of(patterns, shape) for shape in _SHAPES)
    yield from dict.fromkeys(host for host in hosts if host is not None)


def _names(side: VerifiedSide, socket: SocketForm) -> list[str]:
    return [name["text"] for server in socket["servers"] for name in side.server(server)["names"]]


def _examples(names: list[str]) -> Iterator[str | None]:
    """Yield a host of each class."""
    names = [folded(name) for name in names if not name.startswith("~")]
    heads = {name.removeprefix("*").removeprefix(".") for name in names if name.startswith(("*.", "."))}
    tails = {name.removesuffix(".*") for name in names if name.endswith(".*")}
    yield from sorted({name for name in names if name and not name.startswith(("*", ".")) and name[-1] != "*"})
    yield _OTHER
    yield None
    for name in sorted(names):
        if name.startswith("."):
            yield name[1:]
    for head in sorted(heads):
        yield _HOST + head
    for tail in sorted(tails):
        yield f"{tail}.invalid"
        for head in sorted(heads):
            yield f"{tail}.{_HOST}{head}"


class ServerNames:
    """The names of the servers of an address (`ngx_http_find_virtual_server`). Of equal names the first counts.

    Attributes:
        default: The server of a host that has none of the names.
        patterns: The servers of patterns, in the order in which they are tried.
    """

    def __init__(self, side: VerifiedSide, socket: SocketForm) -> None:
        self.default = socket["default"]
        self.patterns: dict[str, int] = {}
        self._exact: dict[str, int] = {}
        self._heads: dict[str, int] = {}
        self._tails: dict[str, int] = {}
        for server in socket["servers"]:
            for name in side.server(server)["names"]:
                if name["text"].startswith("~"):
                    self.patterns.setdefault(name["text"], server)
                else:
                    self._add(folded(name["text"]), server)

    def _add(self, name: str, server: int) -> None:
        if name.startswith("."):
            if name[1:] not in self._exact and name[1:] not in self._heads:
                self._exact[name[1:]] = self._heads[name[1:]] = server
        elif name.startswith("*."):
            self._heads.setdefault(name[2:], server)
        elif name.endswith(".*"):
            self._tails.setdefault(name[:-2], server)
        else:
            self._exact.setdefault(name, server)

    def possible(self, named: int | None) -> list[tuple[int, str | None]]:
        """Return the servers that may answer a host, with their pattern: the one that `named` found, or any."""
        if named is not None:
            return [(named, None)]
        return [(self.default, None), *((server, pattern) for pattern, server in self.patterns.items())]

    def named(self, host: str) -> int | None:
        """Return the server of a host; None if it has none of the names, so that patterns are tried."""
        if host in self._exact:
            return self._exact[host]
        labels = host.split(".")
        for at in range(1, len(labels)):
            if (head := ".".join(labels[at:])) in self._heads:
                return self._heads[head]
        for end in range(len(labels) - 1, 0, -1):
            if (tail := ".".join(labels[:end])) in self._tails:
                return self._tails[tail]
        return None if self.patterns else self.default


_HTTP = 0  # the number of the http block

Sides = tuple[VerifiedSide, VerifiedSide]
Levels = tuple[int, int]


@record(eq=True)
class HiddenDifference:
    """A difference that shows only if a file that was not read adds something: a phrase, and the blocks it is in."""

    reason: str
    old: Node | None
    new: Node | None


def unlike_locations(sides: Sides, levels: Levels) -> Iterator[HiddenDifference]:
    """Yield differences of two servers or locations, and of the locations inside them, that show only in locations of a
    file that was not read.

    Such a location inherits the settings of the block around it. So these must be alike even if no known request
    reaches that block itself.
    """
    inner = [_inner(side, level) for side, level in zip(sides, levels, strict=True)]
    is_open = any(side.may_add(level, "location") for side, level in zip(sides, levels, strict=True))
    if is_open and len({_location_names(side, level) for side, level in zip(sides, levels, strict=True)}) > 1:
        yield _difference("locations that were not read may be chosen otherwise among the others", sides, levels)
    if is_open and sides[0].level(levels[0])["kind"] == "location":
        unlike = unlike_settings(sides[0], levels[0], sides[1], levels[1])
        if unlike:
            reason = f"locations that were not read have other settings: {', '.join(unlike)}"
            yield _difference(reason, sides, levels)
    for name in (name for name in inner[0] if name in inner[1]):
        yield from unlike_locations(sides, (inner[0][name], inner[1][name]))
    for at in (0, 1):
        for name in (name for name in inner[at] if name not in inner[1 - at]):
            if _has_open(sides[at], inner[at][name]):
                nodes: list[Node | None] = [None, None]
                nodes[at] = sides[at].level(inner[at][name])["node"]
                yield HiddenDifference("only one side has the location with what was not read", nodes[0], nodes[1])


def _difference(reason: str, sides: Sides, levels: Levels) -> HiddenDifference:
    nodes = [side.level(level)["node"] for side, level in zip(sides, levels, strict=True)]
    return HiddenDifference(reason, *nodes)


def _inner(side: VerifiedSide, level: int) -> dict[LocationName, int]:
    """Return the locations directly in a block; of equal patterns, the first."""
    found: dict[LocationName, int] = {}
    for number in side.level(level)["locations"]:
        found.setdefault(side.location_name(number), number)
    return found


def _location_names(side: VerifiedSide, level: int) -> Hashable:
    """Return the names of the locations in a block, each with those inside of it. The order of patterns counts."""
    inner = [(side.location_name(number), _location_names(side, number)) for number in side.level(level)["locations"]]
    patterns = tuple(each for each in inner if each[0].modifier == "~")
    return patterns, frozenset(each for each in inner if each[0].modifier != "~")


def _has_open(side: VerifiedSide, level: int) -> bool:
    """Return whether a file that was not read may add locations to a location, or to one inside of it."""
    return side.may_add(level, "location") or any(_has_open(side, number) for number in side.level(level)["locations"])


def may_add_servers(side: VerifiedSide) -> bool:
    """Return whether a file that was not read may add servers, or names and addresses of one that was read."""
    inner = (side.may_add(server["level"], "listen", "server_name") for server in side.form["servers"])
    return side.may_add(_HTTP, "server") or any(inner)


def servers(side: VerifiedSide) -> list[tuple[Hashable, ...]]:
    """Return the names and addresses of all servers, in their order, as far as they decide which one answers."""
    places: dict[int, set[tuple[ListenAddress, bool]]] = {}
    for address, socket in addresses(side).items():
        for number in socket["servers"]:
            is_first = socket["default"] == number and is_default(side.site.levels[side.server(number)["level"]])
            places.setdefault(number, set()).add((address, is_first))
    return [
        (frozenset(places.get(number, ())), *_server_names([name["text"] for name in server["names"]]))
        for number, server in enumerate(side.form["servers"])
    ]


def _server_names(names: list[str]) -> tuple[Hashable, ...]:
    """Return what counts of the names of a server: the first, which is `$server_name`; patterns in order; the rest."""
    patterns = tuple(name for name in names if name.startswith("~"))
    return tuple(names[:1]), patterns, frozenset(folded(name) for name in names if not name.startswith("~"))
