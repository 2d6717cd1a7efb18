"""`return` or a redirect answers before nginx checks `allow`, `deny` or a login

Flags `return` with a response and rewrites that redirect in a location with its own `deny`, `auth_basic` or
`auth_request`. The rule asks the model of `nginxopt trace` for a request from an outside address that gets the
response.

Does not flag refusals (`return 403`) with or without a text, responses without a body, redirects to the same host,
rewrites that stay within nginx, and restrictions that a location inherits: a public `/health` beside a login is common.

## Why it matters
The rewrite module answers before nginx checks who the client is (`NGX_HTTP_SERVER_REWRITE_PHASE` and
`NGX_HTTP_REWRITE_PHASE` come before `NGX_HTTP_ACCESS_PHASE`). The restriction next to it protects nothing.

## Bad
```nginx server
location /status {
    allow 10.0.0.0/8;
    deny all;
    return 200 "release 7.1, database db1.internal";
}
```

## Good
`try_files` runs after the access phase:
```nginx server
location /status {
    allow 10.0.0.0/8;
    deny all;
    root /srv/status;
    try_files /status.txt =404;
}
```

## Silent
```nginx server
location /old/ {
    auth_basic staff;
    auth_basic_user_file /etc/nginx/users;
    rewrite ^/old/(.*)$ /new/$1 last;
}
location /files/ {
    deny 192.0.2.0/24;
    if ($request_method = OPTIONS) {
        return 204;
    }
    if ($scheme = http) {
        return 301 https://$host$request_uri;
    }
    proxy_pass http://127.0.0.1:8080;
}
location /docs {
    auth_basic staff;
    auth_basic_user_file /etc/nginx/users;
    rewrite ^/([^/]+)$ $1/ permanent;
}
location /.ht {
    deny all;
    return 403 "Forbidden";
}
```

## When to ignore it
If everybody may see the response; then delete the restriction.

## References
- https://nginx.org/en/docs/dev/development_guide.html#http_phases
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from nginxopt.config import Directive
from nginxopt.lint import FOREIGN, Finding, Model, ModelAnswer, Related, Severity, pattern, rule
from nginxopt.lint.queries import access, reaching
from nginxopt.semantics import Level

_SAME_HOST = pattern(
    r"(?:https?://|\$scheme://)?\$\{?(?:host|http_host|server_name)\b|/(?!/)|\$\{?(?:(?:request_)?uri\b|\d)"
)
_REDIRECTS = (301, 302, 303, 307, 308)


@rule(severity=Severity.WARNING, category="security", witness=True, about=("return", "rewrite"))
def check(model: Model) -> Iterator[Finding]:
    """Find answers that nginx gives before it checks the restriction of the same location."""
    for level in model.levels("location"):
        restriction = _restriction(level)
        if restriction is None or not access.is_public(level):
            continue
        for inner, directive in _answering(level):
            requests = (replace(asked, client=FOREIGN) for asked in reaching.reaching(inner))
            answer = model.requests.first(level, *requests)
            if answer is not None and answer.directive is directive and _is_worth_something(answer, directive):
                yield _finding(directive, restriction, answer)


def _restriction(level: Level) -> Directive | None:
    """Return the directive of a location that keeps strangers out."""
    if access.denies_others(level) and level.own("deny"):
        return level.own("deny")[-1]
    own = (directive for directive in access.logins(level) if directive in level.directives)
    return next(own, None)


def _answering(level: Level) -> Iterator[tuple[Level, Directive]]:
    """Yield the statements of a location that may answer, with their levels."""
    for inner in (level, *(other for other in level.levels if other.kind == "if")):
        for directive in inner.directives:
            if directive.name in ("return", "rewrite"):
                yield inner, directive


def _is_worth_something(answer: ModelAnswer, directive: Directive) -> bool:
    """Return whether a stranger gets a text that is not a refusal, or a redirect to another host."""
    status = answer.outcome["status"] or 0
    if status in _REDIRECTS:
        return not _SAME_HOST.match(directive.args[1] if len(directive.args) > 1 else directive.args[0])
    return answer.is_at == "return" and status < 400 and bool(answer.outcome["body"])


def _finding(directive: Directive, restriction: Directive, answer: ModelAnswer) -> Finding:
    status = answer.outcome["status"]
    return Finding(
        directive.source,
        directive.name.span,
        f"this answers every client: nginx never checks {restriction.name}",
        help="answer in the content phase: with try_files, a file, or a rewrite to another location",
        related=(Related(restriction.source, restriction.name.span, "this is never checked"),),
        witness=answer.witness(f"nginx answers {status}"),
    )
