"""`proxy_request_buffering off` over HTTP/1.0: chunked bodies are still buffered

Flags a `proxy_pass` with `proxy_request_buffering off` over HTTP/1.0, the default before nginx 1.29.7, or set
explicitly.

The fix needs `--unsafe-fixes`: over HTTP/1.1, the upstream also gets those bodies in chunks and has to understand them.

## Why it matters
HTTP/1.0 has no chunks, so nginx must know the length of a body before it starts to send it: it first reads all of a
chunked body, into memory or a file. Seen on nginx 1.22.1: the upstream gets `Content-Length` over HTTP/1.0, and
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

## Fix safety
May change: responses, upstream requests.

Unsafe: over HTTP/1.1, the upstream gets bodies of unknown length in chunks, and a server that does not accept them
responds with 411 or 501. The fix adds the line to the location; there is no fix if a block within it would inherit the
line.

## When to ignore it
If clients send only bodies of known length, as browsers do.

## References
- https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_request_buffering
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.lint import Finding, Fix, Model, Safety, Severity, rule
from nginxopt.lint.queries import headers


@rule(severity=Severity.INFO, category="proxy", fix=Safety.UNSAFE, since="1.7.11", about=("proxy_request_buffering",))
def check(model: Model) -> Iterator[Finding]:
    """Find request bodies that are buffered although buffering is off."""
    for pass_ in model.passes:
        if pass_.protocol != "proxy" or pass_.setting("http_version").value != "1.0":
            continue
        buffering = pass_.setting("request_buffering")
        if buffering.directive and buffering.value == "off":
            changes = headers.with_version(model, pass_)
            yield Finding(
                buffering.directive.source,
                buffering.directive.args[0].span,
                "proxy_request_buffering off has no effect on chunked request bodies over HTTP/1.0",
                Fix("use HTTP/1.1", changes, Safety.UNSAFE) if changes else None,
                "" if changes else headers.why_not(model, pass_, "http_version"),
            )
