"""Directive without effect: nginx warns of it at every start

Flags directives that the target version reports as obsolete, such as the former limits of HTTP/2.

## Why it matters
nginx ignores the directive: the limit or timeout that it sets is not in effect.

## Bad
```nginx http 1.28.0
http2_max_field_size 8k;
```

## Good
```nginx http 1.28.0
large_client_header_buffers 4 8k;
```

## Silent
```nginx http 1.18.0
http2_max_field_size 8k;
```

## When to ignore it
If the same file is used with an older nginx, where the directive has an effect.

## References
- `ngx_http_v2_obsolete` in ngx_http_v2_module.c
- CHANGES 1.19.7 and 1.25.1, https://nginx.org/en/CHANGES
"""

from __future__ import annotations

from collections.abc import Iterator

from nginxopt.facts import declarations, fact, obsolete_names
from nginxopt.lint import Finding, Model, Severity, rule


@rule(severity=Severity.INFO, category="correctness", by_release=True)
def check(model: Model) -> Iterator[Finding]:
    """Find directives that do nothing in the target version."""
    for directive, _ in model.each(*obsolete_names()):
        current = [row for row in declarations(str(directive.name)) if row.is_in(model.target)]
        obsolete = next((row for row in current if row.values == "obsolete"), None)
        if obsolete is None:
            continue
        since = f" since nginx {obsolete.since}" if obsolete.since else ""
        known = fact(str(directive.name))
        instead = known.instead if known else ""
        yield Finding(
            directive.source,
            directive.name.span,
            f'"{directive.name}" has no effect{since}',
            help=f"delete it, and use {instead} instead" if instead else "delete it",
        )
