"""`proxy_buffering off`: a slow client keeps an upstream connection busy

Flags `proxy_buffering off` (`fastcgi_`, `uwsgi_`, `scgi_`) where requests are passed on and nothing suggests that
responses are streams.

Does not flag streams: WebSockets and other upgrades; a location or comment that mentions events, streams, sockets,
logs, object stores or the like; `chunked_transfer_encoding off`, as recipes for streams have it; a read timeout of
5 minutes or more; `proxy_request_buffering off` as well (uploads and registries); or
responses of type `text/event-stream`. Nor does it flag servers with a comment that says why buffering is off. If a
cache is in effect, see `cache-without-buffering`.

## Why it matters
Without buffering, nginx reads from the upstream only as fast as the client reads from nginx, so each slow client
occupies a process or thread of the application for as long as its download takes. With buffering, nginx reads the
response as fast as the upstream sends it. A response that must not be buffered can say so itself: `X-Accel-Buffering:
no`.

## Bad
```nginx server
location / {
    proxy_pass http://10.0.0.1:8080;
    proxy_buffering off;
}
```

```nginx server
location / {
    uwsgi_pass 127.0.0.1:3031;
    uwsgi_buffering off;
}
```

## Good
```nginx server
location / {
    proxy_pass http://10.0.0.1:8080;
}
```

## Silent
```nginx server
location /events {
    proxy_pass http://10.0.0.1:8080;
    proxy_buffering off;
}
```

```nginx server
location /http-bind {
    proxy_pass http://localhost:5280;
    proxy_buffering off;
}
```

```nginx server
location /files/ {
    proxy_pass http://minio:9000;
    proxy_http_version 1.1;
    chunked_transfer_encoding off;
    proxy_buffering off;
}
```

## Fix safety
May change: responses, files.

A response reaches the client as buffers fill, not as it arrives; long ones are written to temporary files; and a cache
in effect stores what it may store.

## When to ignore it
If responses are streams: events, progress, chats, files larger than the disk.

## References
- https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_buffering
- https://www.f5.com/company/blog/nginx/avoiding-top-10-nginx-configuration-mistakes
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from nginxopt.config import Directive, layout
from nginxopt.lint import Finding, Fix, Model, Related, Safety, Severity, pattern, rule
from nginxopt.lint.queries import pools, purpose
from nginxopt.semantics import Level, Pass

BUFFERING = ("proxy", "fastcgi", "uwsgi", "scgi")

LONG = 300
"""The `proxy_read_timeout` in seconds from which responses are considered streams."""

_STREAMS = pattern(
    r"sse(?![a-z])|\bws|event|(?<!up)stream|socket|chat|log|tail|live|hub|signalr|poll|watch|notif|push|completion|generate|mcp|"
    r"x-accel-buffering|registry|/v2/|git|download|upload|video|hls|dav\b|subscri|push|rpc|terminal|console|vnc|shell|comet|bosh|http-bind|xmpp|s3\b|minio|amazonaws|chunked_transfer",
    re.IGNORECASE,
)
_REASON = pattern(r"buffering\b.{0,40}\b(?:to|for|because|since|as|so|else|otherwise)\b", re.IGNORECASE)
_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400, "": 1}


@rule(
    severity=Severity.WARNING,
    category="proxy",
    fix=Safety.UNSAFE,
    about=tuple(f"{protocol}_buffering" for protocol in BUFFERING),
)
def check(model: Model) -> Iterator[Finding]:
    """Find passes without buffering that show no reason for it."""
    by_directive: dict[Directive, list[Pass]] = {}
    for pass_ in model.passes:
        setting = pass_.setting("buffering")
        if pass_.protocol in BUFFERING and setting.directive and setting.value == "off" and not _is_meant(pass_.level):
            by_directive.setdefault(setting.directive, []).append(pass_)
    for directive, passes in by_directive.items():
        plain = [pass_ for pass_ in passes if not _streams(pass_, directive)]
        if plain:
            yield _finding(directive, plain, len(passes))


def _is_meant(level: Level) -> bool:
    """Return whether a comment of the server gives a reason for `proxy_buffering off`."""
    server = level.around("server")
    inner = server.walk() if server is not None else (level,)
    return any(_REASON.search(comment) for other in inner for comment in purpose.comments(other))


def _finding(directive: Directive, plain: list[Pass], total: int) -> Finding:
    places = "" if total == 1 else f" in {len(plain)} of {total} places"
    fix = (
        Fix(f"delete `{directive.name} off`", (layout.delete(directive),), Safety.UNSAFE)
        if len(plain) == total
        else None
    )
    return Finding(
        directive.source,
        directive.args[0].span,
        f"without buffering, a slow client keeps the upstream busy until it has read everything{places}",
        fix,
        "" if fix else "move it to the locations that stream responses",
        () if fix else tuple(_related(pass_) for pass_ in plain),
    )


def _related(pass_: Pass) -> Related:
    return Related(pass_.directive.source, pass_.directive.name.span, "nothing suggests a stream here")


def _streams(pass_: Pass, directive: Directive) -> bool:
    """Return whether anything suggests that the responses of a pass are streams, or it is unknown."""
    if pass_.setting("cache").value not in ("off", None) or not pools.knows_headers(pass_):
        return True
    upgrades = any(header.args[1] for header in pools.header_directives(pass_, "upgrade"))
    if (
        upgrades
        or pass_.setting("request_buffering").value == "off"
        or _seconds(pass_.setting("read_timeout").value) >= LONG
    ):
        return True
    return any(_STREAMS.search(text) for text in _texts(pass_, directive))


def _texts(pass_: Pass, directive: Directive) -> Iterator[str]:
    """Yield the texts that suggest the purpose of a pass: target, locations, server names, comments."""
    yield from pass_.directive.args
    yield from purpose.names(pass_.level)
    for name in ("chunked_transfer_encoding", "proxy_hide_header", "proxy_ignore_headers"):
        yield from (word for other in pass_.level.own(name) for word in (name, *other.args))
    yield from purpose.comments(pass_.level)
    yield from layout.remarks(directive)


def _seconds(time: str | None) -> float:
    """Return an nginx time in seconds, 0 for an unknown one."""
    parts = re.findall(r"(\d+)(ms|[smhd]|)", time or "")
    return sum(int(number) * _SECONDS[unit] for number, unit in parts)
