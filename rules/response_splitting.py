"""Decoded path in a header: `%0d%0a` in a URL adds headers of the client's choice

Flags values of redirects (`return`, `rewrite`), `add_header`, `proxy_set_header` and `proxy_pass` that get a line end
from a path with `%0d%0a`: values with `$uri`, `$document_uri`, or a capture, map or variable made of them. The rule
finds a URI that the patterns match with automata, and asks the model of `nginxopt trace` what nginx sends.

Does not flag `$request_uri` and `$args`, which stay encoded, captures that match no newline, such as `(.*)` and `\\d+`,
and captures in the replacement of a `rewrite`, which nginx escapes. Checks only the first 500 such values.

## Why it matters
nginx decodes the path, and writes `$uri` and captures of it into headers unchanged. An attacker who makes somebody
follow a link to `/%0d%0aSet-Cookie:...` sets cookies for the site or replaces the page, and a cache may keep that for
others. In a request to an upstream, the client can add headers that only nginx should set, or a second request.

## Bad
```nginx server
return 301 https://shop.example$uri;
```
`[^/]*` matches a newline as well:
```nginx server
location ~ ^/user/([^/]*)$ {
    add_header X-User $1;
    return 204;
}
```
```nginx server
location /api/ {
    proxy_pass http://127.0.0.1:8080$uri$is_args$args;
}
```

## Good
```nginx server
return 301 https://shop.example$request_uri;
```
```nginx server
location ~ ^/user/(\\w+)$ {
    add_header X-User $1;
    return 204;
}
```
```nginx server
location /api/ {
    proxy_pass http://127.0.0.1:8080;
}
```

## Silent
```nginx server
location ~ ^/old/(.*)$ {
    return 301 /new/$1;
}
location ~ ^/item/([^/]*)$ {
    rewrite ^/item/([^/]*)$ /items/$1 permanent;
}
location = /exact {
    return 301 https://shop.example$uri;
}
location /text {
    return 200 "you asked for $uri";
}
```

## Fix safety
May change: responses, upstream requests.

`$request_uri` is the URI as the client sent it, with its arguments, before any rewrite.

## When to ignore it
Never.

## References
- https://cwe.mitre.org/data/definitions/113.html
- https://labs.detectify.com/security-guidance/middleware-middleware-everywhere-and-lots-of-misconfigurations-to-fix/
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice

from nginxopt.config import Directive, layout
from nginxopt.lint import Finding, Fix, Model, ModelAnswer, Safety, Severity, pattern, rule
from nginxopt.lint.queries import newlines
from nginxopt.semantics import FRAGMENT, Level

_TARGETS = ("return", "rewrite", "proxy_pass")
_HEADERS = ("add_header", "proxy_set_header")
_ABSOLUTE = ("http://", "https://", "$scheme")
_URI = pattern(r"\$(?:uri|document_uri)\b(?:\$is_args\$args|\?\$args)?|\$\{(?:uri|document_uri)\}")
_BROKEN = pattern(r"\n.", re.DOTALL)
"""A line end with something behind it."""
_HEADER = pattern(r"\n[A-Za-z]")
"""A line end with what may be the name of a header."""
_MOST_LEVELS = 8
_MOST_VALUES = 500
"""The most values that are examined: each takes some milliseconds."""


@rule(severity=Severity.ERROR, category="security", fix=Safety.UNSAFE, witness=True, about=(*_TARGETS, *_HEADERS))
def check(model: Model) -> Iterator[Finding]:
    """Find values that a client breaks into lines."""
    for directive, level, value in islice(_suspects(model), _MOST_VALUES):
        answer = _answer(model, directive, level, value)
        if answer is not None:
            yield _finding(directive, level, value, answer)


def _suspects(model: Model) -> Iterator[tuple[Directive, Level, str]]:
    """Yield the directives whose values may have a line end, as far as their variables show."""
    for directive, level in model.each(*_TARGETS, *_HEADERS):
        value = _value(directive)
        if value is not None and newlines.may_have_one(model, value):
            yield directive, level, value


def _value(directive: Directive) -> str | None:
    """Return the value of a directive that nginx writes into a header or request line; None if there is none."""
    args = directive.args
    if directive.name == "return" and args:
        is_redirect = len(args) == 2 and args[0] in ("301", "302", "303", "307", "308")
        return args[-1] if is_redirect or args[0].startswith(_ABSOLUTE) else None
    if directive.name == "rewrite" and len(args) > 1:
        is_redirect = args[1].startswith(_ABSOLUTE) or args[-1] in ("redirect", "permanent")
        return args[1] if is_redirect and "$" in _without_captures(args[1]) else None
    if directive.name in _HEADERS and len(args) > 1:
        return args[1]
    return args[0] if directive.name == "proxy_pass" and args else None


def _without_captures(replacement: str) -> str:
    return re.sub(r"\$\d", "", replacement)


def _answer(model: Model, directive: Directive, level: Level, value: str) -> ModelAnswer | None:
    """Return an answer to a request with a line end that ends up in the value."""
    for inner in _levels(directive, level):
        for asked in newlines.requests(model, inner, value):
            for answer in model.requests.all(inner, asked):
                if answer.is_in(inner) and _has_line_end(answer, directive, value):
                    return answer
    return None


def _levels(directive: Directive, level: Level) -> list[Level]:
    """Return the levels at which a directive is in force, the outermost first."""
    if directive.name not in _HEADERS:
        return [level]
    kinds = ("location", "if", "server", FRAGMENT)
    inner = [other for other in level.walk() if other.kind in kinds]
    return [other for other in inner if directive in other.setting(directive.name).directives][:_MOST_LEVELS]


def _has_line_end(answer: ModelAnswer, directive: Directive, value: str) -> bool:
    """Return whether the value has a line end in what nginx sends."""
    if directive.name == "add_header":
        return any(_HEADER.search(text) for text in answer.headers(directive.args[0]))
    if directive.name == "proxy_set_header":
        return answer.is_at == "proxy" and _is_in_force(answer, directive) and _is_broken(answer, value)
    if answer.directive is not directive:
        return False
    if directive.name == "proxy_pass":
        return bool(_BROKEN.search(answer.passed_target or ""))
    return bool(_HEADER.search(answer.outcome["location"] or ""))


def _is_in_force(answer: ModelAnswer, directive: Directive) -> bool:
    return answer.level is not None and directive in answer.level.setting(directive.name).directives


def _is_broken(answer: ModelAnswer, value: str) -> bool:
    """Return whether a value that has `$uri` or a capture by name or number has the line end of a request."""
    names = [(match[1] or match[2]).lower() for match in newlines.VARIABLE.finditer(value)]
    if "uri" in names or "document_uri" in names:
        return bool(_BROKEN.search(answer.outcome["uri"]))
    captures = next((step["captures"] for step in reversed(answer.traced()) if step["captures"]), [])
    groups = (int(name) for name in names if name.isdecimal())
    return any(_BROKEN.search(captures[group] or "") for group in groups if group < len(captures))


def _finding(directive: Directive, level: Level, value: str, answer: ModelAnswer) -> Finding:
    word = next(word for word in directive.args if word == value)
    fixed = _URI.sub("$request_uri", value)
    fix = None
    is_whole = len(_URI.findall(value)) == 1 and "?" not in fixed
    if fixed != value and is_whole and directive.name != "rewrite" and not _is_rewritten(level):
        fix = Fix("use $request_uri", (layout.replace(directive, word, fixed),), Safety.UNSAFE)
    return Finding(
        directive.source,
        word.span,
        f"a path with %0d%0a breaks {_what(directive)} into lines, which adds headers of the client's choice",
        fix,
        "" if fix else "use $request_uri, or a pattern that matches no newline: [^/\\s]* for [^/]*",
        witness=answer.witness(f"{_what(directive)} is broken into lines"),
    )


def _is_rewritten(level: Level) -> bool:
    """Return whether the server of a level changes the URI, so that `$request_uri` is another one."""
    server = level.around("server") or level
    return any(inner.bulks or "rewrite" in inner.names for inner in server.walk())


def _what(directive: Directive) -> str:
    if directive.name in _HEADERS:
        return f"{directive.args[0]}"
    return "the request to the upstream" if directive.name == "proxy_pass" else "Location"
