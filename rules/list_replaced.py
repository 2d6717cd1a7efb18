"""List of headers that replaces the one around it, where nobody says that it is meant to

Flags levels with an `add_header`, `add_trailer` or `proxy_set_header` that drop others which they would inherit,
whatever headers these are. Headers that protect clients are reported by `headers-lost`, those that upstreams rely on by
`proxy-headers-lost`; both are on by default.

Does not flag levels that state all of them again, and `add_header_inherit` with `merge` or `off` (from 1.29.3).

## Why it matters
A level inherits these directives only if it has none of its own. Who adds a header to a location often expects the
others to stay.

## Bad
```nginx server
add_header X-Served-By web1;
location /files/ {
    add_header X-Kind file;
    root /srv/www;
}
```

## Good
```nginx server
add_header X-Served-By web1;
location /files/ {
    add_header X-Served-By web1;
    add_header X-Kind file;
    root /srv/www;
}
```

## Silent
```nginx server
add_header X-Frame-Options DENY;
location /files/ {
    add_header X-Kind file;
    root /srv/www;
}
```

## When to ignore it
If the inner list is meant to be all. From nginx 1.29.3 on, `add_header_inherit off` says so.

## References
- https://nginx.org/en/docs/http/ngx_http_headers_module.html#add_header
- https://nginx.org/en/docs/http/ngx_http_proxy_module.html#proxy_set_header
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import Directive
from nginxopt.facts import having
from nginxopt.lint import Finding, Model, Related, Severity, rule
from nginxopt.lint.queries import inheritance

_LISTS = ("add_header", "add_trailer", *(name for name in sorted(having("variables", "passed")) if "header" in name))
_OF_OTHERS = {
    "strict-transport-security", "content-security-policy", "content-security-policy-report-only", "x-frame-options",
    "x-content-type-options", "referrer-policy", "permissions-policy", "cross-origin-opener-policy",
    "cross-origin-embedder-policy", "cross-origin-resource-policy", "x-permitted-cross-domain-policies",
}  # fmt: skip
"""Headers that `headers-lost` is about."""
_AS_ALWAYS = {
    ("host", "$proxy_host"),
    ("connection", "close"),
    ("connection", ""),
    ("upgrade", ""),
    ("accept-encoding", ""),
}
"""What nginx sends to upstreams in any case."""


@rule(severity=Severity.INFO, category="hardening", default=False)
def check(model: Model) -> Iterator[Finding]:
    """Find lists that drop others."""
    for level in model.levels("server", "location", "if"):
        for name in _LISTS if not level.names.isdisjoint(_LISTS) else ():
            inherited = inheritance.lost(level, name)
            lost = {key: stated for key, stated in inherited.items() if _matters(key, stated)}
            if lost:
                own, first = level.own(name)[0], next(iter(lost.values()))
                yield Finding(
                    own.source,
                    own.args[0].span,
                    f"this {name} drops the inherited {inheritance.listed(lost)}",
                    help="repeat what should stay",
                    related=(Related(first.source, first.name.span, f"{first.args[0]} is set here"),),
                )


def _matters(name: str, stated: Directive) -> bool:
    return name not in _OF_OTHERS and (name, stated.args[1].lower()) not in _AS_ALWAYS
