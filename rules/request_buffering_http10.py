"""`proxy_request_buffering off` over HTTP/1.0: chunked bodies are buffered all the same

Flagged is a `proxy_pass` with `proxy_request_buffering off` that speaks HTTP/1.0: by default before nginx 1.29.7, or
because it is written.

The fix is made with `--unsafe-fixes` only: over HTTP/1.1 the upstream gets those bodies in chunks, too, and has to
understand them.

## Why it matters
HTTP/1.0 has no chunks, so nginx must know the length of a body before it begins to send: it takes all of a body that
comes in chunks to a file first. Seen on nginx 1.22.1: the upstream gets `Content-Length` over HTTP/1.0, and
`Transfer-Encoding: chunked` over HTTP/1.1.

## Bad
```nginx server 1.22.1
location /upload {
    proxy_pass http://10.0.0.1:8080;
    proxy_request_buffering off;
}
```

## Good
```nginx server 1.22.1
location /upload {
    proxy_pass http://10.0.0.1:8080;
    proxy_http_version 1.1;
    proxy_request_buffering off;
}
```

## Silent
```nginx server 1.29.7
location /upload {
    proxy_pass http://10.0.0.1:8080;
    proxy_request_buffering off;
}
```

## When to ignore it
Where clients send bodies of known length only, as browsers do.

## References
- https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_request_buffering
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.diagnostic import Change, Finding, Fix, Safety, Severity
from nginxopt.headers import NOT_IN_IF, takes_directives
from nginxopt.layout import after, replace
from nginxopt.model import Model
from nginxopt.rule import rule
from nginxopt.upstreams import Pass


@rule(severity=Severity.INFO, category="proxy", fix=Safety.UNSAFE, since="1.7.11")
def check(model: Model) -> Iterator[Finding]:
    """Find bodies that are buffered although they should not be."""
    for one in model.passes:
        if one.protocol != "proxy" or one.setting("http_version").value != "1.0":
            continue
        buffering = one.setting("request_buffering")
        if buffering.directive and buffering.value == "off":
            change = _change(one)
            yield Finding(
                buffering.directive.source,
                buffering.directive.args[0].span,
                "over HTTP/1.0 request bodies that come in chunks are buffered all the same",
                Fix("pass on over HTTP/1.1", (change,), Safety.UNSAFE) if change else None,
                "" if change else NOT_IN_IF,
            )


def _change(one: Pass) -> Change | None:
    written = one.setting("http_version").directive
    if written:
        return replace(written, written.args[0], "1.1")
    return after(one.directive, ["proxy_http_version 1.1;"]) if takes_directives(one) else None
