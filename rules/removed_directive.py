"""Directive that the target version no longer has: nginx refuses the configuration

Flags directives that a release before the target version removed. Does not flag directives of NGINX Plus and of other
modules.

The sources of each nginx release since 1.10.0 say which directives it has. The target version is that of
`--target-version`, the settings, or the installed nginx.

## Why it matters
After the upgrade, nginx does not know the name and does not start. `nginx -t` of the old version accepts it, at most
with a warning that it is deprecated.

## Bad
```nginx http 1.28.0
ssl on;
server {
    listen 443;
    ssl_certificate cert.pem;
    ssl_certificate_key key.pem;
}
```

## Good
```nginx http 1.28.0
server {
    listen 443 ssl;
    ssl_certificate cert.pem;
    ssl_certificate_key key.pem;
}
```

## Silent
```nginx server 1.22.1
ssl off;
```

## When to ignore it
If a patched nginx or a fork still has the directive.

## References
- CHANGES, https://nginx.org/en/CHANGES
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.facts import declarations
from nginxopt.lint import Finding, Model, Severity, rule
from nginxopt.semantics import commands

_INSTEAD = {"ssl": 'add the parameter "ssl" to listen'}


@rule(severity=Severity.ERROR, category="refused", by_release=True)
def check(model: Model) -> Iterator[Finding]:
    """Find directives that the target version no longer has."""
    for directive, _, fault in model.faults:
        ends = [row.until for row in declarations(directive.name) if row.until]
        gone = max((end for end in ends if end <= model.target), default=None)
        if fault.kind is commands.FaultKind.UNKNOWN and gone:
            message = f'nginx {gone} removed "{directive.name}"; nginx {model.target} does not start with it'
            instead = _INSTEAD.get(str(directive.name), "delete it")
            yield Finding(directive.source, directive.name.span, message, help=instead)
