"""Upstream gets another path than the client sent: decoded, encoded twice, or glued together

Flags `proxy_pass` where a request shows it: `%3F` in a path arrives as `?`, `%2F` as `%252F`, or the rest of the URI
follows the path of the `proxy_pass` without a slash between. The rule asks the model of `nginxopt trace`.

Does not flag the usual forms, which nginx encodes again: no URI, or one that ends with a slash like its location.

## Why it matters
nginx and the upstream then see two different paths, so that rules about one do not hold for the other. A
`location /api/admin { deny all; }` does not protect `/admin` of the upstream if `/apiadmin` leads there; what follows a
decoded `?` becomes arguments; names with `%` are not found.

## Bad
```nginx server
location / {
    proxy_pass http://127.0.0.1:8080$uri;
}
```
```nginx server
location /b {
    rewrite ^ $request_uri break;
    proxy_pass http://127.0.0.1:8080;
}
```
```nginx server
location /api {
    proxy_pass http://127.0.0.1:8080/;
}
```

## Good
```nginx server
location / {
    proxy_pass http://127.0.0.1:8080;
}
```
```nginx server
location /api/ {
    proxy_pass http://127.0.0.1:8080/;
}
```

## Silent
```nginx server
location /a {
    rewrite ^ $request_uri;
    rewrite ^/a/(.*)$ /$1 break;
    proxy_pass http://127.0.0.1:8080/$1;
}
location ~ ^/user/(\\d+)$ {
    proxy_pass http://127.0.0.1:8080/users/$1;
}
location /v1 {
    proxy_pass http://127.0.0.1:8080/v2;
}
```

## When to ignore it
If the upstream expects the decoded path.

## References
- https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_pass
- https://joshua.hu/proxy-pass-nginx-decoding-normalizing-url-path-dangerous
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from nginxopt.lint import AskedRequest, Finding, Model, ModelAnswer, Severity, rule
from nginxopt.lint.queries import reaching
from nginxopt.semantics import Level, Pass, subjects

_DECODED, _TWICE = (b"a%3Fb", "?b"), (b"%2F", "%252F")
_MOST = 6


@rule(severity=Severity.INFO, category="security", default=False, witness=True)
def check(model: Model) -> Iterator[Finding]:
    """Find passes that change paths."""
    for pass_ in model.passes:
        if pass_.protocol != "proxy" or pass_.level.kind not in ("location", "if", "limit_except"):
            continue
        finding = _glued(model, pass_) or _changed(model, pass_, *_DECODED) or _changed(model, pass_, *_TWICE)
        if finding is not None:
            yield finding


def _glued(model: Model, pass_: Pass) -> Finding | None:
    """Return the finding that the path of a pass and the rest of a URI are joined in a wrong place."""
    location, uri = pass_.level, pass_.uri or ""
    if location.kind != "location" or location.modifier not in ("", "^~") or pass_.has_variable or not uri:
        return None
    path = location.path
    if not path.startswith("/") or path.endswith("/") == uri.endswith("/") or (uri.strip("/") and uri.endswith("/")):
        return None
    answer = model.requests.first(location, AskedRequest(f"{path}admin".encode()))
    return _finding(pass_, answer, "joins both paths without a slash") if answer and answer.passed_target else None


def _changed(model: Model, pass_: Pass, tail: bytes, sign: str) -> Finding | None:
    """Return the finding that a text at the end of a path arrives as another."""
    for asked in _with(tail, pass_.level):
        answer = model.requests.first(pass_.level, asked)
        sent = answer.passed_target if answer is not None else None
        if answer is not None and answer.is_decided_by is pass_.directive and sent and sign in sent:
            how = "decodes the path" if sign == _DECODED[1] else "encodes the path twice"
            return _finding(pass_, answer, how)
    return None


def _with(tail: bytes, level: Level) -> Iterator[AskedRequest]:
    """Yield requests for a level whose path ends with a text."""
    for number, asked in enumerate(reaching.reaching(level)):
        if number < _MOST:
            path, mark, args = asked.target.partition(b"?")
            yield replace(asked, target=path + tail + mark + args)
            yield replace(asked, target=path + b"/" + tail + mark + args)
    location = level.around("location")
    if location is not None and location.modifier in ("~", "~*") and tail == _DECODED[0]:
        uri = subjects.shortest((location.pattern, rb"^/[!-~]*$", rb"\?b"), is_uri=True)
        if uri is not None:
            yield AskedRequest(uri.replace(b"?", b"%3F"))


def _finding(pass_: Pass, answer: ModelAnswer, how: str) -> Finding:
    return Finding(
        pass_.directive.source,
        pass_.directive.args[0].span,
        f"this proxy_pass {how}: the upstream gets {answer.passed_target}",
        help="leave out the URI, or end it and the location with a slash",
        witness=answer.witness(f"the upstream gets {answer.passed_target}"),
    )
