"""Directive that the target nginx does not have

Flags directives that the target version no longer has, or not yet, and those that do nothing any more. Does not flag
directives of NGINX Plus and of other modules.

What each release has is read from the sources of nginx, from 1.10.0 on. The target is that of `--target-version`, the
settings, or the installed nginx.

## Why it matters
nginx does not know the name and does not start: after an upgrade for a directive that was removed, after a downgrade
or on an older machine for one that is too new. A directive that does nothing gives a warning at each start.

## Bad
```nginx server 1.28.0
listen 443;
ssl on;
```
```nginx server 1.22.1
http2 on;
```
```nginx http 1.28.0
http2_max_field_size 8k;
```

## Good
```nginx server 1.28.0
listen 443 ssl;
```

## Silent
```nginx server 1.24.0
listen 443;
ssl on;
```
```nginx server 1.25.1
http2 on;
```

## When to ignore it
If the package of a distribution has the directive added to an older version.

## References
- CHANGES, https://nginx.org/en/CHANGES
- `ngx_http_v2_obsolete` in ngx_http_v2_module.c
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import Directive
from nginxopt.config.declarations import Declaration, declarations
from nginxopt.lint import Finding, Model, Severity, rule
from nginxopt.semantics import commands

_INSTEAD = {
    "ssl": 'use the "ssl" parameter of listen',
    "http2_idle_timeout": "use keepalive_timeout",
    "http2_max_field_size": "use large_client_header_buffers",
    "http2_max_header_size": "use large_client_header_buffers",
    "http2_max_requests": "use keepalive_requests",
    "http2_recv_timeout": "use client_header_timeout",
}
"""What nginx says that there is instead."""


@rule(severity=Severity.ERROR, category="correctness", by_release=True)
def check(model: Model) -> Iterator[Finding]:
    """Find directives that the target version does not have, or ignores."""
    for directive, _, fault in model.faults:
        if fault.kind is commands.Kind.UNKNOWN:
            yield _unknown(directive, model)
    for directive, scope in model.config.walk():
        obsolete = _obsolete(directive, model)
        if obsolete and commands.place_of(scope.context):
            yield _finding(
                directive,
                f'"{directive.name}" has no effect since nginx {obsolete.since}; nginx warns of it',
                Severity.INFO,
            )


def _unknown(directive: Directive, model: Model) -> Finding:
    known = declarations(directive.name)
    gone = max((row.until for row in known if row.until and row.until <= model.target), default=None)
    if gone:
        return _finding(directive, f'nginx {gone} removed "{directive.name}": nginx {model.target} does not start')
    first = min(row.since for row in known if row.since)
    message = f'"{directive.name}" needs nginx {first}: nginx {model.target} does not start'
    return _finding(directive, message, Severity.WARNING)


def _obsolete(directive: Directive, model: Model) -> Declaration | None:
    """Return the declaration of a directive that does nothing in the target version."""
    current = (row for row in declarations(directive.name) if row.is_in(model.target))
    return next((row for row in current if row.values == "obsolete" and row.since), None)


def _finding(directive: Directive, message: str, severity: Severity | None = None) -> Finding:
    instead = _INSTEAD.get(str(directive.name), "delete it" if severity is Severity.INFO else "")
    return Finding(directive.source, directive.name.span, message, help=instead, severity=severity)
