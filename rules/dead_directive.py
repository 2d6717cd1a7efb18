"""`return` answers before everything else in its block: what stands beside it never happens

Flags, where a block has a `return` outside of an `if`:

- locations of a server that returns: none of them is ever chosen;
- a handler in a location that returns: `proxy_pass` and its kin, `try_files`;
- statements of the rewrite module behind it: `rewrite`, `set`, `if`, `return`.

The rule asks the model of `nginxopt trace` what a request for a lost location gets.

Does not flag settings that the response of the `return` takes, such as `add_header`, locations that `error_page` leads
to, and named and internal ones.

## Why it matters
The rewrite module runs before locations are chosen and before any handler (`NGX_HTTP_SERVER_REWRITE_PHASE`,
`NGX_HTTP_FIND_CONFIG_PHASE`). A certificate is not renewed where `return 301` of the server comes before the location
for `/.well-known/acme-challenge/`.

## Bad
```nginx server
return 301 https://$host$request_uri;
location /.well-known/acme-challenge/ {
    root /srv/acme;
}
```
```nginx server
location /old/ {
    return 410;
    proxy_pass http://127.0.0.1:8080;
}
```

## Good
```nginx server
location / {
    return 301 https://$host$request_uri;
}
location /.well-known/acme-challenge/ {
    root /srv/acme;
}
```

## Silent
```nginx server
error_page 404 /missing.html;
return 404;
location = /missing.html {
    internal;
    root /srv/errors;
}
```
```nginx server
location /app/ {
    if ($request_method = TRACE) {
        return 405;
    }
    proxy_pass http://127.0.0.1:8080;
}
location /old/ {
    add_header X-Moved yes always;
    return 301 /app/;
}
```

## When to ignore it
While the `return` is there for a time, as for maintenance.

## References
- https://nginx.org/en/docs/http/ngx_http_rewrite_module.html#return
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import Directive
from nginxopt.lint import Finding, Model, Related, Severity, reaching, rule
from nginxopt.semantics import PROTOCOLS, Level, locations

_HANDLERS = {f"{protocol}_pass" for protocol in PROTOCOLS} | {"try_files"}
_STATEMENTS = {"rewrite", "set", "if", "return"}


@rule(severity=Severity.WARNING, category="correctness")
def check(model: Model) -> Iterator[Finding]:
    """Find what a `return` leaves without effect."""
    for level in model.levels("server", "location", "if"):
        answer = next(iter(level.own("return")), None)
        if answer is None:
            continue
        yield from (_finding(dead, answer) for dead in _beside(level, answer))
        if level.kind == "server":
            yield from _locations(model, level, answer)


def _beside(level: Level, answer: Directive) -> Iterator[Directive]:
    """Yield the handlers and later statements of a block that returns."""
    behind = level.directives[level.directives.index(answer) + 1 :]
    yield from (directive for directive in behind if directive.name in _STATEMENTS)
    yield from (directive for directive in level.directives if directive.name in _HANDLERS)


def _locations(model: Model, server: Level, answer: Directive) -> Iterator[Finding]:
    """Yield the locations that a server which returns never comes to."""
    inner = [level for level in server.walk() if level.kind == "location"]
    if server.own("error_page") or any(level.own("error_page") for level in inner):
        return
    for location in (level for level in server.levels if level.kind == "location"):
        if location.opener is None or location.own("internal") or locations.path(location).startswith("@"):
            continue
        asked = next(reaching.reaching(location), None)
        answers = list(model.requests.ask(location, asked)) if asked else []
        if answers and all(other.directive is answer for other in answers):
            yield _finding(location.opener, answer)


def _finding(dead: Directive, answer: Directive) -> Finding:
    words = " ".join([str(dead.name), *dead.args[:2]]) if dead.name == "location" else str(dead.name)
    return Finding(
        dead.source,
        dead.name.span,
        f"{words} is never reached: the return of this block answers first",
        help="put the return into a location of its own, or delete what it makes useless",
        related=(Related(answer.source, answer.name.span, "this answers"),),
    )
