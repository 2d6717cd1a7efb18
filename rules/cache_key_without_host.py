"""Cache key without the host: one site gets the pages of another

Flags caches whose key has no host where several sites fill the same zone: servers with different names, or a server
with a wildcard or a pattern for a name. `$proxy_host`, which is in the default key, is the host of `proxy_pass`, not
that of the request.

Does not flag keys with `$host`, `$http_host`, `$server_name` or a variable of the configuration, sites with upstreams
of their own in the key, locations without a URI in common, upstreams that get the same `Host` from all sites, and
caches in front of whatever host clients ask for in slices (`proxy_pass http://$host`, `$slice_range`): mirrors of
downloads, which have the same files.

## Why it matters
An upstream that gets `Host: $host` answers `/` of each site with another page. The cache has one entry for all of them:
whoever asks first decides what the visitors of the other sites see.

## Bad
```nginx http
proxy_cache_path /var/cache/nginx keys_zone=pages:10m;
proxy_cache pages;
proxy_set_header Host $host;
server {
    server_name shop.example.com;
    location / {
        proxy_pass http://127.0.0.1:8080;
    }
}
server {
    server_name blog.example.org;
    location / {
        proxy_pass http://127.0.0.1:8080;
    }
}
```

## Good
```nginx http
proxy_cache_path /var/cache/nginx keys_zone=pages:10m;
proxy_cache pages;
proxy_cache_key $scheme$host$request_uri;
proxy_set_header Host $host;
server {
    server_name shop.example.com;
    location / {
        proxy_pass http://127.0.0.1:8080;
    }
}
server {
    server_name blog.example.org;
    location / {
        proxy_pass http://127.0.0.1:8080;
    }
}
```

## Silent
```nginx http
proxy_cache_path /var/cache/nginx keys_zone=pages:10m;
proxy_cache pages;
server {
    server_name shop.example.com www.shop.example.com;
    location / {
        proxy_set_header Host $host;
        proxy_pass http://127.0.0.1:8080;
    }
}
server {
    server_name blog.example.org;
    location / {
        proxy_set_header Host $host;
        proxy_pass http://127.0.0.1:8081;
    }
}
server {
    server_name *.static.example.net;
    location / {
        proxy_pass http://127.0.0.1:8080;
    }
}
server {
    server_name *.downloads.example.com;
    resolver 127.0.0.1;
    slice 1m;
    proxy_cache_key $uri$slice_range;
    proxy_set_header Host $host;
    location / {
        proxy_pass http://$host;
    }
}
```

## When to ignore it
If all sites have the same pages.

## References
- https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_cache_key
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from nginxopt.lint import Finding, Model, Related, Severity, pattern, rule
from nginxopt.semantics import Level, Pass

_CACHED = ("proxy", "fastcgi", "uwsgi", "scgi")
_DEFAULT = "$scheme$proxy_host$request_uri"
_VARIABLE = pattern(r"\$\{?(\w+)\}?")
_WITHOUT_HOST = pattern(
    r"scheme|request_uri|uri|document_uri|args|is_args|query_string|request_method|https|proxy_host|proxy_port"
    r"|arg_\w+|cookie_\w+|http_(?:accept\w*|cookie|user_agent|origin|range|x_requested_with)|slice_range|remote_user"
    r"|request_body",
    re.IGNORECASE,
)
"""Variables that certainly do not distinguish sites."""
_OF_CLIENT = pattern(r"\$\{?(?:host|http_host|server_name|http_x_forwarded_host)\b", re.IGNORECASE)


@rule(severity=Severity.WARNING, category="security", about=tuple(f"{protocol}_cache" for protocol in _CACHED))
def check(model: Model) -> Iterator[Finding]:
    """Find entries of caches that several sites share."""
    users: dict[tuple[str, str, str], list[Pass]] = {}
    for pass_ in model.passes:
        key = _key(pass_) if pass_.protocol in _CACHED and _tells_host(pass_) else None
        if key is not None and pass_.level.around("server") is not None:
            zone = pass_.setting("cache").value or ""
            users.setdefault((zone, key, _path(pass_.level)), []).append(pass_)
    for sharing in users.values():
        yield from _judged(sharing)


def _key(pass_: Pass) -> str | None:
    """Return the key of a cached pass with the host of its target, if that key has no host of a request."""
    cache, stated = pass_.setting("cache"), pass_.setting("cache_key")
    if cache.directive is None or cache.value in (None, "off") or not stated.known:
        return None
    words = stated.directive.args if stated.directive else ()
    text = str(words[0]) if words else _DEFAULT if pass_.protocol == "proxy" else None
    if (
        text is None
        or ("$slice_range" in text and _OF_CLIENT.match(pass_.host))
        or not all(_WITHOUT_HOST.fullmatch(name) for name in _VARIABLE.findall(text))
    ):
        return None
    target = f"{pass_.host}:{pass_.port}" if "proxy_host" in text else ""
    return f"{text} {target}"


def _tells_host(pass_: Pass) -> bool:
    """Return whether the upstream gets the host of the request; FastCGI and its kin always send it as HTTP_HOST."""
    if pass_.protocol != "proxy":
        return True
    headers = pass_.setting("set_header")
    hosts = [
        str(stated.args[1])
        for stated in headers.directives
        if len(stated.args) > 1 and stated.args[0].lower() == "host"
    ]
    return headers.known and any(map(_OF_CLIENT.search, hosts))


def _path(level: Level) -> str:
    """Return the location of a level. In two servers, the same location gets the same URIs."""
    location = level.around("location")
    return " ".join(location.args) if location else "/"


def _names(server: Level) -> frozenset[str]:
    """Return the names of a server without `www.`, which is the same site."""
    words = (str(word).lower() for stated in server.own("server_name") for word in stated.args)
    return frozenset(word.removeprefix("www.") for word in words)


def _judged(sharing: list[Pass]) -> Iterator[Finding]:
    servers = [server for pass_ in sharing if (server := pass_.level.around("server")) is not None]
    names = [_names(server) for server in servers]
    other = next((at for at, theirs in enumerate(names) if theirs and names[0] and not theirs & names[0]), None)
    many = next((name for name in names[0] if name.startswith(("*.", "~")) or name.endswith(".*")), None)
    if other is None and many is None:
        return
    first = sharing[0]
    place = first.setting("cache_key").directive or first.setting("cache").directive
    if place is None:
        return
    two = sorted(names[0])[0], (sorted(names[other])[0] if other is not None else "others")
    whose = f"the names of {many}" if other is None else f"{two[0]} and {two[1]}"
    again = servers[other].opener if other is not None else None
    yield Finding(
        place.source,
        place.name.span,
        f"{whose} share the entries of this cache: its key has no host",
        help="add $host to the key",
        related=(Related(again.source, again.name.span, "this site has the same keys"),) if again else (),
    )
