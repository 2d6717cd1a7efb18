"""`proxy_pass` with a variable and a URI: the upstream always gets the same URI

Flags a `proxy_pass` with a variable but a constant URI, in a location for more than one URI, and a `proxy_pass` whose
URI nginx ignores after `rewrite ... break`. The rule asks the model of `nginxopt trace` what the upstream gets.

Does not flag a URI that includes the rest of the path (`$request_uri`, `$1`), exact locations, and locations with the
same path as the URI.

## Why it matters
Without variables, nginx replaces the part of the URI that matches the location with the URI of the `proxy_pass`. With a
variable anywhere, it sends the URI of the `proxy_pass` as it is (`ngx_http_proxy_eval`): with `$backend/`, the upstream
gets `/` whatever the client requested.

## Bad
```nginx server
location /api/ {
    set $backend 127.0.0.1:8080;
    proxy_pass http://$backend/;
}
```
```nginx server
location /shop/ {
    rewrite ^/shop/(.*)$ /store/$1 break;
    proxy_pass http://127.0.0.1:8080/app/;
}
```

## Good
```nginx server
location /api/ {
    set $backend 127.0.0.1:8080;
    rewrite ^/api(/.*)$ $1 break;
    proxy_pass http://$backend;
}
```

## Silent
```nginx server
location = /health {
    set $backend 127.0.0.1:8080;
    proxy_pass http://$backend/status;
}
location /app/ {
    set $backend 127.0.0.1:8080;
    proxy_pass http://$backend$request_uri;
}
location /shop/ {
    rewrite ^/shop/(.*)$ /store/$1 break;
    proxy_pass http://127.0.0.1:8080;
}
```

## When to ignore it
If the location is for one page, whatever follows its name.

## References
- https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_pass
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from nginxopt.config import encode
from nginxopt.lint import Finding, Model, ModelAnswer, Severity, rule
from nginxopt.lint.queries import reaching
from nginxopt.semantics import Pass

_MOST_REQUESTS = 6


@rule(severity=Severity.WARNING, category="correctness", witness=True, about=("proxy_pass",))
def check(model: Model) -> Iterator[Finding]:
    """Find passes that lose the path."""
    for pass_ in model.passes:
        if pass_.protocol != "proxy" or pass_.level.kind != "location" or pass_.uri in (None, ""):
            continue
        if pass_.has_variable:
            answer = _always_the_same(model, pass_)
            message = "with a variable in proxy_pass, the upstream gets this URI whatever the client requested"
        else:
            answer = _ignored(model, pass_)
            message = "rewrite ... break makes nginx ignore this path: the rewritten URI is passed on as it is"
        if answer is not None:
            yield Finding(
                pass_.directive.source,
                pass_.directive.args[0].span,
                message,
                help="remove the URI here, and change it with rewrite ... break",
                witness=answer.witness(f"the upstream gets {answer.passed_target}"),
            )


def _answers(model: Model, pass_: Pass) -> Iterator[ModelAnswer]:
    for asked in islice(reaching.reaching(pass_.level), _MOST_REQUESTS):
        for answer in model.requests.ask(pass_.level, asked):
            if answer.directive is pass_.directive and answer.passed_target is not None:
                yield answer


def _always_the_same(model: Model, pass_: Pass) -> ModelAnswer | None:
    """Return an answer to a request whose path is lost, if all are passed on as the same."""
    uri = pass_.uri or ""
    path = pass_.level.path
    is_for_one = pass_.level.modifier in ("=", "~", "~*") or not path.endswith("/")
    if "$" in uri or is_for_one or path.rstrip("/") == uri.rstrip("/") != "":
        return None
    answers = list(_answers(model, pass_))
    targets = {answer.passed_target for answer in answers}
    paths = {answer.asked.target for answer in answers}
    lost = (answer for answer in answers if answer.asked.target != encode(path))
    return next(lost, None) if len(targets) == 1 and len(paths) > 1 else None


def _ignored(model: Model, pass_: Pass) -> ModelAnswer | None:
    """Return an answer to a request that a rewrite changes, after which the URI of the pass does not count."""
    breaking = [rewrite for rewrite in pass_.level.own("rewrite") if rewrite.args[-1:] == ("break",)]
    if not breaking or pass_.uri == "/":
        return None
    answers = _answers(model, pass_)
    return next((answer for answer in answers if not (answer.passed_target or "").startswith(pass_.uri or "")), None)
