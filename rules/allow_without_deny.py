"""`allow` without `deny all`: every address is allowed

Flags levels with `allow` and no `deny` at all. The rule asks the model of `nginxopt trace` for a request from another
address that nginx answers.

Does not flag `allow all`, lists with a `deny` of any kind, servers that listen on loopback addresses only, and `satisfy
any` with a login, where the list names the clients that need none. Does not check `stream`.

## Why it matters
nginx applies the first rule that matches the address of the client, and allows an address that no rule matches
(`ngx_http_access_handler`). A level with rules of its own inherits none: an `allow` in a location also removes the
`deny all` of its server.

## Bad
```nginx server
location /admin/ {
    allow 10.0.0.0/8;
    proxy_pass http://127.0.0.1:8080;
}
```
A `deny all` of the server is not inherited:
```nginx server
deny all;
location /api/ {
    allow 10.0.0.0/8;
    proxy_pass http://127.0.0.1:8080;
}
```

## Good
```nginx server
location /admin/ {
    allow 10.0.0.0/8;
    deny all;
    proxy_pass http://127.0.0.1:8080;
}
```

## Silent
```nginx server
auth_basic staff;
auth_basic_user_file /etc/nginx/users;
location /admin/ {
    satisfy any;
    allow 10.0.0.0/8;
    proxy_pass http://127.0.0.1:8080;
}
location /shop/ {
    allow all;
    proxy_pass http://127.0.0.1:8080;
}
location /comments/ {
    allow 192.0.2.7;
    deny 192.0.2.0/24;
    proxy_pass http://127.0.0.1:8080;
}
```

A condition may exclude the other addresses:
```nginx http
set_real_ip_from 10.0.0.9;
real_ip_header proxy_protocol;
geo $is_staff {
    10.0.0.0/8 1;
}
server {
    listen 80 proxy_protocol;
    location /admin/ {
        allow 10.0.0.0/8;
        if ($is_staff = "") {
            return 403;
        }
        proxy_pass http://127.0.0.1:8080;
    }
}
```

A list that no server inherits:
```nginx http
allow 10.0.0.0/8;
server {
    listen 80;
    allow all;
    location / {
        proxy_pass http://127.0.0.1:8080;
    }
}
```

```nginx http
server {
    listen 127.0.0.1:80;
    location /admin/ {
        allow 127.0.0.1;
        proxy_pass http://127.0.0.1:8080;
    }
}
```

## Fix safety
May change: responses.

Addresses that no rule allows get 403.

## When to ignore it
Never: delete an `allow` that should exclude nobody.

## References
- https://nginx.org/en/docs/http/ngx_http_access_module.html
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from nginxopt.config import layout
from nginxopt.lint import FOREIGN, Finding, Fix, Model, ModelAnswer, Safety, Severity, rule
from nginxopt.lint.queries import access, reaching
from nginxopt.semantics import Level

_FORBIDDEN = 403


@rule(severity=Severity.ERROR, category="security", fix=Safety.UNSAFE, witness=True, about=("allow",))
def check(model: Model) -> Iterator[Finding]:
    """Find lists of addresses that exclude none."""
    for level in model.levels("http", "server", "location", "limit_except"):
        if not level.own("allow") or level.own("deny") or not access.are_known(level):
            continue
        if any(map(access.names_everybody, level.own("allow"))):
            continue
        if access.takes_any(level) and access.logins(level):
            continue
        answer = _answer(model, level)
        if answer is not None:
            yield _finding(level, answer)


def _answer(model: Model, level: Level) -> ModelAnswer | None:
    """Return an answer to a stranger that the list of a level lets in."""
    for other in _under(level):
        if other.kind not in ("server", "location", "limit_except") or not access.is_public(other):
            continue
        requests = (replace(asked, client=FOREIGN) for asked in reaching.reaching(other))
        answer = model.requests.first(other, *requests)
        if answer is not None and _is_answered(answer) and not (_is_open(answer) and _may_return(other)):
            return answer
    return None


def _under(level: Level) -> Iterator[Level]:
    """Yield the levels in which the list of a level is in force: those below one with its own inherit that one."""
    yield level
    for inner in level.levels:
        if not inner.own("allow") and not inner.own("deny"):
            yield from _under(inner)


def _is_open(answer: ModelAnswer) -> bool:
    """Return whether the outcome of the request is unknown for another reason than whether a file exists."""
    return not answer.is_known and answer.file is None


def _may_return(level: Level) -> bool:
    """Return whether an `if` of a level, or around it up to its server, returns before nginx checks the list."""
    around: Level | None = level
    while around is not None and around.kind in ("server", "location", "limit_except"):
        if any(inner.kind == "if" and inner.own("return") for inner in around.levels):
            return True
        around = around.parent
    return False


def _is_answered(answer: ModelAnswer) -> bool:
    """Return whether nginx checked the list, and let the client pass."""
    return answer.is_at not in ("return", "redirect", "closed") and answer.outcome["status"] != _FORBIDDEN


def _finding(level: Level, answer: ModelAnswer) -> Finding:
    last = level.own("allow")[-1]
    return Finding(
        last.source,
        last.args[0].span,
        "without deny all, addresses that are not listed are allowed as well",
        Fix("add `deny all;`", (layout.after(last, ["deny all;"]),), Safety.UNSAFE),
        witness=answer.witness("the list lets it pass"),
    )
