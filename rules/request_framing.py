"""Body without its length, or a length without its body: the upstream misreads requests

Flags a `proxy_pass` that certainly sends requests whose length is not that of their body:

- `proxy_set_header Content-Length` with an empty value, a number or `$http_content_length`, which is empty for a body
  in chunks, while the body is passed on or `proxy_set_body` sends another;
- `proxy_set_header Transfer-Encoding` that announces chunks, while nginx passes the body on without them, or an empty
  one with `proxy_request_buffering off`, while nginx passes it on in chunks;
- `proxy_pass_request_body off` without an empty `Content-Length`;
- subrequests of `auth_request` and `mirror` with the client's `Content-Length`, as nginx does not pass the body on with
  them, if nginx keeps the connection.

It is an error if clients can put requests into bodies, a warning if the upstream may take another request for a body or
chunks for a request, and an info if it may wait for a body that does not come. The rule asks the model of
`nginxopt trace` for a request that is passed on from there.

Does not flag a body without its length where the connection closes after the request (HTTP/1.0, `Connection: close`),
nor a length without its body where it closes and only GET is allowed. HTTP/2, `$content_length`, which is the length of
the body that nginx passes on, and variables that may be right are not flagged either.

## Why it matters
As long as a connection stays open, the upstream reads what follows a request as the next one. A client that knows that
puts requests into bodies (request smuggling): they reach the upstream past the locations, `deny` and `auth_request` of
nginx, and another client gets the response if nginx keeps the connection. With a length and no body, the upstream takes
the first bytes of the next request for that body, and the client that sent it gets an error; an upstream that reads the
whole body first answers nothing until it times out. Seen on nginx 1.22.1 and 1.31.3, for each of these directives.

Starting with 1.29.7, nginx uses HTTP/1.1 and keeps connections by default. Lines that were harmless no longer are.

## Bad
```nginx http 1.22.1
upstream app {
    server 10.0.0.1:8080;
    keepalive 32;
}
server {
    location /check/ {
        proxy_pass http://app;
        proxy_http_version 1.1;
        proxy_set_header Connection "";
        proxy_set_header Content-Length "";
    }
}
```

```nginx http 1.22.1
upstream app {
    server 10.0.0.1:8080;
    keepalive 32;
}
server {
    proxy_http_version 1.1;
    proxy_set_header Connection "";
    location / {
        auth_request /auth;
        proxy_pass http://app;
    }
    location = /auth {
        internal;
        proxy_pass http://app;
        proxy_pass_request_body off;
    }
}
```

```nginx server 1.29.7
location / {
    proxy_pass http://10.0.0.1:8080;
    proxy_set_header Content-Length $http_content_length;
}
```

## Good
```nginx http 1.22.1
upstream app {
    server 10.0.0.1:8080;
    keepalive 32;
}
server {
    location /check/ {
        proxy_pass http://app;
        proxy_pass_request_body off;
        proxy_http_version 1.1;
        proxy_set_header Connection "";
        proxy_set_header Content-Length "";
    }
}
```

## Silent
A subrequest of `auth_request` has no body:
```nginx http 1.22.1
upstream app {
    server 10.0.0.1:8080;
    keepalive 32;
}
server {
    proxy_http_version 1.1;
    proxy_set_header Connection "";
    location / {
        auth_request /auth;
        proxy_pass http://app;
    }
    location = /auth {
        internal;
        proxy_pass http://app;
        proxy_set_header Connection "";
        proxy_set_header Content-Length "";
    }
}
```
The connection closes, and the body is lost:
```nginx server 1.22.1
location /check/ {
    proxy_pass http://10.0.0.1:8080;
    proxy_set_header Content-Length "";
}
```
This is what nginx sends anyway:
```nginx server 1.29.7
location / {
    proxy_pass http://10.0.0.1:8080;
    proxy_set_header Content-Length $content_length;
}
```

## Fix safety
May change: responses, upstream requests.

- A body without its length is no longer sent (`proxy_pass_request_body off`): the upstream gets the same requests, and
  no others. To pass the body on instead, remove the empty `Content-Length`.
- A length without its body is no longer sent. If the location inherits headers, the fix copies them.
- Other headers are removed, and nginx sends the right ones.

There is no fix if a block within the location would inherit it, if the wrong header is inherited, or if the location of
a subrequest is not `internal`.

## When to ignore it
If the upstream closes its connections after each request by itself.

## References
- https://www.rfc-editor.org/rfc/rfc9112#section-6.3
- https://cwe.mitre.org/data/definitions/444.html
- https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_pass_request_body
- https://nginx.org/en/docs/http/ngx_http_auth_request_module.html
- nginx 1.22.1, ngx_http_proxy_create_request and ngx_http_auth_request_handler
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from nginxopt.config import layout
from nginxopt.lint import Finding, Fix, Model, Safety, Severity, rule
from nginxopt.lint.queries import headers, lengths, misframed, pools
from nginxopt.semantics import Pass

_NO_BODY = "proxy_pass_request_body off;"
_NO_LENGTH = 'proxy_set_header Content-Length "";'
_MESSAGES = {
    lengths.LengthFault.NO_LENGTH: "body without its length: the upstream reads the body as the next request",
    lengths.LengthFault.OTHER_LENGTH: "Content-Length of another body: the upstream reads the next request from a wrong place",
    lengths.LengthFault.NO_CHUNKS: "Transfer-Encoding without chunks: the upstream may read a part of the body as a request",
    lengths.LengthFault.HIDDEN_CHUNKS: "chunks without Transfer-Encoding: the upstream reads them as the next request",
    lengths.LengthFault.NO_BODY: "Content-Length without the body: the upstream reads the next request as the body",
}
_WAITS = "Content-Length without the body: an upstream that reads the body waits until it times out"


@rule(severity=Severity.INFO, highest=Severity.ERROR, category="security", fix=Safety.UNSAFE, witness=True)
def check(model: Model) -> Iterator[Finding]:
    """Find requests whose length is not that of their body."""
    for pass_, wrong, witness in misframed.misframed(model, partial(_severity, model)):
        severity = _severity(model, pass_, wrong)
        if severity is Severity.INFO and witness.method == "GET":  # only who sends a body with it waits
            continue
        off = pass_.setting("pass_request_body").directive if lengths.body(pass_) is lengths.Body.NONE else None
        cause = off or wrong.header
        fix = _fix(model, pass_, wrong)
        yield Finding(
            (cause or pass_.directive).source,
            (cause.args[-1] if cause else pass_.directive.name).span,
            _WAITS if severity is Severity.INFO else _MESSAGES[wrong.kind],
            fix,
            "" if fix else _help(pass_, wrong),
            severity=severity,
            witness=witness,
        )


def _severity(model: Model, pass_: Pass, wrong: lengths.LengthMismatch) -> Severity | None:
    """Return the severity of what is wrong; None if it is harmless, or if that depends on the upstream."""
    if wrong.kind is lengths.LengthFault.NO_BODY:
        if pools.keeps(model, pass_):
            return Severity.WARNING
        return Severity.INFO if lengths.body(pass_) is lengths.Body.NONE else None
    if not pools.stays_open(model, pass_):
        return None
    smuggles = wrong.kind in (lengths.LengthFault.NO_LENGTH, lengths.LengthFault.OTHER_LENGTH)
    return Severity.ERROR if smuggles else Severity.WARNING


def _is_unread(pass_: Pass, wrong: lengths.LengthMismatch) -> bool:
    """Return whether the upstream gets the body of a client, but never reads it as the body of its request."""
    is_cleared = wrong.header is not None and not wrong.header.args[1]
    return wrong.kind is lengths.LengthFault.NO_LENGTH and is_cleared and lengths.body(pass_) is lengths.Body.CLIENT


def _help(pass_: Pass, wrong: lengths.LengthMismatch) -> str:
    if wrong.header is None or wrong.kind is lengths.LengthFault.NO_BODY:
        return f"pass these requests in a separate location with `{_NO_BODY}` and `{_NO_LENGTH}`"
    removed = f"remove `{layout.written(wrong.header)}`"
    return f"{removed}, or add `{_NO_BODY}` where no body is meant" if _is_unread(pass_, wrong) else removed


def _fix(model: Model, pass_: Pass, wrong: lengths.LengthMismatch) -> Fix | None:
    if not headers.takes_directives(pass_):
        return None
    if wrong.kind is lengths.LengthFault.NO_BODY:
        return _without_length(model, pass_, wrong)
    return _without_body(model, pass_) if _is_unread(pass_, wrong) else _without_header(model, pass_, wrong)


def _without_body(model: Model, pass_: Pass) -> Fix | None:
    if pass_.setting("pass_request_body").is_set or any(headers.heirs(model, pass_, "pass_request_body")):
        return None
    return Fix("pass no request body on", (layout.after(pass_.directive, [_NO_BODY]),), Safety.UNSAFE)


def _without_length(model: Model, pass_: Pass, wrong: lengths.LengthMismatch) -> Fix | None:
    """Return the fix that sends neither body nor length; None for a location that may serve other requests as well."""
    has_none = lengths.body(pass_) is lengths.Body.NONE
    names = ["set_header"] if has_none else ["set_header", "pass_request_body"]
    if not (has_none or pass_.level.own("internal")) or any(headers.heirs(model, pass_, *names)):
        return None
    first = [] if has_none else [_NO_BODY]
    changes = (
        headers.without_value(pass_, [wrong.header], (), first=first)
        if wrong.header
        else headers.with_header(pass_, [_NO_LENGTH], (), first=first)
    )
    return Fix("send no Content-Length", changes, Safety.UNSAFE) if changes else None


def _without_header(model: Model, pass_: Pass, wrong: lengths.LengthMismatch) -> Fix | None:
    """Return the fix that removes a wrong header; None if it is inherited, or if others would be inherited instead."""
    own, outer = pass_.level.own("proxy_set_header"), pass_.level.parent
    is_last = len(own) == 1 and not (outer and outer.setting("proxy_set_header").is_unset)
    is_own = any(header is wrong.header for header in own)
    if wrong.header is None or is_last or not is_own or any(headers.heirs(model, pass_, "set_header")):
        return None
    return Fix("let nginx say where the body ends", (layout.delete(wrong.header),), Safety.UNSAFE)
