"""Regex location that matches a single URI: nginx tries it on other requests as well

Flags `location ~ ^/uri$` without metacharacters other than an unescaped dot.

The fix is `location = /uri`. It is not safe: an exact location takes precedence over every other, so it may now answer
requests that `^~` or an earlier regular expression took; and the pattern also matches a URI with a newline at its end,
and any character for an unescaped dot. There is no fix if `location = /uri` already exists, or is not allowed there.

`nginxopt rewrite-to-map` needs no such change: it puts three or more neighbouring regex locations that return or
rewrite into one whose pattern matches exactly what theirs do, with a proof that no response changes.

## Why it matters
nginx tries regular expressions one after the other for each request that no `=` or `^~` location takes, whereas it
finds exact locations in a tree. 819 patterns of rewrites take 394,082 instructions, against 7,364 for everything else
that nginx does for a request (counted on 1.22.1): some 480 each.

## Bad
```nginx server
location ~ ^/status$ {
    return 200;
}
```

## Good
```nginx server
location = /status {
    return 200;
}
```

## Silent
Patterns that ignore letter case, or match more than one URI:
```nginx server
location ~* ^/about$ {
    return 200;
}
location ~ ^/status/?$ {
    return 200;
}
```
Nothing in it, as modules ask for it:
```nginx server
location ~ "^/ngx_pagespeed_beacon$" {}
```

## Fix safety
May change: responses.

An exact location takes precedence over `^~` and earlier regular expressions; the pattern also matches the URI followed
by a line end, and sets captures that a rule within may read.

## When to ignore it
If the order of regular expressions matters.

## References
- https://nginx.org/en/docs/http/ngx_http_core_module.html#location
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from nginxopt.config import Change, Directive, Edit, Span, encode, layout
from nginxopt.lint import Finding, Fix, Model, Safety, Severity, pattern, rule
from nginxopt.semantics import FRAGMENT, Level

_LITERAL = pattern(r"\^(/(?:[\w/~@!,:;=&'%. -]|\\[^\w\s])*)\$")
"""Anchored at both ends, with only literal characters; an unescaped dot counts as a dot."""


@rule(severity=Severity.INFO, category="rewrite", fix=Safety.UNSAFE, about=("location",))
def check(model: Model) -> Iterator[Finding]:
    """Find regular expressions that match one URI."""
    exact = {(level.parent, level.path) for level in model.levels("location") if level.modifier == "="}
    for level in model.levels("location"):
        literal = _LITERAL.fullmatch(level.path) if level.modifier == "~" else None
        if literal is None or level.opener is None or not level.directives:
            continue
        uri = re.sub(r"\\(.)", r"\1", literal[1])
        is_first = (level.parent, uri) not in exact
        exact.add((level.parent, uri))
        yield _finding(level, level.opener, uri, is_first=is_first)


def _finding(level: Level, opener: Directive, uri: str, *, is_first: bool) -> Finding:
    head = f"location = {layout.quoted(uri)}"
    span = Span(opener.args[0].start, opener.args[-1].end)
    has_fix = is_first and _may_be_exact(level, uri)
    fix = Fix(f"write `{head}`", _changes(opener, uri), Safety.UNSAFE) if has_fix else None
    return Finding(
        opener.source,
        span,
        f'"{level.path}" matches one URI, but runs on every request that no = or ^~ location matches',
        fix,
        help="" if fix else f"use `{head}`, which needs no regular expression",
        cause="",
    )


def _changes(opener: Directive, uri: str) -> tuple[Change, ...]:
    """Return the changes of the words; a comment may stand between them."""
    *modifier, path = opener.args
    exact = encode(layout.quoted(uri))
    new = {modifier[0]: b"=", path: exact} if modifier else {path: b"= " + exact}
    return tuple(Change(opener.source, Edit(Span(word.start, word.end), text)) for word, text in new.items())


def _may_be_exact(level: Level, uri: str) -> bool:
    """Whether an exact location is allowed there and means the same, apart from its precedence."""
    parent = level.parent
    if parent is None or parent.is_open or (level.levels and any(child.kind == "location" for child in level.levels)):
        return False
    if level.own("alias") or level.own("include") or "$" in uri:
        return False
    fits = parent.kind == "server" or (
        parent.kind == "location" and parent.modifier in ("", "^~") and uri.startswith(parent.path)
    )
    return fits and parent.kind != FRAGMENT
