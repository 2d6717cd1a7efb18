"""Directive that the target version does not have yet

Flags directives that came with a later release than the target version. Does not flag directives of NGINX Plus and of
other modules.

The sources of each nginx release since 1.10.0 say which directives it has. The target version is that of
`--target-version`, the settings, or the installed nginx.

## Why it matters
An older nginx does not know the name and does not start, for example after a downgrade or on a machine that was not
upgraded.

## Bad
```nginx server 1.22.1
http2 on;
```

## Good
```nginx server 1.22.1
listen 443 ssl http2;
ssl_certificate cert.pem;
ssl_certificate_key key.pem;
```

## Silent
```nginx server 1.25.1
http2 on;
```

## When to ignore it
If the package of a distribution has the directive added to an older version, as Debian has `max_headers` in its 1.22.1.

## References
- CHANGES, https://nginx.org/en/CHANGES
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.config import declarations
from nginxopt.lint import Finding, Model, Severity, rule
from nginxopt.semantics import commands


@rule(severity=Severity.WARNING, category="correctness", by_release=True)
def check(model: Model) -> Iterator[Finding]:
    """Find directives that came after the target version."""
    for directive, _, fault in model.faults:
        starts = [row.since for row in declarations.declarations(directive.name) if row.since]
        first = min((start for start in starts if start > model.target), default=None)
        if fault.kind is commands.Kind.UNKNOWN and first:
            message = f'"{directive.name}" came with nginx {first}; nginx {model.target} does not start with it'
            yield Finding(
                directive.source, directive.name.span, message, help="set --target-version if nginx has another version"
            )
