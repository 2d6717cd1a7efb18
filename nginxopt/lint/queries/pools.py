"""Connection pools: which upstreams have one, and what prevents a pass from using it.

nginx keeps a connection to an upstream if the upstream has a pool and the response does not close the connection:

- proxy: the request uses HTTP/1.1 without `Connection: close` (ngx_http_proxy_process_header); HTTP/1.0 with
  `Connection: keep-alive` is kept as well (verified on nginx 1.22.1: 20 requests, 1 connection).
- fastcgi: with `fastcgi_keep_conn on`. gRPC and memcached: always. uwsgi and SCGI: never, as the protocols do not
  support it (nginx.org, ngx_http_upstream_module, keepalive).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum, auto

from nginxopt import lazy
from nginxopt.config import Comment, Directive
from nginxopt.lint.queries.model import Model, once
from nginxopt.semantics import PIVOT, Level, Pass, Upstream

KEEPERS = ("proxy", "fastcgi", "grpc", "memcached")
"""The protocols whose connections can be kept."""

_VARIABLE = lazy.pattern(r"\$(?:\{(\w+)\}|(\w+))")
_CHECK = lazy.pattern(r"health|status|\bping\b|\bmetrics\b", re.IGNORECASE)
_CLOSING = lazy.pattern(r"unicorn", re.IGNORECASE)
_COMMENTED_OUT = lazy.pattern(r"\s*keepalive\s+\d+\s*;?")


class Connection(Enum):
    """The kind of `Connection` header that a pass sends.

    `DEFAULT`: nothing is configured. `CLEAR`: the header is not sent, or does not contain close. `KEEP_ALIVE`: it
    asks to keep the connection. `CLOSE`: it contains close. `UPGRADE`: it is that of a WebSocket. `MAPPED`: it is the
    value of a map that closes the connection of a request without an upgrade. `CLIENT`: it is the client's header.
    `UNKNOWN`: it cannot be determined.
    """

    DEFAULT = auto()
    CLEAR = auto()
    KEEP_ALIVE = auto()
    CLOSE = auto()
    UPGRADE = auto()
    MAPPED = auto()
    CLIENT = auto()
    UNKNOWN = auto()


# nginx sends every header that is not empty, so the most harmful one counts.
_GRAVEST = (
    Connection.UNKNOWN, Connection.CLOSE, Connection.UPGRADE, Connection.MAPPED, Connection.CLIENT,
    Connection.KEEP_ALIVE, Connection.CLEAR,
)  # fmt: skip


def connection(model: Model, pass_: Pass) -> Connection:
    """Return the kind of `Connection` header that a `proxy_pass` sends."""
    known = _connections(model)
    if pass_ not in known:
        known[pass_] = _connection(model, pass_)
    return known[pass_]


@once
def _connections(_: Model) -> dict[Pass, Connection]:
    return {}


def _connection(model: Model, pass_: Pass) -> Connection:
    if not knows_headers(pass_):
        return Connection.UNKNOWN
    kinds = {_kind(model, pass_, directive) for directive in header_directives(pass_, "connection")}
    return next((kind for kind in _GRAVEST if kind in kinds), Connection.DEFAULT)


def knows_headers(pass_: Pass) -> bool:
    """Return whether all `proxy_set_header` of a pass are known: none may be in a missing include."""
    setting = pass_.setting("set_header")
    return setting.known and not (setting.level and setting.level.is_open)


def header_directives(pass_: Pass, name: str) -> tuple[Directive, ...]:
    """Return the `proxy_set_header` directives of a pass that set the header `name` (in lower case)."""
    directives = pass_.setting("set_header").directives
    return tuple(header for header in directives if len(header.args) == 2 and header.args[0].lower() == name)


def culprit(model: Model, pass_: Pass, kind: Connection) -> Directive:
    """Return the `proxy_set_header Connection` of that kind in a pass; there must be one."""
    return next(
        directive for directive in header_directives(pass_, "connection") if _kind(model, pass_, directive) is kind
    )


def _kind(model: Model, pass_: Pass, directive: Directive) -> Connection:
    value = directive.args[1].lower()
    if "$" not in value:
        return _literal(value)
    name = variable(value)
    if name is None:
        return Connection.UNKNOWN
    if name.startswith("http_"):
        upgrades = name == "http_upgrade" or any(header.args[1] for header in header_directives(pass_, "upgrade"))
        return Connection.UPGRADE if upgrades else Connection.CLIENT
    level = model.maps.get(name)
    idle = map_value(level, "") if level and variable(level.args[0]) == "http_upgrade" else None
    if idle is None:
        return Connection.UNKNOWN
    kind = _literal(idle.lower())
    return Connection.MAPPED if kind is Connection.CLOSE else kind


def _literal(value: str) -> Connection:
    words = {word.strip() for word in value.split(",")}
    if "close" in words:
        return Connection.CLOSE
    if "upgrade" in words:
        return Connection.UPGRADE
    return Connection.KEEP_ALIVE if "keep-alive" in words else Connection.CLEAR


def variable(text: str) -> str | None:
    """Return the name, in lower case, of the one variable that a text consists of; None for any other text."""
    match = _VARIABLE.fullmatch(text)
    return (match[1] or match[2]).lower() if match else None


def row(level: Level, key: str) -> Directive | None:
    """Return the row of a map for `key`, or its `default`; None if there is neither. Ignores regular expressions."""
    rows = {str(directive.name).lower(): directive for directive in level.directives if len(directive.args) == 1}
    return rows.get(key) or rows.get("default")


def map_value(level: Level, key: str) -> str | None:
    """Return the literal value of a map for `key`; None if it is unknown."""
    row_of_key = row(level, key)
    if level.is_open or (
        (row_of_key is None or row_of_key.name == "default")
        and any(directive.name.startswith("~") and _may_match(directive.name, key) for directive in level.directives)
    ):
        return None
    value = "" if row_of_key is None else str(row_of_key.args[0])
    return None if "$" in value else value


def _may_match(pattern: str, key: str) -> bool:
    try:
        return re.search(pattern.lstrip("~*"), key) is not None
    except re.error:
        return True


def is_check(pass_: Pass) -> bool:
    """Return whether the location of a pass is for occasional checks (health, metrics), which need no kept connection.

    A location with `health_check` also serves requests, unless it is internal.
    """
    checks = bool(pass_.level.own("health_check")) and bool(pass_.level.own("internal"))
    return checks or any(_CHECK.search(word) for word in pass_.level.args)


@once
def users(model: Model) -> dict[Upstream, tuple[Pass, ...]]:
    """Return the passes to each upstream by protocols that can keep connections."""
    by_upstream: dict[Upstream, list[Pass]] = {}
    for pass_ in model.passes:
        if pass_.upstream and pass_.protocol in KEEPERS:
            by_upstream.setdefault(pass_.upstream, []).append(pass_)
    return {upstream: tuple(passes) for upstream, passes in by_upstream.items()}


def may_be_used(model: Model) -> Iterator[Upstream]:
    """Yield the upstreams that passes may use: all, if the file has no pass or one whose upstream is in a variable."""
    passes = model.passes
    is_known = bool(passes) and not any(pass_.has_variable for pass_ in passes)
    used = {pass_.upstream for pass_ in passes}
    yield from (upstream for upstream in model.upstreams.values() if not is_known or upstream in used)


def wants_pool(model: Model, pass_: Pass) -> bool:
    """Return whether a pass may keep its connections: nothing in its configuration prevents that."""
    if pass_.protocol == "fastcgi":
        return pass_.setting("keep_conn").value == "on"
    if pass_.protocol != "proxy":
        return True
    header = connection(model, pass_)
    if header is Connection.KEEP_ALIVE or upgrades_all(model, pass_):
        return True
    return header not in (Connection.CLOSE, Connection.UPGRADE) and not states_http10(pass_)


def upgrades_all(model: Model, pass_: Pass) -> bool:
    """Return whether a pass sends a literal `Connection: upgrade` with every request of a site, not of WebSockets only.

    nginx keeps these connections (verified on nginx 1.22.1: 20 requests, 1 connection over HTTP/1.1).
    """
    location = pass_.level.around("location")
    serves_all = location is not None and not location.modifier and location.path == "/"
    if not serves_all or states_http10(pass_) or connection(model, pass_) is not Connection.UPGRADE:
        return False
    return "$" not in culprit(model, pass_, Connection.UPGRADE).args[1]


def states_http10(pass_: Pass) -> bool:
    """Return whether `proxy_http_version 1.0` is set explicitly for a pass."""
    version = pass_.setting("http_version")
    return version.is_set and version.value == "1.0"


def stays_open(model: Model, pass_: Pass) -> bool:
    """Return whether the server of a `proxy_pass` certainly reads its connection for another request.

    It does over HTTP/1.1 without `Connection: close`, or if the request asks for it (RFC 9112, section 9.3), whether
    nginx has a pool or not (verified on nginx 1.22.1 and 1.31.3).
    """
    header, version = connection(model, pass_), pass_.setting("http_version").value
    if header is Connection.KEEP_ALIVE:
        return version in ("1.0", "1.1")
    is_by_default = header is Connection.DEFAULT and model.target >= PIVOT
    return version == "1.1" and (is_by_default or header in (Connection.CLEAR, Connection.CLIENT, Connection.UPGRADE))


def keeps(model: Model, pass_: Pass) -> bool:
    """Return whether nginx keeps the connections of a `proxy_pass` in the pool of its upstream, and uses them again."""
    return pass_.upstream in stated(model) and stays_open(model, pass_)


@once
def without_pool(model: Model) -> dict[Upstream, tuple[Pass, ...]]:
    """Return the upstreams that should have a pool but do not, with the passes to them.

    Skips upstreams with `keepalive 0` or a commented-out `keepalive`, those to which no pass may keep its connection,
    those with `ntlm`, which keeps connections of its own, those without servers, which nginx refuses, and those named
    for Unicorn or Gunicorn, whose workers close each connection.
    """
    if model.target >= PIVOT:
        return {}
    return {
        upstream: passes
        for upstream, passes in users(model).items()
        if upstream.keepalive.is_unset
        and upstream.level.own("server")
        and not (upstream.level.own("ntlm") or _commented_out(upstream) or _closes(upstream))
        and any(wants_pool(model, pass_) for pass_ in passes)
    }


@once
def stated(model: Model) -> set[Upstream]:
    """Return the upstreams that have a pool now; `upstream-keepalive-missing` adds one to the others."""
    return pooled(model) - set(without_pool(model))


def _closes(upstream: Upstream) -> bool:
    """Return whether the names of an upstream are those of a server that keeps no connection.

    Unicorn has no keep-alive, and neither do the sync workers of Gunicorn, which are its default.
    """
    words = [upstream.name, *(word for server in upstream.servers for word in server.args[:1])]
    return any(_CLOSING.search(word) for word in words)


def _commented_out(upstream: Upstream) -> bool:
    nodes = upstream.level.block.nodes if upstream.level.block else ()
    return any(isinstance(node, Comment) and _COMMENTED_OUT.match(node.text.lstrip("#")) for node in nodes)


@once
def pooled(model: Model) -> set[Upstream]:
    """Return the upstreams with a pool: stated, by default, or once `upstream-keepalive-missing` is fixed."""
    passed = users(model)
    stated = {upstream for upstream in passed if upstream.keepalive.value not in (None, "0")}
    if model.target < PIVOT:
        return stated | without_pool(model).keys()
    return stated | {
        upstream
        for upstream, passes in passed.items()
        if upstream.keepalive.is_unset and any(wants_pool(model, pass_) for pass_ in passes)
    }


def keeping_names(pass_: Pass) -> str:
    """Return the end of advice to pass to an upstream block: nginx would send the name of the block as the host."""
    if pass_.protocol == "grpc":
        return "; set Host (grpc_set_header), or the upstream's name is sent"
    if pass_.protocol != "proxy":
        return ""
    names = "Host and proxy_ssl_name" if pass_.scheme == "https" else "Host"
    return f"; set {names}, or the upstream's name is sent"
