"""What nginx warns of when it reads a configuration: what `nginx -t` says at level `warn`, as far as the text decides.

nginx starts nonetheless. As for refusals (`nginxopt.semantics.refusals`), there is a function for each setter of nginx
that warns, found by its name in the table of declarations, and one for each check at the end of a block. Left out are
warnings that depend on certificates, the machine or the build, and what other rules report: names that two servers
have, obsolete directives, and pools that a balancing method removes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from enum import Enum
from functools import cache, partial
from itertools import pairwise

from nginxopt.config import Directive, Token
from nginxopt.facts import group
from nginxopt.records import record
from nginxopt.semantics.commands import declared, place
from nginxopt.semantics.inherit import FRAGMENT, Level
from nginxopt.semantics.values import Address, Cidr, binds, network, number, read_listens
from nginxopt.version import Version

_HTTP2_DEPRECATED = Version(1, 25, 1)
_COMPARED = {"http": Version(1, 25, 0), "stream": Version(1, 25, 5)}
"""The first releases that compare what the `listen`s of an address state (`ngx_http_add_addresses`)."""

_DEPRECATED: Mapping[str, tuple[Version | None, str]] = {
    "ssl": (Version(1, 15, 0), "listen ... ssl"),
    "proxy_downstream_buffer": (None, "proxy_buffer_size"),
    "proxy_upstream_buffer": (None, "proxy_buffer_size"),
}
"""The directives with an `ngx_conf_deprecated_t`: the first release that warns (None: all), and what it recommends."""

_KEYLESS = ("fastcgi", "uwsgi", "scgi")
"""The modules whose cache has no key by default."""

_METHODS = group("balancing") - {"ntlm", "sticky"}


class WarningKind(Enum):
    """What nginx warns of."""

    REPEATED = "a value that its list has already"
    LOW_BITS = "an address with bits behind its prefix"
    DEPRECATED = "a directive or a parameter that a later release may do without"
    PROTOCOLS = "servers that state different protocols for one address"
    REPLACED = "a statement that replaces an earlier one"
    NOTHING = "a deletion of what is not there"
    INDEX = "an absolute index before others"
    NAME = "a server name with a slash"
    NO_KEY = "a cache without a key"
    MASKS = "masks of processors that are not as many as the workers"


@record(eq=True)
class StartWarning:
    """A warning of nginx.

    Attributes:
        kind: What it is about.
        directive: The directive.
        word: The word that it is about, or the name of the directive.
        message: What nginx says, without the place.
        earlier: The statement that is replaced; None for other kinds.
        table: The `geo` or `types` whose row it is; None for other directives.
        instead: For `LOW_BITS`, the network as nginx takes it; empty for other kinds.
    """

    kind: WarningKind
    directive: Directive
    word: Token
    message: str
    earlier: Directive | None = None
    table: Directive | None = None
    instead: str = ""


_Found = Iterator[StartWarning]


def start_warnings(root: Level, target: Version) -> _Found:
    """Yield what nginx warns of in a configuration, in any order. Takes time linear in the text.

    `root` is its outermost level. For a fragment, only what nginx warns of wherever it is included.
    """
    warner = cache(partial(_warner, target))
    for level in root.walk():
        places = (
            _ANYWHERE if level.kind == FRAGMENT else (place(level.kind, level.parent.kind if level.parent else ""),)
        )
        for name in level.names:
            warns = warner(name, places)
            if warns is not None:
                yield from warns(level, name)
        if level.kind == "upstream":
            yield from _methods(level)
        elif level.kind in _COMPARED and target >= _COMPARED[level.kind] and root.has_all:
            yield from _protocols(level)
    if root.kind == "main" and root.has_all:
        yield from _masks(root)


_Warner = Callable[[Level, str], _Found]
"""Yields what nginx warns of in the directives of a name in a level."""


_ANYWHERE = ("http", "http/server", "http/location")
"""The places that a fragment may be for."""


def _warner(target: Version, name: str, places: tuple[str | None, ...]) -> _Warner | None:
    found = (declared(each, target).declaration(name) for each in places)
    declaration = next(filter(None, found), None)
    if declaration is None:
        return None
    if name in _DEPRECATED:
        since = _DEPRECATED[name][0]
        return _deprecated if since is None or target >= since else None
    if name == "listen":
        return _deprecated_http2 if target >= _HTTP2_DEPRECATED else None
    return _WARNERS.get(declaration.setter.partition(" ")[0])


def _words(level: Level, name: str) -> Iterator[tuple[Directive, Token]]:
    return ((directive, word) for directive in level.own(name) for word in directive.args)


# Lists of values.


def _values(level: Level, name: str) -> _Found:
    """Yield the values that a mask has already (`ngx_conf_set_bitmask_slot`)."""
    seen: set[str] = set()
    for directive, word in _words(level, name):
        if word.lower() in seen:
            yield StartWarning(WarningKind.REPEATED, directive, word, f'duplicate value "{word}"')
        seen.add(word.lower())


def _types(level: Level, name: str) -> _Found:
    """Yield the media types that a list has already, up to a `*` (`ngx_http_types_slot`)."""
    seen = {"text/xml" if name == "xslt_types" else "text/html"}
    for directive, word in _words(level, name):
        if word == "*":
            return
        if word.lower() in seen:
            yield StartWarning(WarningKind.REPEATED, directive, word, f'duplicate MIME type "{word.lower()}"')
        seen.add(word.lower())


def _extensions(level: Level, name: str) -> _Found:
    """Yield the file extensions that get a second type (`ngx_http_core_type`); the `types` of a level are one table."""
    seen: dict[str, Directive] = {}
    for block, row in _rows(level, name):
        for word in row.args if row.name != "include" else ():
            earlier = seen.get(word.lower())
            seen[word.lower()] = row
            if earlier is not None:
                message = f'duplicate extension "{word.lower()}", content type: "{row.name}", '
                message += f'previous content type: "{earlier.name}"'
                yield StartWarning(WarningKind.REPLACED, row, word, message, earlier, block.opener)


def _rows(level: Level, name: str) -> Iterator[tuple[Level, Directive]]:
    return ((block, row) for block in level.levels if block.kind == name for row in block.directives)


def _index(level: Level, name: str) -> _Found:
    message = 'only the last index in "index" directive should be absolute'
    for directive in level.own(name):
        for word in directive.args[:-1]:
            if word.startswith("/"):
                yield StartWarning(WarningKind.INDEX, directive, word, message)


def _names(level: Level, name: str) -> _Found:
    for directive, word in _words(level, name):
        if "/" in word:
            yield StartWarning(WarningKind.NAME, directive, word, f'server name "{word}" has suspicious symbols')


# Addresses.


def _networks(level: Level, name: str) -> _Found:
    for directive in level.own(name):
        if directive.args:
            yield from _low_bits(directive, directive.args[0])


def _low_bits(directive: Directive, word: Token) -> _Found:
    """Yield a network whose address has bits behind its prefix (`NGX_DONE` of `ngx_ptocidr`)."""
    stated = network(word)
    if stated is not None and (taken := stated.up_to(stated.length)) != stated:
        message = f"low address bits of {word} are meaningless"
        yield StartWarning(WarningKind.LOW_BITS, directive, word, message, instead=str(taken))


def _geo(level: Level, name: str) -> _Found:
    """Yield what nginx warns of in the tables of a `geo` with networks, and in the default of one with ranges."""
    for block in level.levels:
        if block.kind == name and block.block is not None:
            rows = [row for row in block.directives if len(row.args) == 1 and row.name != "include"]
            found = _defaults(rows) if block.own("ranges") else _of_networks(rows)
            yield from (replace(each, table=block.opener) for each in found)


def _defaults(rows: list[Directive]) -> _Found:
    for earlier, row in pairwise(row for row in rows if row.name == "default"):
        message = f'duplicate default geo range value: "{row.args[0]}", old value: "{earlier.args[0]}"'
        yield StartWarning(WarningKind.REPLACED, row, row.args[0], message, earlier)


_ALL = (Cidr(bytes(4), 0), Cidr(bytes(16), 0))
"""The networks that `default` is the value of."""


def _of_networks(rows: list[Directive]) -> _Found:
    seen: dict[Cidr, Directive] = {}
    for row in rows:
        word = row.args[0] if row.name in ("delete", "proxy") else row.name
        yield from _low_bits(row, word)
        stated = network(word)
        alone = () if stated is None else (stated.up_to(stated.length),)
        for taken in _ALL if word == "default" else alone:
            if row.name == "delete":
                if seen.pop(taken, None) is None:
                    yield StartWarning(WarningKind.NOTHING, row, word, f'no network "{word}" to delete')
            elif row.name != "proxy":
                if taken in seen:
                    message = f'duplicate network "{word}", value: "{row.args[0]}", old value: "{_value(seen, taken)}"'
                    yield StartWarning(WarningKind.REPLACED, row, word, message, seen[taken])
                seen[taken] = row


def _value(seen: Mapping[Cidr, Directive], taken: Cidr) -> str:
    """Return the value of the first address of a network, which nginx takes for that of the network itself."""
    lengths = range(8 * len(taken.address), -1, -1)
    longest = next(each for each in (Cidr(taken.address, 0).up_to(length) for length in lengths) if each in seen)
    return str(seen[longest].args[0])


# Servers and upstreams.


def _deprecated(level: Level, name: str) -> _Found:
    for directive in level.own(name):
        message = f'the "{name}" directive is deprecated, use the "{_DEPRECATED[name][1]}" directive instead'
        yield StartWarning(WarningKind.DEPRECATED, directive, directive.name, message)


def _deprecated_http2(level: Level, name: str) -> _Found:
    message = 'the "listen ... http2" directive is deprecated, use the "http2" directive instead'
    for directive in level.own(name):
        for word in directive.args[1:]:
            if word == "http2":
                yield StartWarning(WarningKind.DEPRECATED, directive, word, message)


def _methods(level: Level) -> _Found:
    """Yield each balancing method that replaces another one."""
    for earlier, method in pairwise(row for row in level.directives if row.name in _METHODS):
        message = "load balancing method redefined"
        yield StartWarning(WarningKind.REPLACED, method, method.name, message, earlier)


@record(frozen=False)
class _Socket:
    """What the `listen`s of an address have stated so far (`ngx_http_conf_addr_t`)."""

    protocols: frozenset[str]
    is_set: bool
    last: frozenset[str] | None = None
    is_changed: bool = False

    def add(self, stated: frozenset[str], is_set: bool) -> bool:
        """Add another `listen`; return whether nginx warns that it states other protocols."""
        before, self.is_set = self.protocols, self.is_set or is_set
        if not stated <= before:
            warns = (self.is_set and not is_set) or self.is_changed or not before <= stated
            self.last, self.is_changed = before, True
        else:
            is_fewer = stated != before
            warns = is_set and (is_fewer or self.is_changed)
            warns |= self.last is not None and stated != self.last
            self.last, self.is_changed = stated, self.is_changed or is_fewer
        self.protocols = before | stated
        return warns


def _protocols(level: Level) -> _Found:
    """Yield the `listen`s that state other protocols than earlier ones of their address (`ngx_http_add_addresses`)."""
    known = {"proxy_protocol", "ssl"} | ({"http2"} if level.kind == "http" else set())
    sockets: dict[Address, _Socket] = {}
    for listen in read_listens(server for server in level.levels if server.kind == "server"):
        words = listen.directive.args[1:] if listen.directive else ()
        stated, is_set = frozenset(known.intersection(words)), binds(words)
        for address in listen.addresses:
            socket = sockets.get(address)
            if socket is None:
                sockets[address] = _Socket(stated, is_set)
            elif socket.add(stated, is_set) and listen.directive:
                message = f"protocol options redefined for {address.numeric}"
                yield StartWarning(WarningKind.PROTOCOLS, listen.directive, listen.directive.args[0], message)


def _no_key(level: Level, name: str) -> _Found:
    """Yield a cache that is on without a key, so that all its responses have the same (`merge_loc_conf`)."""
    merged = [level] if level.kind != "http" else [server for server in level.levels if server.kind == "server"]
    for directive in level.own(name):
        is_on = directive.args[:1] not in ((), ("off",))
        if is_on and any(_lacks_key(each, name, directive) for each in merged):
            yield StartWarning(WarningKind.NO_KEY, directive, directive.name, f'no "{name}_key" for "{name}"')


def _lacks_key(level: Level, name: str, cache: Directive) -> bool:
    return level.setting(name).directive is cache and level.setting(f"{name}_key").is_unset


# The machine.


def _masks(root: Level) -> _Found:
    """Yield a `worker_cpu_affinity` with several masks, but not one for each worker (`ngx_core_module_init_conf`)."""
    workers = root.setting("worker_processes").value or "1"
    for directive in root.own("worker_cpu_affinity"):
        masks = directive.args
        if len(masks) > 1 and masks[0] != "auto" and number(workers) not in (None, len(masks)):
            message = 'the number of "worker_processes" is not equal to the number of "worker_cpu_affinity" masks, '
            message += "using last mask for remaining worker processes"
            yield StartWarning(WarningKind.MASKS, directive, directive.name, message)


_WARNERS: Mapping[str, _Warner] = {
    "ngx_conf_set_bitmask_slot": _values,
    "ngx_event_debug_connection": _networks,
    "ngx_http_access_rule": _networks,
    "ngx_http_core_server_name": _names,
    "ngx_http_core_types": _extensions,
    "ngx_http_geo_block": _geo,
    "ngx_http_geoip_proxy": _networks,
    "ngx_http_index_set_index": _index,
    "ngx_http_realip_from": _networks,
    "ngx_http_types_slot": _types,
    "ngx_mail_realip_from": _networks,
    "ngx_stream_access_rule": _networks,
    "ngx_stream_core_server_name": _names,
    "ngx_stream_geo_block": _geo,
    "ngx_stream_realip_from": _networks,
    **{f"ngx_http_{name}_cache": _no_key for name in _KEYLESS},
}
