"""A true `if` disables the `try_files` of its location: nginx looks for one file only

Flags locations with `try_files` and an `if` that neither answers nor leads elsewhere. The rule asks the model of
`nginxopt trace` for a request with which the `if` is true, and for whose missing file `try_files` has a fallback.

Does not flag an `if` that ends with `return`, a redirect or a rewrite with `last`, nor one that is never true. An `if`
that contains only `break`, with nothing to rewrite after it, is there to skip `try_files` and is not flagged either.
If `try_files` ends with `=404`, nginx answers 404 without it as well, and nothing is flagged.

## Why it matters
A true `if` is a location of its own (`ngx_http_rewrite_if` makes one), and it does not inherit `try_files`
(`ngx_http_core_create_loc_conf`). Even a single `set` in it makes nginx answer 404 where `try_files` would have passed
the request to the application.

## Bad
```nginx server
root /srv/www;
location / {
    if ($http_cookie) {
        set $skip 1;
    }
    try_files $uri /index.php;
}
```

## Good
```nginx http
map $http_cookie $skip {
    default 1;
    "" "";
}
server {
    root /srv/www;
    location / {
        try_files $uri /index.php;
    }
}
```

## Silent
```nginx server
root /srv/www;
location / {
    if ($http_cookie) {
        return 403;
    }
    if ($request_method = POST) {
        rewrite ^ /index.php last;
    }
    try_files $uri /index.php;
}
location /images/ {
    if ($http_accept !~ webp) {
        break;
    }
    try_files $uri.webp $uri /convert.php;
}
```

## When to ignore it
Never.

## References
- https://github.com/nginxinc/nginx-wiki/blob/master/source/start/topics/depth/ifisevil.rst
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import Directive
from nginxopt.facts import group
from nginxopt.lint import Finding, Model, ModelAnswer, Related, Severity, rule
from nginxopt.lint.queries import reaching
from nginxopt.semantics import Level

_HANDLING = group("pass") | {"return"}


_REWRITING = {"rewrite", "return", "set", "if"}

_TAKE_VARIABLES = {"add_header", "add_trailer", "expires"}
"""Directives that take a variable, whose value may turn them off (`""`, `off`) where the `if` is false."""


@rule(severity=Severity.WARNING, category="correctness", witness=True, about=("try_files",))
def check(model: Model) -> Iterator[Finding]:
    """Find conditions that take `try_files` away."""
    for level in model.levels("if"):
        location = level.parent
        tried = location.own("try_files") if location is not None and location.kind == "location" else ()
        if not tried or tried[0].args[-1:] == ("=404",) or level.names & _HANDLING or level.opener is None:
            continue
        if _only_skips(level, location):
            continue
        answer = _answer(model, level)
        if answer is not None:
            yield _finding(level, level.opener, tried[0], answer)


def _only_skips(level: Level, location: Level | None) -> bool:
    """Return whether an `if` has a `break` and nothing else, and the location rewrites nothing behind it."""
    if level.names != {"break"} or location is None:
        return False
    after = location.directives[location.directives.index(level.opener) + 1 :] if level.opener is not None else ()
    return not any(directive.name in _REWRITING for directive in after)


def _answer(model: Model, level: Level) -> ModelAnswer | None:
    """Return an answer with the settings of an `if` that a missing file decides."""
    for asked in (asked for asked in reaching.reaching(level) if not asked.target.partition(b"?")[0].endswith(b"/")):
        for answer in model.requests.all(level, asked):
            if answer.level is level and answer.is_at in ("static", "unknown", "error") and answer.file is not None:
                return answer
    return None


def _help(level: Level) -> str:
    """Return how to write the same without `if`."""
    others = [str(directive.name) for directive in level.directives if directive.name not in ("set", "break")]
    if not others:
        return "set the variable with a map, or let the if return or rewrite"
    if set(others) <= _TAKE_VARIABLES:
        return f"use {others[0]} with the variable of a map in the location, or let the if return or rewrite"
    return f"let the if rewrite to a location of its own that has {others[0]}"


def _finding(level: Level, condition: Directive, tried: Directive, answer: ModelAnswer) -> Finding:
    return Finding(
        condition.source,
        condition.name.span,
        "while this condition is true, nginx ignores try_files",
        help=_help(level),
        related=(Related(tried.source, tried.name.span, "this is ignored"),),
        witness=answer.witness(f"nginx looks for {answer.file} only"),
    )
