"""`proxy_pass` ends with a slash and its location does not: `/api../` leaves the path of the upstream

Flags locations from which a request can leave the path of the `proxy_pass`, if that is not `/`: a prefix without a
trailing slash and a `proxy_pass` with one, or a pattern whose capture may begin with `..`. The rule asks the model of
`nginxopt trace` what the upstream gets.

Does not flag a `proxy_pass` without a URI or with `/` alone, locations where both or neither end with a slash, and
locations whose requests another location takes.

## Why it matters
nginx appends the rest of the URI to the path of the `proxy_pass` (`ngx_http_proxy_create_request`). The `api..` in
`/api../x` is an ordinary name, so nginx does not resolve it, and the upstream gets `/public/../x`. Most servers resolve
that to `/x`, which the location was not meant to pass on: an admin page, the status of the server, another application.

## Bad
```nginx server
location /api {
    proxy_pass http://127.0.0.1:8080/public/;
}
```

## Good
```nginx server
location /api/ {
    proxy_pass http://127.0.0.1:8080/public/;
}
```

## Silent
Both or neither end with a slash, nothing is above the path, or another location takes the URI:
```nginx server
location /app {
    proxy_pass http://127.0.0.1:8080/app;
}
location /shop/ {
    proxy_pass http://127.0.0.1:8080/shop/;
}
location /blog {
    proxy_pass http://127.0.0.1:8080/;
}
location /news {
    proxy_pass http://127.0.0.1:8080;
}
location /wiki {
    proxy_pass http://127.0.0.1:8080/wiki/;
}
location ^~ /wiki. {
    return 404;
}
```

## Fix safety
May change: responses, upstream requests.

`/apix` is no longer passed on, and `/api` is answered with a redirect to `/api/`.

## When to ignore it
If the upstream refuses paths with `..`, or nothing is above the path.

## References
- https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_pass
- https://i.blackhat.com/us-18/Wed-August-8/us-18-Orange-Tsai-Breaking-Parser-Logic-Take-Your-Path-Normalization-Off-And-Pop-0days-Out-2.pdf
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.lint import AskedRequest, Finding, Model, ModelAnswer, Safety, Severity, rule
from nginxopt.lint.queries import traversal
from nginxopt.semantics import Pass


@rule(severity=Severity.WARNING, category="security", fix=Safety.UNSAFE, witness=True, about=("proxy_pass",))
def check(model: Model) -> Iterator[Finding]:
    """Find passes whose path a request leaves."""
    for pass_ in model.passes:
        if pass_.protocol != "proxy" or pass_.level.kind != "location" or pass_.uri in (None, "/"):
            continue
        folder = pass_.uri or ""
        for target in traversal.targets(pass_.level, folder):
            answer = model.requests.first(pass_.level, AskedRequest(target))
            if answer is not None and answer.passed_target and traversal.leaves(answer.passed_target, folder):
                yield _finding(pass_, answer)


def _finding(pass_: Pass, answer: ModelAnswer) -> Finding:
    fix = traversal.fix(pass_.level)
    return Finding(
        pass_.directive.source,
        pass_.directive.args[0].span,
        f"location {pass_.level.path} lets clients reach paths of the upstream outside of {pass_.uri}",
        fix,
        "" if fix else traversal.advice(pass_.level),
        witness=answer.witness(f"the upstream gets {answer.passed_target}"),
    )
