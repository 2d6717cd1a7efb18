"""Lowers a configuration to a site: structure only, as `rust/src/request/site.rs` reads it.

A fragment gets the blocks that it implies around it. Outside of the levels, a site has its sockets, the variables that
are defined outside of scripts, and the names of its upstreams.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Literal

from nginxopt.config import Config, Context, Directive
from nginxopt.config.filesystem import has_folder, is_dump, is_pattern
from nginxopt.config.tree import collector_paused
from nginxopt.errors import InputError
from nginxopt.facts import group
from nginxopt.records import record
from nginxopt.semantics.inherit import Level, levels
from nginxopt.semantics.refusals import RefusalStage, refusals
from nginxopt.semantics.site.form import (
    BuildForm,
    GeoForm,
    MapForm,
    OpaqueVariableForm,
    SiteForm,
    SocketForm,
    UpstreamForm,
)
from nginxopt.semantics.site.levels import Levels, Nodes, SiteAssumption, latin, row_form
from nginxopt.semantics.tables import MIXED_VALUES, VOLATILE, is_mixed
from nginxopt.semantics.values import Endpoint, Listen, endpoints, read_listens
from nginxopt.text.display import unicode
from nginxopt.version import Version

FIXES = ("CVE-2026-15176", "CVE-2026-42945", "max_headers")
"""The fixes of later releases that some builds have and that change outcomes (`rust/src/request`): no path by `alias`
while a rewrite has changed the URI (1.30.6), no escapes in `$1` after a rewrite with arguments (1.30.1), and 1,000
headers at most (1.29.8).
"""

PREFIX = "/etc/nginx/"
"""The prefix of the packages and images of nginx.org: what `nginx -V` says behind `--prefix`."""

_OF_PARTS = (RefusalStage.EVENTS, RefusalStage.UNKNOWN)
"""Refusals in spite of which requests are followed: the file is only a part of a configuration, or has the name of a
module."""
_LENIENT = (*_OF_PARTS, RefusalStage.MERGE)
"""With `ignores_missing`, also refusals that have nothing to do with answers to requests, such as for a missing
certificate."""


@record(eq=True)
class Build:
    """The nginx that runs a site.

    Attributes:
        version: The release.
        fixes: Those of `FIXES` that it has besides its version, and directives of later releases.
        prefix: The folder of relative paths, with a slash at its end.
    """

    version: Version
    fixes: frozenset[str] = frozenset()
    prefix: str = PREFIX

    def form(self) -> BuildForm:
        """Return the build as the model reads it."""
        version = (self.version.major, self.version.minor, self.version.patch)
        return {"version": version, "fixes": sorted(self.fixes), "prefix": latin(self.prefix)}


@record(eq=True)
class LoweredSite:
    """A site for the model of requests.

    Attributes:
        site: What the model reads.
        form: The same as JSON.
        texts: The texts of its folded runs.
        nodes: Its directives by number.
        levels: Its levels by number.
        servers: Its servers by number.
        premises: What is assumed about files that were not read.
    """

    site: SiteForm
    form: str
    texts: tuple[bytes, ...]
    nodes: Nodes
    levels: tuple[Level, ...]
    servers: tuple[Level, ...]
    premises: tuple[SiteAssumption, ...]


def lower(
    config: Config,
    build: Build,
    *,
    ignores_missing: bool = False,
    root: Level | None = None,
    neutral: frozenset[str] = frozenset(),
    reads_lua: bool = False,
) -> LoweredSite:
    """Return the site of the http block of `config`. Takes time linear in the text; folded runs stay folded.

    A fragment is assumed to have nothing around it: a file of rules is read as a server of its own. Raises `InputError`
    for a configuration without http, and for a directive that nginx refuses. With `ignores_missing`, includes of http
    and its servers that were not read are assumed to change only the script in which they stand, and what nginx refuses
    when it merges blocks is not an error. `root` is the
    outermost level of the configuration, if the caller has it. `neutral` are the includes, as written, whose files are
    taken as empty, except that they may add headers and change bodies. With `reads_lua`, Lua that is one expression or
    one constant answer is simulated.
    """
    with collector_paused():
        return _lowered(placed(config), build, ignores_missing, root, neutral, reads_lua)


def _lowered(
    config: Config,
    build: Build,
    ignores_missing: bool,
    root: Level | None,
    neutral: frozenset[str],
    reads_lua: bool,
) -> LoweredSite:
    http = http_level(config, build.version, root)
    main = http.around("main")
    outer = main if main is not None and http in main.levels else http
    for refusal in refusals(outer, build.version, build.fixes, is_whole=_is_read(outer, config)):
        if refusal.stage not in (_LENIENT if ignores_missing else _OF_PARTS):
            raise refusal.error
    nodes = Nodes(config)
    levels = Levels(config, nodes, ignores_missing, neutral, reads_lua)
    if ignores_missing:
        for level in (http, *http.levels):
            level.is_open = False
    levels.add(http)
    servers = {level: server for server, level in enumerate(levels.servers)}
    site: SiteForm = {
        "build": build.form(),
        "sockets": read_sockets(servers, nodes),
        "servers": levels.server_forms(),
        "levels": levels.forms,
        "directives": levels.directives,
        "variables": [*defined(http, nodes, config, build.version), *levels.environment.values()],
        "upstreams": [*upstreams(http, nodes)],
        "opaque": levels.opaque,
    }
    form = json.dumps(site, ensure_ascii=False, separators=(",", ":"), check_circular=False)
    return LoweredSite(site, form, levels.texts.data(), nodes, tuple(levels.all), tuple(servers), levels.premises())


def _is_read(outer: Level, config: Config) -> bool:
    """Return whether every file was read. A pattern without matches counts as read only if its folder exists."""
    if any(level.is_open for level in outer.walk()):
        return False
    patterns = (include for include in config.includes if is_pattern(include.args[0]))
    return is_dump(config.origin) or all(has_folder(config.prefix, str(name.args[0])) for name in patterns)


# The http block, or the blocks that a fragment implies.

_SERVER: Context = ("http", "server")
_PLACES = (("http",), _SERVER, (*_SERVER, "location"))

_OF_SERVERS = group("of_server")
"""Directives by which a fragment that fits several contexts is taken for the content of a server."""


def placed(config: Config) -> Config:
    """Return a configuration whose main file has exactly one context; the directives are the same objects.

    Raises `InputError` if that context is not part of http.
    """
    context = _context(config)
    if context and context not in _PLACES:
        names = ",".join(context)
        raise _refused(config, f"it stands in {names}", "give the main configuration, or a part of http or a server")
    return config if config.candidates == (context,) else replace(config, candidates=(context,))


def http_level(config: Config, target: Version, known: Level | None = None) -> Level:
    """Return the http level of a configuration that is `placed`, with all inner levels.

    `known` is its outermost level, if the caller has it. It is used if it needs no assumptions about unread text.
    """
    is_given = known is not None and known.kind == "main" and known.is_whole
    root = known if known is not None and is_given else levels(config, target, as_given=True)
    if root.kind == "main":
        http = next((level for level in root.levels if level.kind == "http"), None)
        if http is None:
            raise _refused(config, "there is no http block", None)
        return http
    while root.kind != "http" and root.parent is not None:
        root.parent.levels.append(root)
        root = root.parent
    return root


def _context(config: Config) -> Context:
    """Return the context of the main file, or the most likely one if several fit."""
    names = {str(directive.name) for directive in config.readings.directives}
    if len(config.candidates) == 1:
        return config.candidates[0]
    if () in config.candidates and "http" in names:
        return ()
    if ("http",) in config.candidates and "server" in names:
        return ("http",)
    if _SERVER in config.candidates and (names & _OF_SERVERS or config.readings.nodes):
        return _SERVER
    location = _PLACES[-1]
    if location in config.candidates:
        return location
    if not names:
        raise _refused(config, "the file has no directives", None)
    raise _refused(config, "no directive shows where it stands", "state it with --context")


def _refused(config: Config, reason: str, hint: str | None) -> InputError:
    return InputError(f"no requests can be followed here: {reason}", path=config.main.path, hint=hint)


# Sockets.

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
        "http2": endpoint.has("http2") or (endpoint.default.setting("http2").value or "").lower() == "on",
        "quic": endpoint.has("quic"),
        "proxy_protocol": endpoint.has("proxy_protocol"),
        "takes_ipv4": endpoint.takes_ipv4,
        "servers": [servers[server] for server in endpoint.servers],
        "default": servers[endpoint.default],
    }


# Variables and upstreams.

DefinedForm = MapForm | GeoForm | OpaqueVariableForm

TABLES = ("map", "split_clients", "geo")
"""Blocks with the values of a variable, which is their last argument."""

_MODULE_VALUES = {
    "auth_request_set": "the response to auth_request sets it",
    "js_set": "JavaScript (js_set)",
    "js_var": "JavaScript (js_var)",
    "keyval": "keyval is not modelled",
    "num_map": "num_map is not modelled",
    "perl_set": "Perl (perl_set)",
}
"""Directives that define a variable with a value that is not known."""

_GEOIP = "geoip2"
"""A block whose rows define such variables."""


def defined(http: Level, nodes: Nodes, config: Config, target: Version) -> Iterator[DefinedForm]:
    """Yield the variables of maps and modules. Raises `InputError` for a table with a block or without a variable."""
    for level in http.walk():
        if level.kind in TABLES:
            _check_volatile(level, target)
            yield _table(level, nodes, config, target)
        elif level.kind == _GEOIP:
            for row in level.directives:
                if row.name.startswith("$"):
                    content = [*_words(level.opener), *_words(row)]
                    yield _opaque(row, str(row.name), "geoip2 is not modelled", content, nodes)
        else:
            yield from _values(level, nodes)


def upstreams(http: Level, nodes: Nodes) -> Iterator[UpstreamForm]:
    """Yield the upstreams of http."""
    for level in http.levels:
        if level.kind == "upstream" and level.opener and level.args:
            servers = [latin(server.args[0]) for server in level.own("server") if server.args]
            yield {"node": nodes.number(level.opener), "name": latin(level.args[0]), "servers": servers}


def _values(level: Level, nodes: Nodes) -> Iterator[DefinedForm]:
    for name in level.names & _MODULE_VALUES.keys():
        for directive in level.own(name):
            variable = next((arg for arg in directive.args if arg.startswith("$")), None)
            if variable is not None:
                yield _opaque(directive, variable, _MODULE_VALUES[name], _words(directive), nodes)


def _check_volatile(level: Level, target: Version) -> None:
    """Raise `InputError` for a table with `volatile` in a version that does not have the parameter."""
    if target < VOLATILE.get(level.kind, target):
        for row in level.own("volatile"):
            if not row.args:
                message = f"invalid number of the {level.kind} parameters"
                raise row.error(message, nginx=row.located(message))


def _table(level: Level, nodes: Nodes, config: Config, target: Version) -> DefinedForm:
    opener = level.opener
    assert opener is not None  # a block of the text
    variable = str(opener.args[-1])
    for word in opener.args if level.kind == "geo" else opener.args[-1:]:
        if not word.startswith("$") or word == "$":
            message = f'invalid variable name "{word}"'
            raise opener.error(message, nginx=opener.located(message))
    unread = _unread(level, config, target)
    if unread is not None:
        row, reason = unread
        content = [*_words(opener), *(word for row in level.directives for word in _words(row))]
        return _opaque(row, variable, reason, content, nodes)
    node, rows = nodes.number(opener), [row_form(row, nodes) for row in level.directives if not _is_include(row)]
    source = latin(opener.args[0]) if len(opener.args) > 1 else None
    if level.kind == "geo":
        return {"kind": "geo", "node": node, "source": source, "variable": latin(variable), "rows": rows}
    kind: Literal["map", "split_clients"] = "map" if level.kind == "map" else "split_clients"
    return {"kind": kind, "node": node, "source": source or "", "variable": latin(variable), "rows": rows}


def _unread(level: Level, config: Config, target: Version) -> tuple[Directive, str] | None:
    """Return the first row of a table that makes its values unknown, and why."""
    for row in level.own("include"):
        if config.is_missing(row):
            return row, f"{unicode(row.args[0])} is missing"
    if level.kind == "map" and target < MIXED_VALUES:
        for row in level.directives:
            for value in row.args[:1]:
                if is_mixed(value):
                    return row, f"how nginx before {MIXED_VALUES} reads {unicode(value)} in a map"
    return None


def _is_include(row: Directive) -> bool:
    return row.name == "include" and len(row.args) == 1


def _words(directive: Directive | None) -> list[str]:
    """Return the words of a directive, and the text of its block unless that is a table."""
    if directive is None:
        return []
    words = [latin(directive.name), *map(latin, directive.args), ";"]
    if directive.block is not None and directive.name not in TABLES and directive.name != _GEOIP:
        span = directive.block.span
        words.append(directive.source.data[span.start : span.end].decode("latin-1"))
    return words


def _opaque(directive: Directive, variable: str, reason: str, content: list[str], nodes: Nodes) -> OpaqueVariableForm:
    return {
        "kind": "opaque",
        "node": nodes.number(directive),
        "variable": latin(variable),
        "reason": reason,
        "content": content,
    }
