"""`proxy_request_buffering off` over HTTP/1.0: chunked bodies are still buffered

Flags a `proxy_pass` with `proxy_request_buffering off` that speaks HTTP/1.0: by default before nginx 1.29.7, or
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

## Fix safety
May change: responses, upstream requests.

Unsafe: over HTTP/1.1 the upstream gets bodies of unknown length in chunks, and one that does not take them answers 411
or 501. The line goes into the location, and there is no fix where a block within would inherit it.

## When to ignore it
Where clients send bodies of known length only, as browsers do.

## References
- https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_request_buffering
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.lint import Finding, Fix, Model, Safety, Severity, rule
from nginxopt.lint.headers import NOT_IN_IF, with_version


@rule(severity=Severity.INFO, category="proxy", fix=Safety.UNSAFE, since="1.7.11")
def check(model: Model) -> Iterator[Finding]:
    """Find bodies that are buffered although they should not be."""
    for one in model.passes:
        if one.protocol != "proxy" or one.setting("http_version").value != "1.0":
            continue
        buffering = one.setting("request_buffering")
        if buffering.directive and buffering.value == "off":
            changes = with_version(model, one)
            yield Finding(
                buffering.directive.source,
                buffering.directive.args[0].span,
                "proxy_request_buffering off has no effect on chunked request bodies over HTTP/1.0",
                Fix("use HTTP/1.1", changes, Safety.UNSAFE) if changes else None,
                "" if changes else NOT_IN_IF,
            )
