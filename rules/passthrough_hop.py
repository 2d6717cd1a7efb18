"""A hop that only passes on: each request is read, copied and answered twice

Flagged is a server that passes all its requests to one application on the same machine (loopback or a socket) and has
no other job, and a location that passes to another server of the same configuration and has none. The report says what
the hop still gives, so that you can decide.

Not flagged is a hop with a job: TLS, HTTP/2, several servers, files, a cache, limits, access rules, compression,
rewriting, headers of its own, error pages, or a choice among several names or targets.

## Why it matters
A hop costs a second connection, the parsing of the request and the answer, and two copies of each body, on the
processors that the application needs as well. nginx's buffers are worth that where clients are slow.

## Bad
```nginx http
server {
    listen 80;
    location / {
        proxy_pass http://127.0.0.1:8080;
    }
}
server {
    listen 127.0.0.1:8080;
    location / {
        root /srv/www;
    }
}
```

## Good
```nginx http
server {
    listen 80;
    location / {
        root /srv/www;
    }
}
```

## Silent
TLS ends here:
```nginx server
listen 443 ssl;
ssl_certificate a.crt;
ssl_certificate_key a.key;
location / {
    proxy_pass http://127.0.0.1:8080;
}
```
There are files, too:
```nginx server
location / {
    proxy_pass http://127.0.0.1:8080;
}
location /static/ {
    root /srv/www;
}
```

## When to ignore it
Where the application should not meet clients itself: slow ones, many idle ones, malformed requests.

## References
- https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_buffering
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from nginxopt.diagnostic import Finding, Related, Severity
from nginxopt.inherit import Level
from nginxopt.model import Model
from nginxopt.pools import headers
from nginxopt.rule import rule
from nginxopt.upstreams import Pass, Upstream

# A directive that gives a hop a job, at whatever level it is in force.
JOBS = frozenset({
    "ssl", "ssl_certificate", "http2", "http3", "proxy_cache", "proxy_store", "gzip", "brotli", "zstd", "gunzip",
    "limit_req", "limit_conn", "limit_rate", "limit_except", "client_max_body_size", "auth_basic", "auth_request",
    "auth_jwt", "allow", "deny", "satisfy", "secure_link", "valid_referers", "real_ip_header", "set_real_ip_from",
    "rewrite", "return", "set", "if", "try_files", "root", "alias", "mirror", "slice", "error_page", "expires",
    "add_header", "add_trailer", "more_set_headers", "more_clear_headers", "sub_filter", "addition_types",
    "add_before_body", "add_after_body", "image_filter", "xslt_stylesheet", "proxy_hide_header", "proxy_redirect",
    "proxy_cookie_path", "proxy_cookie_domain", "proxy_cookie_flags", "proxy_intercept_errors", "proxy_method",
    "proxy_set_body", "proxy_bind", "modsecurity", "access_by_lua_block", "access_by_lua_file", "content_by_lua_block",
    "content_by_lua_file", "rewrite_by_lua_block", "rewrite_by_lua_file", "header_filter_by_lua_block", "js_content",
    "js_access", "perl", "dav_methods",
})  # fmt: skip
_USUAL_HEADERS = re.compile(r"host|connection|upgrade|forwarded|x-real-ip|x-forwarded-.*|accept-encoding")
_OFF = {"off", "none"}
_REACHED = re.compile(r"(?:(?:\*|0\.0\.0\.0|127(?:\.\d+){3}|localhost|\[::\]|\[::1\])(?::\d+)?|\d+|unix:.*)")
_LOCAL = re.compile(r"localhost|127(?:\.\d+){3}|\[::1\]|unix(?::.*)?")


@rule(severity=Severity.INFO, category="proxy", scenario="hop")
def check(model: Model) -> Iterator[Finding]:
    """Find hops that have no job of their own."""
    own = _listeners(model)
    for one in model.passes:
        server = one.level.around("server")
        if one.protocol != "proxy" or server is None or not _passes_all_alike(one, server):
            continue
        target = own.get(_address(one))
        if target is not None and target is not server:
            yield _inner(one, target)
        elif target is None and _is_local(one) and _only_server(model, server) and _only_location(one, server):
            yield _local(one)


def _inner(one: Pass, target: Level) -> Finding:
    source = target.source or one.directive.source
    return Finding(
        one.directive.source,
        one.directive.args[0].span,
        f"{_shown(one)} is a server of this configuration: each request is parsed and answered twice by nginx",
        help=f"let that server do it directly; this hop gives no more than {_gives(one)}",
        related=(Related(source, target.span, "the server that is passed to"),),
    )


def _local(one: Pass) -> Finding:
    return Finding(
        one.directive.source,
        one.directive.args[0].span,
        f"all that this server does is to pass requests to {_shown(one)} on the same machine",
        help=f"the hop still gives {_gives(one)}; if none of it is needed, let clients reach the application",
    )


def _gives(one: Pass) -> str:
    """Return what a hop without a job gives all the same."""
    gives = []
    if one.setting("buffering").value == "on":
        gives.append("a shield against slow clients (answers are buffered)")
    if one.setting("request_buffering").value == "on":
        gives.append("buffered request bodies")
    if any(headers(one, name) for name in ("x-forwarded-for", "x-real-ip", "forwarded")):
        gives.append("the client's address in a header")
    logged = one.level.setting("access_log")
    if logged.value not in _OFF:
        gives.append("an access log")
    return ", ".join(gives) or "nothing"


def _passes_all_alike(one: Pass, server: Level) -> bool:
    """Return whether a pass has no job: all levels are known, and nothing in force here does any work."""
    level: Level | None = one.level
    if level is None or level.kind != "location" or one.uri not in (None, "/") or one.has_variable:
        return False
    while level is not None:
        if level.is_open or level.bulks:
            return False
        level = level.parent
    if any(_works(one.level, name) or _works(server, name) for name in JOBS) or _listens_tls(server):
        return False
    sent = (header.args[0].lower() for header in one.setting("set_header").directives if header.args)
    return all(_USUAL_HEADERS.fullmatch(name) for name in sent)


def _works(level: Level, name: str) -> bool:
    setting = level.setting(name)
    return setting.is_set and setting.value not in _OFF


def _listens_tls(server: Level) -> bool:
    words = {word for listen in server.own("listen") for word in listen.args[1:]}
    return bool(words & {"ssl", "http2", "quic", "proxy_protocol"})


def _only_location(one: Pass, server: Level) -> bool:
    """Return whether a location is the whole of its server."""
    locations = [level for level in server.levels if level.kind == "location"]
    return locations == [one.level] and one.level.args == ("/",) and not one.level.levels


def _only_server(model: Model, server: Level) -> bool:
    """Return whether no other server shares its addresses, among which names choose."""
    mine = set(map(_port, _listens(server)))
    others = (other for other in model.levels("server") if other is not server)
    return not any(mine & set(map(_port, _listens(other))) for other in others)


def _is_local(one: Pass) -> bool:
    upstream = one.upstream
    if upstream is None:
        return bool(_LOCAL.fullmatch(one.host))
    return _single(upstream) is not None


def _single(upstream: Upstream) -> str | None:
    """Return the only server of an upstream if it is on this machine."""
    servers = [str(server.args[0]) for server in upstream.servers if server.args]
    if len(servers) != 1 or upstream.level.is_open:
        return None
    host = servers[0] if servers[0].startswith("unix:") else servers[0].rpartition(":")[0] or servers[0]
    return servers[0] if _LOCAL.fullmatch(host) else None


def _address(one: Pass) -> str:
    """Return the socket or port of a target on this machine; empty if it is not on this one."""
    if one.upstream:
        server = _single(one.upstream) or ""
        return server if server.startswith("unix:") else _port(server)
    if not _LOCAL.fullmatch(one.host):
        return ""
    if one.host == "unix":
        return f"unix:{one.port}"
    return one.port or ("443" if one.scheme == "https" else "80")


def _listeners(model: Model) -> dict[str, Level]:
    """Return the servers by the sockets and ports at which this machine reaches them, each alone at its own."""
    found: dict[str, set[Level]] = {}
    for server in model.levels("server"):
        for address in _listens(server):
            if _REACHED.fullmatch(address):
                found.setdefault(address if address.startswith("unix:") else _port(address), set()).add(server)
    return {address: next(iter(servers)) for address, servers in found.items() if len(servers) == 1}


def _listens(server: Level) -> list[str]:
    """Return what a server listens on, as it is written; port 80 if it says nothing."""
    return [str(listen.args[0]) for listen in server.own("listen") if listen.args] or ["80"]


def _port(address: str) -> str:
    """Return the port of an address: `8080` of `127.0.0.1:8080`, `[::]:8080` and `8080`, `80` of `127.0.0.1`."""
    tail = address.rpartition(":")[2] if not address.endswith("]") else ""
    return tail if tail.isdigit() else "80"


def _shown(one: Pass) -> str:
    if one.upstream:
        return f'"{one.upstream.name}"'
    return one.host if one.port is None else f"{one.host}:{one.port}"
