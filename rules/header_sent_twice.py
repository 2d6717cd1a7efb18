"""A header that a level sets twice is sent twice

Flags `proxy_set_header` and `grpc_set_header` that set a header twice at the same level, and `add_header` that adds
`Access-Control-Allow-Origin`, `Access-Control-Allow-Credentials`, `Strict-Transport-Security` or `X-Frame-Options`
twice with fixed values. An empty value sends nothing, and headers that are lists, such as `X-Forwarded-For`, may be
sent twice.

## Why it matters
The later line does not replace the earlier one. A request with two `Host` headers gets 400 from nginx and others, as
RFC 9112 demands; of other headers, some applications read the first, some the last, and some both as one value. A
browser refuses a response with two `Access-Control-Allow-Origin`.

## Bad
```nginx server
location / {
    proxy_set_header Host $host;
    proxy_set_header X-Real-IP $remote_addr;
    proxy_set_header Host $http_host;
    proxy_pass http://127.0.0.1:8080;
}
```

```nginx server
add_header Access-Control-Allow-Origin https://a.example.com;
add_header access-control-allow-origin https://b.example.com always;
```

## Good
```nginx server
location / {
    proxy_set_header X-Real-IP $remote_addr;
    proxy_set_header Host $http_host;
    proxy_pass http://127.0.0.1:8080;
}
```

## Silent
```nginx http
map $http_origin $origin_a {
    default "";
    https://a.example.com $http_origin;
}
map $http_origin $origin_b {
    default "";
    https://b.example.com $http_origin;
}
server {
    listen 80;
    proxy_set_header Host $host;
    add_header Access-Control-Allow-Origin $origin_a;
    add_header Access-Control-Allow-Origin $origin_b;
    location / {
        proxy_http_version 1.1;
        proxy_set_header Host $http_host;
        proxy_set_header Connection "";
        proxy_set_header Connection $http_connection;
        proxy_set_header X-Forwarded-For $remote_addr;
        proxy_set_header X-Forwarded-For 192.0.2.1;
        add_header Set-Cookie a=1;
        add_header Set-Cookie b=2;
        proxy_pass http://127.0.0.1:8080;
    }
}
```

## When to ignore it
If the upstream reads a header of your own that is sent twice.

## References
- `ngx_http_proxy_init_headers` and `ngx_http_add_header` in nginx's sources
- RFC 9112, 3.2 (Host), RFC 9110, 5.3 (fields that are lists); Fetch, 4.9 (CORS check)
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import Directive
from nginxopt.lint import Finding, Model, Related, Severity, rule

_SETTERS = ("proxy_set_header", "grpc_set_header")
_LISTS = {
    *("accept", "accept-charset", "accept-encoding", "accept-language", "cache-control", "connection", "cookie"),
    *("expect", "forwarded", "if-match", "if-none-match", "pragma", "te", "trailer", "transfer-encoding", "upgrade"),
    *("via", "x-forwarded-for"),
}
"""The headers of requests that are lists: two are read as one with a comma (and `Cookie` with a semicolon)."""
_SINGLE = {
    *("access-control-allow-origin", "access-control-allow-credentials"),
    *("strict-transport-security", "x-frame-options"),
}
"""The headers of responses that clients ignore or refuse if there are two, or of which they read the first."""


@rule(severity=Severity.INFO, highest=Severity.WARNING, category="correctness", about=(*_SETTERS, "add_header"))
def check(model: Model) -> Iterator[Finding]:
    """Find headers that are set twice at the same level."""
    first: dict[tuple[int, str, str], Directive] = {}
    for name in (*_SETTERS, "add_header"):
        for directive, level in model.each(name):
            if len(directive.args) > 1 and _counts(name, *map(str, directive.args[:2])):
                header = directive.args[0].lower()
                earlier = first.setdefault((id(level), name, header), directive)
                if earlier is not directive:
                    yield _finding(earlier, directive)


def _counts(name: str, header: str, value: str) -> bool:
    """Return whether a header is surely sent, and may be sent once only."""
    if name in _SETTERS:
        return value != "" and header.lower() not in _LISTS
    return value != "" and "$" not in value and header.lower() in _SINGLE


def _finding(earlier: Directive, later: Directive) -> Finding:
    header, is_host = later.args[0], later.args[0].lower() == "host"
    effect = ": servers answer such a request with 400" if is_host else ""
    return Finding(
        later.source,
        header.span,
        f"{header} is sent twice, as {earlier.args[1]} and {later.args[1]}{effect}",
        help="delete one of the two lines: the later one does not replace the earlier one",
        related=(Related(earlier.source, earlier.args[0].span, "sent as well"),),
        severity=Severity.WARNING if is_host or later.name == "add_header" else Severity.INFO,
    )
