"""`$1` in an `if` whose pattern must not match: it is not set by that pattern

Flags `if (... !~ ...)` whose block reads `$1` to `$9`, where no other pattern of the server can have set them.

Does not flag blocks with a pattern of their own before, and servers with other patterns that have groups.

## Why it matters
The block of `!~` runs if the pattern does not match, and a pattern that does not match sets no captures: `$1` is empty,
or is what an earlier pattern left.

## Bad
```nginx server
location / {
    if ($uri !~ ^/([a-z]+)/) {
        return 302 /missing/$1;
    }
}
```

## Good
```nginx server
location / {
    if ($uri !~ ^/([a-z]+)/) {
        return 302 /missing;
    }
}
```

## Silent
```nginx server
location ~ ^/(.*)$ {
    if ($http_cookie !~ ^(a|b)$) {
        return 302 /login/$1;
    }
}
```

## When to ignore it
Never.

## References
- https://nginx.org/en/docs/http/ngx_http_rewrite_module.html#if
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.facts import group
from nginxopt.lint import Finding, Model, Severity, pattern, rule
from nginxopt.semantics import Level

_CAPTURE = pattern(r"\$(?:\{[1-9]\}|[1-9])")
_READERS = group("captures")
_NEGATED = ("!~", "!~*")


@rule(severity=Severity.INFO, category="correctness", about=("if",))
def check(model: Model) -> Iterator[Finding]:
    """Find captures of patterns that did not match."""
    for level in model.levels("if"):
        if len(level.args) != 3 or level.args[1] not in _NEGATED or _may_be_set(model, level):
            continue
        for directive in level.directives:
            word = next(filter(_CAPTURE.search, directive.args), None) if directive.name in _READERS else None
            if word is not None:
                yield Finding(
                    directive.source,
                    word.span,
                    f"{_first(word)} is always empty: the pattern of this `if` did not match",
                    help="compare with ~ and read the capture there",
                )


def _first(word: str) -> str:
    match = _CAPTURE.search(word)
    return match[0] if match else word


def _may_be_set(model: Model, level: Level) -> bool:
    """Return whether another pattern may have set captures: one of the server, of a name or of a map."""
    server = level.around("server") or model.root
    others = (other for other in server.walk() if other is not level)
    is_in_server = level.own("rewrite") or any(
        other.is_open or other.own("rewrite") or other.bulks or _has_groups(other) for other in others
    )
    names = (word for directive, _ in model.each("server_name") for word in directive.args)
    rows = (row.name for source in model.maps.values() for row in source.directives)
    return bool(is_in_server) or any(word.startswith("~") for word in (*names, *rows))


def _has_groups(level: Level) -> bool:
    if level.kind == "if":
        return len(level.args) == 3 and level.args[1] not in _NEGATED and "(" in level.args[2]
    return level.kind == "location" and any("(" in word for word in level.args)
