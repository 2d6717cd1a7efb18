"""Pattern for a domain that accepts more than the domain, or no value that a browser sends

Flags patterns for `$http_origin`, `$http_referer` and `$host`, in conditions and maps, that name a domain and accept a
text that is neither an origin, a URL or a host of it nor of a name below it: an unescaped dot, a missing `^` or `$`, a
scheme that may be absent. The rule finds such a text with automata.

Names that anybody can register are reported by `origin-accepted`, which is on by default.

## Why it matters
Nobody can register `example!com`, and no browser sends an origin with a path, so such a pattern often does no harm: it
is a sign that nobody tried it. A pattern for `$http_origin` that ends with a slash accepts no origin at all.

## Bad
```nginx server
if ($http_referer !~ ^https://example.com/) {
    return 403;
}
```
```nginx server
if ($http_origin !~ ^https://example\\.com/) {
    return 403;
}
```

## Good
```nginx server
if ($http_referer !~ ^https://example\\.com/) {
    return 403;
}
```

## Silent
```nginx http
map $http_origin $allowed {
    ~^https://(?:[a-z0-9-]+\\.)?example\\.com(?::\\d+)?$ $http_origin;
}
server {
    if ($host ~ ^(?:www\\.)?example\\.(?:com|org)$) {
        return 301 https://example.net$request_uri;
    }
}
```

## When to ignore it
If what the pattern accepts besides does no harm.

## References
- https://fetch.spec.whatwg.org/#origin-header
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import Directive
from nginxopt.lint import Finding, Model, Severity, rule
from nginxopt.lint.queries import origins

_KINDS: dict[str, origins.Kind] = {
    "$http_origin": "origin", "$http_referer": "referrer", "$http_referrer": "referrer", "$host": "host",
    "$http_host": "host",
}  # fmt: skip
_SIGNS = ("~", "~*", "!~", "!~*")


@rule(severity=Severity.INFO, category="hardening", default=False)
def check(model: Model) -> Iterator[Finding]:
    """Find patterns that are not exact."""
    for level in model.levels("if"):
        words = level.args
        if len(words) == 3 and words[1] in _SIGNS and words[0].lower() in _KINDS and level.opener is not None:
            is_caseless = words[1].endswith("*")
            yield from _judged(level.opener, _KINDS[words[0].lower()], str(words[2]), caseless=is_caseless)
    for source in model.maps.values():
        kind = _KINDS.get(source.args[0].lower())
        for row in source.directives if kind else ():
            if row.name.startswith("~") and kind:
                is_caseless = row.name.startswith("~*")
                yield from _judged(row, kind, str(row.name)[2 if is_caseless else 1 :], caseless=is_caseless)


def _judged(directive: Directive, kind: origins.Kind, pattern: str, *, caseless: bool) -> Iterator[Finding]:
    accepted = origins.inexact(pattern, kind, caseless=caseless)
    if accepted is not None:
        word = next((word for word in (directive.name, *directive.args) if pattern in word), directive.name)
        yield Finding(
            directive.source,
            word.span,
            f"this pattern also accepts {accepted}, which is no {kind} of {', '.join(origins.domains(pattern)[:3])}",
            help="write \\. for a dot, begin with ^https:// and end with $",
        )
