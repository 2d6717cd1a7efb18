"""`return` answers first: the other directives of its block are never reached

Flags in a block with a `return` outside of an `if`:

- locations of a server that returns: none of them is ever chosen;
- a handler in a location that returns: `proxy_pass` and the like, `try_files`;
- directives of the rewrite module after it: `rewrite`, `set`, `if`, `return`.

The rule asks the model of `nginxopt trace` what a request for such a location gets.

Does not flag settings that apply to the response of the `return`, such as `add_header`; locations that `error_page`
leads to, and named and internal ones; and directives that nginx may reach by a `break` or a `rewrite` with `break`
before the `return` or, in a server, a `rewrite` with `last`.

## Why it matters
The rewrite module runs before locations are chosen and before any handler (`NGX_HTTP_SERVER_REWRITE_PHASE`,
`NGX_HTTP_FIND_CONFIG_PHASE`). A common victim is the renewal of certificates: a `return 301` in the server answers
before the location for `/.well-known/acme-challenge/`.

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
A URI that the rewrite matches skips the `return`, as in nginx's documentation:
```nginx server
location /download/ {
    rewrite ^(/download/.*)/media/(.*)\\..*$ $1/mp3/$2.mp3 break;
    return 403;
    proxy_pass http://127.0.0.1:8080;
}
```

## When to ignore it
If the `return` is temporary, such as during maintenance.

## References
- https://nginx.org/en/docs/http/ngx_http_rewrite_module.html#return
- ngx_http_script_break_code and ngx_http_script_regex_end_code in ngx_http_script.c
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from nginxopt.config import Directive
from nginxopt.facts import script
from nginxopt.lint import Finding, Model, Related, Severity, rule
from nginxopt.lint.queries import reaching
from nginxopt.semantics import PROTOCOLS, Level

_HANDLERS = {f"{protocol}_pass" for protocol in PROTOCOLS} | {"try_files"}
_STATEMENTS = script() - {"break"}


@rule(severity=Severity.WARNING, category="correctness", everywhere=True, about=("return",))
def check(model: Model) -> Iterator[Finding]:
    """Find directives that have no effect because of a `return`."""
    for level in model.levels("server", "location", "if"):
        answer = next(iter(level.own("return")), None)
        if answer is None:
            continue
        before = level.directives[: level.directives.index(answer)]
        if any(directive.name == "break" for directive in before):
            continue  # the return itself is dead
        yield from (_finding(dead, answer) for dead in _behind(level, answer))
        if not _may_skip(level, before, "break"):
            yield from (_finding(dead, answer) for dead in level.directives if dead.name in _HANDLERS)
        if level.kind == "server" and not _may_skip(level, before, "break", "last"):
            yield from _locations(model, level, answer)


def _behind(level: Level, answer: Directive) -> Iterator[Directive]:
    """Yield the statements behind a `return`."""
    behind = level.directives[level.directives.index(answer) + 1 :]
    yield from (directive for directive in behind if directive.name in _STATEMENTS)


def _may_skip(level: Level, before: list[Directive], *flags: str) -> bool:
    """Return whether a `break`, or a `rewrite` with one of these flags, may skip the `return` behind it.

    In a location, `last` skips the handlers as well. Folded runs of rewrites may stand anywhere.
    """
    ifs = [inner for inner in level.levels if inner.kind == "if" and inner.opener in before]
    bulks = (bulk for block in (level, *ifs) for bulk in block.bulks)
    statements = chain(before, *(inner.directives for inner in ifs), *bulks)
    is_open = level.is_open or any(inner.is_open for inner in ifs)
    return is_open or any(
        statement.name == "break" or (statement.name == "rewrite" and statement.args[2:] and statement.args[2] in flags)
        for statement in statements
    )


def _locations(model: Model, server: Level, answer: Directive) -> Iterator[Finding]:
    """Yield the locations of a server that nginx never enters, because the server returns."""
    inner = [level for level in server.walk() if level.kind == "location"]
    if server.own("error_page") or any(level.own("error_page") for level in inner):
        return
    for location in (level for level in server.levels if level.kind == "location"):
        if location.opener is None or location.own("internal") or location.path.startswith("@"):
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
        help="move the return to a location of its own, or delete this",
        related=(Related(answer.source, answer.name.span, "this answers first"),),
        cause=f"locations behind return {' '.join(answer.args)}" if dead.name == "location" else None,
    )
