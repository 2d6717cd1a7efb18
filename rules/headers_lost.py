"""`add_header` in an inner level drops the security headers of the outer one

Flags levels whose own `add_header` drops inherited headers that protect clients: Strict-Transport-Security,
Content-Security-Policy, X-Frame-Options, X-Content-Type-Options, Referrer-Policy, Permissions-Policy, those of CORS and
of cross-origin isolation, and a `Cache-Control` of `no-store` or `private`. The rule asks the model of `nginxopt trace`
for a request that gets a response from such a level.

Does not flag levels that repeat the headers or set `add_header_inherit` (nginx 1.29.3), other headers, responses that
nginx makes by `return` or `rewrite`, locations for ACME challenges, which no browser asks for, and headers that mean
nothing for a response: only X-Content-Type-Options and CORS count where a pattern or a path names styles or scripts,
and only CORS where it names images and fonts. A comment that says that a header is disabled or removed counts for the
headers that it names.

## Why it matters
A level with an `add_header` inherits none (`ngx_http_headers_merge_conf`). One `add_header Cache-Control` in a location
is enough, and its pages may be framed, sniffed or loaded over plain HTTP again.

## Bad
```nginx server
add_header X-Frame-Options SAMEORIGIN always;
add_header X-Content-Type-Options nosniff always;
location /account/ {
    add_header Cache-Control no-cache;
    proxy_pass http://127.0.0.1:8080;
}
```

## Good
```nginx server
add_header X-Frame-Options SAMEORIGIN always;
add_header X-Content-Type-Options nosniff always;
location /account/ {
    add_header Cache-Control no-cache;
    add_header X-Frame-Options SAMEORIGIN always;
    add_header X-Content-Type-Options nosniff always;
    proxy_pass http://127.0.0.1:8080;
}
```

## Silent
A header that protects nobody, a header that means nothing for images, and a level that merges:
```nginx server
add_header X-Served-By web1;
location /account/ {
    add_header Cache-Control no-cache;
    proxy_pass http://127.0.0.1:8080;
}
location /health {
    add_header Content-Type text/plain;
    return 200 ok;
}
```
```nginx server
add_header X-Frame-Options SAMEORIGIN always;
add_header X-Content-Type-Options nosniff always;
location ~* \\.(?:png|jpg|woff2)$ {
    add_header Cache-Control immutable;
    root /srv/www;
}
location ~* \\.(?:svg|ttf|eot)$ {
    add_header Cache-Control public;
    root /srv/www;
}
location ~* \\.(?:zip|doc|atom|png)$ {
    add_header Cache-Control public;
    root /srv/www;
}
location ~* favicon.ico {
    add_header Cache-Control public;
    root /srv/www;
}
location = /favicon.ico {
    add_header Cache-Control "public, max-age=86400";
    root /srv/www;
}
location /health {
    add_header X-Health ok;
    return 200 ok;
}
location /.well-known/acme-challenge/ {
    add_header Cache-Control no-cache;
    root /srv/acme;
}
location = /counters {
    stub_status;
    allow 127.0.0.1;
    deny all;
    add_header Cache-Control no-store;
}
```
```nginx server
add_header X-Content-Type-Options nosniff always;
# The player: disable no-sniff.
location = /player {
    add_header Access-Control-Allow-Origin *;
    root /srv/www;
}
```
```nginx server 1.29.3
add_header X-Frame-Options SAMEORIGIN always;
location /account/ {
    add_header_inherit merge;
    add_header Cache-Control no-cache;
    proxy_pass http://127.0.0.1:8080;
}
```

## Fix safety
May change: responses.

Responses get the headers that they lacked. A page that relied on that, such as one that is framed elsewhere, breaks.

## When to ignore it
If the application sends the headers itself. If the location should not have them, set them there with other values.

## References
- https://nginx.org/en/docs/http/ngx_http_headers_module.html#add_header
- https://cheatsheetseries.owasp.org/cheatsheets/HTTP_Headers_Cheat_Sheet.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from nginxopt.config import Directive, layout
from nginxopt.lint import Finding, Model, ModelAnswer, Safety, Severity, Sign, pattern, rule
from nginxopt.lint.queries import inheritance, reaching, static
from nginxopt.semantics import Level

FOR_MEDIA = {"access-control-allow-origin", "cross-origin-resource-policy"}
"""Headers that matter for images and fonts: `nosniff` is for scripts and styles (Fetch standard, section 3.6)."""

FOR_ALL = FOR_MEDIA | {"x-content-type-options"}
"""Headers that matter for files of any kind."""

_PROTECTING = FOR_ALL | {
    "strict-transport-security", "content-security-policy", "content-security-policy-report-only", "x-frame-options",
    "referrer-policy", "permissions-policy", "access-control-allow-credentials", "access-control-allow-methods",
    "access-control-allow-headers", "cross-origin-opener-policy", "cross-origin-embedder-policy",
    "x-permitted-cross-domain-policies",
}  # fmt: skip
_DROPS = pattern(r"\b(?:disabl|drop|remov|omit)(?:e|es|ed|s|ing|ped|ping)?\b([^.,;]*)", re.IGNORECASE)
_SHORT = {
    "content-security-policy": ("csp",),
    "strict-transport-security": ("hsts",),
    "x-content-type-options": ("nosniff", "no-sniff"),
}
"""What comments call headers, where they do not write the name."""
_PRIVATE = {"cache-control": ("no-store", "private"), "content-disposition": ("attachment",)}


@rule(severity=Severity.WARNING, category="security", fix=Safety.UNSAFE, witness=True, about=("add_header",))
def check(model: Model) -> Iterator[Finding]:
    """Find levels that drop headers which protect clients."""
    yield from inheritance.once_a_line(_found(model))


def _found(model: Model) -> Iterator[Finding]:
    for level in model.levels("server", "location", "if"):
        inherited = inheritance.lost(level, "add_header")
        location = level.around("location")
        if location is not None and "acme-challenge" in location.path:
            continue
        lost = {name: stated for name, stated in inherited.items() if _protects(name, stated, level)}
        dropped = _dropped(level) if lost else ""
        lost = {name: stated for name, stated in lost.items() if not _is_named(name, dropped)}
        if not lost:
            continue
        answer = model.requests.first(level, *reaching.reaching(level))
        if answer is not None and answer.level is not None and _loses(answer, answer.level, level):
            witness = answer.witness(f"the response lacks {inheritance.listed(lost)}", Sign(lacks=tuple(lost)))
            yield inheritance.finding(level, "add_header", lost, witness)


def _protects(name: str, stated: Directive, level: Level) -> bool:
    """Return whether a header protects clients that get responses from a level."""
    if not stated.args[1]:
        return False
    location = level.around("location")
    if location is not None and static.is_for_no_pages(location):
        return name in (FOR_MEDIA if static.is_for_media(location) else FOR_ALL)
    return name in _PROTECTING or any(word in stated.args[1].lower() for word in _PRIVATE.get(name, ()))


def _dropped(level: Level) -> str:
    """Return what comments say of what a level is meant to do without, in lower case."""
    own = level.own("add_header")
    remarks = [text for directive in own for text in layout.remarks(directive)]
    for directive in (*own, *((level.opener,) if level.opener else ())):
        remarks.extend(layout.above(directive))
    return "\n".join(match[1].lower() for match in map(_DROPS.search, remarks) if match)


def _is_named(name: str, text: str) -> bool:
    return any(word in text for word in (name, *_SHORT.get(name, ())))


def _loses(answer: ModelAnswer, settled: Level, level: Level) -> bool:
    """Return whether a response has the headers of a level, and a content that they are about."""
    has_own = settled.setting("add_header").level is level
    says_little = answer.is_at in ("return", "redirect", "closed", "error") or bool(settled.own("stub_status"))
    return has_own and not says_little
