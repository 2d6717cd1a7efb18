"""Server addressed directly instead of by an upstream: nginx never keeps its connections

Flags an address, `localhost`, a socket or a host name in a `proxy_pass` or `grpc_pass` that names no `upstream`, and in
a `fastcgi_pass` with `fastcgi_keep_conn on`. Reports each server once, with the number of places. Does not flag
WebSockets (`Connection: upgrade`), health checks, passes that set HTTP/1.0 or `Connection: close`, and servers that get
a handful of requests: only from locations of one URI (`=`), and those named after a status page, metrics, purges,
ACME, or a tool of operators such as Grafana and Adminer.

The fix covers `proxy_pass http://`, with `--unsafe-fixes` only: `$proxy_host` becomes the name of the upstream. `Host`
and the redirects that nginx rewrites stay the same; responses cached under the default `proxy_cache_key` are cached
anew.

By default, it speaks only of a server that passes other requests to an upstream with a pool, and not of a file for
developers (`nginx.dev.conf`). If the rule is selected by name, or with `--host`, it always does.

## Why it matters
A pool belongs to an `upstream` block; the one that nginx creates for an address has none, even with 1.29.7 and later
(ngx_http_upstream_keepalive_init_main_conf skips it). Counted on nginx 1.22.1 and 1.31.4: 20 requests open 20
connections to an address, whatever `proxy_http_version` and `Connection` are, and 1 to an upstream with a pool.

## Bad
```nginx http
server {
    location / {
        proxy_set_header Host $host;
        proxy_pass http://10.0.0.1:8080;
    }
    location /api/ {
        proxy_set_header Host $host;
        proxy_pass http://10.0.0.1:8080/v1/;
    }
}
```

## Good
```nginx http
upstream backend_10_0_0_1_8080 {
    server 10.0.0.1:8080;
    keepalive 32;
}
server {
    location / {
        proxy_set_header Host $host;
        proxy_pass http://backend_10_0_0_1_8080;
        proxy_redirect http://10.0.0.1:8080/ /;
    }
    location /api/ {
        proxy_set_header Host $host;
        proxy_pass http://backend_10_0_0_1_8080/v1/;
        proxy_redirect http://10.0.0.1:8080/v1/ /api/;
    }
}
```

## Silent
```nginx http
server {
    location /ws {
        proxy_pass http://10.0.0.1:8080;
        proxy_http_version 1.1;
        proxy_set_header Upgrade $http_upgrade;
        proxy_set_header Connection "upgrade";
    }
}
```
URIs for monitoring and tools for operators get few requests:
```nginx http
server {
    location = /server-info {
        proxy_pass http://10.0.0.1:8080;
    }
    location ~ /purgeall {
        proxy_pass http://10.0.0.3:8080;
    }
    location /metrics {
        proxy_pass http://10.0.0.2:9100;
    }
    location /grafana/ {
        proxy_pass http://10.0.0.2:3000;
    }
}
```

## Fix safety
May change: upstream requests, connections, files.

Unsafe: `$proxy_host` becomes the name of the upstream, in the default `proxy_cache_key`, in logs and wherever else it
is used, and errors of a failing server are logged under that name. `Host` and the redirects that nginx rewrites stay
the same. The pool has the premises of `upstream-keepalive-missing`. There is no fix if requests would use the pool at
once and one of them may have a length that differs from its body.

## When to ignore it
If nginx passes on few requests, or each takes much longer than connecting to the server. A pool for PHP-FPM must be
small: each idle connection occupies a child, and with `keepalive 32` in two workers 64 children serve nobody else.

## References
- https://nginx.org/en/docs/http/ngx_http_upstream_module.html#keepalive
- https://github.com/nginx/nginx/commit/4fbe4b627
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain, count

from nginxopt.config import Change, Directive, layout
from nginxopt.lint import Finding, Fix, Model, Related, Safety, Saving, Severity, pattern, rule
from nginxopt.lint.queries import capacity, headers, pooling, pools, sharing
from nginxopt.semantics import FRAGMENT, Level, Pass, Upstream

Target = tuple[str, str, str, str | None]

_RARE = pattern(
    r"status|metrics|purge|monitor|\.well-known|acme|robots\.txt|favicon|sitemap|debug|pprof|exporter|prometheus|grafana|kibana|"
    r"adminer|phpmyadmin|pgadmin|portainer|mailhog|mailpit|mailcatcher|[-_]ui\b",
    re.IGNORECASE,
)
_NAME = pattern(r"[\w.:\[\]-]+")
_LOOPBACK = pattern(r"localhost|127(?:\.\d+){3}|\[::1\]")


@rule(severity=Severity.INFO, category="proxy", fix=Safety.UNSAFE, scenario="keepalive", under_load=True)
def check(model: Model) -> Iterator[Finding]:
    """Find passes to servers without an upstream block."""
    by_target: dict[Target, list[Pass]] = {}
    for pass_ in model.passes:
        if _is_meant(model, pass_):
            by_target.setdefault(_target(pass_), []).append(pass_)
    taken = {pass_.host.lower() for pass_ in model.passes} | set(model.upstreams)
    levels = headers.owners(model, lambda pass_: _target(pass_) if _is_meant(model, pass_) else None)
    with_pool = {pass_.level.around("server") for pass_ in model.passes if _has_pool(pass_.upstream)}
    for server, passes in by_target.items():
        if all(map(_is_rare, passes)):
            continue
        why_not = sharing.bad_lengths(model, (pass_ for pass_ in passes if _keeps(model, pass_)))
        size = 0 if why_not else capacity.size(model, len(by_target))
        found = _finding(passes, _fix(passes, taken, levels.get(server, set()), size), why_not)
        yield replace(found, is_small=with_pool.isdisjoint(pass_.level.around("server") for pass_ in passes))


def _has_pool(upstream: Upstream | None) -> bool:
    return upstream is not None and bool(upstream.level.own("keepalive"))


def _is_meant(model: Model, pass_: Pass) -> bool:
    kept = pass_.protocol in ("proxy", "grpc", "fastcgi")
    return kept and _is_implicit(model, pass_) and pools.wants_pool(model, pass_)


def _keeps(model: Model, pass_: Pass) -> bool:
    """Return whether a pass uses a pool as soon as there is one."""
    is_known = pools.knows_headers(pass_) and pass_.setting("http_version").known
    return pass_.protocol == "proxy" and is_known and not pooling.missing(model, pass_)


def _is_rare(pass_: Pass) -> bool:
    """Return whether a location gets a handful of requests: it has one URI, or is for operators or certificates."""
    location = pass_.level.around("location")
    return location is not None and (
        (location.modifier == "=" and location.path != "/")
        or any(_RARE.search(word) for word in (*location.args, pass_.host, pass_.uri or ""))
    )


def _target(pass_: Pass) -> Target:
    return pass_.protocol, pass_.scheme, pass_.host, pass_.port


def _is_implicit(model: Model, pass_: Pass) -> bool:
    """Return whether a pass names a server, and certainly not an upstream."""
    if "$" in f"{pass_.scheme}{pass_.host}{pass_.port}" or pass_.upstream is not None:
        return False
    if not _NAME.fullmatch(pass_.host):  # something to be replaced: <host>, @HOST@
        return False
    if pools.is_check(pass_):
        return False
    return pass_.names_an_address or model.is_whole


def _finding(passes: list[Pass], fix: Fix | None, why_not: str) -> Finding:
    first, *others = {pass_.directive.origin: pass_ for pass_ in passes}.values()
    places = f", from {len(others) + 1} places," if others else ""
    return Finding(
        first.directive.source,
        first.directive.args[0].span,
        f"requests to {_server(first)}{places} use no upstream block: each opens a new connection",
        fix,
        "" if fix else why_not or _help(first),
        tuple(Related(pass_.directive.source, pass_.directive.name.span, "also passed to here") for pass_ in others),
        saves=Saving(connections=1),
        cause=first.protocol,
    )


def _help(pass_: Pass) -> str:
    if pass_.protocol == "fastcgi":
        return (
            f"add an upstream with `server {_server(pass_)};` and a small `keepalive`, and pass to it; each idle "
            "connection occupies a child of PHP-FPM, so the pools of all workers must stay below pm.max_children"
        )
    added = f"add an upstream with `server {_server(pass_)};` and `keepalive {capacity.SIZE};`, and pass to it"
    return added + pools.keeping_names(pass_)


def _server(pass_: Pass) -> str:
    """Return the server as in an upstream block."""
    if pass_.port is None:
        return f"{pass_.host}:443" if pass_.scheme in ("https", "grpcs") else pass_.host
    return f"{pass_.host}:{pass_.port}"


def _fix(passes: list[Pass], taken: set[str], levels: set[Level], keepalive: int) -> Fix | None:
    """Return the fix: an upstream before the server of the first pass, and passes to it; None if it is not exact.

    Adds its name to `taken`. `levels` are those whose headers apply only to these passes. `keepalive` is the size of
    its pool, 0 if there is no room for one.
    """
    opener = _server_block(passes[0])
    if opener is None or not keepalive or passes[0].protocol != "proxy" or passes[0].scheme != "http":
        return None
    if not sharing.may_share(passes):
        return None
    name = _name(passes[0], taken)
    block = (f"upstream {name} {{", f"    server {_server(passes[0])};", f"    keepalive {keepalive};", "}")
    changes = {layout.before(opener, block, in_any_order=True): None}
    for pass_ in passes:
        moved = _moved(pass_, name, levels)
        if moved is None:
            return None
        changes |= dict.fromkeys(moved)  # headers that several passes share are changed once
    taken.add(name)
    return Fix("pass to an upstream with a pool", tuple(changes), Safety.UNSAFE)


def _server_block(pass_: Pass) -> Directive | None:
    """Return the server block of a pass if an upstream block is allowed before it."""
    server = pass_.level.around("server")
    if server is None or server.parent is None or server.parent.kind not in ("http", FRAGMENT):
        return None
    is_read_once = server.opener is not None and server.opener.source.original is None
    return server.opener if is_read_once else None


def _moved(pass_: Pass, name: str, levels: set[Level]) -> list[Change] | None:
    """Return the changes that pass to the upstream and change nothing else; None if that is impossible."""
    location = pass_.level
    if (
        location.kind != "location"
        or pass_.has_variable
        or not pools.knows_headers(pass_)
        or pass_.directive.source.original
    ):
        return None
    redirect, host = _redirect(pass_, location), pools.header_directives(pass_, "host")
    if redirect is None or any("$proxy_" in word for header in _headers(pass_) for word in header.args):
        return None
    changes = [layout.replace(pass_.directive, pass_.directive.args[0], f"http://{name}{pass_.uri or ''}")]
    if redirect:
        changes.append(layout.after(pass_.directive, [redirect]))
    if not host:
        added = headers.with_header(pass_, [f"proxy_set_header Host {_host(pass_)};"], levels)
        if added is None:
            return None
        changes += added
    return changes


def _headers(pass_: Pass) -> tuple[Directive, ...]:
    return pass_.setting("set_header").directives


def _host(pass_: Pass) -> str:
    """Return the value of `$proxy_host` before the fix (ngx_http_proxy_set_vars)."""
    if pass_.host == "unix":
        return "localhost"
    return pass_.host if pass_.port in (None, "80") else f"{pass_.host}:{pass_.port}"


def _redirect(pass_: Pass, location: Level) -> str | None:
    """Return the `proxy_redirect default` before the fix; empty if it is not in effect, None if unknown."""
    setting = pass_.setting("redirect")
    words = [directive.args[:1] for directive in setting.directives]
    if not setting.known:
        return None
    if pass_.host == "unix" or (setting.is_set and ("default",) not in words):
        return ""  # responses do not mention a socket
    target = pass_.directive.args[0]
    if setting.is_set and (len(words) > 1 or setting.level is location):
        return None
    if pass_.uri is None:
        return f"proxy_redirect {target}/ /;"
    modifier = location.args[0] if len(location.args) == 2 else None
    plain = modifier in ("=", "^~") or (modifier is None and location.args[:1] and location.args[0].startswith("/"))
    return f"proxy_redirect {target} {location.args[-1]};" if plain else None


def _name(pass_: Pass, taken: set[str]) -> str:
    """Return a name for the upstream that is not in `taken`."""
    if pass_.host == "unix":
        base = (pass_.port or "").rpartition("/")[2].partition(".")[0] or "socket"
    elif _LOOPBACK.fullmatch(pass_.host):
        base = f"local_{pass_.port or 80}"
    else:
        base = f"backend_{pass_.host}_{pass_.port or 80}"
    base = re.sub(r"\W+", "_", base, flags=re.ASCII).lower()
    names = chain([base], (f"{base}_{number}" for number in count(2)))
    return next(name for name in names if name not in taken)
